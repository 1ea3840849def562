"""`kictl show`: the dossier of a run, or what is known of a definition, cohort, author or import."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

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
from kictl.errors import UsageError

if TYPE_CHECKING:
    from kictl.workflow.showing import Sheet

app = command_app()


class Format(StrEnum):
    """How a dossier is written."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


class Citation(StrEnum):
    """How a run is cited."""

    TEXT = "text"
    BIBTEX = "bibtex"
    CSL_JSON = "csl-json"


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A submission, run, definition, cohort, author, import.")],
    *,
    cite: Annotated[Citation | None, typer.Option("--cite", help="Print a reference to the run instead.")] = None,
    manifest: Annotated[bool, typer.Option("--manifest", help="Print the run's published bundle instead.")] = False,
    output: Annotated[Format, typer.Option("--format", help="Form of the output.")] = Format.TABLE,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Show all that the catalogue knows about one run; or about a definition, a cohort, an author, an import.

    A name that could be several things is refused with all of them: submission/ID, run/DIGEST, definition/NAME,
    cohort/KEY, author/NAME and import/NUMBER say which is meant.

    Example: kictl show 19969
    """
    from kictl.catalogue.store import Catalogue
    from kictl.render import citation, dossier
    from kictl.workflow import showing
    from kictl.workflow.dossier import Dossier

    form = Format.JSON if as_json else output
    if sum((cite is not None, manifest, form is not Format.TABLE)) > 1:
        raise UsageError("--cite, --manifest and another form of the dossier exclude each other")
    with Catalogue.open(catalogue_path(catalog)) as catalogue:
        sheet = showing.show(catalogue, name)
    if cite is None and not manifest:
        _write(sheet, form)
        return
    if not isinstance(sheet, Dossier):
        raise UsageError(f"{name!r} is not a run: only a run has a manifest and can be cited", code="not_a_run")
    if cite is not None:
        write_text(citation.cited(sheet, cite.value))
    else:
        write_json(dossier.bundle(sheet))


def _write(sheet: Sheet, form: Format) -> None:
    from kictl.render import sheets

    if form is Format.JSON:
        write_json(sheets.to_json(sheet))
    else:
        write_grids(lambda roomy: sheets.to_grids(sheet, roomy=roomy), markdown=form is Format.MARKDOWN)
