"""What is known of a definition, a cohort, an author or an import, for people and for programs."""

from __future__ import annotations

import json
from typing import Any

from kictl.canonical import Digest
from kictl.catalogue.dossiers import ImportRow
from kictl.render import comparison, dossier, imports, numbers
from kictl.render.grid import Grid, Row, columns, fact_sheet
from kictl.text import named
from kictl.workflow.comparing import Comparison
from kictl.workflow.dossier import Dossier, Ineligible
from kictl.workflow.showing import AuthorSheet, DefinitionSheet, Entered, Sheet


def to_json(sheet: Sheet) -> Any:
    """The stable form for programs."""
    if isinstance(sheet, Dossier):
        return {"kind": "run"} | dossier.to_json(sheet)
    if isinstance(sheet, Ineligible):
        return {"kind": "submission"} | dossier.ineligible_json(sheet)
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
    if isinstance(sheet, Comparison):
        return comparison.to_grids(sheet, roomy=roomy)
    if isinstance(sheet, AuthorSheet):
        return [_author(sheet)]
    if isinstance(sheet, ImportRow):
        return _import(sheet)
    return [grid for item in sheet for grid in _definition(item)]


def _definition_json(sheet: DefinitionSheet) -> dict[str, Any]:
    return {
        "definition": sheet.name,
        "source": sheet.source,
        "kernel": sheet.kernel,
        "operation": sheet.operation,
        "suite": sheet.suite,
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
        },
        "cohorts": [
            {
                "gpu": line.cohort.gpu,
                "stack": line.cohort.stack,
                "comparison_key": line.cohort.comparison_key,
                "cases": line.cohort.cases,
                "runs": line.runs,
                "authors": line.authors,
                "first": line.first
                and {
                    "submission": line.first.submission,
                    "author": line.first.author,
                    "latency_ns": line.first.latency_ns,
                },
            }
            for line in sheet.cohorts
        ],
        "excluded": sheet.excluded,
        "source_detail": sheet.facts,
    }


def _definition(sheet: DefinitionSheet) -> list[Grid]:
    facts = sheet.facts
    best = min((line.first.latency_ns for line in sheet.cohorts if line.first), default=sheet.means.scoring_baseline_ns)
    unit = numbers.unit_for(best)
    sol, baseline = sheet.means.sol_bound_ns, sheet.means.scoring_baseline_ns
    about = fact_sheet(
        sheet.name,
        [
            ("source", f"{sheet.source}, kernel {sheet.kernel}"),
            ("title", facts.get("title")),
            ("description", facts.get("description")),
            ("tags", ", ".join(facts.get("tags") or ()) or None),
            ("GPUs", ", ".join(facts.get("gpu_types") or ()) or None),
            ("operation", sheet.operation),
            ("suite", sheet.suite),
            ("SOL bound", None if sol is None else f"{unit.show(sol)} {unit.name}"),
            ("scoring baseline", None if baseline is None else f"{unit.show(baseline)} {unit.name}"),
            ("bounds", f"{sheet.means.digest}{', marked as dummies by the source' * sheet.means.is_dummy}"),
            *((f"import {v.import_id}", f"{numbers.minute(v.at)} {v.digest}") for v in _moved(sheet)),
        ],
    )
    cohorts = Grid(
        ("Cohorts",),
        columns("GPU", "stack", "cases", "runs", "authors", f"first {unit.name}", "by", "comparison key",
                left=["GPU", "stack", "comparison key"], flexible=["by"], least=["cases", "authors"]),
        tuple(
            Row((
                line.cohort.gpu,
                line.cohort.stack or "–",
                str(line.cohort.cases),
                str(line.runs),
                str(line.authors),
                unit.show(line.first.latency_ns if line.first else None),
                named(line.first.author) if line.first else "–",
                line.cohort.comparison_key.short,
            ))
            for line in sheet.cohorts
        ),
        comparison.excluded_lines(sheet.excluded),
    )  # fmt: skip
    return [about, cohorts, *(_arguments(kind, facts.get(kind)) for kind in ("inputs", "outputs")), _cases(sheet)]


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


def _cases(sheet: DefinitionSheet) -> Grid:
    unit = numbers.unit_for(min((case.baseline_ms for case in sheet.bounds.cases if case.baseline_ms), default=0) * 1e6)
    rows = tuple(
        Row((
            str(number),
            unit.show(None if case.sol_ms is None else case.sol_ms * 1e6),
            unit.show(None if case.baseline_ms is None else case.baseline_ms * 1e6),
            ", ".join(f"{axis}={value}" for axis, value in case.axes.items()),
        ))
        for number, case in enumerate(sheet.bounds.cases, start=1)
    )  # fmt: skip
    names = columns("case", f"SOL {unit.name}", f"baseline {unit.name}", "axes", flexible=["axes"])
    return Grid(("Cases",), names, rows)


def _author_json(sheet: AuthorSheet) -> dict[str, Any]:
    return {
        "author": sheet.name,
        "cohorts": [
            {
                "definition": item.cohort.definition,
                "gpu": item.cohort.gpu,
                "stack": item.cohort.stack,
                "comparison_key": item.cohort.comparison_key,
                "rank": item.rank,
                "tied": item.tied,
                "authors": item.authors,
                "runs": item.runs,
                "submission": item.best.submission,
                "latency_ns": item.best.latency_ns,
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
            *("definition", "GPU", "stack", "rank", "of", "µs", "ratio", "id", "date", "digest"),
            left=["GPU", "stack", "date", "digest"],
            flexible=["definition"],
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
            item.cohort.gpu,
            item.cohort.stack or "–",
            f"{item.rank}{'=' * item.tied}",
            str(item.authors),
            numbers.micros(item.best.latency_ns),
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
