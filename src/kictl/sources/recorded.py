"""Replays recorded bodies: a snapshot with its index, or a plain folder of API-shaped files."""

from __future__ import annotations

import re
import tempfile
import threading
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from kictl import canonical
from kictl.errors import InputError, SourceError
from kictl.model import Body, Json
from kictl.sources.fetch import Decode, Fetcher
from kictl.sources.recording import (
    INDEX,
    MAX_BODY,
    Exchange,
    body_file,
    read_body,
    read_index,
    read_inside,
    refuse_added,
    request_target,
)
from kictl.sources.snapshot import ARCHIVE_SUFFIX, SnapshotWriter

T = TypeVar("T")


def open_snapshot(path: Path, *, record: SnapshotWriter | None = None) -> Fetcher:
    """What answers from `path`: a snapshot folder, a `.tar.zst` of one, or a plain folder.

    A plain folder holds kernels.json and kernels/<id>.json as the API answers them, and submissions/<id>.json
    as a bare array of rows, newest first. `record` gets each body that is read. Raises InputError.
    """
    if path.name.endswith(ARCHIVE_SUFFIX) and path.is_file():
        return _open_archive(path, record)
    if not path.is_dir():
        raise InputError(f"{path}: no such folder or {ARCHIVE_SUFFIX} file", code="not_found")
    return _open_folder(path, str(path), record)


def _open_folder(root: Path, origin: str, record: SnapshotWriter | None) -> Replay:
    if (root / INDEX).exists():
        return Snapshot(root, origin, record)
    if (root / "kernels.json").exists():
        return PlainFolder(root, origin, record)
    raise InputError(f"{origin}: not a snapshot: it has neither {INDEX} nor kernels.json")


def _open_archive(path: Path, record: SnapshotWriter | None) -> Fetcher:
    from kictl.sources import archive

    folder = tempfile.TemporaryDirectory(prefix="kictl-")
    try:
        archive.unpack(path, Path(folder.name))
        replay = _open_folder(Path(folder.name), str(path), record)
    except BaseException:
        folder.cleanup()
        raise
    replay.on_close = folder.cleanup
    return replay


class Replay(Fetcher):
    """Answers requests from the files of one folder."""

    def __init__(self, root: Path, origin: str, record: SnapshotWriter | None) -> None:
        self.origin = origin
        self.on_close: Callable[[], None] = lambda: None
        self._root = root
        self._record = record

    def fetch(self, path: str, params: Mapping[str, str], decode: Decode[T]) -> tuple[Body, T]:
        exchange, data, is_whole = self._find(path, params)
        if exchange.status == 404:
            self._keep(exchange, data)
            raise SourceError(f"{self.origin}: {exchange.target} was not found", code="not_found")
        try:
            read, strict = canonical.read_leniently(data, max_bytes=MAX_BODY)
            value = decode(_page(read, params) if is_whole else read, strict)
        except InputError as error:
            raise InputError(f"{self._file(exchange)}: {error}", code=error.code, hint=error.hint) from error
        self._keep(exchange, data)
        return Body(exchange.target, data, exchange.digest, exchange.url), value

    def close(self) -> None:
        self.on_close()

    def _find(self, path: str, params: Mapping[str, str]) -> tuple[Exchange, bytes, bool]:
        """The exchange, its body, and whether that is the bare array of a listing of which a page is asked for."""
        exact = self._load(request_target(path, params))
        if exact is not None:
            return *exact, False
        if path == "submissions" and set(params) == {"kernel_id", "offset", "limit"}:
            whole = self._load(f"submissions/{params['kernel_id']}")
            if whole is not None:
                return *whole, True
        raise self._missing(path, params)

    @abstractmethod
    def _load(self, target: str) -> tuple[Exchange, bytes] | None:
        """The exchange and its body, None where there is nothing for this target. Raises InputError."""

    @abstractmethod
    def _missing(self, path: str, params: Mapping[str, str]) -> InputError:
        """What to say where there is no answer."""

    def _file(self, exchange: Exchange) -> str:
        return f"{self.origin}/{exchange.file}"

    def _keep(self, exchange: Exchange, data: bytes) -> None:
        if self._record is not None:
            self._record.add(exchange, data)


class Snapshot(Replay):
    """Answers what the index lists; a request that was made several times gets its answers in that order.

    Opening it raises InputError where the index or any body is not as it was recorded, so that nothing is taken from
    a snapshot that was edited.
    """

    def __init__(self, root: Path, origin: str, record: SnapshotWriter | None) -> None:
        super().__init__(root, origin, record)
        self._lock = threading.Lock()
        self._asked: Counter[str] = Counter()
        self._answers: dict[str, list[Exchange]] = {}
        exchanges = read_index(root, origin=origin)
        for exchange in exchanges:
            self._answers.setdefault(exchange.target, []).append(exchange)
            read_body(root, exchange, origin=origin)
        refuse_added(root, exchanges, origin=origin)

    def _load(self, target: str) -> tuple[Exchange, bytes] | None:
        answers = self._answers.get(target)
        if answers is None:
            return None
        with self._lock:
            exchange = answers[min(self._asked[target], len(answers) - 1)]
            self._asked[target] += 1
        return exchange, read_body(self._root, exchange, origin=self.origin)

    def holds(self, path: str) -> bool:
        return path in self._answers

    def _missing(self, path: str, params: Mapping[str, str]) -> InputError:
        return InputError(
            f"{self.origin}: has no answer recorded for {request_target(path, params)}", code="not_recorded"
        )


class PlainFolder(Replay):
    """Answers from files named after what they hold."""

    def _load(self, target: str) -> tuple[Exchange, bytes] | None:
        if not re.fullmatch(r"kernels|(kernels|submissions)/[0-9]{1,18}", target):
            return None
        data = read_inside(self._root, body_file(target), origin=self.origin)
        return Exchange.of(target, data), data

    def _missing(self, path: str, params: Mapping[str, str]) -> InputError:
        return InputError(f"{self.origin}: cannot answer {request_target(path, params)}")


def _page(rows: Any, params: Mapping[str, str]) -> Json:
    """The bare array of a listing as the API would answer it: all of it at offset 0, nothing after."""
    if not isinstance(rows, list):
        raise InputError(f"not an array of rows: a JSON {type(rows).__name__}")
    count, offset, limit = len(rows), int(params["offset"]), int(params["limit"])
    if offset > 0:
        rows = []
    else:  # a page that is not full, as the last one of a listing is
        limit = max(count + 1, limit)
    return {"data": {"submissions": rows, "total": count, "offset": offset, "limit": limit}}
