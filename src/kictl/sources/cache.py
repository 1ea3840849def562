"""The HTTP cache: the last good answer to each request, kept between imports."""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from kictl import paths
from kictl.errors import InputError
from kictl.sources.recording import INDEX, MAX_INDEX, Exchange, read_body, read_inside, write_file


class Cache:
    """The last good answers of one base URL. Several threads and processes may use it at once.

    Nothing is trusted or needed: a body is checked against its digest whenever it is used, and what is torn,
    missing or unwritable is only fetched again. So no lock is held and no write is synced.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._latest: dict[str, Exchange] = {}
        with suppress(InputError):
            lines = read_inside(root, INDEX, limit=MAX_INDEX).split(b"\n")
            for line in lines:
                with suppress(ValueError, RecursionError):
                    exchange = Exchange.parse(line)
                    self._latest[exchange.target] = exchange
            if len(lines) > 1000 + 4 * len(self._latest):
                self._compact()

    @classmethod
    def for_base(cls, base_url: str) -> Cache:
        """The cache of a base URL in the user's cache folder."""
        base_url = base_url.rstrip("/")
        parts = urlsplit(base_url)
        slug = re.sub(r"[^a-z0-9]+", "-", f"{parts.netloc}{parts.path}".lower()).strip("-")[:60]
        return cls(paths.cache_dir() / f"{slug}-{sha256(base_url.encode()).hexdigest()[:12]}")

    def load(self, target: str) -> tuple[Exchange, bytes] | None:
        """The last answer to this request with its body, where both are there and whole."""
        with self._lock:
            exchange = self._latest.get(target)
        with suppress(InputError):
            if exchange is not None:
                return exchange, read_body(self._root, exchange)
        return None

    def keep(self, exchange: Exchange, data: bytes) -> None:
        """Remember an answer that can be asked for conditionally."""
        if exchange.etag is None and exchange.last_modified is None:
            return
        with self._lock, suppress(OSError):
            write_file(self._root / exchange.file, data, durable=False)
            # The newline in front ends a line that a killed process left torn.
            with open(self._root / INDEX, "ab", buffering=0) as index:
                index.write(b"\n" + exchange.line())
            self._latest[exchange.target] = exchange

    def forget(self, target: str) -> None:
        """Do not offer this answer again."""
        with self._lock:
            self._latest.pop(target, None)

    def _compact(self) -> None:
        with suppress(OSError):
            write_file(self._root / INDEX, b"".join(e.line() for e in self._latest.values()), durable=False)
