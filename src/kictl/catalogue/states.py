"""The submissions of one definition: what a reading changes about them, written as new states beside the old ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kictl import canonical
from kictl.canonical import Digest
from kictl.catalogue.manifests import ANY_OF, CHUNK, ManifestWriter, chunks, filled, marks, next_id
from kictl.catalogue.store import Catalogue, Connection
from kictl.model import Definition, Manifest, Quarantined, RunManifests, Submission
from kictl.sources.interface import Reading

EVIDENCE_ROWS = 50
"""Rows that are compressed together: enough to be small, few enough to be read for one of them."""

FACTS = 16
"""Bytes of the digest of a row's facts: it only has to tell a row from what it was before."""

_STATE = ("facts_digest", "standing", "unlisted", "reasons", "author", "gpu", "stack")
_RANKED = (
    "cohort_id",
    "run_id",
    "latency_ns",
    "observed_at",
    "sol_score",
    "avg_speedup",
    "fast_1_count",
    "fast_1_total",
)
_METRICS = _RANKED[4:]


@dataclass(frozen=True, slots=True)
class Known:
    """What the catalogue holds of a submission before a reading. `run_digest` is that of its last run."""

    id: int
    facts_digest: bytes
    standing: str
    unlisted: bool
    run_digest: bytes | None


@dataclass(slots=True)
class _Change:
    """A submission that is new or whose facts differ; `ranked` are the values of the columns that a run has."""

    id: int
    new: Submission
    old: Known | None
    facts_digest: bytes
    standing: str
    ranked: tuple[Any, ...] | None = None

    @property
    def state(self) -> tuple[Any, ...]:
        new = self.new
        return (self.facts_digest, self.standing, 0, " ".join(new.reasons), new.author, new.gpu, new.stack)


