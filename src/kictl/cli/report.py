"""`kictl report`: the catalogue as a static site."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kictl.cli.options import (
    CATALOGUE,
    DEFINITIONS,
    GPUS,
    JSON,
    STACKS,
    catalogue_path,
    command_app,
    write_json,
    write_text,
)

app = command_app()


class Runs(StrEnum):
    """Which runs have a page."""

    ALL = "all"
    LEADERS = "leaders"


@app.command()
def report(
    *,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="The folder to write: absent, empty, or an earlier report."),
    ],
    definition: DEFINITIONS = None,
    gpu: GPUS = None,
    stack: STACKS = None,
    runs: Annotated[Runs, typer.Option("--runs", help="Which runs have a page of their own.")] = Runs.ALL,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Write a static site: an index, a page for each definition and run, and the same numbers as JSON beside each.

    The same catalogue gives the same bytes. An earlier report in the folder is replaced when the new one is complete.

    Example: kictl report --out site --definition 042
    """
    from kictl.catalogue.store import Catalogue
    from kictl.publishing import Folder
    from kictl.render import progress
    from kictl.render.site.files import files
    from kictl.workflow.reporting import Report, Wanted

    wanted = Wanted(tuple(definition or ()), tuple(gpu or ()), tuple(stack or ()), leaders_only=runs is Runs.LEADERS)
    with Catalogue.open(catalogue_path(catalog)) as catalogue, Folder(out) as folder:
        found = Report(catalogue, wanted)
        with progress.counted("pages", found.count_pages) as step:
            for path, data in files(found):
                folder.add(path, data)
                if path.endswith(".html"):
                    step()
    if as_json:
        write_json({"out": str(out), "files": folder.count, "bytes": folder.size})
    else:
        write_text(f"{folder.count} files, {folder.size / 1e6:.1f} MB, in {out}; start with index.html\n")
