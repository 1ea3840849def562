"""`kictl compare`: ranked tables of one definition."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kictl.cli.options import (
    CATALOGUE,
    JSON,
    catalogue_path,
    command_app,
    write_grids,
    write_json,
    write_text,
)

app = command_app()


class Order(StrEnum):
    """What a table is ranked by."""

    LATENCY = "latency"
    SOL_SCORE = "sol-score"


class Format(StrEnum):
    """How a comparison is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


@app.command()
def compare(
    *,
    definition: Annotated[
        str,
        typer.Option("--definition", "-d", metavar="PATTERN", help="Full name, number prefix or part of a name."),
    ],
    gpu: Annotated[list[str] | None, typer.Option("--gpu", help="Only this GPU; repeatable.")] = None,
    stack: Annotated[list[str] | None, typer.Option("--stack", help="Only this stack version; repeatable.")] = None,
    by: Annotated[Order, typer.Option("--by", help="What to rank by.")] = Order.LATENCY,
    all_submissions: Annotated[bool, typer.Option("--all", help="Every submission, not the best per author.")] = False,
    listed_only: Annotated[
        bool, typer.Option("--listed-only", help="Leave out what the source no longer lists.")
    ] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many rows per table.")] = None,
    output: Annotated[Format, typer.Option("--format", help="Form of the output.")] = Format.TABLE,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Rank the runs of one definition: one table for each GPU and stack version, never mixed.

    Example: kictl compare --definition 042_moe --gpu B200 --limit 10
    """
    from kictl.catalogue.store import Catalogue
    from kictl.render import comparison as rendering
    from kictl.workflow import comparing

    options = comparing.Options(
        by=by.value,
        all_submissions=all_submissions,
        listed_only=listed_only,
        gpus=tuple(gpu or ()),
        stacks=tuple(stack or ()),
        limit=limit,
    )
    with Catalogue.open(catalogue_path(catalog)) as catalogue:
        found = comparing.compare(catalogue, definition, options)
    if as_json or output is Format.JSON:
        write_json(rendering.to_json(found))
    elif output is Format.CSV:
        write_text(rendering.to_csv(found))
    else:
        write_grids(lambda roomy: rendering.to_grids(found, roomy=roomy), markdown=output is Format.MARKDOWN)
