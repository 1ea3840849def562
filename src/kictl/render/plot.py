"""A step line in characters: values that hold until the next one, over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pens:
    """The characters that a falling step line is drawn with."""

    level: str
    fall: str
    leave: str
    arrive: str


UNICODE = Pens("─", "│", "╮", "╰")
ASCII = Pens("-", "|", "+", "+")
LOG_FROM = 10
"""From this ratio of the largest to the smallest value on, the scale is logarithmic."""


def falling_steps(
    points: Sequence[tuple[float, float]], end: float, *, width: int, height: int, pens: Pens
) -> list[str]:
    """`height` lines of at most `width` characters. `points` are (time, value > 0), times rising and values falling;
    the last value holds until `end`."""
    times, values = [time for time, _ in points], [value for _, value in points]
    column = _scale(times[0], max(end, times[-1]), width - 1)
    if is_logarithmic(values):
        values = [math.log(value) for value in values]
    row = _scale(values[0], values[-1], height - 1)
    canvas = [[" "] * width for _ in range(height)]
    for position, (time, value) in enumerate(zip(times, values, strict=True)):
        start, line = column(time), row(value)
        stop = column(times[position + 1]) if position + 1 < len(times) else column(max(end, times[-1]))
        above = row(values[position - 1]) if position else line
        canvas[line][start : stop + 1] = pens.level * (stop + 1 - start)
        if line > above:
            canvas[above][start], canvas[line][start] = pens.leave, pens.arrive
            for between in range(above + 1, line):
                canvas[between][start] = pens.fall
    return ["".join(cells).rstrip() for cells in canvas]


def turned_over(pens: Pens) -> dict[int, str]:
    """What each corner becomes where a drawing is turned upside down, for `str.translate`."""
    corners = {"╮": "╯", "╰": "╭"}
    return {ord(corner): corners[corner] for corner in (pens.leave, pens.arrive) if corner in corners}


def is_logarithmic(values: Sequence[float]) -> bool:
    """Whether these values are drawn on a logarithmic scale."""
    return values[-1] > 0 and values[0] / values[-1] >= LOG_FROM


def _scale(first: float, last: float, size: int) -> Callable[[float], int]:
    """From a value between `first` and `last` to a whole number from 0 to `size`."""
    span = last / 2 - first / 2  # halves: the difference of two doubles can be beyond their range
    return lambda value: round((value / 2 - first / 2) / span * size) if span else 0
