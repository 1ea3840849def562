"""Runs side by side, as tables for people and as records for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kictl.comparability import WHY, Reason, letter
from kictl.rank import is_near, ratio
from kictl.render import comparison, csv, measure, numbers
from kictl.render.grid import Grid, Row, columns
from kictl.text import named
from kictl.workflow.pairing import Candidate, Measured, Pairing

_PER_TABLE = 4
"""How many runs are set side by side where there is no room for more."""
_DIFFERS, _SAME = "≠", "="


def to_json(pairing: Pairing) -> dict[str, Any]:
    """The stable form for programs; `values` of a field are in the order of `runs`."""
    return {
        "comparable": pairing.verdict.comparable,
        "reasons": [_reason_json(reason) for reason in pairing.verdict.reasons],
        "caveats": [_reason_json(reason) for reason in pairing.verdict.caveats],
        "runs": [_run_json(pairing, position) for position in range(len(pairing.runs))],
        "fields": [
            {"field": name, "decides": decides, "differs": _differ(keys), "values": list(keys)}
            for decides, fields in ((True, _deciding(pairing)), (False, _others(pairing)))
            for name, keys, _ in fields
        ],
        "reference": {
            "bounds_digest": pairing.bounds and pairing.bounds.digest,
            "sol_bound_ns": pairing.bounds and pairing.bounds.sol_bound_ns,
            "scoring_baseline_ns": pairing.bounds and pairing.bounds.scoring_baseline_ns,
        },
    }


def _reason_json(reason: Reason) -> dict[str, Any]:
    return {
        "code": reason.code,
        "message": reason.message,
        "why": WHY.get(reason.code),
        "values": list(reason.values),
    }


def _run_json(pairing: Pairing, position: int) -> dict[str, Any]:
    run = pairing.runs[position]
    measured = pairing.measured[position] if pairing.measured else None
    return {
        "run": letter(position),
        "name": run.name,
        "added": run.added,
        "submission": run.run.get("sourceNative", {}).get("externalId"),
        "author": run.author,
        "run_digest": run.digest,
        "comparison_key": run.decides.key,
        **(measure.metric_json(run.metric) or {}),
        "value": run.value,
        "ratio": measured and measured.ratio,
        "difference": measured and measured.difference,
        "gap_closed": measured and measured.closed,
        "rank": measured and measured.rank,
    }


def to_csv(pairing: Pairing) -> str:
    """One line per run: its own figures, then every field that decides."""
    records = [_run_json(pairing, position) for position in range(len(pairing.runs))]
    fields = _deciding(pairing)
    header = [*records[0], "comparable", "reasons", *(name for name, _, _ in fields)]
    reasons = " ".join(reason.code for reason in pairing.verdict.reasons)
    comparable = "yes" if pairing.verdict.comparable else "no"
    rows = [
        [*record.values(), comparable, reasons, *(keys[position] for _, keys, _ in fields)]
        for position, record in enumerate(records)
    ]
    return csv.render(header, rows)


def to_grids(pairing: Pairing, *, roomy: bool, explain: bool = False) -> list[Grid]:
    """The verdict with the figures, if there are any, and then what is the same and what is not."""
    return [
        _verdict(pairing, explain),
        *_fields("what decides", _deciding(pairing), len(pairing.runs), roomy),
        *_fields("the rest", _others(pairing), len(pairing.runs), roomy),
    ]


def _verdict(pairing: Pairing, explain: bool) -> Grid:
    verdict = pairing.verdict
    title = "comparable" if verdict.comparable else "not comparable"
    lines = [
        line
        for number, reason in enumerate(verdict.reasons, start=1)
        for line in _told(f"{number}. {reason.message}", reason, explain)
    ]
    lines += [line for reason in verdict.caveats for line in _told(f"but {reason.message}", reason, explain)]
    if not pairing.measured:
        return Grid((title, *lines), (), ())
    decides = pairing.runs[0].decides
    cohort = pairing.runs[0].cohort
    place = comparison.cohort_title(cohort) if cohort else decides.topology or decides.gpu or "one GPU"
    metric = pairing.runs[0].metric
    subject = f"{decides.definition or 'one workload'} · {place}" + (
        f" · {measure.described(metric)}" if metric else ""
    )
    return Grid((title, subject, *lines), *_measured(pairing))


def _told(text: str, reason: Reason, explain: bool) -> list[str]:
    why = WHY.get(reason.code)
    return [text, f"   {why}"] if explain and why else [text]


def _measured(pairing: Pairing) -> tuple[tuple[Any, ...], tuple[Row, ...], tuple[str, ...]]:
    metric = pairing.runs[0].metric
    is_lower = metric is None or metric.better == "lower"
    values = [item.value for item in pairing.measured]
    best = min(values) if is_lower else max(values)
    scale, bounds = measure.Scale.of(metric, best), pairing.bounds
    scored = any(run.metrics.get("sol_score") is not None for run in pairing.runs)
    facets = [*(["gap closed"] if bounds else []), *(["SOL"] if scored else [])]
    whole, nothing = ("100 %", "0 %") if any(item.closed is not None for item in pairing.measured) else ("–", "–")
    order = sorted(range(len(pairing.runs)), key=lambda position: (abs(values[position] - best), position))
    rows = [
        bounds and _reference("SOL bound", bounds.sol_bound_ns, best, scale, whole, scored=scored),
        *(_row(letter(place), pairing.runs[place], pairing.measured[place], best, scale, facets) for place in order),
        bounds and _reference("baseline", bounds.scoring_baseline_ns, best, scale, nothing, scored=scored),
    ]
    near = [is_near(value, best) and value != best for value in values]
    foot = ["gap closed: how far the latency has come from the scoring baseline to the SOL bound"] if bounds else []
    foot += ["≈ within 5 % of the best: inside the run-to-run noise"] if any(near) else []
    foot += ["+ added: the first of the cohort"] if any(run.added for run in pairing.runs) else []
    grid_columns = columns(
        *("", "run", "author", scale.name, "ratio", f"{'+' if is_lower else '−'} {scale.name}", *facets, "rank"),
        left=["", "run"],
        flexible=["author"],
        least=["SOL", "rank"],
    )
    return grid_columns, tuple(row for row in rows if row is not None), tuple(foot)


def _row(
    name: str, run: Candidate, measured: Measured, best: float, scale: measure.Scale, facets: Sequence[str]
) -> Row:
    near = measured.value != best and is_near(measured.value, best)
    of_facets = {
        "gap closed": numbers.percent(measured.closed),
        "SOL": numbers.score(run.metrics.get("sol_score")),
    }
    return Row(
        (
            f"{name}{'+' * run.added}",
            _id(run),
            named(run.author),
            scale.show(measured.value),
            f"{'≈' * near}{numbers.ratio(measured.ratio)}",
            scale.show(measured.difference) if measured.difference else "–",
            *(of_facets[facet] for facet in facets),
            "–" if measured.rank is None else f"{measured.rank}{'=' * measured.tied}",
        )
    )


def _reference(
    name: str, ns: float | None, best: float, scale: measure.Scale, closed: str, *, scored: bool
) -> Row | None:
    if ns is None:
        return None
    cells = ("", "", name, scale.show(ns), numbers.ratio(ratio(ns, best)), "", closed, *([""] if scored else []), "")
    return Row(cells, reference=True)


def _id(run: Candidate) -> str:
    return str(run.run.get("sourceNative", {}).get("externalId") or run.digest.short)


Field = tuple[str, tuple[Any, ...], tuple[str, ...]]
"""Name; what each run has, for programs; the same for people."""


def _deciding(pairing: Pairing) -> list[Field]:
    """In the order of how material they are."""
    facts = [run.decides for run in pairing.runs]
    return [
        _field("definition", [f.definition for f in facts]),
        _field("operation", [f.operation for f in facts]),
        _field("workload", [f.workload for f in facts], [_workload(run) for run in pairing.runs]),
        _field("GPU", [f.gpu for f in facts]),
        _field("environment", [f.environment for f in facts]),
        _field("stack", [f.stack for f in facts]),
        _field("protocol", [f.protocol for f in facts]),
        _field("family", [f.family for f in facts]),
        _field("correctness", [f.correctness for f in facts]),
        _field("status", [f.status for f in facts]),
        _field("metric", [f.metric for f in facts]),
        *(_optional("bounds", [f.bounds for f in facts])),
        *(_optional("topology", [f.topology for f in facts])),
        *(_optional("quality", [f.quality for f in facts])),
    ]


def _others(pairing: Pairing) -> list[Field]:
    runs = pairing.runs
    metrics = [run.metrics for run in runs]
    faster = [f"{m['fast_1_count']}/{m.get('fast_1_total', '–')}" if "fast_1_count" in m else None for m in metrics]
    return [
        _field("comparison key", [run.decides.key for run in runs]),
        _field("author", [run.author for run in runs]),
        _field("implementation", [_implementation(run) for run in runs]),
        _field(
            "observed", [run.run["observedAt"] for run in runs], [numbers.minute(run.run["observedAt"]) for run in runs]
        ),
        _field("standing", [run.dossier.row.standing if run.dossier else "not imported" for run in runs]),
        *_optional("SOL score", [m.get("sol_score") for m in metrics], numbers.score),
        *_optional("speedup", [m.get("avg_speedup") for m in metrics], numbers.ratio),
        *_optional("faster", faster),
        _field("run digest", [run.digest for run in runs]),
    ]


def _field(name: str, keys: Sequence[Any], shown: Sequence[str] | None = None) -> Field:
    return name, tuple(keys), tuple(shown or [_short(key) for key in keys])


def _optional(name: str, keys: Sequence[Any], show: Callable[[Any], str] | None = None) -> list[Field]:
    """A field that is left out where no run has it."""
    if all(key is None for key in keys):
        return []
    return [_field(name, keys, None if show is None else [show(key) for key in keys])]


def _implementation(run: Candidate) -> str:
    """What was run: an implementation, or the configuration of a serving run."""
    return str(run.run.get("implementationDigest") or run.run["configurationDigest"])


def _short(value: str | None) -> str:
    if value is None:
        return "–"
    return f"{value[:19]}…" if value.startswith("sha256:") else value


def _workload(run: Candidate) -> str:
    facts = run.decides
    kind = {True: f"suite of {facts.cases}", False: "case", None: "workload"}[facts.is_suite]
    return f"{kind} {facts.workload[7:19]}…"


def _differ(keys: Sequence[Any]) -> bool:
    return len(set(keys)) > 1


def _fields(title: str, fields: list[Field], count: int, roomy: bool) -> list[Grid]:
    """A row per field, its runs in columns; several tables where there are too many runs for one."""
    step = count if roomy else _PER_TABLE
    grids = []
    for start in range(0, count, step):
        names = [letter(position) for position in range(start, min(start + step, count))]
        rows = tuple(
            Row((_DIFFERS if _differ(keys) else _SAME, name, *shown[start : start + step]))
            for name, keys, shown in fields
        )
        grids.append(Grid((title,), columns("", "field", *names, left=["", "field"], flexible=names), rows))
    return grids
