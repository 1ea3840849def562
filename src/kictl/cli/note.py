"""`kictl note`: a note of one's own on a run."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kictl.cli.options import CATALOGUE, JSON, catalogue_path, command_app, write_json, write_text

app = command_app()


class Kind(StrEnum):
    """What a note is about."""

    NOTE = "note"
    REPLICATION = "replication"


@app.command()
def note(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Submission id, or digest or its start.")],
    *,
    text: Annotated[str, typer.Option("--text", "-t", help="What it says, at most 4000 characters.")],
    kind: Annotated[Kind, typer.Option("--kind", help="A remark, or what came of running it again.")] = Kind.NOTE,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Attach a note to a run, in this catalogue alone. It never changes evidence or rank.

    Example: kictl note 19969 --kind replication --text "7.9 µs on our B200, driver 570"
    """
    from kictl.catalogue.store import Catalogue
    from kictl.workflow import showing

    with Catalogue.open(catalogue_path(catalog), writable=True) as catalogue:
        noted = showing.annotate(catalogue, run, kind=kind.value, text=text)
    if as_json:
        write_json({"run_digest": noted.run, "kind": kind.value, "text": text})
    else:
        write_text(f"noted on {noted.run}\n")
