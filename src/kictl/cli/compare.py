"""`kictl compare`: ranked tables of one definition, or runs side by side."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kictl.cli.options import (
    CASE,
    CATALOGUE,
    FORMAT,
    GPUS,
    JSON,
    ONE_DEFINITION,
    ORDER,
    SOURCES,
    STACKS,
    Format,
    Order,
    catalogue_path,
    command_app,
    write_as,
)
from kictl.errors import UsageError

if TYPE_CHECKING:
    from kictl.workflow.comparing import Options

app = command_app()


@app.command()
def compare(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="2 to 8 runs: submission id, digest or its start, manifest file."),
    ] = None,
    *,
    definition: Annotated[str | None, ONE_DEFINITION] = None,
    gpu: GPUS = None,
    stack: STACKS = None,
    source: SOURCES = None,
    case: CASE = None,
    by: ORDER = Order.METRIC,
    all_submissions: Annotated[bool, typer.Option("--all", help="Every submission, not the best per author.")] = False,
    listed_only: Annotated[
        bool, typer.Option("--listed-only", help="Leave out what the source no longer lists.")
    ] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many rows per table.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say why what is apart is apart.")] = False,
    with_best: Annotated[bool, typer.Option("--with-best", help="Add the first of the runs' cohort.")] = False,
    output: FORMAT = Format.TABLE,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> int:
    """Rank the runs of a definition, one table for each GPU and stack; or compare runs, if they may be compared.

    Runs that may not be compared get no ranks but every reason, and exit code 1.

    Example: kictl compare --definition 042_moe --gpu B200 --limit 10

    Example: kictl compare 19969 19900
    """
    from kictl.workflow import comparing

    form = Format.JSON if as_json else output
    if (definition is None) == (not runs):
        raise UsageError("give either runs or --definition", hint="see 'kictl compare --help'")
    if definition is None:
        if any((gpu, stack, source, case, all_submissions, listed_only, limit, by is not Order.METRIC)):
            raise UsageError(
                "--gpu, --stack, --source, --case, --by, --all, --listed-only and --limit go with --definition only"
            )
        return _compare_runs(runs or [], catalogue_path(catalog), form, explain=explain, with_best=with_best)
    if with_best:
        raise UsageError("--with-best goes with runs only")
    options = comparing.Options(
        by=by.value,
        all_submissions=all_submissions,
        listed_only=listed_only,
        gpus=tuple(gpu or ()),
        stacks=tuple(stack or ()),
        sources=tuple(source or ()),
        case=case,
        limit=limit,
        explain=explain,
    )
    return _compare_definition(definition, options, catalogue_path(catalog), form)


def _compare_definition(pattern: str, options: Options, path: Path, form: Format) -> int:
    from kictl.catalogue.store import Catalogue
    from kictl.render import comparison as rendering
    from kictl.workflow import comparing

    with Catalogue.open(path) as catalogue:
        found = comparing.compare(catalogue, pattern, options)
    write_as(
        form,
        record=lambda: rendering.to_json(found),
        csv=lambda: rendering.to_csv(found),
        grids=lambda roomy: rendering.to_grids(found, roomy=roomy, dated=form is Format.MARKDOWN),
    )
    return 0


def _compare_runs(names: list[str], path: Path, form: Format, *, explain: bool, with_best: bool) -> int:
    from contextlib import nullcontext

    from kictl.catalogue.store import Catalogue
    from kictl.render import runs as rendering
    from kictl.workflow import pairing

    # Files can be compared without a catalogue, names cannot.
    needs_none = all(map(pairing.is_file, names)) and not with_best and not path.exists()
    with nullcontext() if needs_none else Catalogue.open(path) as catalogue:
        found = pairing.pair(catalogue, names, sys.stdin.buffer, with_best=with_best)
    write_as(
        form,
        record=lambda: rendering.to_json(found),
        csv=lambda: rendering.to_csv(found),
        grids=lambda roomy: rendering.to_grids(found, roomy=roomy, explain=explain),
    )
    return 0 if found.verdict.comparable else 1
