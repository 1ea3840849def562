"""The shape of recorded exchanges on disk: an index of requests and answers beside the bodies as received."""

from __future__ import annotations

import json
import os
import re
import stat
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from kictl.canonical import Digest, digest
from kictl.errors import InputError

INDEX: Final = "index.jsonl"
MAX_BODY: Final = 32 << 20
MAX_INDEX: Final = 64 << 20

SAFE_FILE: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*){0,3}")

_VALIDATOR = re.compile(r"[ -~]{1,256}")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer.

    `target` is the request relative to the base, `file` holds the body, `digest` is over its bytes.
    Status 304 says that the server confirmed a body that it had sent before.
    """

    target: str
    url: str | None
    fetched_at: str
    status: int
    etag: str | None
    last_modified: str | None
    content_type: str | None
    digest: Digest
    file: str

    @classmethod
    def of(
        cls,
        target: str,
        data: bytes,
        *,
        url: str | None = None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        """The exchange that brought `data` just now. Header names are lower case; odd values are left out."""
        told = {name: value for name, value in (headers or {}).items() if _VALIDATOR.fullmatch(value)}
        return cls(
            target=target,
            url=url,
            fetched_at=_now(),
            status=status,
            etag=told.get("etag"),
            last_modified=told.get("last-modified"),
            content_type=told.get("content-type"),
            digest=Digest.of(data),
            file=body_file(target),
        )

    @classmethod
    def parse(cls, line: bytes) -> Exchange:
        """One line of an index. Raises ValueError."""
        row = json.loads(line)
        if not isinstance(row, dict) or set(row) != {field.name for field in fields(cls)}:
            raise ValueError("not an exchange")
        optional = (row["url"], row["etag"], row["last_modified"], row["content_type"])
        required = (row["target"], row["fetched_at"], row["digest"], row["file"])
        if not all(isinstance(value, str) for value in required) or type(row["status"]) is not int:
            raise ValueError("a member has the wrong type")
        if not all(value is None or isinstance(value, str) for value in optional):
            raise ValueError("a member has the wrong type")
        if not SAFE_FILE.fullmatch(row["file"]):
            raise ValueError("the file name leads elsewhere")
        return cls(**{**row, "digest": Digest(row["digest"])})

    def confirmed(self) -> Exchange:
        """The same body, confirmed by the server just now."""
        return replace(self, status=304, fetched_at=_now())

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def request_target(path: str, params: Mapping[str, str]) -> str:
    """The one spelling of a request below the base: the path, then the parameters ordered by name."""
    return f"{path}?{urlencode(sorted(params.items()))}" if params else path


def body_file(target: str) -> str:
    """Where the body of a request goes: a readable place for the known ones, else a hash."""
    path, _, query = target.partition("?")
    if not query and re.fullmatch(r"kernels|(kernels|submissions)/[0-9]{1,18}", path):
        return f"{path}.json"
    page = re.fullmatch(r"kernel_id=([0-9]{1,18})&limit=50&offset=([0-9]{1,18})", query)
    if path == "submissions" and page:
        return f"submissions/{page[1]}/{page[2]}.json"
    return f"other/{sha256(target.encode()).hexdigest()[:32]}.json"


def snapshot_digest(bodies: Iterable[tuple[str, str]]) -> Digest:
    """What identifies a reading of a source: the digest of the sorted list of [body name, body digest]."""
    return digest(sorted([name, body] for name, body in set(bodies)))


def read_inside(root: Path, file: str, *, limit: int = MAX_BODY, origin: str | None = None) -> bytes:
    """The bytes of a regular file below `root`.

    Raises InputError for anything else, naming the file below `origin`, which is `root` unless given.
    """
    name = f"{origin or root}/{file}"
    try:
        real = (root / file).resolve(strict=True)
        if not real.is_relative_to(root.resolve()):
            raise InputError(f"{name}: leads out of its folder")
        with open(os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InputError(f"{name}: not a regular file")
            # Python sets aside as much memory as may be read, so not the limit itself.
            data = stream.read(min(limit, status.st_size) + 1)
    except FileNotFoundError as error:
        raise InputError(f"{name}: no such file", code="not_found") from error
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, before Python 3.13
        raise InputError(f"{name}: {getattr(error, 'strerror', None) or 'cannot be read'}") from error
    if len(data) > limit:
        raise InputError(f"{name}: more than {limit} bytes")
    return data


def read_body(root: Path, exchange: Exchange, *, origin: str | None = None) -> bytes:
    """The recorded body. Raises InputError, naming the file, where it is missing or another one."""
    data = read_inside(root, exchange.file, origin=origin)
    found = Digest.of(data)
    if found != exchange.digest:
        raise InputError(
            f"{origin or root}/{exchange.file}: was changed after it was recorded"
            f" (expected {exchange.digest}, got {found})",
            code="edited",
        )
    return data


def refuse_added(root: Path, exchanges: Iterable[Exchange], *, origin: str | None = None) -> None:
    """Raises InputError, naming the file, where there is a body that no exchange has. Hidden files are nobody's."""
    recorded = {exchange.file for exchange in exchanges}
    for path in sorted(root.rglob("*.json")):
        file = path.relative_to(root).as_posix()
        if file not in recorded and not path.name.startswith("."):
            raise InputError(f"{origin or root}/{file}: was added after the index was written", code="edited")


def write_file(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Put `data` at `path` whole or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_index(root: Path, *, origin: str | None = None) -> list[Exchange]:
    """The exchanges of a snapshot, in order. Raises InputError where the index is not as it was sealed."""
    name = f"{origin or root}/{INDEX}"
    data = read_inside(root, INDEX, limit=MAX_INDEX, origin=origin)
    end = data.rfind(b"\n", 0, -1) + 1
    if data[end:] != seal(data[:end]):
        raise InputError(f"{name}: was changed or cut after it was written", code="edited")
    exchanges = []
    for number, line in enumerate(data[:end].splitlines(), 1):
        try:
            exchanges.append(Exchange.parse(line))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name}: line {number}: {error}") from error
    return exchanges


def seal(lines: bytes) -> bytes:
    """The last line of a complete index: the digest of the lines before it."""
    return json.dumps({"index": Digest.of(lines)}).encode() + b"\n"
