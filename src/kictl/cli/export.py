"""`kictl export`: everything that the catalogue holds."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from kictl.cli.options import CATALOGUE, JSON, catalogue_path, command_app
from kictl.errors import UsageError

if TYPE_CHECKING:
    from kictl.catalogue.store import Catalogue

app = command_app()


class Format(StrEnum):
    """How it is written."""

    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    PARQUET = "parquet"
    KERNELINDEX = "kernelindex"


class What(StrEnum):
    """What is written."""

    MANIFESTS = "manifests"
    RUNS = "runs"
    COHORTS = "cohorts"
    HISTORY = "history"
    SUBMISSIONS = "submissions"


@app.command()
def export(
    *,
    what: Annotated[What, typer.Option("--what", help="Which records.")] = What.MANIFESTS,
    form: Annotated[Format, typer.Option("--format", help="Form of the output.")] = Format.JSONL,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file, whole or not at all.")
    ] = None,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Write everything that the catalogue holds: manifests, or records with what they may be compared with.

    Every record says its cohort, its population, and the import it is from. kernelindex is the form in which
    KernelIndex exports its catalogue: manifests in tables.

    Example: kictl export --what runs --format csv -o runs.csv
    """
    from kictl.catalogue.store import Catalogue
    from kictl.publishing import file

    if form is Format.KERNELINDEX and what is not What.MANIFESTS:
        raise UsageError("--format kernelindex is for manifests only")
    to_stdout = output is None or str(output) == "-"
    if to_stdout and form is Format.PARQUET and sys.stdout.isatty():
        raise UsageError("Parquet is not for a terminal", hint="give a file with --output")
    target = nullcontext(sys.stdout.buffer) if to_stdout or output is None else file(output)
    with Catalogue.open(catalogue_path(catalog)) as catalogue, target as stream:
        _write(catalogue, what, form, stream)


def _write(catalogue: Catalogue, what: What, form: Format, stream: IO[bytes]) -> None:
    if form is Format.KERNELINDEX:
        from kictl import canonical
        from kictl.catalogue import kernelindex

        for row in kernelindex.lines(catalogue):
            stream.write(canonical.to_json(row, sort=True) + b"\n")
        return
    from kictl.render.exports import FORMATS
    from kictl.workflow.exporting import SHEETS

    FORMATS[form.value](SHEETS[what.value](catalogue), stream)
