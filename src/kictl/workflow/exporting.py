"""Export: the catalogue as records, each under the facts that say what it may be compared with and where it is from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kictl import rank
from kictl.bounds import gap
from kictl.catalogue import dossiers, queries
from kictl.catalogue.dossiers import SubmissionRow
from kictl.catalogue.queries import Known
from kictl.catalogue.store import Catalogue
from kictl.cohort import Metric
from kictl.model import SOL_EXECBENCH, Json, Score
from kictl.workflow import comparing, history

Type = Literal["text", "integer", "number", "flag", "json"]
Columns = dict[str, Type]


@dataclass(frozen=True, slots=True)
class Batch:
    """Records that share their head. Both have the columns of their sheet, None where something is not known."""

    head: Json
    rows: Iterable[Json]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything of one sort, in an order that depends on the catalogue alone. `about` is said of the whole."""

    name: str
    about: dict[str, str | None]
    head: Columns
    columns: Columns
    batches: Iterable[Batch]


_ORIGIN: Columns = {
    "definition": "text",
    "kernel": "text",
    "source": "text",
    "imported_at": "text",
    "snapshot_digest": "text",
}
_COHORT: Columns = {
    **_ORIGIN,
    "gpu": "text",
    "stack": "text",
    "shape": "text",
    "metric": "text",
    "statistic": "text",
    "unit": "text",
    "better": "text",
    "comparison_key": "text",
    "bounds_digest": "text",
    "cases": "integer",
    "population": "integer",
    "authors": "integer",
    "sol_bound_ns": "number",
    "scoring_baseline_ns": "number",
}
_ENTRY: Columns = {
    "submission": "text",
    "author": "text",
    "value": "number",
    "latency_ns": "integer",
    "sol_score": "number",
    "avg_speedup": "number",
    "fast_1_count": "integer",
    "fast_1_total": "integer",
    "observed_at": "text",
    "unlisted": "flag",
    "run_digest": "text",
}
_PLACE: Columns = {"rank": "integer", "tied": "flag", "near": "flag", "best_of_author": "flag"}
_STEP: Columns = {"gain_by": "number", "gain": "number", "held_days": "integer", "near": "flag"}

_SCORES = frozenset(Score._fields)
_BOUNDS = frozenset({"bounds_digest", "sol_bound_ns", "scoring_baseline_ns", "gap"})


def _stated(catalogue: Catalogue, columns: Columns) -> Columns:
    """The columns less those that no source of the catalogue has anything for."""
    absent: set[str] = set()
    if not any(known.source == SOL_EXECBENCH for known in queries.definitions(catalogue)):
        absent |= _SCORES | _BOUNDS
    if not queries.cohorts_where(catalogue, "c.metric LIKE 'latency:%:ns'"):
        absent.add("latency_ns")
    if not queries.cohorts_where(catalogue, "c.shape IS NOT NULL"):
        absent.add("shape")
    return {name: kind for name, kind in columns.items() if name not in absent}


def manifests(catalogue: Catalogue) -> Sheet:
    """Every manifest, by digest."""
    rows = (
        {"digest": str(manifest.digest), "kind": manifest.kind, "manifest": manifest.document}
        for manifest in catalogue.manifests()
    )
    columns: Columns = {"digest": "text", "kind": "text", "manifest": "json"}
    return Sheet("manifests", _about(catalogue), {}, columns, [Batch({}, rows)])


def runs(catalogue: Catalogue) -> Sheet:
    """Every current run with its rank among the runs of its cohort."""
    return _by_cohort(catalogue, "runs", {**_PLACE, **_ENTRY}, _ranked)


def cohorts(catalogue: Catalogue) -> Sheet:
    """Every cohort with a current run: the digests that make it up, its first run, the gap to the bound."""
    columns: Columns = {"subject": "text", "workload": "text", "protocol": "text", "environment": "text"}
    return _by_cohort(catalogue, "cohorts", {**columns, "shared": "integer", "gap": "number", **_ENTRY}, _first)


def records(catalogue: Catalogue) -> Sheet:
    """Every run that was the best of its cohort when it was observed, oldest first."""
    until = dossiers.last_import_at(catalogue) or ""

    def steps(table: comparing.Table) -> Iterator[Json]:
        if table.order is None:
            return
        holders = rank.record([ranked.entry for ranked in table.rows], table.order)
        for step in history.steps_of(holders, until):
            yield {**{name: getattr(step, name) for name in _STEP}, **_entry(table, step.entry)}

    return _by_cohort(catalogue, "history", {**_STEP, **_ENTRY}, steps)


