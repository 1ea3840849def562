"""How JSON bodies are kept in the catalogue: zstd against a dictionary that the catalogue itself holds."""

from __future__ import annotations

from typing import Any

from kictl import canonical

LEVEL = 3
MAX_BODY = 64 * 2**20


class Codec:
    """Compresses and restores JSON values. `dictionary` is plain content that bodies of the catalogue resemble."""

    def __init__(self, dictionary: bytes) -> None:
        import zstandard

        shared = zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        self._compressor = zstandard.ZstdCompressor(
            level=LEVEL, dict_data=shared, write_checksum=False, write_dict_id=False
        )
        self._decompressor = zstandard.ZstdDecompressor(dict_data=shared)

    def pack(self, value: Any) -> bytes:
        return self._compressor.compress(canonical.to_json(value, sort=True))

    def unpack(self, body: bytes) -> Any:
        return canonical.read(self._decompressor.decompress(body, max_output_size=MAX_BODY), max_bytes=MAX_BODY)
