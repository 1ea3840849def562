"""`kictl history`: how the records of a definition moved over time."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from kictl.cli.options import (
    CASE,
    CATALOGUE,
    FORMAT,
    GPUS,
    JSON,
    ONE_DEFINITION,
    SOURCES,
    STACKS,
    Format,
    catalogue_path,
    command_app,
    write_as,
)

app = command_app()

WIDEST, NARROWEST, MARGIN = 100, 30, 4
"""Characters of a drawing at most and at least, and how many it leaves free of the terminal."""


@app.command()
def history(
    *,
    definition: Annotated[str, ONE_DEFINITION],
    gpu: GPUS = None,
    stack: STACKS = None,
    source: SOURCES = None,
    case: CASE = None,
    no_plot: Annotated[bool, typer.Option("--no-plot", help="Tables only.")] = False,
    output: FORMAT = Format.TABLE,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Show how the record of each cohort moved: who, when, by how much, and how long it stood.

    Example: kictl history --definition 042_rms --gpu B200 --stack v1.1
    """
    from kictl.catalogue.store import Catalogue
    from kictl.render import history as rendering
    from kictl.render import plot, table
    from kictl.workflow import comparing
    from kictl.workflow import history as records

    options = comparing.Options(
        all_submissions=True, gpus=tuple(gpu or ()), stacks=tuple(stack or ()), sources=tuple(source or ()), case=case
    )
    with Catalogue.open(catalogue_path(catalog)) as catalogue:
        found = records.history(catalogue, definition, options)
    form = Format.JSON if as_json else output
    drawn = 0 if no_plot or form is not Format.TABLE else _width(table.width())
    dumb = sys.stdout.isatty() and os.environ.get("TERM") == "dumb"
    write_as(
        form,
        record=lambda: rendering.to_json(found),
        csv=lambda: rendering.to_csv(found),
        grids=lambda _: rendering.to_grids(found, width=drawn, pens=plot.ASCII if dumb else plot.UNICODE),
    )


def _width(columns: int) -> int:
    """How wide a drawing is on so many columns; 0 where they are too few for one."""
    width = min(WIDEST, columns - MARGIN)
    return width if width >= NARROWEST else 0
