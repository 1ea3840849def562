"""The dossier of a run, and of a submission that is none, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kictl.bounds import BoundsFacts
from kictl.comparability import EXCLUDED
from kictl.rank import POLICY
from kictl.render import citation, numbers
from kictl.render.grid import Grid, fact_sheet
from kictl.text import named
from kictl.workflow.dossier import Dossier, Event, History, Ineligible, Placing

Fact = tuple[str, str | None]

_USED = {
    *("id", "type", "username", "user_id", "kernel_id", "kernel_name", "kernel_title", "gpu_type", "status"),
    *("is_correct", "is_disqualified", "evaluation_stack_version", "finished_at", "submitted_at"),
    *("latency_ms", "sol_score", "avg_speedup", "fast_1_count", "fast_1_total"),
}
"""Members of the source's row that the rest of a dossier shows."""


def bundle(dossier: Dossier) -> dict[str, Any]:
    """The run with its protocol and environment, as it is published."""
    return {
        "run": dossier.run.document,
        "protocol": dossier.protocol and dossier.protocol.document,
        "environment": dossier.environment and dossier.environment.document,
    }


def to_json(dossier: Dossier) -> dict[str, Any]:
    """The stable form for programs, numbers unrounded, in the order of the dossier."""
    entry, placing = dossier.entry, dossier.placing
    return {
        "submission": dossier.submission,
        "run_digest": dossier.run.digest,
        "permalink": citation.permalink(dossier.run.digest),
        "standing": dossier.standing,
        "reasons": list(dossier.reasons),
        "unlisted": dossier.unlisted,
        "latency_ns": entry.latency_ns,
        "statistic": dossier.run.spec["timing"]["primaryStatistic"],
        "observed_at": entry.observed_at,
        "sol_score": entry.sol_score,
        "avg_speedup": entry.avg_speedup,
        "fast_1_count": entry.fast_1_count,
        "fast_1_total": entry.fast_1_total,
        "ranking": placing and _placing_json(placing),
        "identity": {
            "author": dossier.author,
            "source": dossier.source,
            "definition": dossier.definition,
            "kernel": dossier.kernel,
            "gpu": dossier.gpu,
            "stack": dossier.stack,
            "comparison_key": dossier.comparison_key,
            "implementation": dossier.run.spec["implementationDigest"],
            "project": dossier.project and dossier.project.digest,
            "operation": dossier.operation and dossier.operation.digest,
            "workload": dossier.run.spec["workloadDigest"],
            "protocol": dossier.run.spec["protocolDigest"],
            "environment": dossier.run.spec["environmentDigest"],
        },
        "bounds": {
            "observed": _bounds_json(dossier.observed_bounds),
            "present": _bounds_json(dossier.bounds),
            "versions": [{"import": v.import_id, "at": v.at, "digest": v.digest} for v in dossier.bounds_versions],
        },
        "findings": [
            {"rule": f.rule, "severity": f.severity, "pointer": f.pointer, "message": f.message}
            for f in dossier.findings
        ],
        "history": _history_json(dossier.history),
        "notes": [{"kind": n.kind, "text": n.text, "written_at": n.written_at} for n in dossier.notes],
        "source_row": dossier.facts,
        "manifest": bundle(dossier),
        "as_of": dossier.as_of,
    }


def _placing_json(placing: Placing) -> dict[str, Any]:
    return {
        "policy": POLICY,
        "rank": placing.rank,
        "runs": placing.runs,
        "tied": placing.tied,
        "near": placing.near,
        "author_rank": placing.author_rank,
        "authors": placing.authors,
        "authors_best": placing.best and placing.best.submission,
        "first": {
            "submission": placing.first.submission,
            "author": placing.first.author,
            "latency_ns": placing.first.latency_ns,
        },
        "ratio_to_first": placing.ratio_to_first,
        "behind_next": placing.to_next,
    }


def _bounds_json(bounds: BoundsFacts) -> dict[str, Any]:
    return {
        "digest": bounds.digest,
        "sol_bound_ns": bounds.sol_bound_ns,
        "scoring_baseline_ns": bounds.scoring_baseline_ns,
        "is_dummy": bounds.is_dummy,
    }


def _history_json(history: History) -> dict[str, Any]:
    return {
        "events": [
            {"import": e.import_id, "at": e.at, "what": e.what, "run_digest": e.run, "reasons": list(e.reasons)}
            for e in history.events
        ],
        "seen_in": list(history.seen_in),
        "unsure": list(history.unsure),
    }


def ineligible_json(sheet: Ineligible) -> dict[str, Any]:
    """What is known of a submission that is not a run."""
    row = sheet.row
    return {
        "submission": row.submission,
        "standing": "ineligible",
        "reasons": list(row.reasons),
        "unlisted": row.unlisted,
        "identity": {
            "author": row.author,
            "source": row.source,
            "definition": row.definition,
            "gpu": row.gpu,
            "stack": row.stack,
        },
        "history": _history_json(sheet.history),
        "source_row": sheet.facts,
        "as_of": sheet.as_of,
    }


