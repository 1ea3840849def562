"""Reading of bytes that may be compressed, known by how they begin, with a limit on what they may expand to."""

from __future__ import annotations

import io
import re
from typing import IO, Any, Final, Protocol

from kictl.strictjson import ParseError

FREE: Final = 256 << 20
"""What anything may expand to, in bytes; more only where it is at most RATIO times what was read."""
RATIO: Final = 300
# What the zstd tool itself decodes without being asked for more.
_MAX_WINDOW: Final = 1 << 27
# A few hundred bytes can expand to megabytes in one step.
_STEP: Final = 512
_PIECE: Final = 1 << 18
_GZIP = b"\x1f\x8b"
_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")  # a frame, or one that is to be skipped
_OTHERS = {b"\xfd7zX": "xz", b"BZh": "bzip2", b"PK\x03\x04": "zip"}
_MAGIC: Final = 4


class Readable(Protocol):
    """What gives bytes in pieces."""

    def read(self, size: int, /) -> bytes: ...


class Expanded:
    """The plain bytes of a file. Reading raises ParseError where a compressed one is broken or expands to too much."""

    def __init__(self, file: IO[bytes]) -> None:
        self._packed = _Packed(file)
        self._plain = _decompressor(self._packed)
        self._size = 0

    def read(self, size: int) -> bytes:
        """`size` bytes, fewer only at the end."""
        parts = []
        while size > 0 and (part := self._part(min(size, _PIECE))):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _part(self, size: int) -> bytes:
        if self._plain is None:
            return self._packed.take(size)
        try:
            part = self._plain.read(size)
        except ParseError:
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            if "requires too much memory" in str(error):
                message = f"the compressed data needs a window of more than {_MAX_WINDOW} bytes, which is the limit"
                raise ParseError("parse/expansion", message) from error
            raise ParseError("parse/compression", f"the compressed data is broken: {error}") from error
        self._size += len(part)
        if self._size > FREE + RATIO * self._packed.taken:
            raise ParseError("parse/expansion", f"expands to more than {FREE} bytes and {RATIO} times its size")
        return part


class _Packed(io.RawIOBase):
    """The file's own bytes, counted; `start` is looked at beforehand."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.start = file.read(_MAGIC)
        self._waiting = self.start
        self.taken = len(self.start)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part = self.take(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def take(self, size: int) -> bytes:
        if self._waiting:
            part, self._waiting = self._waiting[:size], self._waiting[size:]
            return part
        part = self._file.read(size)
        self.taken += len(part)
        return part


def _decompressor(packed: _Packed) -> Readable | None:
    """What expands the bytes, None where they are plain."""
    if packed.start.startswith(_GZIP):
        import gzip

        return gzip.GzipFile(fileobj=io.BufferedReader(packed))
    for start, name in _OTHERS.items():
        if packed.start.startswith(start):
            return _Unread(name)
    return _Zstd(packed) if _ZSTD.fullmatch(packed.start) else None


class _Unread:
    """A compression that is known by its beginning, and not read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read(self, _size: int, /) -> bytes:
        raise ParseError("parse/compression", f"compressed with {self._name}, which is not read: gzip and zstd are")


class _Zstd:
    """Frame after frame. The library's own reader takes a frame that is cut short for a whole one."""

    def __init__(self, packed: _Packed) -> None:
        from zstandard import ZstdDecompressor

        self._packed = packed
        self._decompressor = ZstdDecompressor(max_window_size=_MAX_WINDOW)
        self._frame: Any = None
        self._rest = b""
        self._ready = io.BytesIO()

    def read(self, size: int, /) -> bytes:
        while not (part := self._ready.read(size)):
            piece = self._rest or self._packed.take(_STEP)
            if not piece:
                if self._frame is not None:
                    raise EOFError("it ends too early")
                return b""
            if self._frame is None:
                self._frame = self._decompressor.decompressobj()
            self._ready = io.BytesIO(self._frame.decompress(piece))
            self._rest = b""
            if self._frame.eof:
                self._rest = self._frame.unused_data
                self._frame = None
        return part
