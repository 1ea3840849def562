"""Reading one listing to its end, page by page, while rows come, go and shift."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kictl import canonical
from kictl.canonical import Digest, ParseError
from kictl.model import Body
from kictl.strictjson import Unusable

PAGE = 50
"""The most rows that the service gives at once."""
MAX_PAGES = 1000
MAX_BYTES = 64 * 2**20
"""A listing that does not end is left after so many pages or bytes."""

_FIRST_STEP_BACK = PAGE // 2
_STEPS_BACK = 8
_IDLE_PAGES = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One row as received. `key` tells rows apart; `fault` says why it is not I-JSON, if so."""

    key: str
    value: Any
    fault: ParseError | None = None

    @property
    def text(self) -> str:
        """The row as JSON, with the numbers that no JSON has as they were received."""
        return _received(self.value)


def rows(values: Iterable[Any], *, strict: bool) -> list[Row]:
    """Rows from the values of a body that was read, `strict` if by the rules of I-JSON."""
    return [Row(_key(value), value, None if strict else _fault(value)) for value in values]


def _received(value: Any) -> str:
    if isinstance(value, Unusable):
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {_received(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_received, value)) + "]"
    return json.dumps(value)


def _key(value: Any) -> str:
    if isinstance(value, dict) and type(value.get("id")) is int:
        return f"id {value['id']}"
    return "digest " + Digest.of(json.dumps(value, sort_keys=True).encode())


def _fault(value: Any) -> ParseError | None:
    try:
        canonical.check(value)
    except ParseError as error:
        return error
    return None


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a listing. `total` and `limit` are what the service says of itself, None where that is no count."""

    rows: list[Row]
    total: int | None = None
    limit: int | None = None

    def is_last(self, offset: int) -> bool:
        """Whether the page says that nothing follows, and all that it says fits together."""
        return self.limit is not None and len(self.rows) < self.limit and self.total == offset + len(self.rows)


@dataclass(slots=True)
class Listing:
    """What was read of a listing.

    `expected` is the largest total that a page claimed. `problem` says why the listing is not known to have been read
    to its end without a gap, None where it was: a row that was listed the whole time is then among the rows.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    bodies: dict[str, str] = field(default_factory=dict)
    expected: int | None = None
    problem: str | None = None
    _reached: set[str] = field(default_factory=set)
    _size: int = 0

    def add(self, body: Body, page: Page) -> None:
        """Takes in what was received. A row that is repeated counts as it was last seen."""
        self.bodies[body.name] = body.digest
        self._size += len(body.data)
        self.rows.update((row.key, row) for row in page.rows)
        if page.total is not None:
            self.expected = max(page.total, self.expected or 0)

    def joins(self, page: Page) -> bool:
        """Whether a page begins with a row that was reached before, so that no row lies between."""
        return bool(page.rows) and page.rows[0].key in self._reached

    def reach(self, page: Page) -> bool:
        """Counts the page's rows as reached without a gap; whether there were others than before."""
        before = len(self._reached)
        self._reached.update(row.key for row in page.rows)
        return len(self._reached) > before

    def is_too_long(self) -> bool:
        return len(self.bodies) >= MAX_PAGES or self._size >= MAX_BYTES

    def end(self, page: Page, offset: int, problem: str | None = None) -> Listing:
        """The listing, which ends with this page or is left here because of a problem."""
        length = offset + len(page.rows)
        if self.problem is None:
            self.problem = problem
        if self.problem is None and page.total is not None and page.total > length:
            self.problem = f"it claims {page.total} rows, and ends after {length}"
        return self


def read(fetch: Callable[[int], tuple[Body, Page]]) -> Listing:
    """All rows of the listing whose page at an offset `fetch` gives; newest rows are listed first.

    Each page begins with the last row of the one before. If that row is not there, rows have moved up in the meantime,
    and the reading steps back, further each time. Rows that move down only make repeats.
    """
    listing = Listing()
    offset = furthest = idle = 0
    steps = 0
    while True:
        body, page = fetch(offset)
        listing.add(body, page)
        joined = offset == 0 or listing.joins(page)
        if not joined and steps < _STEPS_BACK:
            offset = max(0, offset - (_FIRST_STEP_BACK << steps))
            steps += 1
            continue
        if not joined:
            listing.problem = listing.problem or "rows kept moving while it was read"
        if listing.reach(page):
            idle = 0
        elif offset > furthest:
            idle += 1
        furthest = max(furthest, offset)
        if page.is_last(offset):
            return listing.end(page, offset)
        if len(page.rows) <= 1:
            lone = offset == 0 and page.rows and page.total != 1
            return listing.end(page, offset, "its pages are too small to tell where it ends" if lone else None)
        if idle > _IDLE_PAGES:
            return listing.end(page, offset, "it repeats itself instead of going on")
        if listing.is_too_long():
            return listing.end(page, offset, "it does not end")
        offset += len(page.rows) - 1