class StateWriter:
    """Writes the submissions of readings for one import."""

    def __init__(self, catalogue: Catalogue, import_id: int, source: str, manifests: ManifestWriter) -> None:
        self._catalogue = catalogue
        self._import = import_id
        self._source = source
        self._manifests = manifests

    def put(
        self,
        db: Connection,
        definition_id: int,
        definition: Definition,
        reading: Reading,
        selected: Iterable[Submission],
    ) -> tuple[Counter[str], list[Quarantined]]:
        """Writes what is new; returns what became of the rows, and those that cannot be of this definition.

        A row whose facts are the same as before keeps its run, also where the definition has changed since: that run
        was measured under the older one.
        """
        known = _known(db, definition_id)
        selected, strangers = self._strangers(db, known, list(selected))
        counts: Counter[str] = Counter({"quarantined": len(strangers)})
        changes: list[_Change] = []
        relisted: list[int] = []
        free = next_id(db, "submission")
        for submission in selected:
            old = known.get(submission.external_id)
            facts = canonical.digest(submission.facts, checked=True).raw[:FACTS]
            counts[_outcome(submission, old, facts)] += 1
            if old is None or old.facts_digest != facts:
                standing = _standing(submission, old)
                counts["retracted"] += bool(standing == "retracted" and old and old.standing == "current")
                changes.append(_Change(old.id if old else free, submission, old, facts, standing))
                free += old is None
            elif old.unlisted:
                relisted.append(old.id)
            counts["relisted"] += bool(old and old.unlisted)
        self._place(db, definition_id, definition, changes)
        self._write(db, definition_id, changes)
        self._mark(db, relisted, unlisted=False)
        if reading.complete and all(q.external_id is not None for q in reading.quarantined):
            gone = _absent(known, reading)
            counts["unlisted"] = len(gone)
            self._mark(db, gone, unlisted=True)
        return counts, strangers

    def _strangers(
        self, db: Connection, known: Mapping[str, Known], selected: list[Submission]
    ) -> tuple[list[Submission], list[Quarantined]]:
        """Splits off the submissions that are known under another definition."""
        new = [submission.external_id for submission in selected if submission.external_id not in known]
        elsewhere: dict[str, str] = {}
        for names in chunks(new, CHUNK):
            elsewhere |= db.execute(
                # CROSS keeps the order: few of a source's submissions have one of these ids.
                "SELECT s.external_id, d.external_id FROM submission s"
                " CROSS JOIN definition d ON d.id = s.definition_id"
                f" WHERE d.source = ? AND s.external_id {ANY_OF}",
                [self._source, *filled(names)],
            ).fetchall()
        strangers = [
            Quarantined(
                f"submission {submission.external_id}",
                f"it was listed under kernel {elsewhere[submission.external_id]} before",
                facts=submission.facts,
                external_id=submission.external_id,
            )
            for submission in selected
            if submission.external_id in elsewhere
        ]
        return [s for s in selected if s.external_id not in elsewhere], strangers

    def _place(self, db: Connection, definition_id: int, definition: Definition, changes: Sequence[_Change]) -> None:
        """Stores the manifests of the changes, and gives each run its place in a cohort."""
        runs = [change.new.run for change in changes if change.new.run is not None]
        ids = self._manifests.put(db, (part for run in runs for part in (run.project, run.implementation, run.run)))
        for made in runs:
            self._manifests.remember(made.project, ids[made.project.digest])
        cohorts: dict[Digest, int] = {}
        for change in changes:
            if (run := change.new.run) is not None:
                key = run.comparison_key
                if key not in cohorts:
                    cohorts[key] = self._cohort(db, definition_id, definition, change.new, run)
                change.ranked = (cohorts[key], ids[run.run.digest], *_figures(change.new, run))

    def _cohort(
        self, db: Connection, definition_id: int, definition: Definition, submission: Submission, made: RunManifests
    ) -> int:
        row = db.execute(
            "SELECT id FROM cohort WHERE definition_id = ? AND comparison_key = ?",
            (definition_id, made.comparison_key.raw),
        ).fetchone()
        if row is not None:
            return int(row[0])
        parts: tuple[Manifest, ...] = (definition.operation, definition.suite, made.protocol, made.environment)
        ids = self._manifests.put(db, parts)
        cursor = db.execute(
            "INSERT INTO cohort (definition_id, comparison_key, gpu, stack, cases,"
            " operation_id, suite_id, protocol_id, environment_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                definition_id,
                made.comparison_key.raw,
                submission.gpu,
                submission.stack,
                len(definition.suite.spec["cases"]),
                *(ids[part.digest] for part in parts),
            ),
        )
        return int(cursor.lastrowid or 0)

    def _write(self, db: Connection, definition_id: int, changes: Sequence[_Change]) -> None:
        """The present states, and beside them the observations with their evidence."""
        nothing = (None,) * len(_RANKED)
        all_columns = ("id", "external_id", "definition_id", *_STATE, *_RANKED)
        db.executemany(
            f"INSERT INTO submission ({', '.join(all_columns)}) VALUES ({marks(all_columns)})",
            (
                (c.id, c.new.external_id, definition_id, *c.state, *(c.ranked or nothing))
                for c in changes
                if c.old is None
            ),
        )
        for columns, ranked in ((_STATE, False), ((*_STATE, *_RANKED), True)):
            db.executemany(
                f"UPDATE submission SET {', '.join(f'{column} = ?' for column in columns)} WHERE id = ?",
                (
                    (*c.state, *(c.ranked or ()), c.id)
                    for c in changes
                    if c.old is not None and (c.ranked is not None) == ranked
                ),
            )
        for part in chunks(changes, EVIDENCE_ROWS):
            self._observe(db, definition_id, part)

    def _observe(self, db: Connection, definition_id: int, changes: Sequence[_Change]) -> None:
        evidence = db.execute(
            "INSERT INTO evidence (import_id, definition_id, body) VALUES (?, ?, ?)",
            (self._import, definition_id, self._catalogue.codec.pack([change.new.facts for change in changes])),
        ).lastrowid
        nothing = (None,) * 4
        db.executemany(
            "INSERT INTO observation (submission_id, import_id, standing, unlisted, reasons, evidence_id, place,"
            " cohort_id, run_id, latency_ns, observed_at) VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    *(change.id, self._import, change.standing, " ".join(change.new.reasons), evidence, place),
                    *(change.ranked[:4] if change.ranked else nothing),
                )
                for place, change in enumerate(changes)
            ),
        )

    def _mark(self, db: Connection, submissions: Sequence[int], *, unlisted: bool) -> None:
        """A new observation of the same facts and run: only the listing has changed."""
        db.executemany("UPDATE submission SET unlisted = ? WHERE id = ?", ((unlisted, s) for s in submissions))
        same = "run_id, standing, reasons, evidence_id, place, cohort_id, latency_ns, observed_at"
        db.executemany(
            f"INSERT INTO observation (submission_id, import_id, unlisted, {same})"
            f" SELECT submission_id, ?, ?, {same} FROM observation WHERE submission_id = ? ORDER BY id DESC LIMIT 1",
            ((self._import, unlisted, submission) for submission in submissions),
        )


def _known(db: Connection, definition_id: int) -> dict[str, Known]:
    rows = db.execute(
        "SELECT external_id, s.id, facts_digest, standing, unlisted, m.digest"
        " FROM submission s LEFT JOIN manifest m ON m.id = s.run_id WHERE definition_id = ?",
        (definition_id,),
    )
    return {row[0]: Known(row[1], row[2], row[3], bool(row[4]), row[5]) for row in rows}


def _absent(known: Mapping[str, Known], reading: Reading) -> list[int]:
    present = {s.external_id for s in reading.submissions} | {q.external_id for q in reading.quarantined}
    return [old.id for name, old in known.items() if name not in present and not old.unlisted]


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


def _figures(submission: Submission, made: RunManifests) -> tuple[Any, ...]:
    """The numbers that a run is ranked and shown by, as _RANKED has them after the ids."""
    spec, facts = made.run.spec, submission.facts
    return spec["timing"]["latencyNs"]["mean"], spec["observedAt"], *map(facts.get, _METRICS)
