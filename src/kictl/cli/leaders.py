"""`kictl leaders`: who is first in every cohort."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

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

if TYPE_CHECKING:
    from kictl.workflow.leaders import Filter

app = command_app()


class Sort(StrEnum):
    """The order of the rows of a table."""

    DEFINITION = "definition"
    GAP = "gap"
    AGE = "age"
    ENTRIES = "entries"
    CONTEST = "contest"
    LEADER = "leader"


@app.command()
def leaders(
    *,
    definition: DEFINITIONS = None,
    gpu: GPUS = None,
    stack: STACKS = None,
    source: SOURCES = None,
    tag: TAGS = None,
    author: Annotated[
        list[str] | None, typer.Option("--author", help="Only cohorts that this author has a run in; repeatable.")
    ] = None,
    by: ORDER = Order.METRIC,
    sort: Annotated[
        Sort, typer.Option("--sort", help="Name, widest gap, oldest, fewest authors, closest race, who leads.")
    ] = Sort.DEFINITION,
    output: FORMAT = Format.TABLE,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Show the first, fifth and tenth author of every cohort, how old the lead is, and how far the bound.

    Example: kictl leaders --gpu B200 --stack v1.1 --sort gap
    """
    from kictl.catalogue.store import Catalogue
    from kictl.render import leaders as rendering
    from kictl.workflow import leaders as leading

    with Catalogue.open(catalogue_path(catalog)) as catalogue:
        wanted = chosen(definition, gpu, stack, tag, author, source)
        found = leading.leaders(catalogue, wanted, by=by.value, sort=sort.value)
    write_as(
        Format.JSON if as_json else output,
        record=lambda: rendering.to_json(found),
        csv=lambda: rendering.to_csv(found),
        grids=lambda _: rendering.to_grids(found),
    )


def chosen(
    definitions: list[str] | None,
    gpus: list[str] | None,
    stacks: list[str] | None,
    tags: list[str] | None,
    authors: list[str] | None,
    sources: list[str] | None,
) -> Filter:
    """The cohorts that options ask for."""
    from kictl.workflow.leaders import Filter

    return Filter(
        gpus=tuple(gpus or ()),
        stacks=tuple(stacks or ()),
        tags=tuple(tags or ()),
        authors=tuple(authors or ()),
        definitions=tuple(definitions or ()),
        sources=tuple(sources or ()),
    )
