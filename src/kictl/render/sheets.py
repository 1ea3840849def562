"""What is known of a definition, a cohort, an author or an import, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kictl import rank
from kictl.canonical import Digest
from kictl.catalogue.dossiers import ImportRow
from kictl.catalogue.queries import Cohort
from kictl.cohort import Metric
from kictl.model import Bounds
from kictl.render import comparison, dossier, imports, measure, numbers
from kictl.render.grid import Grid, Row, columns, fact_sheet
from kictl.text import counted, named
from kictl.workflow.comparing import Comparison
from kictl.workflow.dossier import Dossier, Ineligible
from kictl.workflow.showing import AuthorSheet, CohortLine, DefinitionSheet, Entered, Sheet, SubmissionSheet


def to_json(sheet: Sheet) -> Any:
    """The stable form for programs."""
    if isinstance(sheet, Dossier):
        return {"kind": "run"} | dossier.to_json(sheet)
    if isinstance(sheet, Ineligible):
        return {"kind": "submission"} | dossier.ineligible_json(sheet)
    if isinstance(sheet, SubmissionSheet):
        return {"kind": "submission"} | _submission_json(sheet)
    if isinstance(sheet, Comparison):
        return {"kind": "cohort"} | comparison.to_json(sheet)
    if isinstance(sheet, AuthorSheet):
        return {"kind": "author"} | _author_json(sheet)
    if isinstance(sheet, ImportRow):
        return {"kind": "import"} | _import_json(sheet)
    return {"kind": "definition", "definitions": [_definition_json(item) for item in sheet]}


def to_grids(sheet: Sheet, *, roomy: bool) -> list[Grid]:
    """Tables for people."""
    if isinstance(sheet, Dossier):
        return dossier.to_grids(sheet)
    if isinstance(sheet, Ineligible):
        return dossier.ineligible_grids(sheet)
    if isinstance(sheet, SubmissionSheet):
        return [_submission(sheet)]
    if isinstance(sheet, Comparison):
        return comparison.to_grids(sheet, roomy=roomy)
    if isinstance(sheet, AuthorSheet):
        return [_author(sheet)]
    if isinstance(sheet, ImportRow):
        return _import(sheet)
    return [grid for item in sheet for grid in _definition(item)]


def _submission_json(sheet: SubmissionSheet) -> dict[str, Any]:
    row = sheet.row
    return {
        "submission": row.submission,
        "source": row.source,
        "definition": row.definition,
        "author": row.author,
        "standing": row.standing,
        "runs": [
            {
                "run_digest": run.run,
                **comparison.about_json(cohort, None),
                "status": run.status,
                "standing": run.standing,
                "value": entry and entry.value,
            }
            for run, cohort, entry in sheet.runs
        ],
    }


def _submission(sheet: SubmissionSheet) -> Grid:
    """The runs of a submission, one below the other: each is of another cohort, so they are not compared."""
    row = sheet.row
    names = columns(
        *("measured on", "metric", "result", "standing", "digest"),
        flexible=["measured on"],
        left=["metric", "standing", "digest"],
        least=["metric"],
    )
    rows = []
    for run, cohort, entry in sheet.runs:
        metric = cohort.metric
        value = run.status if entry is None else measure.Scale.of(metric, entry.value).with_unit(entry.value)
        measured = f"{metric.name} {metric.statistic}" if metric else "–"
        rows.append(Row((comparison.cohort_title(cohort), measured, value, run.standing, run.run.short)))
    title = f"Submission {row.submission} by {named(row.author)} · {row.definition} · {row.source}"
    return Grid((title, counted(len(rows), "run")), names, tuple(rows))


def _definition_json(sheet: DefinitionSheet) -> dict[str, Any]:
    return {
        "definition": sheet.name,
        "source": sheet.source,
        "kernel": sheet.kernel,
        "model" if sheet.subject.kind == "ModelRevision" else "operation": sheet.subject.digest,
        **({"suite": sheet.suite} if sheet.suite else {}),
        **_bounds_json(sheet),
        "cohorts": [
            {
                **comparison.about_json(line.cohort, None),
                "runs": line.runs,
                "authors": line.authors,
                "first": line.first and _first_json(line.cohort, line.first),
            }
            for line in sheet.cohorts
        ],
        "excluded": sheet.excluded,
        "source_detail": sheet.facts,
    }


def _first_json(cohort: Cohort, entry: rank.Entry) -> dict[str, Any]:
    found = measure.entry_json(cohort.metric, entry, scored=False)
    return {name: found[name] for name in ("submission", "author", "value", "latency_ns") if name in found}


def _bounds_json(sheet: DefinitionSheet) -> dict[str, Any]:
    if sheet.means is None or sheet.bounds is None:
        return {}
    return {
        "bounds": {
            "digest": sheet.means.digest,
            "sol_bound_ns": sheet.means.sol_bound_ns,
            "scoring_baseline_ns": sheet.means.scoring_baseline_ns,
            "is_dummy": sheet.means.is_dummy,
            "cases": [
                {"axes": dict(case.axes), "baseline_latency_ms": case.baseline_ms, "sol_ms": case.sol_ms}
                for case in sheet.bounds.cases
            ],
            "versions": [{"import": v.import_id, "at": v.at, "digest": v.digest} for v in sheet.bounds_versions],
        }
    }


def _definition(sheet: DefinitionSheet) -> list[Grid]:
    facts = sheet.facts
    kernel = f", kernel {sheet.kernel}" if sheet.kernel else ""
    subject = "model" if sheet.subject.kind == "ModelRevision" else "operation"
    about = fact_sheet(
        sheet.name,
        [
            ("source", f"{sheet.source}{kernel}"),
            ("title", facts.get("title")),
            ("description", facts.get("description")),
            ("tags", ", ".join(facts.get("tags") or ()) or None),
            ("GPUs", ", ".join(facts.get("gpu_types") or ()) or None),
            (subject, sheet.subject.digest),
            ("suite", sheet.suite),
            *_bounds(sheet),
        ],
    )
    cohorts = [_cohorts(metric, lines) for metric, lines in _by_metric(sheet).items()]
    last = cohorts[-1] if cohorts else Grid(("Cohorts",), (), ())
    foot = comparison.excluded_lines(sheet.excluded)
    arguments = [_arguments(kind, _stated(sheet, kind)) for kind in ("inputs", "outputs")]
    return [
        about,
        *cohorts[:-1],
        Grid(last.head, last.columns, last.rows, foot),
        *(grid for grid in arguments if grid.rows),
        *([] if sheet.bounds is None else [_cases(sheet.bounds)]),
    ]


def _by_metric(sheet: DefinitionSheet) -> dict[Metric | None, list[CohortLine]]:
    found: dict[Metric | None, list[CohortLine]] = {}
    for line in sheet.cohorts:
        if line.cohort.metric is not None or line.runs:
            found.setdefault(line.cohort.metric, []).append(line)
    return found


def _cohorts(metric: Metric | None, lines: list[CohortLine]) -> Grid:
    firsts = [line.first.value for line in lines if line.first]
    higher = metric is not None and metric.better == "higher"
    scale = measure.Scale.of(metric, (max if higher else min)(firsts, default=None))
    return Grid(
        ("Cohorts" if metric is None else f"Cohorts · {measure.described(metric)}",),
        columns(
            *("measured on", "runs", "authors", f"first {scale.name}", "by", "key"),
            left=["key"],
            flexible=["measured on", "by"],
            least=["authors"],
            narrowest={"measured on": 24},
        ),
        tuple(
            Row(
                (
                    comparison.cohort_title(line.cohort),
                    str(line.runs),
                    str(line.authors),
                    scale.show(line.first and line.first.value),
                    named(line.first.author) if line.first else "–",
                    line.cohort.key.short,
                )
            )
            for line in lines
        ),
    )


def _bounds(sheet: DefinitionSheet) -> Iterator[tuple[str, str | None]]:
    """What is known of the bounds of a suite."""
    means = sheet.means
    if means is None:
        return
    best = min(
        (line.first.value for line in sheet.cohorts if line.first and line.cohort.is_suite),
        default=means.scoring_baseline_ns,
    )
    unit = numbers.unit_for(best)
    for name, ns in (("SOL bound", means.sol_bound_ns), ("scoring baseline", means.scoring_baseline_ns)):
        yield name, None if ns is None else f"{unit.show(ns)} {unit.name}"
    yield "bounds", f"{means.digest}{', marked as dummies by the source' * means.is_dummy}"
    yield from ((f"import {v.import_id}", f"{numbers.minute(v.at)} {v.digest}") for v in _moved(sheet))


def _stated(sheet: DefinitionSheet, kind: str) -> dict[str, Any]:
    """The inputs or outputs as the source states them, else as the operation's manifest does."""
    if kind in sheet.facts:
        return dict(sheet.facts[kind] or {})
    arguments = sheet.subject.spec.get(kind, ())
    return {argument["name"]: argument.get("tensor") or argument.get("scalar") for argument in arguments}


