"""Primary measurements for people: a scale for each column, in a unit that suits its values and its metric."""

from __future__ import annotations

from typing import Any, NamedTuple

from kictl import rank
from kictl.cohort import NS_PER, Metric
from kictl.rank import Entry
from kictl.render import numbers
from kictl.workflow.exporting import latency_ns

SIGNIFICANT = 6
"""Digits of what is no time, and so has no larger or smaller unit to be shown in."""


class Scale(NamedTuple):
    """How the values of one metric are shown. `ns` is how many ns its unit has, None where that is no unit of time."""

    name: str
    ns: float | None
    unit: numbers.Unit

    @classmethod
    def of(cls, metric: Metric | None, best: float | None) -> Scale:
        """The scale of a column whose best value this is."""
        ns = None if metric is None else NS_PER.get(metric.unit)
        unit = numbers.unit_for(None if best is None or ns is None else best * ns)
        name = unit.name if ns is not None or metric is None else metric.unit.replace("_s", "/s").replace("_", " ")
        return cls(name, ns if metric is not None else 1.0, unit)

    def show(self, value: float | None) -> str:
        """A value without its unit."""
        if value is None:
            return "–"
        return numbers.significant(value, SIGNIFICANT) if self.ns is None else self.unit.show(value * self.ns)

    def with_unit(self, value: float | None) -> str:
        return f"{self.show(value)} {self.name}"


def described(metric: Metric) -> str:
    """What is measured and which values are better: `latency (mean, lower is better)`."""
    better = f"{metric.better} is better" if metric.better else "nobody says whether higher or lower is better"
    return f"{metric.name.replace('_', ' ')} ({metric.statistic}, {better})"


def order_text(metric: Metric | None, order: rank.Order) -> str:
    """What is ranked by, for a head."""
    return order.name if metric is None or order.name != metric.name else described(metric)


def metric_json(metric: Metric | None) -> dict[str, Any] | None:
    """A metric for programs."""
    return metric and {
        "metric": metric.name,
        "statistic": metric.statistic,
        "unit": metric.unit,
        "better": metric.better,
    }


def entry_json(metric: Metric | None, entry: Entry, *, scored: bool) -> dict[str, Any]:
    """One run for programs. `latency_ns` is there where the metric is one, the score where the source has such."""
    ns = latency_ns(metric, entry)
    score = entry.score or rank.NO_SCORE
    return {
        "submission": entry.submission,
        "author": entry.author,
        "value": entry.value,
        **({} if ns is None else {"latency_ns": ns}),
        **(score._asdict() if scored else {}),
        "observed_at": entry.observed_at,
        "unlisted": entry.unlisted,
        "run_digest": entry.run_digest,
    }