def to_grids(dossier: Dossier) -> list[Grid]:
    """A section for each thing that a reader asks, in that order."""
    identity = [
        ("implementation", dossier.run.spec["implementationDigest"]),
        ("project", named(dossier.author)),
        ("revision", _get(dossier.implementation, "projectRevision", "version")),
        ("definition", dossier.definition),
        ("workload", dossier.run.spec["workloadDigest"]),
        ("comparison key", dossier.comparison_key),
        ("source", dossier.source),
        ("external id", f"submission/{dossier.submission}"),
        ("run digest", dossier.run.digest),
    ]
    return [
        _primary(dossier),
        fact_sheet("Identity", identity),
        fact_sheet("Correctness", list(_correctness(dossier))),
        fact_sheet("Workload", list(_workload(dossier))),
        fact_sheet("Measurements", list(_measurements(dossier))),
        fact_sheet("Protocol", _flat(dossier.protocol)),
        fact_sheet("Environment", _flat(dossier.environment)),
        _section("Artifacts", list(_artifacts(dossier)), "No artifacts were published with this run."),
        fact_sheet("Bounds", list(_bounds(dossier))),
        _section(
            "Findings",
            [(f.rule, f"{f.severity}: {f.message}") for f in dossier.findings],
            "None: every rule of verification that applies holds.",
        ),
        fact_sheet("History", list(_history(dossier.history))),
        _section(
            "Notes and replications",
            [(n.kind, f"{numbers.minute(n.written_at)}: {n.text}") for n in dossier.notes],
            "None. They never change evidence or rank.",
        ),
        *_rest(dossier.facts),
        Grid(("Canonical manifest", f"  kictl show submission/{dossier.submission} --manifest"), (), ()),
    ]


def ineligible_grids(sheet: Ineligible) -> list[Grid]:
    """Why a submission is not a run, and what else is known of it."""
    row = sheet.row
    reasons = [(reason, EXCLUDED.get(reason, "as the source says")) for reason in row.reasons]
    said = [(name, str(value)) for name, value in sheet.facts.items() if value is not None]
    return [
        fact_sheet(f"Submission {row.submission} by {named(row.author)} is not a run", reasons),
        fact_sheet("History", list(_history(sheet.history))),
        fact_sheet("What the source says", said),
    ]


def _section(title: str, facts: list[Fact], nothing: str) -> Grid:
    return fact_sheet(title, facts) if facts else Grid((title, f"  {nothing}"), (), ())


def _primary(dossier: Dossier) -> Grid:
    entry, placing = dossier.entry, dossier.placing
    unit = numbers.unit_for(entry.latency_ns)
    statistic = dossier.run.spec["timing"]["primaryStatistic"]
    facts: list[Fact] = [("latency", f"{unit.show(entry.latency_ns)} {unit.name} {statistic}")]
    facts += _places(dossier, placing) if placing else [("rank", _no_rank(dossier))]
    faster = None if entry.fast_1_count is None else f"{entry.fast_1_count}/{entry.fast_1_total or '–'} cases"
    gap = entry.latency_ns / dossier.bounds.sol_bound_ns if dossier.bounds.sol_bound_ns else None
    facts += [
        ("to the SOL bound", None if gap is None else f"{numbers.ratio(gap)} of it"),
        ("SOL score", None if entry.sol_score is None else numbers.score(entry.sol_score)),
        ("speedup", None if entry.avg_speedup is None else f"{numbers.ratio(entry.avg_speedup)} reference"),
        ("faster", faster),
        ("observed", f"{numbers.minute(entry.observed_at)} UTC"),
    ]
    title = f"{named(dossier.author)} · {dossier.definition} · {dossier.gpu} · stack {dossier.stack or 'not stated'}"
    return fact_sheet(title, facts)


def _places(dossier: Dossier, placing: Placing) -> list[Fact]:
    first = placing.first
    unit = numbers.unit_for(first.latency_ns)
    mine = f"{placing.rank}{'=' * placing.tied} of {placing.runs} runs"
    author = f"{placing.author_rank} of {placing.authors} authors"
    if placing.best is not None:
        author += f", by {placing.best.submission}"
    facts: list[Fact] = [("rank", mine), ("rank of author", author)]
    if first.run_digest != dossier.run.digest:
        record = f"{first.submission} by {named(first.author)}, {unit.show(first.latency_ns)} {unit.name}"
        facts.append(("to the first", f"{numbers.ratio(placing.ratio_to_first)} of {record}"))
    if placing.to_next is not None:
        noise = ": inside the portal's noise of 5 %" if placing.near else ""
        facts.append(("to the next", f"{numbers.percent(placing.to_next)} slower{noise}"))
    if dossier.unlisted:
        facts.append(("listing", "no longer in the source's listing, which is capped"))
    return facts


