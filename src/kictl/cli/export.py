"""`kictl export`: everything that the catalogue holds."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kictl.cli.options import CATALOGUE, JSON, catalogue_path, command_app, write_bytes

app = command_app()


class Format(StrEnum):
    """How manifests are written."""

    JSONL = "jsonl"


@app.command()
def export(
    *,
    output: Annotated[Format, typer.Option("--format", help="Form of the output.")] = Format.JSONL,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Write every manifest as one line of JSON, in the order of their digests.

    Example: kictl export --format jsonl > manifests.jsonl
    """
    from kictl import canonical
    from kictl.catalogue.store import Catalogue

    with Catalogue.open(catalogue_path(catalog)) as catalogue:
        for manifest in catalogue.manifests():
            line = {"digest": str(manifest.digest), "kind": manifest.kind, "manifest": manifest.document}
            write_bytes(canonical.to_json(line) + b"\n")
