"""The dossier of a run, and of a submission that is none, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kictl.bounds import BoundsFacts, gap
from kictl.catalogue.queries import Cohort
from kictl.comparability import EXCLUDED
from kictl.model import Manifest, Score
from kictl.rank import POLICY
from kictl.render import citation, comparison, measure, numbers
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
    """The run as it is published: with its protocol and environment, which a serving run has none of."""
    if dossier.is_serving:
        return dossier.run.document
    return {
        "run": dossier.run.document,
        "protocol": dossier.protocol and dossier.protocol.document,
        "environment": dossier.environment and dossier.environment.document,
    }


def to_json(dossier: Dossier) -> dict[str, Any]:
    """The stable form for programs, numbers unrounded, in the order of the dossier. What its source does not state has
    no members."""
    row, placing, cohort = dossier.row, dossier.placing, dossier.cohort
    return {
        "submission": row.submission,
        "run_digest": dossier.run.digest,
        "permalink": citation.permalink(dossier.run.digest),
        "standing": row.standing,
        "status": row.status,
        "reasons": list(row.reasons),
        "unlisted": row.unlisted,
        **_measured_json(dossier),
        "observed_at": dossier.run.spec["observedAt"],
        "ranking": placing and _placing_json(placing, cohort),
        "identity": {
            "author": row.author,
            "source": row.source,
            "definition": row.definition,
            "kernel": row.kernel,
            "gpu": row.gpu,
            "stack": row.stack,
            **({"shape": cohort.shape} if cohort.shape is not None else {}),
            **(cohort.serving._asdict() if cohort.serving else {}),
            "comparison_key": cohort.key,
            **_references(dossier),
        },
        **_bounds_member(dossier),
        "findings": [
            {"rule": f.rule, "severity": f.severity, "pointer": f.pointer, "message": f.message}
            for f in dossier.findings
        ],
        "history": _history_json(dossier.history),
        "told_by": [
            {"import": t.import_id, "source": t.source, "origin": t.origin, "at": t.at, "digest": t.snapshot_digest}
            for t in dossier.told_by
        ],
        "other_runs": [other.run for other in dossier.siblings],
        "claims": {name: claims for name, claims in vars_of(dossier).items() if claims},
        "notes": [{"kind": n.kind, "text": n.text, "written_at": n.written_at} for n in dossier.notes],
        "source_row": dossier.facts,
        "manifest": bundle(dossier),
        "as_of": dossier.as_of,
    }


def vars_of(dossier: Dossier) -> dict[str, Any]:
    """What exports say beside manifests, by what it is about."""
    claims = dossier.claims
    return {"run": claims.run, "implementation": claims.implementation, "source": claims.source}


def _measured_json(dossier: Dossier) -> dict[str, Any]:
    """The primary measurement, null where there is none, and the score where the source gives one."""
    metric, entry = dossier.metric, dossier.entry
    if entry is None:
        return {"value": None}
    found = measure.entry_json(metric, entry, scored=dossier.cohort.has_scores)
    wanted = ("value", "latency_ns", *Score._fields)
    return {**(measure.metric_json(metric) or {}), **{name: found[name] for name in wanted if name in found}}


def _references(dossier: Dossier) -> dict[str, Any]:
    """The digests of the manifests that make up the run."""
    spec = dossier.run.spec
    if dossier.is_serving:
        return {name: spec[f"{name}Digest"] for name in ("model", "configuration", "workload")}
    return {
        "implementation": spec["implementationDigest"],
        "project": dossier.project and dossier.project.digest,
        "operation": dossier.subject and dossier.subject.digest,
        "workload": spec["workloadDigest"],
        "protocol": spec["protocolDigest"],
        "environment": spec["environmentDigest"],
    }


def _bounds_member(dossier: Dossier) -> dict[str, Any]:
    if dossier.bounds is None:
        return {}
    versions = [{"import": v.import_id, "at": v.at, "digest": v.digest} for v in dossier.bounds_versions]
    return {
        "bounds": {
            "observed": dossier.observed_bounds and _bounds_json(dossier.observed_bounds),
            "present": _bounds_json(dossier.bounds),
            "versions": versions,
        }
    }


def _placing_json(placing: Placing, cohort: Cohort) -> dict[str, Any]:
    first = measure.entry_json(cohort.metric, placing.first, scored=False)
    return {
        "policy": POLICY,
        "rank": placing.rank,
        "runs": placing.runs,
        "tied": placing.tied,
        "near": placing.near,
        "author_rank": placing.author_rank,
        "authors": placing.authors,
        "authors_best": placing.best and placing.best.submission,
        "first": {name: first[name] for name in ("submission", "author", "value", "latency_ns") if name in first},
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
    """A section for each thing that a reader asks, in that order; a thing that its source does not state has none."""
    row = dossier.row
    return [
        _primary(dossier),
        fact_sheet("Identity", list(_identity(dossier))),
        fact_sheet("Correctness", list(_correctness(dossier))),
        fact_sheet("Workload", list(_workload(dossier))),
        fact_sheet("Measurements", list(_measurements(dossier))),
        *_settings(dossier),
        _section("Artifacts", list(_artifacts(dossier)), "No artifacts were published with this run."),
        *([fact_sheet("Bounds", list(_bounds(dossier, dossier.bounds)))] if dossier.bounds else []),
        _section(
            "Findings",
            [(f.rule, f"{f.severity}: {f.message}") for f in dossier.findings],
            "None: every rule of verification that applies holds.",
        ),
        fact_sheet("History", [*_history(dossier.history), *_told_by(dossier)]),
        _section(
            "Notes and replications",
            [(n.kind, f"{numbers.minute(n.written_at)}: {n.text}") for n in dossier.notes],
            "None. They never change evidence or rank.",
        ),
        *([] if row.standing == "failed" and not dossier.facts else _rest(dossier.facts)),
        Grid(("Canonical manifest", f"  kictl show run/{dossier.run.digest[7:19]} --manifest"), (), ()),
    ]


def _identity(dossier: Dossier) -> Iterator[Fact]:
    row, spec = dossier.row, dossier.run.spec
    if dossier.is_serving:
        yield "model", _get(dossier.subject, "model") or spec["modelDigest"]
        yield "configuration", spec["configurationDigest"]
    else:
        yield "implementation", _title(dossier.implementation) or row.author
        yield "implementation digest", spec["implementationDigest"]
    yield "project", None if row.author is None else named(row.author)
    yield "revision", _get(dossier.implementation, "projectRevision", "version")
    yield "language", _get(dossier.implementation, "callable", "language")
    yield "licence", _licence(dossier)
    yield "definition", row.definition
    yield "workload", spec["workloadDigest"]
    yield "cohort key" if dossier.is_serving else "comparison key", dossier.cohort.key
    name = dossier.claims.source.get("name")
    yield "source", row.source if name is None else f"{name} ({row.source})"
    yield "external id", row.submission if "/" in row.submission else f"submission/{row.submission}"
    if dossier.siblings:
        yield "other runs of it", str(len(dossier.siblings))
    yield "run digest", dossier.run.digest


def _title(manifest: Manifest | None) -> str | None:
    """The title of a manifest, if it has one."""
    title: str | None = manifest.document["metadata"].get("title") if manifest else None
    return title


def _licence(dossier: Dossier) -> str | None:
    """What is declared of the implementation, in its manifest or beside it."""
    claimed = dossier.claims.implementation
    found = _get(dossier.implementation, "licensing", "declared") or claimed.get("licenseDeclared")
    return found or claimed.get("licenseExpression")


def _settings(dossier: Dossier) -> list[Grid]:
    """How it was measured and on what."""
    if dossier.is_serving:
        serving = dossier.cohort.serving
        facts = list((serving._asdict() if serving else {}).items())
        return [fact_sheet("Serving", facts), fact_sheet("Configuration", _flat(dossier.implementation))]
    return [
        fact_sheet("Protocol", _flat(dossier.protocol)),
        fact_sheet("Environment", _flat(dossier.environment)),
    ]


def _told_by(dossier: Dossier) -> Iterator[Fact]:
    """The sources that told of the run, where it was not only its own."""
    told = dossier.told_by
    if [t.source for t in told] == [dossier.row.source]:
        return
    for telling in told:
        digest = f", {telling.snapshot_digest}" if telling.snapshot_digest else ""
        yield f"told by {telling.source}", f"import {telling.import_id} of {numbers.minute(telling.at)}{digest}"
    run = dossier.claims.run
    if run.get("publishedAt"):
        yield "published", f"{numbers.minute(run['publishedAt'])} UTC, as the export says"
    if run.get("retractedAt"):
        yield (
            "retracted",
            f"{numbers.minute(run['retractedAt'])} UTC: {run.get('retractionReason') or 'no reason given'}",
        )


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
    row, entry, placing = dossier.row, dossier.entry, dossier.placing
    scale, metric = _scale(dossier), dossier.metric
    facts: list[Fact] = []
    if entry is None or metric is None:
        facts.append(("measurement", f"none: the run ended as {row.status}"))
    else:
        name = metric.name.replace("_", " ")
        better = "" if metric.better == "lower" or metric.better is None else f", {metric.better} is better"
        facts.append((name, f"{scale.with_unit(entry.value)} {metric.statistic}{better}"))
    facts += _places(dossier, placing) if placing else [("rank", _no_rank(dossier))]
    ratio = gap(entry.value, dossier.bounds) if entry else None
    facts += [
        ("to the SOL bound", None if ratio is None else f"{numbers.ratio(ratio)} of it"),
        *(_scores(entry.score) if entry and entry.score else ()),
        ("observed", f"{numbers.minute(dossier.run.spec['observedAt'])} UTC"),
    ]
    return fact_sheet(f"{named(row.author)} · {row.definition} · {comparison.cohort_title(dossier.cohort)}", facts)


def _scale(dossier: Dossier) -> measure.Scale:
    return measure.Scale.of(dossier.metric, dossier.entry and dossier.entry.value)


def _scores(score: Score) -> list[Fact]:
    faster = None if score.fast_1_count is None else f"{score.fast_1_count}/{score.fast_1_total or '–'} cases"
    return [
        ("SOL score", None if score.sol_score is None else numbers.score(score.sol_score)),
        ("speedup", None if score.avg_speedup is None else f"{numbers.ratio(score.avg_speedup)} reference"),
        ("faster", faster),
    ]


def _places(dossier: Dossier, placing: Placing) -> list[Fact]:
    first = placing.first
    mine = f"{placing.rank}{'=' * placing.tied} of {placing.runs} runs"
    author = f"{placing.author_rank} of {placing.authors} authors"
    if placing.best is not None:
        author += f", by {placing.best.submission}"
    facts: list[Fact] = [("rank", mine), *([("rank of author", author)] if dossier.cohort.by_author else [])]
    is_lower = dossier.metric is None or dossier.metric.better == "lower"
    if first.run_digest != dossier.run.digest:
        shown = measure.Scale.of(dossier.metric, first.value).with_unit(first.value)
        record = f"{first.submission} by {named(first.author)}, {shown}"
        ratio = numbers.ratio(placing.ratio_to_first)
        facts.append(("to the first", f"{ratio} of {record}" if is_lower else f"{ratio} as much has {record}"))
    if placing.to_next is not None:
        noise = ": inside the noise of 5 %" if placing.near else ""
        worse = "slower" if is_lower else "more has the next"
        facts.append(("to the next", f"{numbers.percent(placing.to_next)} {worse}{noise}"))
    if dossier.row.unlisted:
        facts.append(("listing", "no longer in the source's listing, which is capped"))
    return facts


def _no_rank(dossier: Dossier) -> str:
    row = dossier.row
    if row.standing == "superseded":
        return f"none: superseded by {row.latest}" if row.latest != row.run else "none: superseded"
    if row.standing == "failed":
        return f"none: {row.status}"
    if row.standing == "current":
        return "none: nobody says which values of its metric are better"
    return f"none: {row.standing}, {', '.join(row.reasons) or 'not in a cohort'}"


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
    if dossier.is_serving:
        yield from _members(workload.spec, ())
        return
    yield "kind", f"suite of {len(workload.spec['cases'])} cases" if "cases" in workload.spec else "single case"
    if dossier.cohort.shape:
        yield "axes", dossier.cohort.shape
    yield "family", _get(dossier.subject, "family")
    yield from ((f"correctness {name}", str(value)) for name, value in workload.spec["correctness"].items())
    if aggregation := workload.spec.get("aggregation"):
        yield "aggregation", f"{aggregation['metric']} {aggregation['statistic']}"


def _measurements(dossier: Dossier) -> Iterator[Fact]:
    spec = dossier.run.spec
    timing = spec.get("timing", {"latencyNs": {}})
    for statistic, value in timing["latencyNs"].items():
        values = value if isinstance(value, list) else [value]
        unit = numbers.unit_for(max(values))
        yield f"latency {statistic}", f"{' to '.join(unit.show(v) for v in values)} {unit.name}"
    if "samples" in timing:
        yield "samples", str(timing["samples"])
    for item in spec.get("measurements", ()):
        name = f"{item['metric']} {item['statistic']}"
        yield name, f"{numbers.significant(item['value'], measure.SIGNIFICANT)} {item['unit']}"
    for name, value in spec.get("sourceNative", {}).get("metrics", {}).items():
        yield f"source's {name}", str(value)


def _artifacts(dossier: Dossier) -> Iterator[Fact]:
    spec = dossier.run.spec
    places = {"raw samples": spec.get("timing", {}).get("rawSamples"), **spec.get("evidence", {})}
    for name, reference in places.items():
        if reference is not None:
            yield name, " ".join(str(value) for value in reference.values())


def _bounds(dossier: Dossier, bounds: BoundsFacts) -> Iterator[Fact]:
    observed, scale = dossier.observed_bounds, _scale(dossier)
    for name, ns in (("SOL bound", bounds.sol_bound_ns), ("scoring baseline", bounds.scoring_baseline_ns)):
        yield name, None if ns is None else scale.with_unit(ns)
    if bounds.is_dummy:
        yield "SOL bound", "marked a dummy by the source"
    yield "digest", bounds.digest
    if observed is not None and observed.digest != bounds.digest:
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
    facts = [(name, str(value)) for name, value in row.items() if name not in _USED and value not in (None, {}, [])]
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
