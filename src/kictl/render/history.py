"""The records of a definition over time, as tables with a drawing and as records for programs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kictl.canonical import Digest
from kictl.render import comparison, csv, numbers, plot
from kictl.render.grid import Grid, Row, columns
from kictl.text import counted, named
from kictl.workflow.history import CohortHistory, History, Step

_HEIGHT = 8
_NEAR = "≈"

CSV_HEADER = (
    *("definition", "gpu", "stack", "comparison_key", "bounds_digest", "as_of", "observed_at", "submission", "author"),
    *("latency_ns", "gain_ns", "gain", "held_days", "sol_score", "run_digest"),
)


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
        "gpu": history.cohort.gpu,
        "stack": history.cohort.stack,
        "comparison_key": history.cohort.comparison_key,
        "bounds_digest": history.bounds.digest,
        "population": history.runs,
        "reference": {
            "sol_bound_ns": history.bounds.sol_bound_ns,
            "scoring_baseline_ns": history.bounds.scoring_baseline_ns,
        },
        "records": [_step_json(step) for step in history.steps],
    }


def _step_json(step: Step) -> dict[str, Any]:
    entry = step.entry
    return {
        "submission": entry.submission,
        "author": entry.author,
        "latency_ns": entry.latency_ns,
        "gain_ns": step.gain_ns,
        "gain": step.gain,
        "near": step.near,
        "held_days": step.held_days,
        "sol_score": entry.sol_score,
        "observed_at": entry.observed_at,
        "unlisted": entry.unlisted,
        "run_digest": entry.run_digest,
    }


def to_csv(history: History) -> str:
    """One line per record, with the facts of its cohort in front."""
    about = {"definition": history.definition, "as_of": history.as_of}
    rows = [
        [(about | _cohort_json(cohort) | _step_json(step))[name] for name in CSV_HEADER]
        for cohort in history.cohorts
        for step in cohort.steps
    ]
    return csv.render(CSV_HEADER, rows)


def to_grids(history: History, *, width: int = 0, pens: plot.Pens = plot.UNICODE) -> list[Grid]:
    """A table per cohort, and below it a drawing of `width` characters, if that is not 0 and the record ever moved."""
    if not history.cohorts:
        return [Grid((history.definition, "no runs"), (), (), comparison.excluded_lines(history.excluded))]
    grids = [_grid(history, cohort, width, pens) for cohort in history.cohorts]
    foot = (*grids[-1].foot, *_moved(history), *comparison.excluded_lines(history.excluded))
    return [*grids[:-1], Grid(grids[-1].head, grids[-1].columns, grids[-1].rows, foot)]


def _grid(history: History, part: CohortHistory, width: int, pens: plot.Pens) -> Grid:
    cohort, steps = part.cohort, part.steps
    unit = numbers.unit_for(steps[-1].entry.latency_ns if steps else None)
    records = f"{counted(len(steps), 'record')} in {counted(part.runs, 'run')}"
    head = (
        history.definition,
        f"{cohort.gpu} · stack {cohort.stack or 'not stated'} · {records} · until {numbers.day(history.as_of)}",
    )
    foot = [f"{_NEAR} within 5 %: inside the portal's run-to-run noise"] if any(step.near for step in steps) else []
    if width and len(steps) > 1:
        foot = [*foot, "", *_drawn(history, part, unit, width, pens)]
    names = columns(
        *("date", "author", "id", unit.name, "gain", "less", "days", "SOL", "digest"),
        left=["date", "digest"],
        flexible=["author"],
        least=["digest", "SOL", "gain"],
    )
    return Grid(head, names, tuple(_row(step, unit) for step in steps), tuple(foot))


def _row(step: Step, unit: numbers.Unit) -> Row:
    entry = step.entry
    return Row(
        (
            numbers.day(entry.observed_at),
            named(entry.author),
            f"{entry.submission}{'†' * entry.unlisted}",
            unit.show(entry.latency_ns),
            unit.show(step.gain_ns),
            f"{_NEAR * step.near}{numbers.percent(step.gain)}",
            str(step.held_days),
            numbers.score(entry.sol_score),
            Digest(entry.run_digest).short,
        )
    )


def _drawn(history: History, part: CohortHistory, unit: numbers.Unit, width: int, pens: plot.Pens) -> list[str]:
    """The record over time, with the values at its two ends on the left and the dates below."""
    values = [step.entry.latency_ns or numbers.SHORTEST for step in part.steps]
    times = [datetime.fromisoformat(step.entry.observed_at).timestamp() for step in part.steps]
    end = datetime.fromisoformat(history.as_of).timestamp()
    labels = {0: unit.show(part.steps[0].entry.latency_ns), _HEIGHT - 1: unit.show(part.steps[-1].entry.latency_ns)}
    margin = max(map(len, labels.values()))
    lines = plot.falling_steps(
        list(zip(times, values, strict=True)), end, width=width - margin - 1, height=_HEIGHT, pens=pens
    )
    first, last = numbers.day(part.steps[0].entry.observed_at), numbers.day(history.as_of)
    scale = f" {unit.name}, logarithmic" if plot.is_logarithmic(values) else f" {unit.name}"
    dates = f"{first}{last.rjust(width - margin - 1 - len(first))}"
    return [
        " " * margin + scale,
        *(f"{labels.get(number, ''):>{margin}} {line}" for number, line in enumerate(lines)),
        f"{' ' * margin} {dates}",
    ]


def _moved(history: History) -> list[str]:
    """When the bounds moved, which changes scores but no record."""
    return [
        f"bounds moved with import {version.import_id} ({numbers.day(version.at)}) to sha256:{version.digest.short}…"
        for version in history.bounds_versions[1:]
    ]
