"""How much is asked of a server, and how fast."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MAX_CONCURRENCY: Final = 2
MAX_RATE: Final = 8.0
"""What the leaderboard's terms allow one client: two requests at once, 8 starts a second."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is asked of a server, and taken from it: seconds, bytes, starts per second."""

    concurrency: int = MAX_CONCURRENCY
    rate: float = MAX_RATE
    attempts: int = 6
    backoff: float = 0.5
    max_backoff: float = 30.0
    max_retry_after: float = 120.0
    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    request_timeout: float = 120.0
    deadline: float = 2 * 3600.0
    max_body: int = 32 << 20
    max_total: int = 2 << 30


@dataclass(slots=True)
class Stats:
    """What was done so far; `received` is in bytes as they came over the wire."""

    requests: int = 0
    retries: int = 0
    not_modified: int = 0
    received: int = 0


class Pace:
    """Spaces the starts of all threads evenly."""

    def __init__(self, spacing: float, sleep: Callable[[float], None]) -> None:
        self._spacing = spacing
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> None:
        while True:
            with self._lock:
                now = time.monotonic()
                delay = self._next - now
                if delay <= 0:
                    self._next = now + self._spacing
                    return
            self._sleep(delay)

    def hold(self, seconds: float) -> None:
        """No start at all for so long: the server asked for it."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)
