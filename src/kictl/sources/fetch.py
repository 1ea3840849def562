"""How a leaderboard source gets its bodies: one interface for the network, a snapshot and a plain folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Self, TypeVar

from kictl.model import Body

T = TypeVar("T")


class Fetcher(ABC):
    """GETs below one base. Safe to call from several threads."""

    origin: str
    """A base URL or a folder, for people."""

    @abstractmethod
    def fetch(self, path: str, params: Mapping[str, str], decode: Callable[[bytes], T]) -> tuple[Body, T]:
        """The body at `path` (no leading slash) and what `decode` makes of it.

        `decode` raises InputError for a body that is broken; a fetcher that can ask again does so.
        Raises SourceError (network) or InputError (local files).
        """

    def holds(self, path: str) -> bool:
        """Whether there can be an answer at `path`: what only asking would tell may be there."""
        return True

    def notes(self) -> str:
        """What there is to tell people while it works, such as retries; "" if nothing."""
        return ""

    def close(self) -> None:  # noqa: B027
        """Release connections and files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
