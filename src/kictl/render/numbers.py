"""Numbers for people: significant digits, one unit per column, dates in UTC; a dash for what is no finite number."""

from __future__ import annotations

import math
from typing import NamedTuple

SIGNIFICANT = 4
PLAIN_DIGITS = 9
PLAIN = 10.0**PLAIN_DIGITS
"""From here on numbers are written with an exponent."""
SHORTEST = 0.5
"""ns, where a logarithmic scale ends: shorter latencies round to 0."""
_UNITS = (("ms", 1e6), ("µs", 1e3), ("ns", 1.0))


class Unit(NamedTuple):
    """The unit and the number of decimals that all latencies of one column are shown in."""

    name: str
    ns: float
    decimals: int

    def show(self, ns: float | None) -> str:
        """A latency without its unit; one that the column's decimals would round to less than two significant digits
        keeps two."""
        if ns is None or not math.isfinite(ns):
            return "–"
        value = ns / self.ns
        if abs(value) >= PLAIN:
            return significant(value)
        text = f"{value:.{self.decimals}f}"
        return text if abs(value) >= 10 ** (1 - self.decimals) or float(text) == value else significant(value, 2)


def unit_for(ns: float | None) -> Unit:
    """The unit in which a latency, the best of its column, reads as one to three digits before the point."""
    if not ns or not math.isfinite(ns):
        return Unit("µs", 1e3, 3)
    name, size = next(((name, size) for name, size in _UNITS if abs(ns) >= size), _UNITS[-1])
    digits = math.floor(math.log10(abs(ns) / size)) + 1
    return Unit(name, size, 0 if size == 1 else max(0, SIGNIFICANT - digits))


def micros(ns: float | None) -> str:
    """A latency in µs, for columns that span many magnitudes."""
    return significant(None if ns is None else ns / 1e3)


def ratio(value: float | None) -> str:
    """A ratio with its sign: three decimals at least, whole numbers from 1000 on."""
    return "–" if value is None or not math.isfinite(value) else f"{significant(value)}×"


def significant(value: float | None, digits: int = SIGNIFICANT) -> str:
    """A number to a fixed count of significant digits, without an exponent where it reads better so."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    # Not log10 of the rounded value: the largest doubles round to infinity.
    rounded = f"{value:.{digits - 1}e}"
    magnitude = int(rounded.partition("e")[2])
    if magnitude < -4 or magnitude >= PLAIN_DIGITS:
        return rounded
    return f"{value:.{max(0, digits - 1 - magnitude)}f}"


def percent(share: float | None) -> str:
    """A share, to three significant digits."""
    return "–" if share is None or not math.isfinite(100 * share) else f"{significant(100 * share, 3)} %"


def signed(text: str) -> str:
    """A number as it is shown, with a plus where it is above zero."""
    return text if text.startswith(("-", "–")) or not text.strip("0.") else f"+{text}"


def score(value: float | None) -> str:
    """A SOL score: four decimals, two significant digits where that is more."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.4f}" if PLAIN > abs(value) >= 0.001 or not value else significant(value, 2)


def day(instant: str | None) -> str:
    """The date of an instant, UTC."""
    return "–" if instant is None else instant[:10]


def minute(instant: str | None) -> str:
    """The date and time of an instant, UTC."""
    return "–" if instant is None else f"{instant[:10]} {instant[11:16]}"
