"""Writing imports: events, and per definition everything at once, so that it is there as a whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kictl import canonical, units
from kictl.canonical import Digest
from kictl.catalogue.claims import ClaimWriter
from kictl.catalogue.manifests import ManifestWriter
from kictl.catalogue.store import Catalogue, Connection, decoded, encoded
from kictl.catalogue.submissions import SubmissionWriter
from kictl.model import Definition, Quarantined, Submission, Suite
from kictl.sources.interface import Drift, Listing, Reading

RESUME_WITHIN_HOURS = 24

_PASSING = frozenset({"submission_count"})
"""Members of a definition's detail that say nothing about the definition: they make no new version of it."""


class ImportWriter:
    """One import event in a catalogue. `done` are the definitions that it has committed already."""

    def __init__(self, catalogue: Catalogue, import_id: int, source: str) -> None:
        self.catalogue = catalogue
        self.id = import_id
        self.source = source
        self._manifests = ManifestWriter(catalogue)
        self._claims = ClaimWriter(catalogue, import_id, self._manifests)
        self._submissions = SubmissionWriter(catalogue, import_id, self._manifests, self._claims)

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
        """A new event, or the last one of the catalogue if it is the same import, interrupted a short time ago.

        An interrupted import that others have followed is left as it is: events are states in the order of their ids.
        """
        now = units.now()
        words = (source, origin, encoded(selection), version)
        with catalogue.transaction() as db:
            last = db.execute(
                "SELECT id, source, origin, selection, version FROM import"
                " WHERE id = (SELECT max(id) FROM import) AND finished_at IS NULL"
                " AND julianday(?) - julianday(started_at) < ? / 24.0",
                (now, RESUME_WITHIN_HOURS),
            ).fetchone()
            if resume and last and last[1:] == words:
                return cls(catalogue, last[0], source)
            cursor = db.execute(
                "INSERT INTO import (source, origin, selection, version, started_at) VALUES (?, ?, ?, ?, ?)",
                (*words, now),
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
                db.execute("DELETE FROM drift WHERE import_id = ?", (self.id,))
                self._add_drift(db, listing.drift)

    @property
    def other_editions(self) -> list[Digest]:
        """The manifests that came with another editorial part than the one that the catalogue has, and keeps."""
        return self._manifests.other_editions

    def add(self, reading: Reading, selected: Iterable[Submission], left_out: int = 0) -> None:
        """Commits a reading: `selected` are the submissions of it to keep, `left_out` the number of the others.

        Every row counts as one of new, unchanged, changed, restored (runs), skipped:<reason> or quarantined; beside
        that, retracted, unlisted and relisted count what happened to rows known before.
        """
        try:
            with self.catalogue.transaction() as db:
                self._add(db, reading, selected, left_out)
        except BaseException:
            self._manifests.forget()
            self._submissions.forget()
            raise

    def add_all(self, readings: Iterable[Reading]) -> None:
        """Commits all readings together, or none of them."""
        with self.catalogue.transaction() as db:
            for reading in readings:
                self._add(db, reading, reading.submissions, 0)

    def _add(self, db: Connection, reading: Reading, selected: Iterable[Submission], left_out: int) -> None:
        counts = Counter({"skipped:not-selected": left_out, **reading.counts})
        quarantined = list(reading.quarantined)
        counts["quarantined"] += len(quarantined)
        if reading.refused is not None:
            quarantined.append(reading.refused)
        self._manifests.put(db, reading.manifests)
        definition_id = None
        if reading.definition is not None:
            source = reading.of or self.source
            definition_id = self._put_definition(db, source, reading.definition)
            found, of_others = self._submissions.put(db, definition_id, source, reading, selected)
            counts.update(found)
            quarantined += of_others
        if reading.superseded:
            self._submissions.supersede(db, reading.superseded)
        if reading.claims:
            self._claims.put(db, reading.claims)
        if quarantined:
            self._add_quarantined(db, quarantined)
        if reading.bodies:
            self._add_bodies(db, reading.bodies)
        if reading.drift:
            self._add_drift(db, reading.drift)
        self._add_reading(db, reading, definition_id, +counts)

    def _add_reading(self, db: Connection, reading: Reading, definition_id: int | None, counts: Counter[str]) -> None:
        """What came of a reading, added to what came of an earlier part of it."""
        name = reading.ref.external_id
        old = db.execute(
            "SELECT received, counts FROM reading WHERE import_id = ? AND definition_external_id = ?", (self.id, name)
        ).fetchone()
        received = reading.received
        if old is not None:
            received += old[0]
            counts += Counter(decoded(old[1]))
        db.execute(
            "INSERT OR REPLACE INTO reading (import_id, definition_external_id, definition_id, expected, announced,"
            " received, complete, problem, counts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(self.id, name, definition_id, reading.expected, reading.ref.announced),
                *(received, reading.complete, reading.problem, encoded(counts)),
            ),
        )

    def finish(self, report: Mapping[str, Any]) -> None:
        """The event is complete. `report` is kept with it; it has snapshot_digest and catalog_digest."""
        with self.catalogue.transaction() as db:
            db.execute(
                "UPDATE import SET finished_at = ?, snapshot_digest = ?, catalog_digest = ?, report = ? WHERE id = ?",
                (units.now(), report["snapshot_digest"], report["catalog_digest"], encoded(report), self.id),
            )

    def _put_definition(self, db: Connection, source: str, definition: Definition) -> int:
        """The id of a definition, with a new version where it, or its bounds, are not what they were.

        What others say of a definition counts only as long as its source itself was not read.
        """
        is_own = source == self.source
        definition_id = _upsert_definition(db, source, definition, is_own=is_own)
        stated = {member: value for member, value in definition.facts.items() if member not in _PASSING}
        facts = canonical.digest(stated, checked=True).raw
        latest = db.execute(
            "SELECT v.facts_digest, i.source FROM definition_version v JOIN import i ON i.id = v.import_id"
            " WHERE v.definition_id = ? ORDER BY v.id DESC LIMIT 1",
            (definition_id,),
        ).fetchone()
        if latest is not None and (latest[0] == facts or (not is_own and latest[1] == source)):
            return definition_id
        suite = definition.suite
        self._manifests.put(db, (definition.subject, *((suite.manifest, *suite.cases) if suite else ())))
        version_id = db.execute(
            "INSERT INTO definition_version (definition_id, import_id, subject_id, facts_digest, facts)"
            " VALUES (?, ?, ?, ?, ?)",
            (
                *(definition_id, self.id, self._manifests.id_of(definition.subject.digest), facts),
                self.catalogue.codec.pack(definition.facts),
            ),
        ).lastrowid
        if suite is not None:
            suite_id = self._manifests.id_of(suite.manifest.digest)
            db.execute("INSERT INTO definition_suite VALUES (?, ?, ?)", (version_id, suite_id, _put_bounds(db, suite)))
        return definition_id

    def _add_quarantined(self, db: Connection, quarantined: Iterable[Quarantined]) -> None:
        pack = self.catalogue.codec.pack
        db.executemany(
            "INSERT INTO quarantine (import_id, place, external_id, pointer, reason, facts) VALUES (?, ?, ?, ?, ?, ?)",
            (
                (self.id, q.where, q.external_id, q.pointer, q.reason, None if q.facts is None else pack(q.facts))
                for q in quarantined
            ),
        )

    def _add_bodies(self, db: Connection, bodies: Mapping[str, str]) -> None:
        rows = ((self.id, name, Digest(digest).raw) for name, digest in bodies.items())
        db.executemany("INSERT OR REPLACE INTO body VALUES (?, ?, ?)", rows)

    def _add_drift(self, db: Connection, drift: Iterable[Drift]) -> None:
        db.executemany(
            "INSERT INTO drift VALUES (?, ?, ?, ?)"
            " ON CONFLICT (import_id, what) DO UPDATE SET count = count + excluded.count",
            ((self.id, d.what, d.count, d.example) for d in drift),
        )


