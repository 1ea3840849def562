"""`kictl authors`: who leads how many cohorts."""

from __future__ import annotations

from typing import Annotated

import typer

from kictl.cli.leaders import chosen
from kictl.cli.options import (
    CATALOGUE,
    DEFINITIONS,
    FORMAT,
    GPUS,
    JSON,
    ORDER,
    SOURCES,
    STACKS,
    TAGS,
    Format,
    Order,
    catalogue_path,
    command_app,
    write_as,
)

app = command_app()


@app.command()
def authors(
    *,
    definition: DEFINITIONS = None,
    gpu: GPUS = None,
    stack: STACKS = None,
    source: SOURCES = None,
    tag: TAGS = None,
    author: Annotated[list[str] | None, typer.Option("--author", help="Only this author; repeatable.")] = None,
    by: ORDER = Order.METRIC,
    output: FORMAT = Format.TABLE,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Count the cohorts that each author leads; figures of different cohorts are never averaged.

    Example: kictl authors --gpu B200 --stack v1.1
    """
    from kictl.catalogue.store import Catalogue
    from kictl.render import leaders as rendering
    from kictl.workflow import leaders as leading

    with Catalogue.open(catalogue_path(catalog)) as catalogue:
        found = leading.authors(catalogue, chosen(definition, gpu, stack, tag, author, source), by=by.value)
    write_as(
        Format.JSON if as_json else output,
        record=lambda: rendering.authors_json(found),
        csv=lambda: rendering.authors_csv(found),
        grids=lambda _: rendering.authors_grids(found),
    )
