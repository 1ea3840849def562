"""Reading of bytes that may be compressed, known by how they begin, with a limit on what they may expand to."""

from __future__ import annotations

import io
from typing import IO, Final, Protocol

from kictl.strictjson import ParseError

FREE: Final = 512 << 20
"""What anything may expand to, in bytes; more only where it is at most RATIO times what was read."""
RATIO: Final = 300
# What the zstd tool itself decodes without being asked for more.
_MAX_WINDOW: Final = 1 << 27
_PIECE: Final = 1 << 18
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class Readable(Protocol):
    """What gives bytes in pieces."""

    def read(self, size: int, /) -> bytes: ...


class Expanded:
    """The plain bytes of a file. Reading raises ParseError where a compressed one is broken or expands to too much."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._start = file.read(len(_ZSTD))
        self._taken = len(self._start)
        self._size = 0
        self._plain: Readable | None = None
        if self._start.startswith(_GZIP):
            import gzip

            self._plain = gzip.GzipFile(fileobj=io.BufferedReader(_Raw(self)))
        elif self._start == _ZSTD:
            from zstandard import ZstdDecompressor

            decompressor = ZstdDecompressor(max_window_size=_MAX_WINDOW)
            self._plain = decompressor.stream_reader(io.BufferedReader(_Raw(self)), read_across_frames=True)

    def read(self, size: int) -> bytes:
        """`size` bytes, fewer only at the end."""
        parts = []
        while size > 0 and (part := self._part(min(size, _PIECE))):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _part(self, size: int) -> bytes:
        if self._plain is None:
            return self.read_file(size)
        try:
            part = self._plain.read(size)
        except Exception as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise ParseError("parse/compression", f"the compressed data is broken: {error}") from error
        self._size += len(part)
        if self._size > FREE + RATIO * self._taken:
            raise ParseError("parse/expansion", f"expands to more than {FREE} bytes and {RATIO} times its size")
        return part

    def read_file(self, size: int) -> bytes:
        """Bytes of the file itself."""
        if self._start:
            part, self._start = self._start[:size], self._start[size:]
            return part
        part = self._file.read(size)
        self._taken += len(part)
        return part


class _Raw(io.RawIOBase):
    """The file's own bytes, for a decompressor."""

    def __init__(self, expanded: Expanded) -> None:
        self._expanded = expanded

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part = self._expanded.read_file(len(buffer))
        buffer[: len(part)] = part
        return len(part)
