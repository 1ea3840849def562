"""`kictl authors`: who leads how many cohorts."""

from __future__ import annotations

from typing import Annotated

import typer

from kictl.cli.compare import Format, Order
from kictl.cli.options import CATALOGUE, JSON, catalogue_path, command_app, write_grids, write_json, write_text

app = command_app()


@app.command()
def authors(
    *,
    definition: Annotated[
        list[str] | None,
        typer.Option("--definition", "-d", metavar="PATTERN", help="Only these; takes all that match."),
    ] = None,
    gpu: Annotated[list[str] | None, typer.Option("--gpu", help="Only this GPU; repeatable.")] = None,
    stack: Annotated[list[str] | None, typer.Option("--stack", help="Only this stack version; repeatable.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Only definitions with this tag; repeatable.")] = None,
    author: Annotated[list[str] | None, typer.Option("--author", help="Only this author; repeatable.")] = None,
    by: Annotated[Order, typer.Option("--by", help="What to rank by.")] = Order.LATENCY,
    output: Annotated[Format, typer.Option("--format", help="Form of the output.")] = Format.TABLE,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Count the cohorts that each author leads; figures of different cohorts are never averaged.

    Example: kictl authors --gpu B200 --stack v1.1
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
        found = leading.authors(catalogue, wanted, by=by.value)
    form = Format.JSON if as_json else output
    if form is Format.JSON:
        write_json(rendering.authors_json(found))
    elif form is Format.CSV:
        write_text(rendering.authors_csv(found))
    else:
        write_grids(lambda _: rendering.authors_grids(found), markdown=form is Format.MARKDOWN)
