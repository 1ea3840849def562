"""Ranking inside one cohort: order, ties and the best run per author (policy ranking-v1)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from kictl.cohort import Metric
from kictl.model import Score

POLICY = "ranking-v1"
NEAR = 0.05
"""Relative difference below which two results are within the run-to-run noise that a leaderboard is known to have."""


class Entry(NamedTuple):
    """One current run of a cohort. `value` is the primary measurement, in the unit of the cohort's metric; `author` is
    None where nobody is named; `score` is what SOL-ExecBench says beside it."""

    submission: str
    author: str | None
    value: float
    observed_at: str
    run_digest: str
    unlisted: bool = False
    score: Score | None = None

    @property
    def sol_score(self) -> float | None:
        return self.score and self.score.sol_score


NO_SCORE = Score()


class Ranked(NamedTuple):
    """An entry with its dense rank; `tied` where others share it, `near` where the rank above is within the noise."""

    rank: int
    entry: Entry
    tied: bool
    near: bool


class Order(NamedTuple):
    """What entries are ranked by, and which of its values are better."""

    name: str
    better: Literal["lower", "higher"]
    of: Callable[[Entry], float | None]

    def key(self, entry: Entry) -> float | None:
        """A number that is smaller for the better entry; None where it has no place in this order."""
        value = self.of(entry)
        return value if value is None or self.better == "lower" else -value

    def is_better(self, one: Entry, other: Entry) -> bool:
        """Whether one entry, and not only by chance of order, is better than another."""
        mine, theirs = self.key(one), self.key(other)
        return mine is not None and theirs is not None and mine < theirs


BY_SCORE = Order("sol-score", "higher", lambda entry: entry.sol_score)
ORDERS = ("metric", "sol-score")
"""What can be asked for: the metric of each cohort, or the score that SOL-ExecBench gives."""


def order_of(metric: Metric, by: str = "metric") -> Order | None:
    """The order of a cohort with that metric; None where nobody says which of its values are better."""
    if by == BY_SCORE.name:
        return BY_SCORE
    return metric.better and Order(metric.name, metric.better, lambda entry: entry.value)


def order_of_value(metric: Metric | None, order: Order) -> Order:
    """The order of the primary values, whatever is ranked by: what ratios are made of."""
    return (metric and order_of(metric)) or order


def rank(entries: Iterable[Entry], order: Order) -> list[Ranked]:
    """Dense ranks; equal values share one, the newest of them first, and the lower id where they are as old.

    An entry without the value that is ranked by is left out: it has no place in this order.
    """
    keyed = [(value, entry) for entry in entries if (value := order.key(entry)) is not None]
    # Sorts are stable: last criterion first.
    keyed.sort(key=lambda pair: _id_order(pair[1].submission))
    keyed.sort(key=lambda pair: pair[1].observed_at, reverse=True)
    keyed.sort(key=lambda pair: pair[0])
    counts = Counter(value for value, _ in keyed)
    places = {value: place for place, value in enumerate(counts, start=1)}
    above = dict(zip(list(counts)[1:], counts, strict=False))
    return [
        Ranked(places[value], entry, tied=counts[value] > 1, near=value in above and is_near(value, above[value]))
        for value, entry in keyed
    ]


def ratio(value: float, reference: float) -> float | None:
    """How many times the reference a value is; None beside a reference of 0, and where the ratio is beyond the range
    of a double."""
    if not reference:
        return None
    times = value / reference
    return times if math.isfinite(times) else None


def behind(value: float, best: float, order: Order) -> float | None:
    """How many times worse a value is than the best: at least 1 in either direction, None beside a 0."""
    return ratio(value, best) if order.better == "lower" else ratio(best, value)


def is_near(value: float, reference: float) -> bool:
    """Whether a value is within the noise of another."""
    return abs(value - reference) <= NEAR * abs(reference)


def _id_order(submission: str) -> tuple[int, str]:
    """Numbers as numbers: shorter ones first."""
    return len(submission), submission


def best_of_each(entries: Iterable[Entry], order: Order, *, by_author: bool) -> list[Entry]:
    """The first entry of each author, or of each submission, in the order of the ranking. An entry without a named
    author stands for itself."""
    best: dict[tuple[str | None, str], Entry] = {}
    for ranked in rank(entries, order):
        entry = ranked.entry
        is_by_author = by_author and entry.author is not None
        best.setdefault((entry.author, "" if is_by_author else entry.submission), entry)
    return list(best.values())


def record(entries: Sequence[Entry], order: Order) -> list[Entry]:
    """The runs that were the best of the cohort when they were observed, oldest first."""
    holders: list[Entry] = []
    for entry in sorted(entries, key=lambda e: (e.observed_at, order.key(e), _id_order(e.submission))):
        if not holders or order.is_better(entry, holders[-1]):
            holders.append(entry)
    return holders