def _no_rank(dossier: Dossier) -> str:
    if dossier.standing == "superseded":
        return f"none: superseded by {dossier.latest}"
    return f"none: {dossier.standing}, {', '.join(dossier.reasons) or 'not in a cohort'}"


def _correctness(dossier: Dossier) -> Iterator[Fact]:
    yield "status", f"marked {dossier.run.spec['status']} by the source"
    found = dossier.run.spec.get("correctness")
    if found is None:
        yield "policy", "the source did not publish its correctness policy or errors"
        return
    yield from ((name, str(value)) for name, value in found.items())


def _workload(dossier: Dossier) -> Iterator[Fact]:
    workload = dossier.workload
    if workload is None:
        yield "workload", "its manifest is not in the catalogue"
        return
    yield "kind", f"suite of {len(workload.spec['cases'])} cases" if "cases" in workload.spec else "single case"
    yield "family", _get(dossier.operation, "family")
    yield from ((f"correctness {name}", str(value)) for name, value in workload.spec["correctness"].items())
    if aggregation := workload.spec.get("aggregation"):
        yield "aggregation", f"{aggregation['metric']} {aggregation['statistic']}"


def _measurements(dossier: Dossier) -> Iterator[Fact]:
    timing = dossier.run.spec["timing"]
    unit = numbers.unit_for(dossier.entry.latency_ns)
    for statistic, value in timing["latencyNs"].items():
        values = value if isinstance(value, list) else [value]
        yield f"latency {statistic}", f"{' to '.join(unit.show(v) for v in values)} {unit.name}"
    if "samples" in timing:
        yield "samples", str(timing["samples"])
    for item in dossier.run.spec.get("measurements", ()):
        yield f"{item['metric']} {item['statistic']}", f"{numbers.significant(item['value'])} {item['unit']}"
    for name, value in dossier.run.spec.get("sourceNative", {}).get("metrics", {}).items():
        yield f"source's {name}", str(value)


def _artifacts(dossier: Dossier) -> Iterator[Fact]:
    spec = dossier.run.spec
    places = {"raw samples": spec["timing"].get("rawSamples"), **spec.get("evidence", {})}
    for name, reference in places.items():
        if reference is not None:
            yield name, " ".join(str(value) for value in reference.values())


def _bounds(dossier: Dossier) -> Iterator[Fact]:
    bounds, observed = dossier.bounds, dossier.observed_bounds
    unit = numbers.unit_for(dossier.entry.latency_ns)
    for name, ns in (("SOL bound", bounds.sol_bound_ns), ("scoring baseline", bounds.scoring_baseline_ns)):
        yield name, None if ns is None else f"{unit.show(ns)} {unit.name}"
    if bounds.is_dummy:
        yield "SOL bound", "marked a dummy by the source"
    yield "digest", bounds.digest
    if observed.digest != bounds.digest:
        yield "when scored", observed.digest
        yield "moved", "the source changed the bounds since: the score above does not belong to those of today"


def _history(history: History) -> Iterator[Fact]:
    for event in history.events:
        yield f"import {event.import_id}", f"{numbers.minute(event.at)} {_event(event)}"
    yield "seen in", f"imports {_ranges(history.seen_in)}"
    if history.unsure:
        yield "perhaps in", f"imports {_ranges(history.unsure)}, which did not read the listing to its end"


def _event(event: Event) -> str:
    words = {
        "first-seen": "first seen",
        "became-run": "became a run",
        "superseded": f"superseded: the run is now {event.run}",
        "restored": "restored",
        "changed": "changed at the source, but not in what the run says",
    }
    reasons = f": {', '.join(event.reasons)}" if event.reasons else ""
    return f"{words.get(event.what, event.what)}{reasons}"


def _ranges(numbers_: tuple[int, ...]) -> str:
    """`1–3, 5`"""
    parts: list[list[int]] = []
    for number in numbers_:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}–{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


def _rest(row: Mapping[str, Any]) -> list[Grid]:
    """What the source says beside that: reviews, disqualifications, errors; shown, never interpreted."""
    facts = [(name, str(value)) for name, value in row.items() if name not in _USED and value is not None]
    return [fact_sheet("What else the source says", facts)] if facts else []


def _get(manifest: Any, *path: str) -> str | None:
    value = manifest.spec if manifest else None
    for member in path:
        value = value.get(member) if isinstance(value, dict) else None
    return None if value is None else str(value)


def _flat(manifest: Any) -> list[Fact]:
    """The members of a spec, nested ones by their path."""
    if manifest is None:
        return [("manifest", "not in the catalogue")]
    return [("digest", manifest.digest), *_members(manifest.spec, ())]


def _members(value: Any, path: tuple[str, ...]) -> Iterator[Fact]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _members(member, (*path, name))
    else:
        yield ".".join(path), ", ".join(map(str, value)) if isinstance(value, list) else str(value)
