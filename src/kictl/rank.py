"""Ranking inside one cohort: order, ties and the best run per author (policy ranking-v1)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

POLICY = "ranking-v1"
NEAR = 0.05
"""Relative difference below which two results of the portal are within its run-to-run noise."""


class Entry(NamedTuple):
    """One current run of a cohort. `latency_ns` is the primary measurement; the rest is the source's own, or None."""

    submission: str
    author: str
    latency_ns: int
    observed_at: str
    run_digest: str
    unlisted: bool = False
    sol_score: float | None = None
    avg_speedup: float | None = None
    fast_1_count: int | None = None
    fast_1_total: int | None = None


class Ranked(NamedTuple):
    """An entry with its dense rank; `tied` where others share it, `near` where the rank above is within the noise."""

    rank: int
    entry: Entry
    tied: bool
    near: bool


Score = Callable[[Entry], float | None]


def by_latency(entry: Entry) -> float | None:
    """Lower is better."""
    return entry.latency_ns


def by_sol_score(entry: Entry) -> float | None:
    """Higher is better: negated."""
    return None if entry.sol_score is None else -entry.sol_score


ORDERS: dict[str, Score] = {"latency": by_latency, "sol-score": by_sol_score}


def rank(entries: Iterable[Entry], score: Score = by_latency) -> list[Ranked]:
    """Dense ranks; equal values share one, the newest of them first, and the lower id where they are as old.

    An entry without the value that is ranked by is left out: it has no place in this order.
    """
    scored = [(value, entry) for entry in entries if (value := score(entry)) is not None]
    # Sorts are stable: last criterion first.
    scored.sort(key=lambda pair: _id_order(pair[1].submission))
    scored.sort(key=lambda pair: pair[1].observed_at, reverse=True)
    scored.sort(key=lambda pair: pair[0])
    counts = Counter(value for value, _ in scored)
    places = {value: place for place, value in enumerate(counts, start=1)}
    above = dict(zip(list(counts)[1:], counts, strict=False))
    return [
        Ranked(places[value], entry, tied=counts[value] > 1, near=value in above and is_near(value, above[value]))
        for value, entry in scored
    ]


def ratio(value: float, reference: float) -> float | None:
    """How many times the reference a value is; None beside a latency that rounds to no nanosecond at all, and where
    the ratio is beyond the range of a double."""
    if not reference:
        return None
    times = value / reference
    return times if math.isfinite(times) else None


def is_near(value: float, reference: float) -> bool:
    """Whether a value is within the portal's noise of another."""
    return abs(value - reference) <= NEAR * abs(reference)


def _id_order(submission: str) -> tuple[int, str]:
    """Numbers as numbers: shorter ones first."""
    return len(submission), submission


def best_per_author(entries: Iterable[Entry], score: Score = by_latency) -> list[Entry]:
    """The first entry of each author in the order of the ranking."""
    best: dict[str, Entry] = {}
    for ranked in rank(entries, score):
        best.setdefault(ranked.entry.author, ranked.entry)
    return list(best.values())


def record(entries: Sequence[Entry]) -> list[Entry]:
    """The runs that were the fastest of the cohort when they were observed, oldest first."""
    holders: list[Entry] = []
    for entry in sorted(entries, key=lambda e: (e.observed_at, e.latency_ns, _id_order(e.submission))):
        if not holders or entry.latency_ns < holders[-1].latency_ns:
            holders.append(entry)
    return holders
