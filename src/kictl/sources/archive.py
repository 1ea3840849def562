"""A snapshot folder as one `.tar.zst` file, and back."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path
from typing import IO, Final

import zstandard

from kictl.errors import InputError
from kictl.sources.recording import SAFE_FILE

MAX_MEMBERS: Final = 200_000
MAX_BYTES: Final = 2 << 30
MAX_MEMBER: Final = 64 << 20
MAX_PADDING: Final = 16
"""MiB after the last member; tar programs fill up to a block of theirs."""
# What the zstd tool itself decodes without being asked for more.
MAX_WINDOW: Final = 1 << 27

_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE)
# Extended headers carry times and names of other tar programs; ours fit the plain header.
_SKIPPED = (tarfile.DIRTYPE, tarfile.XHDTYPE, tarfile.XGLTYPE)


def pack(folder: Path, target: Path) -> None:
    """Write the files of `folder`, less hidden ones: the same files give the same bytes. Raises OSError."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))
    with open(target, "wb") as stream:
        compressor = zstandard.ZstdCompressor(level=10, write_checksum=True)
        with (
            compressor.stream_writer(stream, closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.USTAR_FORMAT) as tar,
        ):
            for path in files:
                member = tarfile.TarInfo(path.relative_to(folder).as_posix())
                member.size = path.stat().st_size
                with path.open("rb") as body:
                    tar.addfile(member, body)
        stream.flush()
        os.fsync(stream.fileno())


def unpack(archive: Path, folder: Path) -> None:
    """Write the regular files of an archive below `folder`.

    Raises InputError for links, devices, names that lead elsewhere, and more than the limits above.
    The headers are read one by one: tarfile's own reader would hold an extended header of any size in memory.
    """
    try:
        with archive.open("rb") as stream:
            reader = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(
                stream, read_across_frames=True
            )
            _unpack(reader, folder)
    except (zstandard.ZstdError, tarfile.HeaderError) as error:
        raise InputError(f"{archive}: not a whole .tar.zst file: {error}") from error
    except OSError as error:
        raise InputError(f"{archive}: cannot be unpacked: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{archive}: {error}") from error


def _unpack(stream: io.RawIOBase | IO[bytes], folder: Path) -> None:
    total = 0
    for _ in range(MAX_MEMBERS):
        header = _exactly(stream, tarfile.BLOCKSIZE)
        if header == bytes(tarfile.BLOCKSIZE):
            return _end(stream)
        member = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
        padded = -(-member.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
        total += padded
        if not 0 <= member.size <= MAX_MEMBER or total > MAX_BYTES:
            raise ValueError("unpacks to more than is allowed")
        data = _exactly(stream, padded)[: member.size]
        if member.type in _REGULAR:
            _write(folder, member.name, data)
        elif member.type not in _SKIPPED:
            raise ValueError(f"holds something other than files: {member.name[:80]!a}")
    raise ValueError(f"holds more than {MAX_MEMBERS} members")


def _end(stream: io.RawIOBase | IO[bytes]) -> None:
    """Nothing but padding may follow the members; reading it checks what the compression adds up to."""
    for _ in range(MAX_PADDING):
        piece = stream.read(1 << 20)
        if not piece:
            return
        if piece.strip(b"\0"):
            break
    raise ValueError("holds something after its end")


def _write(folder: Path, name: str, data: bytes) -> None:
    name = name.removeprefix("./")
    if not SAFE_FILE.fullmatch(name):
        raise ValueError(f"holds a name that no snapshot has: {name[:80]!a}")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError as error:
        raise ValueError(f"holds {name} twice") from error


def _exactly(stream: io.RawIOBase | IO[bytes], size: int) -> bytes:
    pieces = []
    while size > 0:
        piece = stream.read(min(size, 1 << 20))
        if not piece:
            raise ValueError("ends too early")
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
