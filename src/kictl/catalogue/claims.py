"""What a source says in rows of its own beside manifests: licences, names, dates of publication, retractions.

Each is kept as it was said last, with the import that brought it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from kictl import canonical
from kictl.canonical import Digest
from kictl.catalogue.manifests import ManifestWriter, chunks
from kictl.catalogue.store import Catalogue, Connection
from kictl.model import Json
from kictl.sources.interface import Claim

DIGEST: Final = 16
"""Bytes of the digest of a row: it only has to tell a row from what it was before."""
BLOCK: Final = 100
"""Rows that are compressed together."""

Key = int | str
"""The id of the manifest that a row is about, or a name."""


class ClaimWriter:
    """Keeps the claims of one import."""

    def __init__(self, catalogue: Catalogue, import_id: int, manifests: ManifestWriter) -> None:
        self._catalogue = catalogue
        self._import = import_id
        self._manifests = manifests
        self._was_empty: dict[str, bool] = {}

    def put(self, db: Connection, claims: Iterable[Claim]) -> None:
        """Keeps the rows that say something new."""
        new = []
        for claim in claims:
            key = self._key(claim.about)
            digest = self.digest_if_new(db, claim.table, key, claim.row)
            if digest is not None:
                new.append((claim.table, key, digest, claim.row))
        for part in chunks(new, BLOCK):
            evidence = db.execute(
                "INSERT INTO evidence (import_id, definition_id, body) VALUES (?, NULL, ?)",
                (self._import, self._catalogue.codec.pack([row for *_, row in part])),
            ).lastrowid
            self.keep(db, [(*what, evidence, place) for place, (*what, _) in enumerate(part)])

    def digest_if_new(self, db: Connection, table: str, key: Key, row: Json) -> bytes | None:
        """The digest of a row that was never said, or is not what was said last; None for one that says nothing new."""
        digest = sha256(canonical.to_json(row, sort=True)).digest()[:DIGEST]
        if table not in self._was_empty:
            found = db.execute("SELECT 1 FROM claim WHERE in_table = ? LIMIT 1", (table,)).fetchone()
            self._was_empty[table] = found is None
        if self._was_empty[table]:
            return digest
        last = db.execute("SELECT digest FROM claim WHERE in_table = ? AND key = ?", (table, key)).fetchone()
        return None if last == (digest,) else digest

    def keep(self, db: Connection, claims: Sequence[tuple[Any, ...]]) -> None:
        """Claims by table, key, digest, evidence, and place in it."""
        if claims:
            db.executemany("INSERT OR REPLACE INTO claim VALUES (?, ?, ?, ?, ?)", claims)

    def _key(self, about: str) -> Key:
        return self._manifests.id_of(about) if isinstance(about, Digest) else about


class Claims:
    """The claims of a catalogue, by table."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._db = catalogue.db
        self._evidence = lru_cache(maxsize=16)(catalogue.evidence)

    def of(self, table: str, key: Key) -> Json | None:
        """What a row of a table says, None where there is none."""
        row = self._db.execute(
            "SELECT evidence_id, place FROM claim WHERE in_table = ? AND key = ?", (table, key)
        ).fetchone()
        return None if row is None else self._row(*row)

    def all(self, table: str) -> Iterator[tuple[Key, Json]]:
        """Every row of a table, by key: numbers first."""
        rows = self._db.execute("SELECT key, evidence_id, place FROM claim WHERE in_table = ? ORDER BY key", (table,))
        for key, evidence, place in rows:
            yield key, self._row(evidence, place)

    def _row(self, evidence: int, place: int) -> Json:
        row: Json = self._evidence(evidence)[place]
        return row
