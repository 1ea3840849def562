"""What the catalogue held after one import and after a later one: only what imports in between wrote is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kictl.canonical import Digest
from kictl.catalogue.dossiers import IS_OWN
from kictl.catalogue.store import Catalogue
from kictl.cohort import Metric
from kictl.model import Json
from kictl.rank import Entry


@dataclass(frozen=True, slots=True)
class State:
    """What a submission was after an import. `facts` is the source's row; `run` and the rest are None without a run,
    `value` also where it has none; it is in the unit of `metric`."""

    standing: str
    unlisted: bool
    reasons: tuple[str, ...]
    facts: Json
    run: Digest | None
    cohort_id: int | None
    metric: Metric | None
    value: float | None


@dataclass(frozen=True, slots=True)
class Touched:
    """A submission that an import in between wrote about, or a run of one that others than its source tell of;
    `before` is None where it was not known."""

    submission: str
    definition: str
    author: str | None
    gpu: str | None
    stack: str | None
    before: State | None
    after: State


@dataclass(frozen=True, slots=True)
class Version:
    """What a definition said after an import."""

    subject: Digest
    suite: Digest | None
    bounds: Digest | None
    is_dummy: bool
    facts: Json


@dataclass(frozen=True, slots=True)
class TouchedDefinition:
    """A definition with a new version in between; `before` is None where it was not known."""

    id: int
    name: str
    kernel: str | None
    before: Version | None
    after: Version


def last_finished(catalogue: Catalogue, count: int) -> list[int]:
    """The numbers of the last imports that finished, oldest first."""
    rows = catalogue.db.execute(
        "SELECT id FROM import WHERE finished_at IS NOT NULL ORDER BY id DESC LIMIT ?", (count,)
    )
    return [row[0] for row in rows][::-1]


def submissions(catalogue: Catalogue, before: int, after: int) -> Iterator[Touched]:
    """The submissions that imports after `before`, up to `after`, wrote about; by definition."""

    evidence = lru_cache(maxsize=16)(catalogue.evidence)

    def state(observation_id: int) -> State:
        row = catalogue.db.execute(
            "SELECT o.standing, o.unlisted, o.reasons, o.evidence_id, o.place, m.digest, r.cohort_id, c.metric, r.value"
            " FROM observation o LEFT JOIN run r ON r.manifest_id = o.run_id LEFT JOIN cohort c ON c.id = r.cohort_id"
            " LEFT JOIN manifest m ON m.id = o.run_id WHERE o.id = ?",
            (observation_id,),
        ).fetchone()
        standing, unlisted, reasons, evidence_id, place, run, cohort_id, metric, value = row
        facts = evidence(evidence_id)[place]
        digest = None if run is None else Digest.from_raw(run)
        measured = None if metric is None else Metric.parse(metric)
        return State(standing, bool(unlisted), tuple(reasons.split()), facts, digest, cohort_id, measured, value)

    # One row for each submission whose own record was read; of the others, one for each run.
    latest = f"(SELECT max(o.id) FROM observation o WHERE o.submission_id = t.id AND o.import_id <= ? AND {_OF_PART})"
    rows = catalogue.db.execute(
        "WITH t AS (SELECT DISTINCT s.id, CASE WHEN s.facts_digest IS NULL THEN o.run_id END AS run_id"
        " FROM observation o JOIN submission s ON s.id = o.submission_id"
        f" WHERE o.import_id > ? AND o.import_id <= ? AND (s.facts_digest IS NULL OR {IS_OWN}))"
        " SELECT s.external_id, d.name, s.author, coalesce(s.gpu, c.gpu), coalesce(s.stack, c.stack),"
        f" {latest}, {latest}"
        " FROM t JOIN submission s ON s.id = t.id JOIN definition d ON d.id = s.definition_id"
        " LEFT JOIN run r ON r.manifest_id = t.run_id LEFT JOIN cohort c ON c.id = r.cohort_id"
        " ORDER BY d.name, d.id, s.id, t.run_id",
        (before, after, before, after),
    )
    for submission, definition, author, gpu, stack, old, new in rows:
        yield Touched(submission, definition, author, gpu, stack, None if old is None else state(old), state(new))


_OF_PART = f"CASE WHEN t.run_id IS NULL THEN {IS_OWN} ELSE o.run_id = t.run_id END"


def entries(catalogue: Catalogue, cohort_id: int, import_id: int) -> list[Entry]:
    """The runs that were current in a cohort after an import; without the source's own figures."""
    rows = catalogue.db.execute(
        "WITH t AS (SELECT s.id, r.manifest_id AS run,"
        " CASE WHEN s.facts_digest IS NULL THEN r.manifest_id END AS run_id"
        " FROM run r JOIN submission s ON s.id = r.submission_id WHERE r.cohort_id = ? AND r.value IS NOT NULL)"
        " SELECT s.external_id, s.author, r.value, r.observed_at, m.digest, l.unlisted"
        " FROM t JOIN submission s ON s.id = t.id JOIN run r ON r.manifest_id = t.run"
        " JOIN manifest m ON m.id = r.manifest_id JOIN observation l ON l.id ="
        f" (SELECT max(o.id) FROM observation o WHERE o.submission_id = t.id AND o.import_id <= ? AND {_OF_PART})"
        " WHERE l.standing = 'current' AND l.run_id = t.run",
        (cohort_id, import_id),
    )
    return [
        Entry(submission, author, value, observed_at, Digest.from_raw(digest), bool(unlisted))
        for submission, author, value, observed_at, digest, unlisted in rows
    ]


def definitions(catalogue: Catalogue, before: int, after: int) -> Iterator[TouchedDefinition]:
    """The definitions of which imports after `before`, up to `after`, wrote a version; by name."""

    def version(version_id: int) -> Version:
        row = catalogue.db.execute(
            "SELECT o.digest, w.digest, b.digest, b.is_dummy, v.facts FROM definition_version v"
            " JOIN manifest o ON o.id = v.subject_id LEFT JOIN definition_suite u ON u.version_id = v.id"
            " LEFT JOIN manifest w ON w.id = u.suite_id LEFT JOIN bounds b ON b.id = u.bounds_id WHERE v.id = ?",
            (version_id,),
        ).fetchone()
        subject, suite, bounds = (raw and Digest.from_raw(raw) for raw in row[:3])
        facts: Any = catalogue.codec.unpack(row[4])
        return Version(subject, suite, bounds, bool(row[3]), facts)

    latest = "(SELECT max(id) FROM definition_version WHERE definition_id = d.id AND import_id <= ?)"
    rows = catalogue.db.execute(
        f"SELECT d.id, d.name, d.external_id, {latest}, {latest} FROM definition d"
        " WHERE d.id IN (SELECT definition_id FROM definition_version WHERE import_id > ? AND import_id <= ?)"
        " ORDER BY d.name, d.id",
        (before, after, before, after),
    )
    for definition_id, name, kernel, old, new in rows:
        yield TouchedDefinition(definition_id, name, kernel, None if old is None else version(old), version(new))
