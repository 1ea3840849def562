"""Which import the numbers of a definition are from."""

from __future__ import annotations

from typing import NamedTuple

from kictl.catalogue.store import Catalogue


class Origin(NamedTuple):
    """The import that read a definition last. `at` is its end (its start where it was interrupted);
    `snapshot_digest` is over all that it received, None where it was interrupted."""

    import_id: int
    source: str
    at: str
    snapshot_digest: str | None


def origin(catalogue: Catalogue, definition_id: int) -> Origin | None:
    """Where the present state of a definition is from."""
    row = catalogue.db.execute(
        "SELECT i.id, i.source, coalesce(i.finished_at, i.started_at), i.snapshot_digest"
        " FROM definition d JOIN import i ON i.source = d.source"
        " JOIN reading r ON r.import_id = i.id AND r.definition_external_id = d.external_id"
        " WHERE d.id = ? ORDER BY i.id DESC LIMIT 1",
        (definition_id,),
    ).fetchone()
    return None if row is None else Origin(*row)
