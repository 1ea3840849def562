"""`kictl imports`: what was imported when, and what came of it."""

from __future__ import annotations

from typing import Annotated

import typer

from kictl.cli.options import CATALOGUE, JSON, catalogue_path, command_app, write_grids, write_json

app = command_app()


@app.command()
def imports(
    number: Annotated[int | None, typer.Argument(metavar="[NUMBER]", min=1, help="Only this one, in full.")] = None,
    *,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """List the imports of the catalogue, or show one of them.

    Example: kictl imports 1
    """
    from kictl.catalogue import dossiers
    from kictl.catalogue.store import Catalogue
    from kictl.errors import UsageError
    from kictl.render import imports as rendering
    from kictl.render import sheets

    with Catalogue.open(catalogue_path(catalog)) as catalogue:
        events = dossiers.imports(catalogue)
    if number is None:
        if as_json:
            write_json([rendering.event_json(event) for event in events])
        else:
            write_grids(lambda _: [rendering.events_grid(events)])
        return
    event = next((event for event in events if event.id == number), None)
    if event is None:
        raise UsageError(f"there is no import {number}", code="unknown_import", hint="'kictl imports' lists them")
    if as_json:
        write_json(sheets.to_json(event))
    else:
        write_grids(lambda roomy: sheets.to_grids(event, roomy=roomy))