def submissions(catalogue: Catalogue) -> Sheet:
    """Everything that was submitted, runs or not, with the reasons."""
    columns: Columns = {
        "submission": "text",
        "author": "text",
        "gpu": "text",
        "stack": "text",
        "standing": "text",
        "reasons": "text",
        "unlisted": "flag",
        "runs": "integer",
        "run_digest": "text",
    }

    def values(row: SubmissionRow) -> Json:
        known = {name: getattr(row, name) for name in columns if name not in ("run_digest", "runs")}
        return {**known, "reasons": " ".join(row.reasons), "runs": len(row.runs), "run_digest": row.run}

    def batches() -> Iterator[Batch]:
        for known in queries.definitions(catalogue):
            yield Batch(_origin(catalogue, known), map(values, dossiers.submissions_to(catalogue, known.id)))

    return Sheet("submissions", _about(catalogue), _ORIGIN, columns, batches())


SHEETS: dict[str, Callable[[Catalogue], Sheet]] = {
    "manifests": manifests,
    "runs": runs,
    "cohorts": cohorts,
    "history": records,
    "submissions": submissions,
}
"""What can be exported, by name."""


def _about(catalogue: Catalogue) -> dict[str, str | None]:
    return {
        "catalog_digest": str(catalogue.digest()),
        "as_of": dossiers.last_import_at(catalogue),
        "policy": rank.POLICY,
    }


def _by_cohort(
    catalogue: Catalogue, name: str, columns: Columns, rows: Callable[[comparing.Table], Iterable[Json]]
) -> Sheet:
    options = comparing.Options(all_submissions=True)
    head, columns = _stated(catalogue, _COHORT), _stated(catalogue, columns)

    def batches() -> Iterator[Batch]:
        for known in queries.definitions(catalogue):
            bounds = queries.bounds(catalogue, known.id)
            origin = _origin(catalogue, known)
            for cohort in queries.cohorts(catalogue, known.id):
                table = comparing.table(catalogue, cohort, bounds, options)
                if table.rows:
                    about = {**origin, **_cohort(table)}
                    yield Batch(
                        {column: about[column] for column in head},
                        ({column: row[column] for column in columns} for row in rows(table)),
                    )

    return Sheet(name, _about(catalogue), head, columns, batches())


def _origin(catalogue: Catalogue, known: Known) -> Json:
    found = queries.origin(catalogue, known.id)
    return {
        "definition": known.name,
        "kernel": known.external_id,
        "source": known.source,
        "imported_at": found and found.at,
        "snapshot_digest": found and found.snapshot_digest,
    }


def _cohort(table: comparing.Table) -> Json:
    cohort, bounds, metric = table.cohort, table.bounds, table.cohort.metric
    return {
        "gpu": cohort.gpu,
        "stack": cohort.stack,
        "shape": cohort.shape,
        "metric": metric and metric.name,
        "statistic": metric and metric.statistic,
        "unit": metric and metric.unit,
        "better": metric and metric.better,
        "comparison_key": cohort.key,
        "bounds_digest": bounds and bounds.digest,
        "cases": cohort.cases,
        "population": table.population,
        "authors": table.authors,
        "sol_bound_ns": bounds and bounds.sol_bound_ns,
        "scoring_baseline_ns": bounds and bounds.scoring_baseline_ns,
    }


def _ranked(table: comparing.Table) -> Iterator[Json]:
    seen: set[str] = set()
    for ranked in table.rows:
        author = ranked.entry.author
        best = author is None or author not in seen
        seen.add(author or "")
        place = {"rank": ranked.rank, "tied": ranked.tied, "near": ranked.near, "best_of_author": best}
        yield {**place, **_entry(table, ranked.entry)}


def _first(table: comparing.Table) -> Iterator[Json]:
    first, cohort = table.rows[0].entry, table.cohort
    protocol, environment = cohort.kernel or (None, None)
    yield {
        "subject": cohort.subject,
        "workload": cohort.workload,
        "protocol": protocol,
        "environment": environment,
        "shared": sum(ranked.rank == 1 for ranked in table.rows) - 1,
        "gap": gap(first.value, table.bounds),
        **_entry(table, first),
    }


def _entry(table: comparing.Table, entry: rank.Entry) -> Json:
    score = entry.score or Score()
    return {
        "submission": entry.submission,
        "author": entry.author,
        "value": entry.value,
        "latency_ns": latency_ns(table.cohort.metric, entry),
        **score._asdict(),
        "observed_at": entry.observed_at,
        "unlisted": entry.unlisted,
        "run_digest": entry.run_digest,
    }


def latency_ns(metric: Metric | None, entry: rank.Entry) -> int | None:
    """The latency of a run whose metric is one in ns; None for any other."""
    return int(entry.value) if metric and (metric.name, metric.unit) == ("latency", "ns") else None
