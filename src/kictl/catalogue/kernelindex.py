"""The catalogue as KernelIndex exports one: a line per row of a table, with what follows from its manifest beside it.

Ids are digests, or names where a row has no manifest, so that the same catalogue always gives the same bytes. What
exports said of a row beside its manifest is said again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from kictl import cohort
from kictl.canonical import Digest
from kictl.catalogue import queries
from kictl.catalogue.claims import Claims
from kictl.catalogue.store import BY_DIGEST, Catalogue, wrapped
from kictl.model import Json, Manifest
from kictl.sources.names import DISPLAY
from kictl.verify import rows
from kictl.verify.claims import OWN_COLUMN

_TABLES: Final = (
    "projects", "operations", "operation_aliases", "workloads", "implementations", "benchmark_runs", "measurements",
    "record_events", "artifacts", "model_revisions", "serving_stack_revisions", "serving_configurations",
    "serving_workloads", "serving_runs", "serving_measurements", "protocols", "environments",
)  # fmt: skip
"""In this order what is referred to comes first."""


def lines(catalogue: Catalogue) -> Iterator[Json]:
    """`{"table", "row"}`, table by table, by digest or name."""
    with wrapped(catalogue.path):
        writer = _Writer(catalogue)
        yield from writer.table("sources", writer.sources())
        for table in _TABLES:
            yield from writer.table(table, writer.rows(table))


class _Writer:
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._claims = Claims(catalogue)
        self._projects = self._projects_of_implementations()

    def table(self, name: str, found: Iterator[Json]) -> Iterator[Json]:
        return ({"table": name, "row": row} for row in found)

    def rows(self, table: str) -> Iterator[Json]:
        if table == "measurements":
            return self._measurements("benchmark_runs")
        if table == "serving_measurements":
            return self._measurements("serving_runs")
        if table == "record_events":
            return self._events()
        if table in ("operation_aliases", "artifacts"):
            return (row for _, row in self._claims.all(table))
        if table in ("benchmark_runs", "serving_runs"):
            return self._runs(table)
        if table in ("protocols", "environments"):
            return self._unused(table)
        return self._manifests(table)

    def sources(self) -> Iterator[Json]:
        """The sources of all definitions, with their names and policies where an export said them."""
        said = dict(self._claims.all("sources"))
        slugs = {known.source for known in queries.definitions(self._catalogue)} | {str(slug) for slug in said}
        for slug in sorted(slugs):
            kind, name = DISPLAY.get(slug, (None, None))
            known = {"kind": kind, "name": name} if name else {}
            yield {**known, **said.get(slug, {}), "id": slug, "slug": slug}

    def _of_kinds(self, table: str) -> Iterator[tuple[int, Manifest]]:
        kinds = rows.KINDS[table]
        marks = ", ".join("?" * len(kinds))
        for manifest_id, digest, body in self._catalogue.db.execute(
            "SELECT id, digest, body FROM manifest WHERE kind_id IN"
            f" (SELECT id FROM kind WHERE name IN ({marks})) ORDER BY {BY_DIGEST}",
            kinds,
        ):
            yield manifest_id, Manifest(Digest.from_raw(digest), self._catalogue.codec.unpack(body))

    def _manifests(self, table: str) -> Iterator[Json]:
        for manifest_id, made in self._of_kinds(table):
            said = self._claims.of(table, manifest_id) or {}
            yield self._row(table, made, said, {"manifest": made.document})

    def _row(self, table: str, made: Manifest, said: Json, derived: Json) -> Json:
        ids = {column.name: _at(made.spec, column.path) for column in rows.IDS.get(table, ())}
        if table == "implementations":
            ids["projectId"] = said.get("projectId") or self._projects.get(made.digest)
        own = OWN_COLUMN.get(made.kind)
        return {
            **said,
            **{name: value for name, value in ids.items() if value is not None},
            **rows.derived(made.kind, made.spec),
            **({own: str(made.digest)} if own else {}),
            **derived,
            "id": str(made.digest),
        }

    def _projects_of_implementations(self) -> dict[str, str]:
        """The project of each implementation that was submitted by somebody."""
        found = self._catalogue.db.execute(
            "SELECT DISTINCT i.digest, p.digest FROM run r JOIN submission s ON s.id = r.submission_id"
            " JOIN manifest i ON i.id = r.implementation_id JOIN manifest p ON p.id = s.project_id"
        )
        return {
            str(Digest.from_raw(implementation)): str(Digest.from_raw(project)) for implementation, project in found
        }

    def _runs(self, table: str) -> Iterator[Json]:
        standings = self._standings()
        for manifest_id, made in self._of_kinds(table):
            said = self._claims.of(table, manifest_id) or {}
            derived: Json = {"manifest": made.document}
            if table == "benchmark_runs":
                derived = self._bundle(made)
            yield self._row(
                table, made, said, {**derived, **standings.get(manifest_id, {}), **self._keys(manifest_id, made)}
            )

    def _bundle(self, made: Manifest) -> Json:
        """A run with the protocol and environment that it refers to, and what a row repeats of the second."""
        parts = {name: self._catalogue.find(Digest(made.spec[f"{name}Digest"])) for name in ("protocol", "environment")}
        bundle = {"run": made.document, **{name: part.document for name, part in parts.items() if part}}
        environment = parts["environment"]
        return {"manifest": bundle, **(rows.hardware(environment.spec) if environment else {})}

    def _keys(self, manifest_id: int, made: Manifest) -> Json:
        """The keys of a run. Those without a primary measurement have one too, though nothing ranks them."""
        found = self._catalogue.db.execute(
            "SELECT c.key, w.id, v.protocol FROM run r JOIN cohort c ON c.id = r.cohort_id"
            " JOIN manifest w ON w.id = c.workload_id LEFT JOIN serving_cohort v ON v.cohort_id = c.id"
            " WHERE r.manifest_id = ?",
            (manifest_id,),
        ).fetchone()
        if found is None:
            return {}
        key, workload, protocol = found
        if protocol is not None:
            return {"cohortKey": str(Digest.from_raw(key)), "protocolKey": protocol}
        correctness = self._catalogue.manifest(workload).spec["correctness"]
        comparison, rule = Digest.from_raw(key), cohort.correctness_key(correctness)
        return {"comparisonKey": str(comparison), "correctnessKey": str(rule)}

    def _standings(self) -> dict[int, Json]:
        """Of the runs that were withdrawn or replaced, when and why, or by which; an export's own word goes first."""
        found: dict[int, Json] = {}
        withdrawn = self._catalogue.db.execute(
            "SELECT r.manifest_id, i.started_at, s.reasons FROM run r JOIN submission s ON s.id = r.submission_id"
            " JOIN observation o ON o.id = (SELECT max(id) FROM observation WHERE submission_id = s.id)"
            " JOIN import i ON i.id = o.import_id WHERE r.standing = 'retracted' AND s.facts_digest IS NOT NULL"
        )
        for run, at, reasons in withdrawn:
            found[run] = {"retractedAt": at, "retractionReason": reasons}
        for run, before in self._replacements():
            found[run] = {**found.get(run, {}), "supersedesId": before}
        return found

    def _replacements(self) -> Iterator[tuple[int, str]]:
        """The runs of each submission whose record was read, one after the other; the present one comes last."""
        rows_of_runs = self._catalogue.db.execute(
            "SELECT s.id, r.manifest_id, m.digest FROM run r JOIN submission s ON s.id = r.submission_id"
            " JOIN manifest m ON m.id = r.manifest_id WHERE s.facts_digest IS NOT NULL AND s.id IN"
            " (SELECT submission_id FROM run WHERE standing = 'superseded')"
            " ORDER BY s.id, r.standing <> 'superseded', r.manifest_id"
        ).fetchall()
        for (submission, _, before), (other, run, _) in pairwise(rows_of_runs):
            if submission == other:
                yield run, str(Digest.from_raw(before))

    def _measurements(self, table: str) -> Iterator[Json]:
        for _, made in self._of_kinds(table):
            for number, (metric, statistic, unit, value) in enumerate(rows.measurements(made.spec)):
                yield {
                    "id": f"{made.digest}/{number}",
                    "runId": str(made.digest),
                    "metric": metric,
                    "statistic": statistic,
                    "unit": unit,
                    "value": value,
                }

    def _events(self) -> Iterator[Json]:
        """The records that follow from the runs of each comparison key (policy ranking-v1)."""
        attempts: dict[str, list[rows.Attempt]] = {}
        found = self._catalogue.db.execute(
            "SELECT c.key, c.metric, r.observed_at, r.value, m.digest FROM run r JOIN cohort c ON c.id = r.cohort_id"
            " JOIN manifest m ON m.id = r.manifest_id JOIN kernel_cohort k ON k.cohort_id = c.id"
            " WHERE r.value IS NOT NULL AND r.standing <> 'failed' ORDER BY c.key"
        )
        for key, metric, observed_at, value, digest in found:
            measured = cohort.Metric.parse(metric)
            if measured is None or (rated := rows.smaller_is_better(cohort.Measurement(measured, value))) is None:
                continue
            attempt = rows.Attempt(observed_at, rated, str(Digest.from_raw(digest)))
            attempts.setdefault(str(Digest.from_raw(key)), []).append(attempt)
        for key, tried in attempts.items():
            for run, (previous, at) in rows.records(tried).items():
                yield {
                    "id": f"{key}/{run}",
                    "comparisonKey": key,
                    "runId": run,
                    "previousRunId": previous,
                    "policyVersion": "ranking-v1",
                    "cause": "new_run",
                    "at": at,
                }

    def _unused(self, table: str) -> Iterator[Json]:
        """Protocols and environments that stand in the bundle of no run."""
        column = {"protocols": "protocol_id", "environments": "environment_id"}[table]
        used = f"SELECT {column} FROM kernel_cohort k WHERE cohort_id IN (SELECT cohort_id FROM run)"
        known = {row[0] for row in self._catalogue.db.execute(used)}
        return (
            self._row(table, made, {}, {"manifest": made.document})
            for manifest_id, made in self._of_kinds(table)
            if manifest_id not in known
        )


def _at(spec: Mapping[str, Any], path: tuple[str, ...] | None) -> str | None:
    value: Any = spec if path is not None else None
    for name in path or ():
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