def _moved(sheet: DefinitionSheet) -> tuple[Any, ...]:
    return sheet.bounds_versions if len(sheet.bounds_versions) > 1 else ()


def _arguments(title: str, arguments: Any) -> Grid:
    rows = tuple(
        Row((str(name), str(about.get("dtype")), _shape(about.get("shape"))))
        for name, about in (arguments or {}).items()
    )
    return Grid(
        (title.capitalize(),), columns("name", "dtype", "shape", left=["name", "dtype"], flexible=["shape"]), rows
    )


def _shape(shape: Any) -> str:
    return f"[{', '.join(map(str, shape))}]" if shape else "scalar"


def _cases(bounds: Bounds) -> Grid:
    unit = numbers.unit_for(min((case.baseline_ms for case in bounds.cases if case.baseline_ms), default=0) * 1e6)
    rows = tuple(
        Row(
            (
                str(number),
                unit.show(None if case.sol_ms is None else case.sol_ms * 1e6),
                unit.show(None if case.baseline_ms is None else case.baseline_ms * 1e6),
                ", ".join(f"{axis}={value}" for axis, value in case.axes.items()),
            )
        )
        for number, case in enumerate(bounds.cases, start=1)
    )
    names = columns("case", f"SOL {unit.name}", f"baseline {unit.name}", "axes", flexible=["axes"])
    return Grid(("Cases",), names, rows)


