"""Checking a long stream in several processes; what comes out, and its order, is the same as in one."""

from __future__ import annotations

import marshal
import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import IO, Any, Final

from kictl.documents import Document, Lines
from kictl.verify.checker import Checker
from kictl.verify.facts import Parts
from kictl.verify.report import Tally

SMALL: Final = 8
"""Batches that are checked before other processes are started: a short input does not repay them."""

Result = tuple[Tally, Parts]


def outcomes(
    batches: Iterable[Document | Lines], checker: Callable[[], Checker], jobs: int
) -> Generator[Result, None, None]:
    """What each batch came to, in order. `jobs` processes share blocks of lines; everything else is checked here."""
    own = checker()
    idle: deque[_Worker] = deque()
    busy: deque[_Worker] = deque()
    try:
        for number, batch in enumerate(batches):
            if jobs == 1 or number < SMALL or isinstance(batch, Document) or batch.error is not None:
                while busy:
                    yield busy[0].receive()
                    idle.append(busy.popleft())
                own.check(batch)
                yield own.take()
                continue
            if len(busy) == jobs:
                yield busy[0].receive()
                idle.append(busy.popleft())
            worker = idle.popleft() if idle else _Worker(checker, [*busy])
            worker.send(batch)
            busy.append(worker)
        for worker in busy:
            yield worker.receive()
    finally:
        for worker in (*idle, *busy):
            worker.end()


class _Worker:
    """A child process that checks one block after another. It has its own checker, and nothing but pipes to here."""

    def __init__(self, checker: Callable[[], Checker], others: Iterable[_Worker]) -> None:
        receiving, self._to = os.pipe()
        self._from, sending = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            # An end of another's pipe that is open here would keep that one waiting for ever.
            for end in (self._to, self._from, *(end for other in others for end in (other._to, other._from))):
                os.close(end)
            _work(checker, receiving, sending)
        os.close(receiving)
        os.close(sending)
        self._input = os.fdopen(self._to, "wb", buffering=0)
        self._output = os.fdopen(self._from, "rb")

    def send(self, block: Lines) -> None:
        _write(self._input, (block.subject, block.first, block.data))

    def receive(self) -> Result:
        plain = _read(self._output)
        if plain is None:
            raise RuntimeError("a process that was checking has ended")
        tally, parts = plain
        return Tally.from_plain(tally), parts

    def end(self) -> None:
        """Closes the pipes, which ends the process, and waits for that."""
        self._input.close()
        self._output.close()
        os.waitpid(self._pid, 0)


def _work(checker: Callable[[], Checker], receiving: int, sending: int) -> None:
    """The life of a child. It never returns: what its parent has open and was about to do is not its own."""
    code = 1
    try:
        with os.fdopen(receiving, "rb") as source, os.fdopen(sending, "wb") as target:
            own = checker()
            while (block := _read(source)) is not None:
                own.check(Lines(*block))
                tally, parts = own.take()
                _write(target, (tally.plain(), parts))
                target.flush()
        code = 0
    except (BrokenPipeError, KeyboardInterrupt):
        code = 0
    except BaseException:  # noqa: BLE001 - told here, and to the parent by the end of the pipe
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _write(stream: IO[bytes] | Any, value: Any) -> None:
    data = marshal.dumps(value)
    stream.write(len(data).to_bytes(8, "little"))
    view = memoryview(data)
    while view:
        view = view[stream.write(view) :]


def _read(stream: IO[bytes]) -> Any:
    """The next value, None at the end."""
    size = stream.read(8)
    if len(size) < 8:
        return None
    data = stream.read(int.from_bytes(size, "little"))
    return marshal.loads(data)  # noqa: S302 - from our own process
