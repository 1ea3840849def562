"""`kictl diff`: what changed between two imports or two snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kictl.cli.options import CATALOGUE, JSON, catalogue_path, command_app, write_grids, write_json
from kictl.errors import UsageError

if TYPE_CHECKING:
    from kictl.workflow.diffing import Diff

app = command_app()


@app.command()
def diff(
    before: Annotated[
        str | None, typer.Argument(metavar="[A]", help="The earlier import by number, or a snapshot.")
    ] = None,
    after: Annotated[
        str | None, typer.Argument(metavar="[B]", help="The later one [default: the last that finished].")
    ] = None,
    *,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if there is a difference.")] = False,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Show what changed between two imports, the last two unless told otherwise, or between two snapshots.

    Example: kictl diff 1 2
    """
    from kictl.render import diff as rendering

    found = _found(before, after, catalog)
    if as_json:
        write_json(rendering.to_json(found))
    else:
        write_grids(lambda _: rendering.to_grids(found))
    if exit_code and not found.is_empty:
        raise typer.Exit(1)


def _found(before: str | None, after: str | None, catalog: Path | None) -> Diff:
    from kictl.catalogue.store import Catalogue
    from kictl.workflow import diffing

    given = [text for text in (before, after) if text is not None]
    if all(map(_is_number, given)):
        with Catalogue.open(catalogue_path(catalog)) as catalogue:
            return diffing.between(catalogue, *map(int, given))
    if len(given) < 2 or any(map(_is_number, given)):
        raise UsageError("a difference is between two imports, by their numbers, or between two snapshots")
    return diffing.snapshots(*map(Path, given))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
