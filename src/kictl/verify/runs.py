"""Rules about one benchmark run's own figures and times, and about them beside the bounds of its cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kictl.model import Json
from kictl.units import ms_to_ns
from kictl.verify.context import RunBounds
from kictl.verify.registry import Problem, declare

METRICS = "/spec/sourceNative/metrics"
MEAN = "/spec/timing/latencyNs/mean"
SLACK = 0.001
ROUNDING = 0.5e-4
"""What a speedup may be above its published value, which has four decimals."""
LAST_DIGITS = 1e-12
"""The relative difference that calculating a mean can make by itself."""


FUTURE = declare(
    "time/future",
    "warning",
    "What was observed more than 24 h from now was not observed.",
    "observedAt: 2999-01-01T00:00:00Z",
)


def future(spec: Json, latest: str) -> Problem | None:
    """A run, of whatever kind, that was observed after `latest`, the last second that is not in the future."""
    observed: str = spec["observedAt"]
    if observed[:19] <= latest:
        return None
    message = f"observed at {observed}, more than 24 h after now"
    return Problem(FUTURE, "/spec/observedAt", message, f"at most {latest}Z", observed)


class Run:
    """A valid BenchmarkRun with its source's metrics."""

    __slots__ = ("bounds", "latency_ms", "metrics", "score", "spec")

    def __init__(self, spec: Json, metrics: Json, bounds: RunBounds | None) -> None:
        self.spec = spec
        self.metrics = metrics
        self.bounds = bounds
        self.score: float | None = metrics.get("sol_score")
        self.latency_ms: float | None = metrics.get("latency_ms")


Check = Callable[[Run], Problem | None]
_CHECKS: list[Check] = []
_BOUND_CHECKS: list[Check] = []
NEED_BOUNDS: list[str] = []
"""The ids of the rules that need bounds."""


def problems(spec: Json, metrics: Json, bounds: RunBounds | None) -> list[Problem]:
    """What the rules below say about one run."""
    run = Run(spec, metrics, bounds)
    found = [problem for check in _CHECKS if (problem := check(run)) is not None]
    if bounds is not None:
        found += [problem for check in _BOUND_CHECKS if (problem := check(run)) is not None]
    return found


def _rule(rule_id: str, severity: Any, why: str, example: str, needs: str = "") -> Callable[[Check], Check]:
    declare(rule_id, severity, why, example, needs)

    def add(check: Check) -> Check:
        (_BOUND_CHECKS if needs else _CHECKS).append(check)
        return check

    if needs:
        NEED_BOUNDS.append(rule_id)

    return add


@_rule(
    "arithmetic/latency",
    "error",
    "The mean in ns is the source's latency in ms, halves rounded up.",
    "latency_ms 0.007699 beside latencyNs.mean 7698",
)
def latency(run: Run) -> Problem | None:
    mean = run.spec.get("timing", {}).get("latencyNs", {}).get("mean")
    ms = run.latency_ms
    if mean is None or ms is None or (expected := _whole_ns(ms)) == mean:
        return None
    message = f"floor({ms} × 1e6 + 0.5) is {expected}, the mean says {mean}"
    return Problem("arithmetic/latency", MEAN, message, str(expected), str(mean))


def _whole_ns(ms: float) -> int | str:
    try:
        return ms_to_ns(ms)
    except OverflowError:
        return "more than a double can hold"


@_rule(
    "arithmetic/faster-count",
    "error",
    "No more cases can be faster than there are cases.",
    "fast_1_count 17 beside fast_1_total 16",
)
def faster_count(run: Run) -> Problem | None:
    count, total = run.metrics.get("fast_1_count"), run.metrics.get("fast_1_total")
    if count is None or total is None or 0 <= count <= total:
        return None
    message = f"{count} of {total} cases are faster"
    return Problem("arithmetic/faster-count", f"{METRICS}/fast_1_count", message, f"0 to {total}", str(count))


@_rule("arithmetic/score-range", "error", "A SOL score is above 0 and at most 1.", "sol_score 1.2")
def score_range(run: Run) -> Problem | None:
    score = run.score
    if score is None or 0 < score <= 1:
        return None
    message = f"a SOL score of {score}"
    return Problem("arithmetic/score-range", f"{METRICS}/sol_score", message, "above 0, at most 1", str(score))


@_rule(
    "arithmetic/score-one",
    "warning",
    "Exactly 1 says that every case ran at its bound, which measurements do not do.",
    "sol_score 1 on a passed run",
)
def score_one(run: Run) -> Problem | None:
    if run.score != 1 or run.spec["status"] != "passed":
        return None
    message = "a SOL score of exactly 1"
    return Problem("arithmetic/score-one", f"{METRICS}/sol_score", message, "below 1", str(run.score))