def _author_json(sheet: AuthorSheet) -> dict[str, Any]:
    return {
        "author": sheet.name,
        "cohorts": [
            {
                "definition": item.cohort.definition,
                **comparison.about_json(item.cohort, None),
                "rank": item.rank,
                "tied": item.tied,
                "authors": item.authors,
                "runs": item.runs,
                **_first_json(item.cohort, item.best),
                "ratio_to_first": item.ratio_to_first,
                "run_digest": item.best.run_digest,
            }
            for item in sheet.entered
        ],
        "excluded": sheet.excluded,
    }


def _author(sheet: AuthorSheet) -> Grid:
    led = sum(item.rank == 1 for item in sheet.entered)
    count = len(sheet.entered)
    return Grid(
        (named(sheet.name), f"first in {led} of {count} cohorts entered; no figure is averaged over them"),
        columns(
            *("definition", "measured on", "rank", "of", "result", "ratio", "id", "date", "digest"),
            left=["date", "digest"],
            flexible=["definition", "measured on"],
            least=["digest", "date", "id"],
            narrowest={"definition": 24},
        ),
        tuple(_entered(item) for item in sheet.entered),
        (*(("of: authors in the cohort",) if count else ()), *comparison.excluded_lines(sheet.excluded)),
    )


def _entered(item: Entered) -> Row:
    return Row(
        (
            item.cohort.definition,
            comparison.cohort_title(item.cohort),
            f"{item.rank}{'=' * item.tied}",
            str(item.authors),
            measure.Scale.of(item.cohort.metric, item.best.value).with_unit(item.best.value),
            numbers.ratio(item.ratio_to_first),
            item.best.submission,
            numbers.day(item.best.observed_at),
            Digest(item.best.run_digest).short,
        )
    )


def _import_json(event: ImportRow) -> dict[str, Any]:
    return {
        "import": event.id,
        "source": event.source,
        "origin": event.origin,
        "selection": event.selection,
        "version": event.version,
        "started_at": event.started_at,
        "finished_at": event.finished_at,
        "snapshot_digest": event.snapshot_digest,
        "catalog_digest": event.catalog_digest,
        "report": event.report,
    }


def _import(event: ImportRow) -> list[Grid]:
    selection = {name: value for name, value in event.selection.items() if value}
    facts = [
        ("source", event.source),
        ("origin", event.origin),
        ("selection", json.dumps(selection, ensure_ascii=False) if selection else "everything"),
        ("by", f"kictl {event.version}"),
        ("started", f"{numbers.minute(event.started_at)} UTC"),
        ("finished", f"{numbers.minute(event.finished_at)} UTC" if event.finished_at else "no: interrupted or running"),
        ("snapshot", event.snapshot_digest),
        ("catalogue", event.catalog_digest),
    ]
    sheet = fact_sheet(f"Import {event.id}", facts)
    return (
        [sheet, Grid(("What came of it", *imports.summary(event.report).splitlines()[1:]), (), ())]
        if event.report
        else [sheet]
    )
