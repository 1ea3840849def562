"""`kictl digest`: identity digests of manifests."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kictl.cli.options import JSON, command_app, write_bytes, write_json, write_text
from kictl.text import printable, whole

app = command_app()


@app.command()
def digest(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Manifests; - for stdin.")],
    *,
    canonical: Annotated[
        bool, typer.Option("--canonical", help="Print the RFC 8785 bytes that the digest is over.")
    ] = False,
    as_json: JSON = False,
) -> None:
    """Print the digest and kind of each manifest; of a bundle, those of its three.

    Example: kictl digest fixtures/manifests/good/BenchmarkRun-minimal.json
    """
    from kictl.workflow.digesting import identified

    found = identified(files, sys.stdin.buffer)
    if canonical:
        for item in found:
            write_bytes(item.canonical)
    elif as_json:
        write_json([{"file": whole(item.name), "digest": item.digest, "kind": item.kind} for item in found])
    else:
        for item in found:
            name = f"  {item.name}" if len(files) > 1 else ""
            write_text(printable(f"{item.digest}  {item.kind}{name}") + "\n")
