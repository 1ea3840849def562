"""Bounds of a definition: their digest, their geometric means, and the SOL score they imply."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from kictl import canonical, units
from kictl.canonical import Digest
from kictl.model import Bounds, CaseBounds, Json


class BoundsFacts(NamedTuple):
    """The bounds of a whole suite: geometric means over its cases in ns, None where the source has none to trust."""

    digest: Digest
    sol_bound_ns: float | None
    scoring_baseline_ns: float | None
    is_dummy: bool

    @classmethod
    def of(cls, bounds: Bounds) -> BoundsFacts:
        sol, baseline = sol_bound_ms(bounds), scoring_baseline_ms(bounds)
        return cls(bounds.digest, _ns(sol), _ns(baseline), bounds.is_dummy)


def gap(value_ns: float, bounds: BoundsFacts | None) -> float | None:
    """How many times the bound a latency is; None without a bound."""
    return value_ns / bounds.sol_bound_ns if bounds is not None and bounds.sol_bound_ns else None


def of_workloads(workloads: Iterable[Json], *, is_dummy: bool = False) -> Bounds:
    """The bounds of the source's workloads; their digest is over the list of (axes, baseline_latency_ms, sol_ms)."""
    cases = tuple(CaseBounds(dict(w["axes"]), w.get("baseline_latency_ms"), w.get("sol_ms")) for w in workloads)
    listed = [{"axes": c.axes, "baseline_latency_ms": c.baseline_ms, "sol_ms": c.sol_ms} for c in cases]
    return Bounds(canonical.digest(listed), cases, is_dummy)


def geometric_mean(values: Sequence[float | None]) -> float | None:
    """The geometric mean; None where there is no value, or one is missing or not above zero."""
    known = [value for value in values if value is not None and value > 0]
    if not known or len(known) < len(values):
        return None
    mean = math.exp(math.fsum(map(math.log, known)) / len(known))
    # A mean of equal values is that value; only rounding could take it out of the range of the values.
    return min(max(mean, min(known)), max(known))


def sol_bound_ms(bounds: Bounds) -> float | None:
    """The speed-of-light bound of the whole suite in ms; None where the source marks its bounds as dummies."""
    return None if bounds.is_dummy else geometric_mean([case.sol_ms for case in bounds.cases])


def scoring_baseline_ms(bounds: Bounds) -> float | None:
    """The scoring baseline of the whole suite in ms."""
    return geometric_mean([case.baseline_ms for case in bounds.cases])


def case_score(latency_ms: float, baseline_ms: float, sol_ms: float) -> float:
    """The SOL score of one case: 0.5 at the baseline, 1 at the bound; 1 or 0 where the bound is not below it."""
    if baseline_ms <= sol_ms:
        return 1.0 if latency_ms <= sol_ms else 0.0
    return 1 / (1 + (latency_ms - sol_ms) / (baseline_ms - sol_ms))


def _ns(ms: float | None) -> float | None:
    """The same digits six places on, so that 0.0011 ms is 1100 ns; None where no double holds that many."""
    if ms is None:
        return None
    ns = float(Decimal(repr(ms)).scaleb(units.MS_DIGITS))
    return ns if math.isfinite(ns) else None
