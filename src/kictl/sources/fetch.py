"""How a leaderboard source gets its bodies: one interface for the network, a snapshot and a plain folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from kictl.model import Body

T = TypeVar("T")

Decode = Callable[[Any, bool], T]
"""Makes something of a body's value, read leniently; the second argument says whether all of it is I-JSON."""


class Fetcher(ABC):
    """GETs below one base. Safe to call from several threads."""

    origin: str
    """A base URL or a folder, for people."""

    @abstractmethod
    def fetch(self, path: str, params: Mapping[str, str], decode: Decode[T]) -> tuple[Body, T]:
        """The body at `path` (no leading slash) and what `decode` makes of its value.

        `decode` raises InputError for a value that is not what it should be; a fetcher that can ask again does so
        then, and where a body has no value. Raises SourceError (network) or InputError (local files).
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