@_rule(
    "arithmetic/all-faster",
    "error",
    "Where every case beats the baseline, neither is the score below 0.5 nor the speedup below 1.",
    "fast_1_count 16 of 16 beside sol_score 0.4",
)
def all_faster(run: Run) -> Problem | None:
    count, total = run.metrics.get("fast_1_count"), run.metrics.get("fast_1_total")
    if not total or count != total:
        return None
    for name, limit in (("sol_score", 0.5), ("avg_speedup", 1)):
        value = run.metrics.get(name)
        if value is not None and value < limit:  # just above is published as the limit itself
            message = f"all {total} cases are faster than the baseline, yet {name} is {value}"
            return Problem("arithmetic/all-faster", f"{METRICS}/{name}", message, f"at least {limit}", str(value))
    return None


@_rule(
    "arithmetic/none-faster",
    "error",
    "Where no case beats the baseline, the score is not above 0.5, that of the baseline itself.",
    "fast_1_count 0 of 16 beside sol_score 0.7",
)
def none_faster(run: Run) -> Problem | None:
    score = run.score
    if run.metrics.get("fast_1_count") != 0 or not run.metrics.get("fast_1_total") or score is None or score <= 0.5:
        return None
    message = f"no case is faster than the baseline, yet sol_score is {score}"
    return Problem("arithmetic/none-faster", f"{METRICS}/sol_score", message, "at most 0.5", str(score))


@_rule(
    "arithmetic/speedup-baseline",
    "error",
    "A mean of speedups times the latency is not below the geometric mean of the baselines (0.1 % allowed, and what "
    "rounding to four decimals takes from the speedup).",
    "avg_speedup 2 and latency_ms 0.01 beside baselines of 0.03 ms",
    needs="bounds",
)
def speedup_baseline(run: Run) -> Problem | None:
    speedup, ms = run.metrics.get("avg_speedup"), run.latency_ms
    baseline = run.bounds.mean_baseline_ms if run.bounds else None
    if speedup is None or ms is None or baseline is None or (speedup + ROUNDING) * ms >= baseline * (1 - SLACK):
        return None
    message = (
        f"avg_speedup {speedup} × {ms} ms = {speedup * ms:.6g} ms, "
        f"below the geometric mean of the baselines, {baseline:.6g} ms"
    )
    expected = f"at least {baseline / ms:.6g}" if ms > 0 else "a latency above 0"
    return Problem("arithmetic/speedup-baseline", f"{METRICS}/avg_speedup", message, expected, str(speedup))


@_rule(
    "bound/below-smallest",
    "warning",
    "No average of cases can be below the bound of the smallest: the bound or the measurement is wrong.",
    "1 µs beside a smallest sol_ms of 2 µs",
    needs="bounds",
)
def below_smallest(run: Run) -> Problem | None:
    bound = run.bounds.smallest_sol_ms if run.bounds else None
    return _below("bound/below-smallest", run.latency_ms, bound, "the smallest case's speed-of-light bound")


def _below(rule: str, ms: float | None, bound: float | None, what: str) -> Problem | None:
    if ms is None or bound is None or ms >= bound * (1 - LAST_DIGITS):
        return None
    message = f"{ms} ms is below {what}, {bound:.6g} ms"
    return Problem(rule, f"{METRICS}/latency_ms", message, f"at least {bound:.6g} ms", f"{ms} ms")


@_rule(
    "bound/below-mean",
    "warning",
    "Below the geometric mean of the cases' bounds, the suite as a whole beats what the bounds allow.",
    "5 µs beside a geometric mean of sol_ms of 6 µs",
    needs="bounds",
)
def below_mean(run: Run) -> Problem | None:
    bound = run.bounds.mean_sol_ms if run.bounds else None
    return _below("bound/below-mean", run.latency_ms, bound, "the geometric mean of the speed-of-light bounds")


@_rule(
    "bound/vacuous",
    "info",
    "Where a baseline is 1000 times its bound, or not twice it, the score says little about that case.",
    "baseline 1 ms beside sol_ms 0.0001 ms",
    needs="bounds",
)
def vacuous(run: Run) -> Problem | None:
    ratios = run.bounds.vacuous if run.bounds and run.score is not None else ()
    if not ratios or run.bounds is None:
        return None
    span = f"{min(ratios):.4g}" if len(ratios) == 1 else f"{min(ratios):.4g} to {max(ratios):.4g}"
    message = f"{len(ratios)} of {len(run.bounds.sol_ms)} cases have a baseline/sol ratio of 1000 or more, or below 2"
    return Problem("bound/vacuous", f"{METRICS}/sol_score", message, "2 to 1000", span)