def _upsert_definition(db: Connection, source: str, definition: Definition, *, is_own: bool) -> int:
    """The id of a definition by its id at the source; by its name where that is all that is known on either side."""
    external_id, name = definition.external_id, definition.name
    row = None
    if external_id is not None:
        row = db.execute(
            "SELECT id FROM definition WHERE source = ? AND external_id = ?", (source, external_id)
        ).fetchone()
    if row is None:
        row = db.execute(
            "SELECT id FROM definition WHERE source = ? AND name = ? AND (external_id IS NULL OR ? IS NULL)"
            " ORDER BY external_id IS NULL, id LIMIT 1",
            (source, name, external_id),
        ).fetchone()
    if row is None:
        made = db.execute(
            "INSERT INTO definition (source, external_id, name) VALUES (?, ?, ?)", (source, external_id, name)
        )
        return int(made.lastrowid or 0)
    if is_own:
        db.execute("UPDATE definition SET name = ?, external_id = ? WHERE id = ?", (name, external_id, row[0]))
    return int(row[0])


def _put_bounds(db: Connection, suite: Suite) -> int:
    bounds = suite.bounds
    key = (bounds.digest.raw, bounds.is_dummy)
    row = db.execute("SELECT id FROM bounds WHERE digest = ? AND is_dummy = ?", key).fetchone()
    if row is not None:
        return int(row[0])
    bounds_id = db.execute("INSERT INTO bounds (digest, is_dummy) VALUES (?, ?)", key).lastrowid
    db.executemany(
        "INSERT INTO bounds_case VALUES (?, ?, ?, ?, ?)",
        (
            (bounds_id, position, encoded(dict(case.axes)), case.baseline_ms, case.sol_ms)
            for position, case in enumerate(bounds.cases)
        ),
    )
    return int(bounds_id or 0)
