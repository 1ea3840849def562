"""`kictl schema`: the JSON Schemas that kictl checks against."""

from __future__ import annotations

from typing import Annotated

import typer

from kictl.cli.options import JSON, command_app, write_bytes, write_json

app = command_app()


@app.command()
def schema(
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]", help="A kind; none lists them all.")] = None,
    *,
    split: Annotated[
        bool, typer.Option("--split", help="The schema alone, which refers to others by their ids.")
    ] = False,
    as_json: JSON = False,
) -> None:
    """Print the JSON Schema of a kind of manifest as one document, or the names of all schemas.

    Example: kictl schema BenchmarkRun
    """
    from kictl import schemas

    if kind is not None:
        write_bytes(schemas.text(kind) if split else schemas.bundled(kind))
    elif as_json:
        write_json(list(schemas.names()))
    else:
        for name in schemas.names():
            typer.echo(name)
