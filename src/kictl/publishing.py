"""Writing what must be there whole or not at all: one file, or a folder of many."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from kictl.errors import InputError, UsageError

INDEX: Final = ".kictl-files"
"""The file that marks a folder as ours: a line `sha256  path` for everything else in it, as sha256sum checks them."""


@contextmanager
def file(target: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the target's place at the end: of a link, the place that it leads to.

    A pipe or a device stays what it is, and is written to. Raises InputError (code `write`).
    """
    with _told(target):
        is_stream = target.exists() and not (target.is_file() or target.is_dir())
    if is_stream:
        with _told(target), target.open("wb") as stream:
            yield stream
        return
    target = Path(os.path.realpath(target))
    partial = _beside(target, "partial")
    try:
        with _told(target):
            if target.is_dir():
                raise UsageError(f"{target} is a folder")
            for left in _left_behind(target, "partial"):
                if left.is_file():
                    left.unlink()
            stream = partial.open("xb")
        with stream:
            yield stream
            with _told(target):
                stream.flush()
                os.fsync(stream.fileno())
        with _told(target):
            partial.replace(target)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


class Folder:
    """A folder that is built beside `target` and takes its place at the end: leave it by an exception and nothing
    has happened. What a killed process left there is removed first.

    Raises UsageError where the target holds anything that was not written by this class, and InputError (code
    `write`) where it cannot be written.
    """

    def __init__(self, target: Path) -> None:
        self.target = target.resolve()
        if not self.target.name:
            raise UsageError(f"{target} is the root of the file system", code="taken")
        self.size = 0
        self._lines: dict[str, str] = {}
        self._partial = _beside(self.target, "partial")

    def __enter__(self) -> Folder:
        with _told(self.target):
            _refuse_foreign(self.target)
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self._clear()
            self._partial.mkdir()
        return self

    @property
    def count(self) -> int:
        """The files added so far."""
        return len(self._lines)

    def add(self, path: str, data: bytes) -> None:
        """Writes one file, with its folders. ValueError for a path that was added before."""
        if path in self._lines:
            raise ValueError(f"{path} is written twice")
        self.size += len(data)
        self._lines[path] = hashlib.sha256(data).hexdigest()
        with _told(self.target):
            place = self._partial / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._publish()
        finally:
            shutil.rmtree(self._partial, ignore_errors=True)

    def _publish(self) -> None:
        lines = "".join(f"{digest}  {path}\n" for path, digest in sorted(self._lines.items()))
        old = _beside(self.target, "old")
        with _told(self.target):
            (self._partial / INDEX).write_text(lines, "utf-8")
            _refuse_foreign(self.target)
            if not self.target.exists():
                self._partial.rename(self.target)
                return
            self.target.rename(old)
            try:
                self._partial.rename(self.target)
            except OSError:
                old.rename(self.target)
                raise
        shutil.rmtree(old, ignore_errors=True)

    def _clear(self) -> None:
        """Puts back the report that a killed run had moved away, and removes what it left unfinished."""
        for old in _left_behind(self.target, "old"):
            if old.is_dir() and not self.target.exists():
                old.rename(self.target)
        for what in ("old", "partial"):
            for left in filter(Path.is_dir, _left_behind(self.target, what)):
                shutil.rmtree(left)


def left_behind(folder: Path, start: str) -> list[Path]:
    """What is called `start` and the number of a process that is no more: nobody is going to finish or remove it."""
    found = sorted(folder.glob(f"{glob.escape(start)}*"))
    return [path for path in found if not path.is_symlink() and not _is_running(path.name.removeprefix(start))]


def _is_running(process: str) -> bool:
    """Whether another process has that number; what is no number was not left by us, and what has ours was."""
    if re.fullmatch("[0-9]{1,9}", process) is None:
        return True
    if int(process) == os.getpid():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _prefix(target: Path, what: str) -> str:
    return f".{target.name}.{what}-"


def _beside(target: Path, what: str) -> Path:
    """A place beside the target that tells which process it is of."""
    return target.with_name(f"{_prefix(target, what)}{os.getpid()}")


def _left_behind(target: Path, what: str) -> list[Path]:
    return left_behind(target.parent, _prefix(target, what))


def _refuse_foreign(target: Path) -> None:
    """Nothing of the user's is ever removed: not a file beside ours, not a folder that is in use as the current one."""
    if not target.exists():
        return
    if not target.is_dir():
        raise UsageError(f"{target} is not a folder", code="taken")
    if Path.cwd().is_relative_to(target):
        raise UsageError(f"{target} is the current folder or around it", code="taken", hint="go elsewhere first")
    found = {
        path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_symlink() or not path.is_dir()
    }
    if not found:
        return
    index = target / INDEX
    ours = set()
    if INDEX in found and not index.is_symlink():
        ours = {INDEX, *(line[66:] for line in index.read_text("utf-8", "replace").split("\n"))}
    if foreign := sorted(found - ours):
        raise UsageError(
            f"{target} holds files that are not of a report",
            code="taken",
            hint="choose another folder, or an empty one",
            details=tuple(foreign[:5]),
        )


@contextmanager
def _told(target: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise  # whoever reads a pipe may stop
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {error.strerror or error}", code="write") from error
