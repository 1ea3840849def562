"""Checking a long stream in several processes; what comes out, and its order, is the same as in one."""

from __future__ import annotations

import marshal
import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

from kictl.documents import Document, Lines
from kictl.verify.checker import Checker
from kictl.verify.facts import Parts
from kictl.verify.report import Tally

SMALL: Final = 3
"""Batches that are checked before other processes are started: a short input does not repay them."""

_WIDTH: Final = 1 << 20

Result = tuple[Tally, Parts]


def outcomes(
    batches: Iterable[Document | Lines], checker: Callable[[], Checker], jobs: int
) -> Generator[Result, None, None]:
    """What each batch came to, in order. `jobs` processes share blocks of lines; everything else is checked here."""
    own = checker()
    workers: list[_Worker] = []
    turn = 0
    sent: deque[_Worker] = deque()
    """The workers that have yet to tell of a block, in the order of the blocks."""
    try:
        for number, batch in enumerate(batches):
            if jobs == 1 or number < SMALL or isinstance(batch, Document) or batch.error is not None:
                yield from _all(sent)
                own.check(batch)
                yield own.take()
                continue
            if turn == len(workers):
                workers.append(_Worker(checker, workers))
            workers[turn].send(batch)
            sent.append(workers[turn])
            turn = (turn + 1) % jobs
            if len(sent) > jobs:  # the first of them is the one that has just got its next block
                yield sent.popleft().receive()
        yield from _all(sent)
    finally:
        for worker in workers:
            worker.end()


def _all(sent: deque[_Worker]) -> Iterator[Result]:
    """What these have yet to tell."""
    for worker in sent:
        worker.send(None)
    while sent:
        yield sent.popleft().receive()


class _Worker:
    """A child process that checks one block after another. It has its own checker, and nothing but pipes to here.

    It tells of a block when it has the next one, or none, so that it need not wait for that.
    """

    def __init__(self, checker: Callable[[], Checker], others: Iterable[_Worker]) -> None:
        receiving, self._to = _wide_pipe()
        self._from, sending = _wide_pipe()
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

    def send(self, block: Lines | None) -> None:
        with self._alive():
            _write(self._input, block and (block.subject, block.first, block.data))

    def receive(self) -> Result:
        """What the block before the last came to, or the last where nothing was sent after it."""
        with self._alive():
            tally, parts = _read(self._output)
        return Tally.from_plain(tally), parts

    @contextmanager
    def _alive(self) -> Iterator[None]:
        try:
            yield
        except (BrokenPipeError, EOFError) as error:
            raise RuntimeError("a process that was checking has ended") from error

    def end(self) -> None:
        """Closes the pipes, which ends the process, and waits for that."""
        self._input.close()
        self._output.close()
        os.waitpid(self._pid, 0)


def _wide_pipe() -> tuple[int, int]:
    """A pipe that holds whole blocks, where the system has such: each pause for more room is a change of processes."""
    pipe = os.pipe()
    try:
        from fcntl import F_SETPIPE_SZ, fcntl

        fcntl(pipe[1], F_SETPIPE_SZ, _WIDTH)
    except (ImportError, OSError):
        pass
    return pipe


def _work(checker: Callable[[], Checker], receiving: int, sending: int) -> None:
    """The life of a child. It never returns: what its parent has open and was about to do is not its own."""
    code = 1
    try:
        with os.fdopen(receiving, "rb") as source, os.fdopen(sending, "wb") as target:
            own = checker()
            done: tuple[Any, Parts] | None = None
            while True:
                block = _read(source)
                if done is not None:
                    _write(target, done)
                    target.flush()
                    done = None
                if block is not None:
                    own.check(Lines(*block))
                    tally, parts = own.take()
                    done = tally.plain(), parts
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
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
    """The next value. Raises EOFError at the end."""
    size = stream.read(8)
    if len(size) < 8:
        raise EOFError
    data = stream.read(int.from_bytes(size, "little"))
    return marshal.loads(data)  # noqa: S302 - from our own process
