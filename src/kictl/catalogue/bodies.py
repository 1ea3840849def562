"""How JSON bodies are kept in the catalogue: digests as references to its rows, all of it as zstd with a dictionary."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from kictl import canonical
from kictl.canonical import Digest, ParseError
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
    """Packs and restores JSON values, objects and lists.

    `id_of` finds the row of a manifest by its raw digest, `digest_of` the raw digest by the row. `dictionary` is what
    zstd was trained to: texts as `referring` makes them.
    """

    def __init__(
        self, dictionary: bytes, id_of: Callable[[bytes], int | None], digest_of: Callable[[int], bytes]
    ) -> None:
        import zstandard

        shared = zstandard.ZstdCompressionDict(dictionary)
        self._compressor = zstandard.ZstdCompressor(
            level=LEVEL, dict_data=shared, write_checksum=False, write_dict_id=False
        )
        self._decompressor = zstandard.ZstdDecompressor(dict_data=shared)
        self._broken = zstandard.ZstdError
        self._references: dict[bytes, bytes] = {}
        self.id_of = id_of
        self._digest_of = lru_cache(REMEMBERED)(digest_of)

    def forget(self) -> None:
        """What was learnt of rows that have been rolled back must not be referred to."""
        self._references.clear()
        self._digest_of.cache_clear()

    def learn(self, ids: Mapping[Digest, int]) -> None:
        """Tells the rows of manifests that are written in this transaction."""
        if len(self._references) > REMEMBERED:
            self._references.clear()
        self._references.update((digest[7:].encode(), _reference(number)) for digest, number in ids.items())

    def pack(self, value: Any) -> bytes:
        return self.pack_text(canonical.to_json(value, sort=True))

    def pack_text(self, text: bytes) -> bytes:
        """As `pack`, of a value that has been written as JSON with sorted members."""
        return text if _MARK in text else self._compressor.compress(_DIGEST.sub(self._referred, text))

    def unpack(self, body: bytes) -> Any:
        """The value. Raises CatalogueError for a damaged body, or as `digest_of` does."""
        text = body
        try:
            if not body.startswith(_JSON):
                text = self._decompressor.decompress(body, max_output_size=MAX_BODY)
                if _MARK in text:
                    text = _REFERENCE.sub(self._restored, text)
            return canonical.read(text, max_bytes=MAX_BODY)
        except (self._broken, ParseError) as error:
            raise CatalogueError(f"a stored body is damaged: {error}", code="damaged_catalogue") from error

    def _referred(self, match: re.Match[bytes]) -> bytes:
        """What stands for a digest: the reference to its row, itself where it has none."""
        digits = match[1]
        known = self._references.get(digits)
        if known is None:
            number = self.id_of(bytes.fromhex(digits.decode()))
            if number is None:
                return match[0]
            known = self._references[digits] = _reference(number)
        return known

    def _restored(self, match: re.Match[bytes]) -> bytes:
        return f'"sha256:{self._digest_of(int(match[1])).hex()}"'.encode()


def trained(texts: Iterable[bytes], size: int) -> bytes:
    """A dictionary for texts like these."""
    import zstandard

    return zstandard.train_dictionary(size, [*texts]).as_bytes()


def referring(text: bytes, numbers: Iterator[int]) -> bytes:
    """The text with references to the next of the numbers in place of its digests."""
    return _DIGEST.sub(lambda _: _reference(next(numbers)), text)


def _reference(number: int) -> bytes:
    return b'"sha256:#%d"' % number
