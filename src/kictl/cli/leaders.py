"""`kictl leaders`: who is first in every cohort."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kictl.cli.compare import Format, Order
from kictl.cli.options import CATALOGUE, JSON, catalogue_path, command_app, write_grids, write_json, write_text

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
    definition: Annotated[
        list[str] | None,
        typer.Option("--definition", "-d", metavar="PATTERN", help="Only these; takes all that match."),
    ] = None,
    gpu: Annotated[list[str] | None, typer.Option("--gpu", help="Only this GPU; repeatable.")] = None,
    stack: Annotated[list[str] | None, typer.Option("--stack", help="Only this stack version; repeatable.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Only definitions with this tag; repeatable.")] = None,
    author: Annotated[
        list[str] | None, typer.Option("--author", help="Only cohorts that this author has a run in; repeatable.")
    ] = None,
    by: Annotated[Order, typer.Option("--by", help="What to rank by.")] = Order.LATENCY,
    sort: Annotated[
        Sort, typer.Option("--sort", help="Name, widest gap, oldest, fewest authors, closest race, who leads.")
    ] = Sort.DEFINITION,
    output: Annotated[Format, typer.Option("--format", help="Form of the output.")] = Format.TABLE,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Show the first, fifth and tenth author of every cohort, how old the lead is, and how far the bound.

    Example: kictl leaders --gpu B200 --stack v1.1 --sort gap
    """
    from kictl.catalogue.store import Catalogue
    from kictl.render import leaders as rendering
    from kictl.workflow import leaders as leading

    wanted = leading.Filter(
        gpus=tuple(gpu or ()),
        stacks=tuple(stack or ()),
        tags=tuple(tag or ()),
        authors=tuple(author or ()),
        definitions=tuple(definition or ()),
    )
    with Catalogue.open(catalogue_path(catalog)) as catalogue:
        found = leading.leaders(catalogue, wanted, by=by.value, sort=sort.value)
    form = Format.JSON if as_json else output
    if form is Format.JSON:
        write_json(rendering.to_json(found))
    elif form is Format.CSV:
        write_text(rendering.to_csv(found))
    else:
        write_grids(lambda _: rendering.to_grids(found), markdown=form is Format.MARKDOWN)
