"""Storing manifests by digest, many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from kictl import canonical
from kictl.canonical import Digest
from kictl.catalogue.store import PREFIX, PREFIX_BYTES, Catalogue, Connection
from kictl.model import Json, Manifest

T = TypeVar("T")

CHUNK = 100
ANY_OF = f"IN ({', '.join('?' * CHUNK)})"
"""A condition on up to CHUNK values. It has one length, for SQLite keeps each statement that differs."""
REMEMBERED = 5000


class ManifestWriter:
    """Puts manifests into a catalogue; those that many runs share are remembered for as long as it lives."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._codec = catalogue.codec
        self._kinds: dict[str, int] = dict(catalogue.db.execute("SELECT name, id FROM kind"))
        self._settled: dict[Digest, tuple[int, Json]] = {}

    def put(self, db: Connection, manifests: Iterable[Manifest]) -> dict[Digest, int]:
        """The ids of manifests, stored where they are new.

        Of two editorial parts under one identity the smaller is kept, so that an export does not depend on which came
        first.
        """
        ids: dict[Digest, int] = {}
        wanted: dict[Digest, Json] = {}
        for manifest in manifests:
            digest, document = manifest.digest, manifest.document
            settled = self._settled.get(digest)
            if settled is not None and settled[1] is document:
                ids[digest] = settled[0]
            elif wanted.setdefault(digest, document) is not document and _editorial(document) < _editorial(
                wanted[digest]
            ):
                wanted[digest] = document
        ids |= self._put(db, wanted)
        return ids

    def remember(self, manifest: Manifest, manifest_id: int) -> None:
        """Spares later calls with the same object the way to the database."""
        if len(self._settled) >= REMEMBERED:
            self._settled.clear()
        self._settled[manifest.digest] = manifest_id, manifest.document

    def _put(self, db: Connection, wanted: dict[Digest, Json]) -> dict[Digest, int]:
        ids: dict[Digest, int] = {}
        for digests in chunks(wanted, CHUNK):
            found = db.execute(
                f"SELECT digest, id, body FROM manifest WHERE {PREFIX} {ANY_OF}",
                filled([digest.raw[:PREFIX_BYTES] for digest in digests]),
            ).fetchall()
            for raw, manifest_id, body in found:
                digest = Digest.from_raw(raw)
                if digest in wanted:
                    ids[digest] = manifest_id
                    self._improve(db, manifest_id, body, wanted[digest])
        new = [digest for digest in wanted if digest not in ids]
        first = next_id(db, "manifest")
        ids.update(zip(new, range(first, first + len(new)), strict=True))
        self._codec.learn({digest: ids[digest] for digest in new})
        pack = self._codec.pack
        db.executemany(
            "INSERT INTO manifest (id, digest, kind_id, body) VALUES (?, ?, ?, ?)",
            ((ids[digest], digest.raw, self._kinds[wanted[digest]["kind"]], pack(wanted[digest])) for digest in new),
        )
        return ids

    def _improve(self, db: Connection, manifest_id: int, body: bytes, document: Json) -> None:
        packed = self._codec.pack(document)
        if packed != body and _editorial(document) < _editorial(self._codec.unpack(body)):
            db.execute("UPDATE manifest SET body = ? WHERE id = ?", (packed, manifest_id))


def next_id(db: Connection, table: str) -> int:
    """The lowest id that is free for good: rows are only ever added, and by the one transaction that writes."""
    return int(db.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {table}").fetchone()[0])


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """The items in lists of at most `size`."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def filled(values: Sequence[object]) -> list[object]:
    """The values for ANY_OF."""
    return [*values, *(None,) * (CHUNK - len(values))]


def marks(values: Sequence[object]) -> str:
    """One question mark for each value."""
    return ", ".join("?" * len(values))


def _editorial(document: Json) -> bytes:
    return canonical.canonical_bytes(document["metadata"])
