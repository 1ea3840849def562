"""Two charts as inline SVG that stretches with the page: ranked bars, and the steps of a record.

Horizontal places are percentages, vertical ones pixels, so that text keeps its size on any width. Colours are classes
of the style sheet.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kictl.render.html import Child, Markup, element
from kictl.text import cut
from kictl.units import moment

ROW = 24
"""Pixels from one bar to the next."""
PLOT = 220
"""Pixels that the steps are high."""
_LABELS, _BARS = 31.0, 55.0
"""Per cent of the width that the labels and the longest bar take."""
_TAIL = 0.15
"""The share of the time between the runs that is shown after the last one, if the record stood that long."""
_SMALLEST, _LARGEST = sys.float_info.min * 1e3, sys.float_info.max / 1e3
"""Between them, axes can be divided and have room at their ends."""
_FAR = 6
"""How many times the longest bar a mark may be away to be drawn to scale."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what stands before it, how long it is, what stands after it; its `place` in a ranking."""

    label: str
    value: float
    note: str
    place: str = ""
    first: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A line across a chart; `kind` is its class."""

    label: str
    value: float
    kind: str


@dataclass(frozen=True, slots=True)
class Point:
    """A value that was seen at an instant."""

    at: str
    value: float


def bars(
    name: str, title: str, description: str, items: Sequence[Bar], marks: Sequence[Mark], tick: Callable[[float], str]
) -> Markup:
    """Bars from zero, top to bottom, with lines across; a line that is far beyond the bars is named at the edge.

    `name` is the prefix of the chart's ids. `tick` writes a value of the axis.
    """
    longest = max(item.value for item in items)
    reach = max([longest, *(mark.value for mark in marks if mark.value <= _FAR * longest)]) or 1
    top = 18 * len(marks) + 6
    bottom = top + ROW * len(items)

    def x(value: float) -> float:
        return _LABELS + _BARS * (value / reach)

    grid = [
        (
            element("line", class_="grid", x1=_at(x(value)), x2=_at(x(value)), y1=top, y2=bottom),
            element("text", tick(value), class_="tick", x=_at(x(value)), y=bottom + 16, text_anchor="middle"),
        )
        for value in linear_ticks(0, reach)
    ]
    rows = [_bar(item, x, top + ROW * place) for place, item in enumerate(items)]
    lines = [
        _mark(mark, x(min(mark.value, reach)), mark.value > reach, 14 + 18 * place, bottom)
        for place, mark in enumerate(marks)
    ]
    notes = [
        element("text", item.note, x=_at(x(item.value)), dx=6, y=top + ROW * place + 16, class_="note")
        for place, item in enumerate(items)
    ]
    return _chart(name, title, description, "bars", bottom + 24, grid, rows, lines, notes)


def _bar(item: Bar, x: Callable[[float], float], y: int) -> list[Markup]:
    kind = "first" if item.first else None
    place = element("text", item.place, x=0, y=16, class_=kind) if item.place else None
    label = element("text", cut(item.label, 60), x=32 if item.place else 0, y=16, class_=kind)
    return [
        element("svg", place, label, x=0, y=y, width=_at(_LABELS - 1.5), height=ROW),
        element(
            "rect",
            x=_at(x(0)),
            y=y + 4,
            width=_at(max(x(item.value) - x(0), 0.2)),
            height=ROW - 8,
            rx=2,
            class_="bar first" if item.first else "bar",
        ),
    ]


def _mark(mark: Mark, place: float, beyond: bool, y: int, bottom: int) -> list[Markup]:
    right = place > 60
    label = f"{mark.label} →" if beyond else mark.label
    line = element("line", class_=f"mark {mark.kind}", x1=_at(place), x2=_at(place), y1=y + 5, y2=bottom)
    anchor = "end" if right else "start"
    return [
        *([] if beyond else [line]),
        element("text", label, class_=f"mark {mark.kind}", x=_at(place), y=y, text_anchor=anchor),
    ]


def steps(
    name: str,
    title: str,
    description: str,
    records: Sequence[Point],
    others: Sequence[Point],
    marks: Sequence[Mark],
    until: str,
    tick: Callable[[float], str],
    *,
    first: int = 1,
) -> Markup:
    """How a record fell over time, on a logarithmic scale, numbered from `first`; `others` are runs that set none."""
    start = _seconds(records[0].at)
    last = max(_seconds(point.at) for point in (*records, *others))
    end = max(last, min(_seconds(until), last + _TAIL * (last - start)), start + 1)
    values = [point.value for point in (*records, *others)]
    low, high = min(values), max(values)
    shown = [mark for mark in marks if low / 3 <= mark.value <= high * 3]
    low, high = (
        min([low, *(m.value for m in shown)]) / 1.08,
        min(max([high, *(m.value for m in shown)]), _LARGEST) * 1.08,
    )
    depth = math.log(high) - math.log(low) or 1.0

    def x(at: str) -> float:
        return 100 * (_seconds(at) - start) / (end - start)

    def y(value: float) -> float:
        return round(8 + PLOT * (1 - (math.log(value) - math.log(low)) / depth), 1)

    grid = [
        (
            element("line", class_="grid", x1="0", x2="100%", y1=y(value), y2=y(value)),
            element("text", tick(value), class_="tick", x=0, dx=-8, y=y(value) + 4, text_anchor="end"),
        )
        for value in logarithmic_ticks(low, high)
    ]
    dates = [
        element("text", day, class_="tick", x=_at(place), y=PLOT + 30, text_anchor=anchor)
        for day, place, anchor in _dates(start, end)
    ]
    dots = [element("circle", class_="run", cx=_at(x(point.at)), cy=y(point.value), r=3) for point in others]
    lines = [
        (
            element("line", class_=f"mark {mark.kind}", x1="0", x2="100%", y1=y(mark.value), y2=y(mark.value)),
            element("text", mark.label, class_=f"mark {mark.kind}", x="100%", y=y(mark.value) - 5, text_anchor="end"),
        )
        for mark in shown
    ]
    return _chart(name, title, description, "steps", PLOT + 38, grid, dates, lines, _stairs(records, x, y), dots,
                  _numbers(records, x, y, first))  # fmt: skip


def _stairs(records: Sequence[Point], x: Callable[[str], float], y: Callable[[float], float]) -> list[Markup]:
    lines = []
    for place, point in enumerate(records):
        last = place + 1 == len(records)
        right = 100.0 if last else x(records[place + 1].at)
        level = y(point.value)
        lines.append(element("line", class_="record", x1=_at(x(point.at)), x2=_at(right), y1=level, y2=level))
        if not last:
            below = y(records[place + 1].value)
            lines.append(element("line", class_="record", x1=_at(right), x2=_at(right), y1=level, y2=below))
    return lines


def _numbers(
    records: Sequence[Point], x: Callable[[str], float], y: Callable[[float], float], first: int
) -> list[Markup]:
    found = []
    for number, point in enumerate(records, first):
        place, level = _at(x(point.at)), y(point.value)
        found.append(element("circle", class_="holder", cx=place, cy=level, r=9))
        found.append(
            element("text", str(number), class_="holder", x=place, y=round(level + 4, 1), text_anchor="middle")
        )
    return found


def _chart(name: str, title: str, description: str, kind: str, height: int, *parts: Child) -> Markup:
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", description, id=f"{name}-desc"),
        *parts,
        role="img",
        class_=kind,
        width="100%",
        height=height,
        aria_labelledby=f"{name}-title",
        aria_describedby=f"{name}-desc",
    )


def linear_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round values from low to high, at most so many and one more."""
    if not _SMALLEST <= high - low <= _LARGEST:
        return [low, high]  # no room for a step between them that a double holds
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10, 20) if (high - low) / (size * factor) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [count * step for count in range(first, last + 1)]


def logarithmic_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each power of ten where that gives two to seven values, else powers of ten or round values."""
    powers = range(math.floor(math.log10(low)), min(math.ceil(math.log10(high)), sys.float_info.max_10_exp - 1) + 1)
    for factors in ((1, 2, 5), (1,)):
        found = [f * 10.0**power for power in powers for f in factors if low <= f * 10.0**power <= high]
        if 2 <= len(found) <= 7:
            return found
    return found if len(found) > 7 else linear_ticks(low, high, 4)


def _dates(start: float, end: float) -> list[tuple[str, float, str]]:
    days = [datetime.fromtimestamp(start + (end - start) * part, UTC).date().isoformat() for part in (0, 0.5, 1)]
    if days[0] == days[2]:
        return [(days[0], 0.0, "start")]
    middle = [(days[1], 50.0, "middle")] if days[1] not in (days[0], days[2]) else []
    return [(days[0], 0.0, "start"), *middle, (days[2], 100.0, "end")]


def _seconds(instant: str) -> float:
    return moment(instant).timestamp()


def _at(percent: float) -> str:
    return f"{percent:.2f}%"
