"""Writes snapshots: complete and sealed, or not at all."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from kictl.canonical import Digest
from kictl.errors import InputError, UsageError
from kictl.publishing import left_behind
from kictl.sources.recording import INDEX, Exchange, seal, write_file

ARCHIVE_SUFFIX: Final = ".tar.zst"


class SnapshotWriter:
    """Builds a snapshot beside `target`, a folder or a `.tar.zst` file, and moves it there when complete.

    A context manager: leaving it normally publishes, leaving it by an exception discards. Several threads may
    use it. Raises UsageError where the target is taken, InputError (code `write`) where it cannot be written.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._exchanges: list[Exchange] = []
        self._files: dict[str, Digest] = {}
        self._ended = False
        with self._writing():
            _refuse_taken(target)
            start = f"{target.name}.partial-"
            for leftover in left_behind(target.parent, start):
                shutil.rmtree(leftover)
            self._partial = target.with_name(f"{start}{os.getpid()}")
            self._partial.mkdir(parents=True)

    def add(self, exchange: Exchange, data: bytes) -> None:
        """Keep one exchange. A URL may be asked again: a replay gives its answers in the same order."""
        with self._lock, self._writing():
            if self._ended or (exchange.url is None and exchange.file in self._files):
                return  # a late thread; a file that is read again, which is the same file
            file, number = exchange.file, 1
            while self._files.get(file, exchange.digest) != exchange.digest:
                number += 1
                file = f"{exchange.file.removesuffix('.json')}-{number}.json"
            if file not in self._files:
                write_file(self._partial / file, data)
                self._files[file] = exchange.digest
            self._exchanges.append(replace(exchange, file=file))

    def publish(self) -> None:
        with self._writing():
            lines = b"".join(e.line() for e in sorted(self._exchanges, key=lambda e: e.target))
            write_file(self._partial / INDEX, lines + seal(lines))
            _refuse_taken(self._target)
            if self._target.name.endswith(ARCHIVE_SUFFIX):
                from kictl.sources import archive

                packed = self._partial / ".packed"
                archive.pack(self._partial, packed)
                packed.replace(self._target)
            else:
                self._partial.rename(self._target)
            _sync_folder(self._target.parent)
        self.discard()

    def discard(self) -> None:
        with self._lock:
            self._ended = True
            shutil.rmtree(self._partial, ignore_errors=True)

    def __enter__(self) -> SnapshotWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.publish()
        finally:
            self.discard()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"{self._target}: cannot be written: {error.strerror or error}", code="write") from error


def _refuse_taken(target: Path) -> None:
    taken = any(target.iterdir()) if target.is_dir() else target.is_symlink() or target.exists()
    if taken:
        raise UsageError(f"{target} is already there", hint="choose another place, or remove it first")
    if target.is_dir() and target.name.endswith(ARCHIVE_SUFFIX):
        raise UsageError(f"{target} is a folder")


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
