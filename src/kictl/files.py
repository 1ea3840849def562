"""Reading the files that a user names, `-` being stdin."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from kictl.canonical import MAX_BYTES
from kictl.errors import InputError


def read_bytes(name: str, stdin: IO[bytes], *, limit: int = MAX_BYTES) -> bytes:
    """The bytes of one file, at most one more than `limit`. Raises InputError, naming the file."""
    if name == "-":
        return stdin.read(limit + 1)
    try:
        with Path(name).open("rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or error}", code="unreadable") from error
