"""The records of a definition over time, as tables with a drawing and as records for programs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kictl.canonical import Digest
from kictl.catalogue.queries import Cohort
from kictl.render import comparison, csv, measure, numbers, plot
from kictl.render.grid import Grid, Row, columns
from kictl.text import counted, named
from kictl.workflow.history import CohortHistory, History, Step

_HEIGHT = 8
_NEAR = "≈"

CSV_HEADER = (
    *("definition", "source", "gpu", "stack", "shape", "metric", "statistic", "unit", "better", "comparison_key"),
    *("bounds_digest", "as_of", "observed_at", "submission", "author", "value", "latency_ns", "gain_by", "gain"),
    *("held_days", "sol_score", "run_digest"),
)
_OPTIONAL = ("shape", "bounds_digest", "latency_ns", "sol_score")
"""Columns that are left out where no cohort has them."""


def to_json(history: History) -> dict[str, Any]:
    """The stable form for programs; `gain` is the share of the record before that was taken off."""
    return {
        "definition": history.definition,
        "as_of": history.as_of,
        "cohorts": [_cohort_json(cohort) for cohort in history.cohorts],
        "bounds_versions": [{"import": v.import_id, "at": v.at, "digest": v.digest} for v in history.bounds_versions],
        "excluded": history.excluded,
    }


def _cohort_json(history: CohortHistory) -> dict[str, Any]:
    return {
        **comparison.about_json(history.cohort, history.bounds),
        "population": history.runs,
        "records": [_step_json(history.cohort, step) for step in history.steps],
    }


def _step_json(cohort: Cohort, step: Step) -> dict[str, Any]:
    return {
        **measure.entry_json(cohort.metric, step.entry, scored=cohort.has_scores),
        "gain_by": step.gain_by,
        "gain": step.gain,
        "near": step.near,
        "held_days": step.held_days,
    }


def to_csv(history: History) -> str:
    """One line per record, with the facts of its cohort in front."""
    about = {"definition": history.definition, "as_of": history.as_of}
    records = [
        about | _cohort_json(part) | _step_json(part.cohort, step) for part in history.cohorts for step in part.steps
    ]
    header = [name for name in CSV_HEADER if name not in _OPTIONAL or any(name in record for record in records)]
    return csv.render(header, [[record.get(name) for name in header] for record in records])


def to_grids(history: History, *, width: int = 0, pens: plot.Pens = plot.UNICODE) -> list[Grid]:
    """A table per cohort, and below it a drawing of `width` characters, if that is not 0 and the record ever moved."""
    if not history.cohorts:
        return [Grid((history.definition, "no runs"), (), (), comparison.excluded_lines(history.excluded))]
    grids = [_grid(history, cohort, width, pens) for cohort in history.cohorts]
    foot = (*grids[-1].foot, *_moved(history), *comparison.excluded_lines(history.excluded))
    return [*grids[:-1], Grid(grids[-1].head, grids[-1].columns, grids[-1].rows, foot)]


def _grid(history: History, part: CohortHistory, width: int, pens: plot.Pens) -> Grid:
    cohort, steps = part.cohort, part.steps
    scale = measure.Scale.of(cohort.metric, steps[-1].entry.value if steps else None)
    records = f"{counted(len(steps), 'record')} in {counted(part.runs, 'run')}"
    measured = measure.described(cohort.metric) if cohort.metric else "not measured"
    head = (
        history.definition,
        f"{comparison.cohort_title(cohort)} · {records} · until {numbers.day(history.as_of)}",
        f"{cohort.source} · {measured}",
    )
    foot = [f"{_NEAR} within 5 %: inside the run-to-run noise"] if any(step.near for step in steps) else []
    if width and len(steps) > 1:
        foot = [*foot, "", *_drawn(history, part, scale, width, pens)]
    names = columns(
        *("date", "author", "id", scale.name, "gain", "better by", "days", *(["SOL"] if cohort.has_scores else [])),
        "digest",
        left=["date", "digest"],
        flexible=["author"],
        least=["digest", "SOL", "gain"],
    )
    return Grid(head, names, tuple(_row(cohort, step, scale) for step in steps), tuple(foot))


def _row(cohort: Cohort, step: Step, scale: measure.Scale) -> Row:
    entry = step.entry
    return Row(
        (
            numbers.day(entry.observed_at),
            named(entry.author),
            f"{entry.submission}{'†' * entry.unlisted}",
            scale.show(entry.value),
            scale.show(step.gain_by),
            f"{_NEAR * step.near}{numbers.percent(step.gain)}",
            str(step.held_days),
            *([numbers.score(entry.sol_score)] if cohort.has_scores else []),
            Digest(entry.run_digest).short,
        )
    )


def _drawn(history: History, part: CohortHistory, scale: measure.Scale, width: int, pens: plot.Pens) -> list[str]:
    """The record over time, with the values at its two ends on the left and the dates below."""
    values = [step.entry.value or numbers.SHORTEST for step in part.steps]
    times = [datetime.fromisoformat(step.entry.observed_at).timestamp() for step in part.steps]
    end = datetime.fromisoformat(history.as_of).timestamp()
    labels = {0: scale.show(part.steps[0].entry.value), _HEIGHT - 1: scale.show(part.steps[-1].entry.value)}
    rises = part.cohort.metric is not None and part.cohort.metric.better == "higher"
    if rises:  # drawn falling, from the worst to the best, and then turned over
        values = [values[0] + values[-1] - value for value in values]
        labels = {0: labels[_HEIGHT - 1], _HEIGHT - 1: labels[0]}
    margin = max(map(len, labels.values()))
    lines = plot.falling_steps(
        list(zip(times, values, strict=True)), end, width=width - margin - 1, height=_HEIGHT, pens=pens
    )
    if rises:
        lines = [line.translate(plot.turned_over(pens)) for line in reversed(lines)]
    first, last = numbers.day(part.steps[0].entry.observed_at), numbers.day(history.as_of)
    name = f" {scale.name}, logarithmic" if plot.is_logarithmic(values) else f" {scale.name}"
    dates = f"{first}{last.rjust(width - margin - 1 - len(first))}"
    return [
        " " * margin + name,
        *(f"{labels.get(number, ''):>{margin}} {line}" for number, line in enumerate(lines)),
        f"{' ' * margin} {dates}",
    ]


def _moved(history: History) -> list[str]:
    """When the bounds moved, which changes scores but no record."""
    return [
        f"bounds moved with import {version.import_id} ({numbers.day(version.at)}) to sha256:{version.digest.short}…"
        for version in history.bounds_versions[1:]
    ]
