"""What the catalogue held after one import and after a later one: only what imports in between wrote is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kictl.canonical import Digest
from kictl.catalogue.store import Catalogue
from kictl.model import Json
from kictl.rank import Entry


@dataclass(frozen=True, slots=True)
class State:
    """What a submission was after an import. `facts` is the source's row; `run` and the rest are None without a run."""

    standing: str
    unlisted: bool
    reasons: tuple[str, ...]
    facts: Json
    run: Digest | None
    cohort_id: int | None
    latency_ns: int | None


@dataclass(frozen=True, slots=True)
class Touched:
    """A submission that an import in between wrote about; `before` is None where it was not known."""

    submission: str
    definition: str
    author: str
    gpu: str
    stack: str | None
    before: State | None
    after: State


@dataclass(frozen=True, slots=True)
class Version:
    """What a definition said after an import."""

    operation: Digest
    suite: Digest
    bounds: Digest
    is_dummy: bool
    facts: Json


@dataclass(frozen=True, slots=True)
class TouchedDefinition:
    """A definition with a new version in between; `before` is None where it was not known."""

    id: int
    name: str
    kernel: str
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

    @lru_cache(maxsize=16)
    def evidence(evidence_id: int) -> list[Json]:
        body = catalogue.db.execute("SELECT body FROM evidence WHERE id = ?", (evidence_id,)).fetchone()[0]
        rows: list[Json] = catalogue.codec.unpack(body)
        return rows

    def state(observation_id: int) -> State:
        row = catalogue.db.execute(
            "SELECT o.standing, o.unlisted, o.reasons, o.evidence_id, o.place, m.digest, o.cohort_id, o.latency_ns"
            " FROM observation o LEFT JOIN manifest m ON m.id = o.run_id WHERE o.id = ?",
            (observation_id,),
        ).fetchone()
        standing, unlisted, reasons, evidence_id, place, run, cohort_id, latency_ns = row
        facts = evidence(evidence_id)[place]
        digest = None if run is None else Digest.from_raw(run)
        return State(standing, bool(unlisted), tuple(reasons.split()), facts, digest, cohort_id, latency_ns)

    latest = "(SELECT max(id) FROM observation WHERE submission_id = s.id AND import_id <= ?)"
    rows = catalogue.db.execute(
        f"SELECT s.external_id, d.name, s.author, s.gpu, s.stack, {latest}, {latest}"
        " FROM submission s JOIN definition d ON d.id = s.definition_id"
        " WHERE s.id IN (SELECT submission_id FROM observation WHERE import_id > ? AND import_id <= ?)"
        " ORDER BY d.name, d.id, s.id",
        (before, after, before, after),
    )
    for submission, definition, author, gpu, stack, old, new in rows:
        yield Touched(submission, definition, author, gpu, stack, None if old is None else state(old), state(new))


def entries(catalogue: Catalogue, cohort_id: int, import_id: int) -> list[Entry]:
    """The runs that were current in a cohort after an import; without the source's own figures."""
    rows = catalogue.db.execute(
        "SELECT s.external_id, s.author, o.latency_ns, o.observed_at, m.digest, o.unlisted"
        " FROM submission s JOIN observation o ON o.id ="
        " (SELECT max(id) FROM observation WHERE submission_id = s.id AND import_id <= ?)"
        " JOIN manifest m ON m.id = o.run_id"
        " WHERE s.definition_id = (SELECT definition_id FROM cohort WHERE id = ?)"
        " AND o.standing = 'current' AND o.cohort_id = ?",
        (import_id, cohort_id, cohort_id),
    )
    return [
        Entry(submission, author, latency_ns, observed_at, Digest.from_raw(digest), bool(unlisted))
        for submission, author, latency_ns, observed_at, digest, unlisted in rows
    ]


def definitions(catalogue: Catalogue, before: int, after: int) -> Iterator[TouchedDefinition]:
    """The definitions of which imports after `before`, up to `after`, wrote a version; by name."""

    def version(version_id: int) -> Version:
        row = catalogue.db.execute(
            "SELECT o.digest, w.digest, b.digest, b.is_dummy, v.facts FROM definition_version v"
            " JOIN manifest o ON o.id = v.operation_id JOIN manifest w ON w.id = v.suite_id"
            " JOIN bounds b ON b.id = v.bounds_id WHERE v.id = ?",
            (version_id,),
        ).fetchone()
        operation, suite, bounds = (Digest.from_raw(raw) for raw in row[:3])
        facts: Any = catalogue.codec.unpack(row[4])
        return Version(operation, suite, bounds, bool(row[3]), facts)

    latest = "(SELECT max(id) FROM definition_version WHERE definition_id = d.id AND import_id <= ?)"
    rows = catalogue.db.execute(
        f"SELECT d.id, d.name, d.external_id, {latest}, {latest} FROM definition d"
        " WHERE d.id IN (SELECT definition_id FROM definition_version WHERE import_id > ? AND import_id <= ?)"
        " ORDER BY d.name, d.id",
        (before, after, before, after),
    )
    for definition_id, name, kernel, old, new in rows:
        yield TouchedDefinition(definition_id, name, kernel, None if old is None else version(old), version(new))
