"""Storing manifests by digest, many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from kictl.canonical import Digest
from kictl.catalogue.store import PREFIX, PREFIX_BYTES, Catalogue, Connection
from kictl.model import Json, Manifest

T = TypeVar("T")

CHUNK = 100
ANY_OF = f"IN ({', '.join('?' * CHUNK)})"
"""A condition on up to CHUNK values. It has one length, for SQLite keeps each statement that differs."""
REMEMBERED = 1_000
"""Manifests of which the writer knows that they are stored as they are."""
IDS = 10_000
"""Rows of manifests that the writer remembers by digest."""


class ManifestWriter:
    """Puts manifests into a catalogue, in one transaction after another. Of two editorial parts under one identity the
    first stays; `other_editions` are the identities of which there were others."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._codec = catalogue.codec
        self._kinds: dict[str, int] = dict(catalogue.db.execute("SELECT name, id FROM kind"))
        self._ids: dict[Digest, int] = {}
        self._settled: dict[Digest, Json] = {}
        self.other_editions: list[Digest] = []

    def forget(self) -> None:
        """What was remembered of a transaction that has been rolled back does not hold."""
        self._ids.clear()
        self._settled.clear()

    def put(self, db: Connection, manifests: Iterable[Manifest]) -> None:
        """Stores the manifests that are new."""
        wanted: dict[Digest, Json] = {}
        for digest, document in manifests:
            if self._settled.get(digest) is not document:
                wanted.setdefault(digest, document)
        if not wanted:
            return
        if len(self._settled) > REMEMBERED:
            self._settled.clear()
        if len(self._ids) > IDS:
            self._ids.clear()
        known = self._known(db, wanted)
        new = {digest: document for digest, document in wanted.items() if digest not in known}
        first = next_id(db, "manifest")
        self._ids.update(zip(new, range(first, first + len(new)), strict=True))
        self._codec.learn({digest: self._ids[digest] for digest in new})
        ids, kinds, pack = self._ids, self._kinds, self._codec.pack
        db.executemany(
            "INSERT INTO manifest (id, digest, kind_id, body) VALUES (?, ?, ?, ?)",
            ((ids[digest], digest.raw, kinds[document["kind"]], pack(document)) for digest, document in new.items()),
        )
        self._settled.update(wanted)

    def id_of(self, digest: Digest) -> int:
        """The row of a manifest that is stored. KeyError where it is not."""
        found = self._ids.get(digest)
        if found is None:
            found = self._catalogue.id_of(digest.raw)
            if found is None:
                raise KeyError(digest)
            self._ids[digest] = found
        return found

    def _known(self, db: Connection, wanted: dict[Digest, Json]) -> set[Digest]:
        """Those of the wanted manifests that are stored already."""
        known = set()
        for digests in chunks(wanted, CHUNK):
            found = db.execute(
                f"SELECT digest, id, body FROM manifest WHERE {PREFIX} {ANY_OF}",
                filled([digest.raw[:PREFIX_BYTES] for digest in digests]),
            )
            for raw, manifest_id, body in found.fetchall():
                digest = Digest.from_raw(raw)
                if digest in wanted:
                    known.add(digest)
                    self._ids[digest] = manifest_id
                    document = wanted[digest]
                    if self._codec.pack(document) != body and self._codec.unpack(body) != document:
                        self.other_editions.append(digest)
        return known


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
