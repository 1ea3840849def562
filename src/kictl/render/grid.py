"""A table before it has a format: columns, rows, and what stands above and below them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

NARROWEST = 8


class Column(NamedTuple):
    """One column. Where a terminal is too narrow, the `flexible` ones are cut, the widest first, down to `narrowest`
    characters; then those of the highest `importance` number are left out; 0 stays."""

    name: str
    align: Literal["left", "right"] = "right"
    flexible: bool = False
    importance: int = 0
    narrowest: int = NARROWEST


class Row(NamedTuple):
    """One row of finished cells; a `reference` is not a result and is set apart."""

    cells: tuple[str, ...]
    reference: bool = False


class Grid(NamedTuple):
    """A table with lines of text above (`head`) and below (`foot`) it. All text is as it came: formats escape it.

    `facts` says that the rows are names and values: without a header, and with values wrapped rather than cut.
    """

    head: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    foot: tuple[str, ...] = ()
    facts: bool = False


def columns(
    *names: str,
    flexible: Sequence[str] = (),
    left: Sequence[str] = (),
    least: Sequence[str] = (),
    narrowest: Mapping[str, int] | None = None,
) -> tuple[Column, ...]:
    """Columns by name; those in `left` or `flexible` are aligned left, those in `least` go first, in that order."""
    importance = {name: len(least) - position for position, name in enumerate(least)}
    return tuple(
        Column(
            name,
            "left" if name in left or name in flexible else "right",
            name in flexible,
            importance.get(name, 0),
            (narrowest or {}).get(name, NARROWEST),
        )
        for name in names
    )


def fact_sheet(title: str, facts: Sequence[tuple[str, str | None]], foot: Sequence[str] = ()) -> Grid:
    """Names and values under a title, less those without a value."""
    rows = tuple(Row((f"  {name}", value)) for name, value in facts if value is not None)
    return Grid((title,), columns("", "", left=[""], flexible=[]), rows, tuple(foot), facts=True)
