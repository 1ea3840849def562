"""The records of all documents: in memory a few thousand, on disk the others, so that memory does not grow."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator
from typing import IO, Any, Final

PARTS: Final = 64
HELD: Final = 4096
"""The most records in memory."""

Record = tuple[Any, ...]
"""Plain values only, which can be written as they are."""
Parts = list[list[Record]]


def new_parts() -> Parts:
    """Room for records: one goes to the part whose number is any number that its key alone decides, modulo PARTS."""
    return [[] for _ in range(PARTS)]


class Facts:
    """Records by part: the same key leads to the same part, so that each part can be judged alone."""

    def __init__(self) -> None:
        self._parts = new_parts()
        self._held = 0
        self._file: IO[bytes] | None = None
        self._blocks: list[list[tuple[int, int]]] = [[] for _ in range(PARTS)]

    def absorb(self, parts: Parts) -> None:
        """Adds records, which come after those that were added before."""
        for own, other in zip(self._parts, parts, strict=True):
            own += other
            self._held += len(other)
        if self._held >= HELD:
            self._write_out()

    def by_part(self) -> Iterator[list[Record]]:
        """All records of each part, in the order of their adding."""
        for held, blocks in zip(self._parts, self._blocks, strict=True):
            yield [*self._read_back(blocks), *held]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write_out(self) -> None:
        if self._file is None:
            import tempfile

            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        for held, blocks in zip(self._parts, self._blocks, strict=True):
            if held:
                data = marshal.dumps(held)
                blocks.append((self._file.tell(), len(data)))
                self._file.write(data)
                held.clear()
        self._held = 0

    def _read_back(self, blocks: Iterable[tuple[int, int]]) -> Iterator[Record]:
        for start, size in blocks:
            assert self._file is not None  # noqa: S101 - there are blocks
            self._file.seek(start)
            yield from marshal.loads(self._file.read(size))  # noqa: S302 - written above
