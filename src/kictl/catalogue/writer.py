"""Writing what imports saw: events, and per definition everything at once, as new states beside the old ones."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kictl import canonical, units
from kictl.canonical import Digest
from kictl.catalogue.store import Catalogue, encoded
from kictl.model import Bounds, Definition, Manifest, Quarantined, RunManifests, Submission
from kictl.sources.interface import Drift, Listing, Reading

RESUME_WITHIN_HOURS = 24


@dataclass(frozen=True, slots=True)
class Known:
    """What the catalogue holds of a submission before a reading."""

    id: int
    facts_digest: bytes
    standing: str
    unlisted: bool
    run_digest: bytes | None


@dataclass(slots=True)
class Place:
    """The definition that rows are being written for, and the cohorts met so far by comparison key."""

    id: int
    definition: Definition
    cohorts: dict[Digest, int] = field(default_factory=dict)


class ImportWriter:
    """One import event in a catalogue. `done` are the definitions that it has committed already."""

    def __init__(self, catalogue: Catalogue, import_id: int, source: str) -> None:
        self.catalogue = catalogue
        self.id = import_id
        self.source = source
        self._manifests: dict[Digest, int] = {}

    @classmethod
    def begin(
        cls,
        catalogue: Catalogue,
        *,
        source: str,
        origin: str,
        selection: Mapping[str, Any],
        version: str,
        resume: bool,
    ) -> ImportWriter:
        """A new event, or the latest one of the same source and selection if that was interrupted a short time ago."""
        now = units.now()
        words = encoded(selection)
        with catalogue.transaction() as db:
            last = db.execute(
                "SELECT id, finished_at, julianday(?) - julianday(started_at) < ? / 24.0 FROM import"
                " WHERE source = ? AND origin = ? AND selection = ? AND version = ? ORDER BY id DESC LIMIT 1",
                (now, RESUME_WITHIN_HOURS, source, origin, words, version),
            ).fetchone()
            if resume and last and last[1] is None and last[2]:
                return cls(catalogue, last[0], source)
            cursor = db.execute(
                "INSERT INTO import (source, origin, selection, version, started_at) VALUES (?, ?, ?, ?, ?)",
                (source, origin, words, version, now),
            )
            return cls(catalogue, int(cursor.lastrowid or 0), source)

    def done(self) -> set[str]:
        rows = self.catalogue.db.execute("SELECT definition_external_id FROM reading WHERE import_id = ?", (self.id,))
        return {row[0] for row in rows}

    def add_listing(self, listing: Listing) -> None:
        """What reading the list itself brought; again at a resumption, without counting twice."""
        with self.catalogue.transaction() as db:
            db.execute("DELETE FROM quarantine WHERE import_id = ? AND place LIKE 'kernels[%'", (self.id,))
            self._add_quarantined(db, listing.quarantined)
            self._add_bodies(db, listing.bodies)
            if not self.done():
                self._add_drift(db, listing.drift)

    def add(self, reading: Reading, selected: Iterable[Submission], left_out: int = 0) -> None:
        """Commits a reading: `selected` are the submissions of it to keep, `left_out` the number of the others.

        Every row counts as one of new, unchanged, changed, restored (runs) or skipped:<reason>; beside that, retracted,
        unlisted and relisted count what happened to rows known before.
        """
        with self.catalogue.transaction() as db:
            counts: Counter[str] = Counter()
            if reading.definition is not None:
                place = Place(self._put_definition(db, reading.definition), reading.definition)
                counts = self._put_submissions(db, place, reading, selected)
            counts["skipped:not-selected"] = left_out
            self._add_quarantined(db, reading.quarantined)
            self._add_bodies(db, reading.bodies)
            self._add_drift(db, reading.drift)
            db.execute(
                "INSERT INTO reading VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    self.id,
                    reading.ref.external_id,
                    reading.expected,
                    reading.ref.announced,
                    reading.received,
                    reading.complete,
                    encoded(+counts),
                ),
            )

    def finish(self, report: Mapping[str, Any]) -> None:
        """The event is complete. `report` is kept with it; it has snapshot_digest and catalog_digest."""
        with self.catalogue.transaction() as db:
            db.execute(
                "UPDATE import SET finished_at = ?, snapshot_digest = ?, catalog_digest = ?, report = ? WHERE id = ?",
                (units.now(), report["snapshot_digest"], report["catalog_digest"], encoded(report), self.id),
            )

    def _put_manifest(self, db: sqlite3.Connection, manifest: Manifest) -> int:
        """The id of a manifest, stored if it is new. Of two editorial parts under one identity the smaller is kept, so
        that an export does not depend on which came first."""
        known = self._manifests.get(manifest.digest)
        if known is not None:
            return known
        codec = self.catalogue.codec
        row = db.execute("SELECT id, body FROM manifest WHERE digest = ?", (manifest.digest.raw,)).fetchone()
        if row is None:
            cursor = db.execute(
                "INSERT INTO manifest (digest, kind, body) VALUES (?, ?, ?)",
                (manifest.digest.raw, manifest.kind, codec.pack(manifest.document)),
            )
            manifest_id = int(cursor.lastrowid or 0)
        else:
            manifest_id = row[0]
            if _editorial(manifest.document) < _editorial(codec.unpack(row[1])):
                db.execute("UPDATE manifest SET body = ? WHERE id = ?", (codec.pack(manifest.document), manifest_id))
        return manifest_id

    def _put_shared(self, db: sqlite3.Connection, manifest: Manifest) -> int:
        """As _put_manifest, remembered: for the few manifests that many runs have in common."""
        manifest_id = self._put_manifest(db, manifest)
        self._manifests[manifest.digest] = manifest_id
        return manifest_id

    def _put_definition(self, db: sqlite3.Connection, definition: Definition) -> int:
        definition_id = _upsert_definition(db, self.source, definition)
        facts = canonical.digest(definition.facts).raw
        latest = db.execute(
            "SELECT facts_digest FROM definition_version WHERE definition_id = ? ORDER BY id DESC LIMIT 1",
            (definition_id,),
        ).fetchone()
        if latest is None or latest[0] != facts:
            for case in definition.cases:
                self._put_manifest(db, case)
            db.execute(
                "INSERT INTO definition_version"
                " (definition_id, import_id, operation_id, suite_id, bounds_id, facts_digest, facts)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    definition_id,
                    self.id,
                    self._put_manifest(db, definition.operation),
                    self._put_manifest(db, definition.suite),
                    _put_bounds(db, definition.bounds),
                    facts,
                    self.catalogue.codec.pack(definition.facts),
                ),
            )
        return definition_id

    def _put_submissions(
        self, db: sqlite3.Connection, place: Place, reading: Reading, selected: Iterable[Submission]
    ) -> Counter[str]:
        counts: Counter[str] = Counter()
        known = _known(db, place.id)
        seen = []
        for submission in selected:
            old = known.get(submission.external_id)
            facts = canonical.digest(submission.facts).raw
            counts[_outcome(submission, old, facts)] += 1
            if old is None or old.facts_digest != facts:
                standing = _standing(submission, old)
                counts["retracted"] += bool(standing == "retracted" and old and old.standing == "current")
                seen.append((submission, standing, self._put_state(db, place, submission, old, standing, facts)))
            if old is not None and old.unlisted:
                counts["relisted"] += 1
                if old.facts_digest == facts:
                    self._mark_listed(db, old.id, unlisted=False)
        if reading.complete:
            counts["unlisted"] = self._mark_absent(db, known, reading)
        self._observe(db, place.id, seen)
        return counts

    def _put_state(
        self,
        db: sqlite3.Connection,
        place: Place,
        new: Submission,
        old: Known | None,
        standing: str,
        facts: bytes,
    ) -> tuple[int, int | None]:
        """Writes the present state of a submission; returns its id and that of its run, if it has one now."""
        state = {
            "facts_digest": facts,
            "standing": standing,
            "unlisted": 0,
            "reasons": " ".join(new.reasons),
            "author": new.author,
            "gpu": new.gpu,
            "stack": new.stack,
        }
        run_id = None
        if new.run is not None:
            run_id = self._put_run(db, new.run)
            cohort_id = self._put_cohort(db, place, new, new.run)
            state |= {"cohort_id": cohort_id, "run_id": run_id, **_figures(new, new.run)}
        if old is None:
            state |= {"source": self.source, "external_id": new.external_id, "definition_id": place.id}
            return _insert(db, "submission", state), run_id
        assignments = ", ".join(f"{column} = ?" for column in state)
        db.execute(f"UPDATE submission SET {assignments} WHERE id = ?", (*state.values(), old.id))
        return old.id, run_id

    def _put_run(self, db: sqlite3.Connection, made: RunManifests) -> int:
        self._put_shared(db, made.project)
        self._put_manifest(db, made.implementation)
        return self._put_manifest(db, made.run)

    def _put_cohort(self, db: sqlite3.Connection, place: Place, submission: Submission, made: RunManifests) -> int:
        key = made.comparison_key
        if key not in place.cohorts:
            row = db.execute(
                "SELECT id FROM cohort WHERE definition_id = ? AND comparison_key = ?", (place.id, key.raw)
            ).fetchone()
            place.cohorts[key] = row[0] if row else self._new_cohort(db, place, submission, made)
        return place.cohorts[key]

    def _new_cohort(self, db: sqlite3.Connection, place: Place, submission: Submission, made: RunManifests) -> int:
        row = {
            "definition_id": place.id,
            "comparison_key": made.comparison_key.raw,
            "gpu": submission.gpu,
            "stack": submission.stack,
            "cases": len(place.definition.suite.spec["cases"]),
            "operation_id": self._put_manifest(db, place.definition.operation),
            "suite_id": self._put_manifest(db, place.definition.suite),
            "protocol_id": self._put_shared(db, made.protocol),
            "environment_id": self._put_shared(db, made.environment),
        }
        return _insert(db, "cohort", row)

    def _mark_absent(self, db: sqlite3.Connection, known: Mapping[str, Known], reading: Reading) -> int:
        present = {s.external_id for s in reading.submissions} | {q.external_id for q in reading.quarantined}
        gone = [old for name, old in known.items() if name not in present and not old.unlisted]
        for old in gone:
            self._mark_listed(db, old.id, unlisted=True)
        return len(gone)

    def _mark_listed(self, db: sqlite3.Connection, submission_id: int, *, unlisted: bool) -> None:
        """A new observation of the same facts and run: only the listing has changed."""
        db.execute("UPDATE submission SET unlisted = ? WHERE id = ?", (unlisted, submission_id))
        db.execute(
            "INSERT INTO observation"
            " (submission_id, import_id, run_id, standing, unlisted, reasons, evidence_id, place)"
            " SELECT submission_id, ?, run_id, standing, ?, reasons, evidence_id, place FROM observation"
            " WHERE submission_id = ? ORDER BY id DESC LIMIT 1",
            (self.id, unlisted, submission_id),
        )

    def _observe(
        self,
        db: sqlite3.Connection,
        definition_id: int,
        seen: list[tuple[Submission, str, tuple[int, int | None]]],
    ) -> None:
        if not seen:
            return
        body = self.catalogue.codec.pack([submission.facts for submission, _, _ in seen])
        evidence = _insert(db, "evidence", {"import_id": self.id, "definition_id": definition_id, "body": body})
        db.executemany(
            "INSERT INTO observation"
            " (submission_id, import_id, run_id, standing, unlisted, reasons, evidence_id, place)"
            " VALUES (?, ?, ?, ?, 0, ?, ?, ?)",
            (
                (ids[0], self.id, ids[1], standing, " ".join(submission.reasons), evidence, place)
                for place, (submission, standing, ids) in enumerate(seen)
            ),
        )

    def _add_quarantined(self, db: sqlite3.Connection, quarantined: Iterable[Quarantined]) -> None:
        pack = self.catalogue.codec.pack
        db.executemany(
            "INSERT INTO quarantine (import_id, place, external_id, pointer, reason, facts) VALUES (?, ?, ?, ?, ?, ?)",
            (
                (
                    self.id,
                    q.where,
                    q.external_id,
                    q.pointer,
                    q.reason,
                    None if q.facts is None else pack(q.facts),
                )
                for q in quarantined
            ),
        )

    def _add_bodies(self, db: sqlite3.Connection, bodies: Mapping[str, str]) -> None:
        rows = ((self.id, name, Digest(digest).raw) for name, digest in bodies.items())
        db.executemany("INSERT OR REPLACE INTO body VALUES (?, ?, ?)", rows)

    def _add_drift(self, db: sqlite3.Connection, drift: Iterable[Drift]) -> None:
        db.executemany(
            "INSERT INTO drift VALUES (?, ?, ?, ?)"
            " ON CONFLICT (import_id, what) DO UPDATE SET count = count + excluded.count",
            ((self.id, d.what, d.count, d.example) for d in drift),
        )


def _insert(db: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int:
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    cursor = db.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values()))
    return int(cursor.lastrowid or 0)


def _known(db: sqlite3.Connection, definition_id: int) -> dict[str, Known]:
    rows = db.execute(
        "SELECT external_id, s.id, facts_digest, standing, unlisted, m.digest"
        " FROM submission s LEFT JOIN manifest m ON m.id = s.run_id WHERE definition_id = ?",
        (definition_id,),
    )
    return {row[0]: Known(row[1], row[2], row[3], bool(row[4]), row[5]) for row in rows}


def _outcome(new: Submission, old: Known | None, facts: bytes) -> str:
    """What a row is to the catalogue; every row is exactly one of these."""
    if new.run is None:
        return f"skipped:{new.reasons[0]}"
    if old is None or old.run_digest is None:
        return "new"
    if old.facts_digest == facts:
        return "unchanged"
    if old.standing == "retracted":
        return "restored"
    return "unchanged" if old.run_digest == new.run.run.digest.raw else "changed"


def _standing(new: Submission, old: Known | None) -> str:
    if new.run is not None:
        return "current"
    return "retracted" if old is not None and old.run_digest is not None else "ineligible"


def _figures(submission: Submission, made: RunManifests) -> dict[str, Any]:
    """The numbers that a run is ranked and shown by."""
    spec, facts = made.run.spec, submission.facts
    metrics = ("sol_score", "avg_speedup", "fast_1_count", "fast_1_total")
    return {
        "latency_ns": spec["timing"]["latencyNs"]["mean"],
        "observed_at": spec["observedAt"],
        **{name: facts.get(name) for name in metrics},
    }


def _upsert_definition(db: sqlite3.Connection, source: str, definition: Definition) -> int:
    row = db.execute(
        "INSERT INTO definition (source, external_id, name) VALUES (?, ?, ?)"
        " ON CONFLICT (source, external_id) DO UPDATE SET name = excluded.name RETURNING id",
        (source, definition.external_id, definition.name),
    ).fetchone()
    return int(row[0])


def _put_bounds(db: sqlite3.Connection, bounds: Bounds) -> int:
    key = {"digest": bounds.digest.raw, "is_dummy": bounds.is_dummy}
    row = db.execute("SELECT id FROM bounds WHERE digest = :digest AND is_dummy = :is_dummy", key).fetchone()
    if row is not None:
        return int(row[0])
    bounds_id = _insert(db, "bounds", key)
    db.executemany(
        "INSERT INTO bounds_case VALUES (?, ?, ?, ?, ?)",
        (
            (bounds_id, position, encoded(dict(case.axes)), case.baseline_ms, case.sol_ms)
            for position, case in enumerate(bounds.cases)
        ),
    )
    return bounds_id


def _editorial(document: Mapping[str, Any]) -> bytes:
    return canonical.canonical_bytes(document["metadata"])
