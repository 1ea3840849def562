"""What is remembered of each document for the rules about many: small records, on disk beyond a few megabytes."""

from __future__ import annotations

import marshal
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any, Final

PARTS: Final = 64
HELD: Final = 8192
"""The most records in memory before they are written out."""

Record = tuple[Any, ...]


class Facts:
    """Records by part: the same key leads to the same part, so that each part can be judged alone."""

    def __init__(self) -> None:
        self.parts: list[list[Record]] = [[] for _ in range(PARTS)]
        self._held = 0
        self._file: IO[bytes] | None = None
        self._blocks: list[list[tuple[int, int]]] = [[] for _ in range(PARTS)]

    def add(self, part: int, record: Record) -> None:
        self.parts[part].append(record)
        self._held += 1

    def absorb(self, parts: Iterable[list[Record]]) -> None:
        """Takes over the records that another one held."""
        for own, other in zip(self.parts, parts, strict=True):
            own += other
            self._held += len(other)

    def settle(self) -> None:
        """Writes out what is held, where it is much."""
        if self._held < HELD:
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        for part, records in enumerate(self.parts):
            if records:
                data = marshal.dumps(records)
                self._blocks[part].append((self._file.tell(), len(data)))
                self._file.write(data)
                records.clear()
        self._held = 0

    def by_part(self) -> Iterator[list[Record]]:
        """All records of each part, in the order of their adding."""
        for records, blocks in zip(self.parts, self._blocks, strict=True):
            found: list[Record] = []
            for start, size in blocks:
                assert self._file is not None  # noqa: S101
                self._file.seek(start)
                found += marshal.loads(self._file.read(size))  # noqa: S302 - written above
            yield found + records
