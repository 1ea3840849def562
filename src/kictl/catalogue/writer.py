"""Writing imports: events, and per definition everything at once, so that it is there as a whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kictl import canonical, units
from kictl.canonical import Digest
from kictl.catalogue.manifests import ManifestWriter
from kictl.catalogue.states import StateWriter
from kictl.catalogue.store import Catalogue, Connection, encoded
from kictl.model import Bounds, Definition, Quarantined, Submission
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
        self._states = StateWriter(catalogue, import_id, source, self._manifests)

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

    def add(self, reading: Reading, selected: Iterable[Submission], left_out: int = 0) -> None:
        """Commits a reading: `selected` are the submissions of it to keep, `left_out` the number of the others.

        Every row counts as one of new, unchanged, changed, restored (runs), skipped:<reason> or quarantined; beside
        that, retracted, unlisted and relisted count what happened to rows known before.
        """
        with self.catalogue.transaction() as db:
            counts = Counter({"skipped:not-selected": left_out})
            quarantined = list(reading.quarantined)
            counts["quarantined"] = len(quarantined)
            if reading.refused is not None:
                quarantined.append(reading.refused)
            if reading.definition is not None:
                definition_id = self._put_definition(db, reading.definition)
                found, strangers = self._states.put(db, definition_id, reading.definition, reading, selected)
                counts.update(found)
                quarantined += strangers
            self._add_quarantined(db, quarantined)
            self._add_bodies(db, reading.bodies)
            self._add_drift(db, reading.drift)
            db.execute(
                "INSERT INTO reading"
                " (import_id, definition_external_id, expected, announced, received, complete, problem, counts)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    self.id,
                    reading.ref.external_id,
                    reading.expected,
                    reading.ref.announced,
                    reading.received,
                    reading.complete,
                    reading.problem,
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

    def _put_definition(self, db: Connection, definition: Definition) -> int:
        """The id of a definition, with a new version where it, or its bounds, are not what they were."""
        definition_id = _upsert_definition(db, self.source, definition)
        stated = {member: value for member, value in definition.facts.items() if member not in _PASSING}
        facts = canonical.digest(stated, checked=True).raw
        latest = db.execute(
            "SELECT facts_digest FROM definition_version WHERE definition_id = ? ORDER BY id DESC LIMIT 1",
            (definition_id,),
        ).fetchone()
        if latest is None or latest[0] != facts:
            ids = self._manifests.put(db, (definition.operation, definition.suite, *definition.cases))
            db.execute(
                "INSERT INTO definition_version"
                " (definition_id, import_id, operation_id, suite_id, bounds_id, facts_digest, facts)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    definition_id,
                    self.id,
                    ids[definition.operation.digest],
                    ids[definition.suite.digest],
                    _put_bounds(db, definition.bounds),
                    facts,
                    self.catalogue.codec.pack(definition.facts),
                ),
            )
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


def _upsert_definition(db: Connection, source: str, definition: Definition) -> int:
    row = db.execute(
        "INSERT INTO definition (source, external_id, name) VALUES (?, ?, ?)"
        " ON CONFLICT (source, external_id) DO UPDATE SET name = excluded.name RETURNING id",
        (source, definition.external_id, definition.name),
    ).fetchone()
    return int(row[0])


def _put_bounds(db: Connection, bounds: Bounds) -> int:
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
