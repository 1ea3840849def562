"""One import at a time: a lock file beside the catalogue, released by the system if the process dies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kictl.errors import CatalogueError


@contextmanager
def import_lock(catalogue: Path, *, wait_seconds: float, waiting: Callable[[], None]) -> Iterator[None]:
    """Holds the lock; calls `waiting` once if another process has it. CatalogueError after `wait_seconds`."""
    from filelock import FileLock, Timeout

    try:
        catalogue.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{catalogue}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            waiting()
            lock.acquire(timeout=wait_seconds)
    except Timeout as error:
        raise CatalogueError(
            f"another import is writing to {catalogue}", code="locked", hint="try again when it has ended"
        ) from error
    except OSError as error:
        raise CatalogueError(f"cannot lock {catalogue}: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()
