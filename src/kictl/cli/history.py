"""`kictl history`: how the records of a definition moved over time."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import Annotated

import typer

from kictl.cli.options import CATALOGUE, JSON, catalogue_path, command_app, write_grids, write_json, write_text

app = command_app()

WIDEST, NARROWEST, MARGIN = 100, 30, 4
"""Characters of a drawing at most and at least, and how many it leaves free of the terminal."""


class Format(StrEnum):
    """How a history is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


@app.command()
def history(
    *,
    definition: Annotated[
        str,
        typer.Option("--definition", "-d", metavar="PATTERN", help="Full name, number prefix or part of a name."),
    ],
    gpu: Annotated[list[str] | None, typer.Option("--gpu", help="Only this GPU; repeatable.")] = None,
    stack: Annotated[list[str] | None, typer.Option("--stack", help="Only this stack version; repeatable.")] = None,
    no_plot: Annotated[bool, typer.Option("--no-plot", help="Tables only.")] = False,
    output: Annotated[Format, typer.Option("--format", help="Form of the output.")] = Format.TABLE,
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

    options = comparing.Options(all_submissions=True, gpus=tuple(gpu or ()), stacks=tuple(stack or ()))
    with Catalogue.open(catalogue_path(catalog)) as catalogue:
        found = records.history(catalogue, definition, options)
    form = Format.JSON if as_json else output
    if form is Format.JSON:
        write_json(rendering.to_json(found))
    elif form is Format.CSV:
        write_text(rendering.to_csv(found))
    elif form is Format.MARKDOWN:
        write_grids(lambda _: rendering.to_grids(found), markdown=True)
    else:
        dumb = sys.stdout.isatty() and os.environ.get("TERM") == "dumb"
        pens = plot.ASCII if dumb else plot.UNICODE
        width = min(WIDEST, table.width() - MARGIN)
        drawn = 0 if no_plot or width < NARROWEST else width
        write_grids(lambda _: rendering.to_grids(found, width=drawn, pens=pens))
