"""Export: the catalogue as records, each under the facts that say what it may be compared with and where it is from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kictl import rank
from kictl.bounds import BoundsFacts
from kictl.catalogue import dossiers, origins, queries
from kictl.catalogue.dossiers import SubmissionRow
from kictl.catalogue.queries import Known
from kictl.catalogue.store import Catalogue
from kictl.model import Json
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
_STEP: Columns = {"gain_ns": "integer", "gain": "number", "held_days": "integer", "near": "flag"}


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
    columns: Columns = {"operation": "text", "suite": "text", "protocol": "text", "environment": "text"}
    return _by_cohort(catalogue, "cohorts", {**columns, "shared": "integer", "gap": "number", **_ENTRY}, _first)


def records(catalogue: Catalogue) -> Sheet:
    """Every run that was the fastest of its cohort when it was observed, oldest first."""
    until = dossiers.last_import_at(catalogue) or ""

    def steps(table: comparing.Table) -> Iterator[Json]:
        for step in history.steps_of(rank.record([ranked.entry for ranked in table.rows]), until):
            yield {**{name: getattr(step, name) for name in _STEP}, **_entry(step.entry)}

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
        "run_digest": "text",
    }

    def values(row: SubmissionRow) -> Json:
        known = {name: getattr(row, name) for name in columns if name != "run_digest"}
        return {**known, "reasons": " ".join(row.reasons), "run_digest": row.run}

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

    def batches() -> Iterator[Batch]:
        for known in queries.definitions(catalogue):
            bounds = queries.bounds(catalogue, known.id)
            origin = _origin(catalogue, known)
            for cohort in queries.cohorts(catalogue, known.id):
                table = comparing.table(catalogue, cohort, bounds, options)
                if table.rows:
                    yield Batch({**origin, **_cohort(table)}, rows(table))

    return Sheet(name, _about(catalogue), _COHORT, columns, batches())


def _origin(catalogue: Catalogue, known: Known) -> Json:
    found = origins.origin(catalogue, known.id)
    return {
        "definition": known.name,
        "kernel": known.external_id,
        "source": known.source,
        "imported_at": found and found.at,
        "snapshot_digest": found and found.snapshot_digest,
    }


def _cohort(table: comparing.Table) -> Json:
    cohort = table.cohort
    return {
        "gpu": cohort.gpu,
        "stack": cohort.stack,
        "comparison_key": cohort.comparison_key,
        "bounds_digest": table.bounds.digest,
        "cases": cohort.cases,
        "population": table.population,
        "authors": table.authors,
        "sol_bound_ns": table.bounds.sol_bound_ns,
        "scoring_baseline_ns": table.bounds.scoring_baseline_ns,
    }


def _ranked(table: comparing.Table) -> Iterator[Json]:
    seen: set[str] = set()
    for ranked in table.rows:
        best = ranked.entry.author not in seen
        seen.add(ranked.entry.author)
        place = {"rank": ranked.rank, "tied": ranked.tied, "near": ranked.near, "best_of_author": best}
        yield {**place, **_entry(ranked.entry)}


def _first(table: comparing.Table) -> Iterator[Json]:
    first, cohort = table.rows[0].entry, table.cohort
    yield {
        **{name: getattr(cohort, name) for name in ("operation", "suite", "protocol", "environment")},
        "shared": sum(ranked.rank == 1 for ranked in table.rows) - 1,
        "gap": _gap(first, table.bounds),
        **_entry(first),
    }


def _gap(entry: rank.Entry, bounds: BoundsFacts) -> float | None:
    return entry.latency_ns / bounds.sol_bound_ns if bounds.sol_bound_ns else None


def _entry(entry: rank.Entry) -> Json:
    return {name: getattr(entry, name) for name in _ENTRY}
