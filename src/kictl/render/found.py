"""What was found for a shape, as tables for people and as records for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kictl.render import comparison, csv, measure, numbers
from kictl.render.grid import Grid, Row, columns
from kictl.text import counted, named
from kictl.workflow.finding import Findings, Found, Wanted

CSV_HEADER = (
    *("match", "definition", "source", "gpu", "stack", "case", "differs", "metric", "statistic", "unit", "better"),
    *("comparison_key", "runs", "submission", "author", "value", "observed_at", "run_digest"),
)


def to_json(findings: Findings) -> dict[str, Any]:
    """The stable form for programs; `differs` has [there, asked for] by axis."""
    wanted = findings.wanted
    return {
        "wanted": {
            "op": wanted.op,
            "dtype": wanted.dtype,
            "gpu": wanted.gpu,
            "source": wanted.source,
            "shape": None if wanted.shape is None else dict(wanted.shape),
        },
        **{name: [_found_json(found) for found in part] for name, part in _parts(findings)},
    }


def _parts(findings: Findings) -> list[tuple[str, Sequence[Found]]]:
    return [("exact", findings.exact), ("nearest", findings.nearest), ("suites", findings.suites)]


def _found_json(found: Found) -> dict[str, Any]:
    cohort = found.cohort
    return {
        "definition": cohort.definition,
        **comparison.about_json(cohort, None),
        **({} if found.axes is None else {"axes": dict(found.axes)}),
        **({"differs": {name: list(pair) for name, pair in found.differs.items()}} if found.differs else {}),
        "runs": found.runs,
        "first": measure.entry_json(cohort.metric, found.first, scored=cohort.has_scores),
    }


def to_csv(findings: Findings) -> str:
    """One line for each cohort."""
    rows = []
    for name, part in _parts(findings):
        for found in part:
            record = _found_json(found)
            record |= record["first"] | {"match": name, "case": found.cohort.shape, "differs": _differs(found)}
            rows.append([record.get(column) for column in CSV_HEADER])
    return csv.render(CSV_HEADER, rows)


def to_grids(findings: Findings) -> list[Grid]:
    """A table for what was asked for, and one for what comes nearest to it."""
    wanted = _wanted(findings.wanted)
    grids = [_grid(f"measured for {wanted}", findings.exact)]
    if not findings.exact:
        grids = [Grid((f"nothing was measured for exactly {wanted}",), (), ())]
    if findings.nearest:
        title = "nearest measured cases: other sizes, not estimates for the one asked for"
        grids.append(_grid(title, findings.nearest, near=True))
    if findings.suites:
        grids.append(_grid("suites with this case: the figure is over all of their cases", findings.suites))
    return grids


def _wanted(wanted: Wanted) -> str:
    shape = " ".join(f"{name}={size}" for name, size in (wanted.shape or {}).items())
    return " · ".join(filter(None, (wanted.op, wanted.dtype, wanted.gpu, wanted.source, shape))) or "anything"


def _differs(found: Found) -> str:
    return " ".join(f"{name}={there} for {asked}" for name, (there, asked) in found.differs.items())


def _grid(title: str, part: Sequence[Found], *, near: bool = False) -> Grid:
    differs = ["differs"] if near else []
    names = ("definition", "measured on", *differs, "best", "by", "id", "runs", "date", "key")
    rows = [
        Row(
            (
                found.cohort.definition,
                comparison.cohort_title(found.cohort),
                *([_differs(found)] if near else []),
                measure.Scale.of(found.cohort.metric, found.first.value).with_unit(found.first.value),
                named(found.first.author),
                found.first.submission,
                str(found.runs),
                numbers.day(found.first.observed_at),
                found.cohort.key.short,
            )
        )
        for found in part
    ]
    return Grid(
        (title, f"{counted(len(part), 'cohort')}, the best run of each"),
        columns(
            *names,
            flexible=["definition", "measured on", "by", "id"],
            left=["differs", "date", "key"],
            least=["key", "date", "runs", "id"],
            narrowest={"definition": 16, "measured on": 16},
        ),
        tuple(rows),
    )
