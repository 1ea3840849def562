"""How JSON bodies are kept in the catalogue: digests as references to its rows, all of it as zstd with a dictionary."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from kictl import canonical
from kictl.errors import CatalogueError

LEVEL: Final = 3
MAX_BODY: Final = 64 * 2**20
REMEMBERED: Final = 50_000

# A digest does not compress; the row that has it as its own is a few bytes. A text that has the mark of a reference
# already is kept as it is, uncompressed: it begins as JSON does, and compressed ones do not.
_DIGEST = re.compile(rb'"sha256:([0-9a-f]{64})"')
_REFERENCE = re.compile(rb'"sha256:#([0-9]+)"')
_MARK = b'"sha256:#'
_JSON = (b"{", b"[")


class Codec:
    """Packs and restores JSON values, objects and lists, of the catalogue behind `db`.

    `dictionary` is what zstd was trained to: texts as `referring` makes them.
    """

    def __init__(self, dictionary: bytes, db: sqlite3.Connection) -> None:
        import zstandard

        shared = zstandard.ZstdCompressionDict(dictionary)
        self._compressor = zstandard.ZstdCompressor(
            level=LEVEL, dict_data=shared, write_checksum=False, write_dict_id=False
        )
        self._decompressor = zstandard.ZstdDecompressor(dict_data=shared)
        self._db = db
        self._ids: dict[bytes, int] = {}
        self._digest = lru_cache(REMEMBERED)(self._digest_of)

    def forget(self) -> None:
        """What was learnt of rows that have been rolled back must not be referred to."""
        self._ids.clear()
        self._digest.cache_clear()

    def learn(self, ids: dict[bytes, int]) -> None:
        """Tells the rows of manifests that are written in this transaction, by their raw digests."""
        if len(self._ids) > REMEMBERED:
            self._ids.clear()
        self._ids |= ids

    def pack(self, value: Any) -> bytes:
        text = canonical.to_json(value, sort=True)
        return text if _MARK in text else self._compressor.compress(referring(text, self._id_of))

    def unpack(self, body: bytes) -> Any:
        """The value. Raises CatalogueError for a reference to a row that is not there."""
        text = body
        if not body.startswith(_JSON):
            text = self._decompressor.decompress(body, max_output_size=MAX_BODY)
            if _MARK in text:
                text = _REFERENCE.sub(lambda match: self._digest(int(match[1])), text)
        return canonical.read(text, max_bytes=MAX_BODY)

    def _id_of(self, digest: bytes) -> int | None:
        known = self._ids.get(digest)
        if known is None:
            row = self._db.execute("SELECT id FROM manifest WHERE digest = ?", (digest,)).fetchone()
            if row is not None:
                known = self._ids[digest] = row[0]
        return known

    def _digest_of(self, manifest_id: int) -> bytes:
        row = self._db.execute("SELECT digest FROM manifest WHERE id = ?", (manifest_id,)).fetchone()
        if row is None:
            raise CatalogueError(f"the catalogue lacks its manifest {manifest_id}", code="damaged_catalogue")
        return f'"sha256:{row[0].hex()}"'.encode()


def referring(text: bytes, id_of: Callable[[bytes], int | None]) -> bytes:
    """The text with the number of its row in place of each digest that `id_of` finds by its raw bytes."""
    if b'"sha256:' not in text:
        return text

    def replaced(match: re.Match[bytes]) -> bytes:
        number = id_of(bytes.fromhex(match[1].decode()))
        return match[0] if number is None else b'"sha256:#%d"' % number

    return _DIGEST.sub(replaced, text)
