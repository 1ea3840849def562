"""The submissions of one definition and their runs: what a reading changes, written as new states beside the old ones.

A submission whose source was read itself is known as a whole: its record decides which run it has. Of one that others
tell of, an export for example, each run is known by itself; where the source's own record is known, that one decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kictl import canonical
from kictl.canonical import Digest
from kictl.catalogue.claims import ClaimWriter
from kictl.catalogue.manifests import ANY_OF, CHUNK, ManifestWriter, chunks, filled, marks, next_id
from kictl.catalogue.store import Catalogue, Connection
from kictl.model import Json, Quarantined, Run, Score, Submission
from kictl.sources.interface import Reading

EVIDENCE_ROWS = 50
"""Rows that are compressed together: enough to be small, few enough to be read for one of them."""

FACTS = 16
"""Bytes of the digest of a row's facts: it only has to tell a row from what it was before."""

_STATE = ("facts_digest", "standing", "unlisted", "reasons", "author", "project_id", "gpu", "stack")
_COLUMNS = ("id", "external_id", "definition_id", *_STATE)
_INSERT_SUBMISSION = f"INSERT INTO submission ({', '.join(_COLUMNS)}) VALUES ({marks(_COLUMNS)})"
_UPDATE_SUBMISSION = f"UPDATE submission SET {', '.join(f'{column} = ?' for column in _STATE)} WHERE id = ?"


class Known(NamedTuple):
    """What the catalogue holds of a submission before a reading. `runs` has the standing of each by its raw digest;
    `facts_digest` is None where the source's own record was never read."""

    id: int
    facts_digest: bytes | None
    standing: str
    unlisted: bool
    runs: dict[bytes, str]

    def has(self, digest: Digest) -> bool:
        return digest.raw in self.runs

    @property
    def last(self) -> bytes | None:
        """The run that its record makes, or made before it was retracted."""
        return next((raw for raw, standing in self.runs.items() if standing in ("current", "retracted")), None)


@dataclass(slots=True)
class _Writes:
    """Everything that is to be written about the submissions of one definition, table by table."""

    new: list[tuple[Any, ...]] = field(default_factory=list)
    changed: list[tuple[Any, ...]] = field(default_factory=list)
    recovered: list[tuple[str, int]] = field(default_factory=list)
    runs: list[tuple[Any, ...]] = field(default_factory=list)
    standings: list[tuple[str, int]] = field(default_factory=list)
    scores: list[tuple[Any, ...]] = field(default_factory=list)
    observations: list[_Observation] = field(default_factory=list)


class _Observation(NamedTuple):
    """A state that a submission, or a run of it, was seen in, and the row that says so; `claim` is the digest of a row
    that is about this run alone."""

    submission_id: int
    run_id: int | None
    standing: str
    reasons: str
    row: Json
    claim: bytes | None = None


class SubmissionWriter:
    """Writes the submissions of readings for one import."""

    def __init__(self, catalogue: Catalogue, import_id: int, manifests: ManifestWriter, claims: ClaimWriter) -> None:
        self._catalogue = catalogue
        self._import = import_id
        self._manifests = manifests
        self._claims = claims
        self._cohorts: dict[tuple[int, Digest, str], int] = {}

    def forget(self) -> None:
        """What was remembered of a transaction that has been rolled back does not hold."""
        self._cohorts.clear()

    def put(
        self, db: Connection, definition_id: int, source: str, reading: Reading, selected: Iterable[Submission]
    ) -> tuple[Counter[str], list[Quarantined]]:
        """Writes what is new; returns what became of the rows, and those that cannot be of this definition."""
        known = _known(db, definition_id)
        rows, of_others = _of_this_definition(db, source, known, list(selected))
        counts: Counter[str] = Counter({"quarantined": len(of_others)})
        self._manifests.put(db, (m for row in rows for run in row.runs for m in (*run.others, run.manifest)))
        writes, relisted = _Writes(), list[int]()
        free = next_id(db, "submission")
        for row in rows:
            old = known.get(row.external_id)
            at = free if old is None else old.id
            if row.facts is None:
                self._put_runs(db, definition_id, reading.table, row, at, old, writes, counts)
            else:
                relisted += self._put_record(db, definition_id, row, row.facts, at, old, writes, counts)
            if old is None:
                free += 1
                known[row.external_id] = Known(
                    at, None, "current", False, {r.manifest.digest.raw: "" for r in row.runs}
                )
        self._write(db, definition_id, reading.table, writes)
        self._mark(db, relisted, unlisted=False)
        if reading.complete and all(q.external_id is not None for q in reading.quarantined):
            gone = _absent(known, reading)
            counts["unlisted"] = len(gone)
            self._mark(db, gone, unlisted=True)
        return counts, of_others

    def supersede(self, db: Connection, runs: Iterable[Digest]) -> None:
        """Runs that others have replaced, as their source says."""
        db.executemany(
            "UPDATE run SET standing = 'superseded' WHERE manifest_id = ? AND standing = 'current'",
            ((self._manifests.id_of(run),) for run in runs),
        )

    def _put_record(
        self,
        db: Connection,
        definition_id: int,
        new: Submission,
        row: Json,
        at: int,
        old: Known | None,
        writes: _Writes,
        counts: Counter[str],
    ) -> list[int]:
        """A record of the source itself, under the id `at`; returns that id where all that changed is that it is listed
        again.

        A row whose facts are the same as before keeps its run, also where the definition has changed since: that run
        was measured under the older one.
        """
        facts = canonical.digest(row, checked=True).raw[:FACTS]
        counts[_outcome(new, old, facts)] += 1
        counts["relisted"] += bool(old and old.unlisted)
        if old is not None and old.facts_digest == facts:
            return [at] if old.unlisted else []
        standing = _standing(new, old)
        counts["retracted"] += bool(standing == "retracted" and old and old.standing == "current")
        state = (facts, standing, 0, " ".join(new.reasons), new.author, self._project(new), new.gpu, new.stack)
        self._keep_state(writes, definition_id, new.external_id, state, at, old)
        runs = {run.manifest.digest.raw: run for run in new.runs}
        gone = [raw for raw, was in (old.runs if old else {}).items() if raw not in runs and was != "superseded"]
        left = "superseded" if runs else "retracted"
        writes.standings += ((left, self._manifests.id_of(Digest.from_raw(raw))) for raw in gone)
        for run in runs.values():
            run_id = self._keep_run(db, definition_id, writes, at, run, old, standing="current")
            writes.observations.append(_Observation(at, run_id, standing, state[3], row))
        if not runs:
            writes.observations.append(_Observation(at, None, standing, state[3], row))
        return []

    def _put_runs(
        self,
        db: Connection,
        definition_id: int,
        table: str,
        new: Submission,
        at: int,
        old: Known | None,
        writes: _Writes,
        counts: Counter[str],
    ) -> None:
        """Runs that others than the source tell of, each by itself."""
        if old is None:
            retracted = all(run.retraction is not None for run in new.runs)
            passed = any(run.has_passed for run in new.runs)
            standing = "retracted" if retracted else "current" if passed else "failed"
            state = (None, standing, 0, " ".join(new.reasons), new.author, self._project(new), new.gpu, new.stack)
            self._keep_state(writes, definition_id, new.external_id, state, at, None)
        elif old.facts_digest is None and old.standing == "failed" and any(run.has_passed for run in new.runs):
            writes.recovered.append(("current", at))
        for run in new.runs:
            facts = run.facts or {}
            run_id = self._manifests.id_of(run.manifest.digest)
            is_new = old is None or not old.has(run.manifest.digest)
            claim = self._claims.digest_if_new(db, table, run_id, facts)
            if claim is None:
                counts["unchanged"] += 1
                continue
            standing = _standing_of(run, old)
            if is_new:
                self._keep_run(db, definition_id, writes, at, run, old, standing=standing)
            elif old is not None and old.facts_digest is None:
                writes.standings.append((standing, run_id))
                counts["retracted"] += standing == "retracted" != old.runs[run.manifest.digest.raw]
            else:
                standing = old.runs[run.manifest.digest.raw] if old else standing
            counts["new" if is_new else "unchanged"] += 1
            reasons = "" if run.has_passed else run.status
            writes.observations.append(_Observation(at, run_id, standing, reasons, facts, claim))

    def _keep_state(
        self,
        writes: _Writes,
        definition_id: int,
        external_id: str,
        state: tuple[Any, ...],
        at: int,
        old: Known | None,
    ) -> None:
        if old is None:
            writes.new.append((at, external_id, definition_id, *state))
        else:
            writes.changed.append((*state, at))

    def _keep_run(
        self,
        db: Connection,
        definition_id: int,
        writes: _Writes,
        at: int,
        run: Run,
        old: Known | None,
        *,
        standing: str,
    ) -> int:
        """The row of a run, new or with the standing that it has now."""
        run_id = self._manifests.id_of(run.manifest.digest)
        if old is not None and old.has(run.manifest.digest):
            writes.standings.append((standing, run_id))
            return run_id
        spec, implementation = run.spec, self._manifests.id_of(run.implementation)
        cohort = self._cohort(db, definition_id, run)
        place = (run_id, at, cohort, implementation)
        writes.runs.append((*place, run.status, standing, run.value, spec["observedAt"]))
        if (score := Score.of(spec)) is not None:
            writes.scores.append((run_id, *score))
        return run_id

    def _project(self, new: Submission) -> int | None:
        return None if new.project is None else self._manifests.id_of(new.project)

    def _cohort(self, db: Connection, definition_id: int, run: Run) -> int:
        """The row of a run's cohort, made where it is new."""
        new = run.cohort
        at = (definition_id, new.key, new.metric)
        if at not in self._cohorts:
            row = db.execute(
                "SELECT id FROM cohort WHERE definition_id = ? AND key = ? AND metric = ?",
                (definition_id, new.key.raw, new.metric),
            ).fetchone()
            self._cohorts[at] = self._new_cohort(db, definition_id, run) if row is None else int(row[0])
        return self._cohorts[at]

    def _new_cohort(self, db: Connection, definition_id: int, run: Run) -> int:
        new, id_of = run.cohort, self._manifests.id_of
        ids = (id_of(new.subject), id_of(new.workload))
        cohort_id = db.execute(
            "INSERT INTO cohort (definition_id, key, metric, gpu, stack, subject_id, workload_id, cases, shape)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (definition_id, new.key.raw, new.metric, new.gpu, new.stack, *ids, new.cases, new.shape),
        ).lastrowid
        if new.kernel is not None:
            parts = map(id_of, new.kernel)
            db.execute("INSERT INTO kernel_cohort VALUES (?, ?, ?)", (cohort_id, *parts))
        if new.serving is not None:
            db.execute("INSERT INTO serving_cohort VALUES (?, ?, ?, ?, ?)", (cohort_id, *new.serving))
        return int(cohort_id or 0)

    def _write(self, db: Connection, definition_id: int, table: str, writes: _Writes) -> None:
        for statement, rows in (
            (_INSERT_SUBMISSION, writes.new),
            (_UPDATE_SUBMISSION, writes.changed),
            ("UPDATE submission SET standing = ? WHERE id = ?", writes.recovered),
            ("INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?)", writes.runs),
            ("UPDATE run SET standing = ? WHERE manifest_id = ?", writes.standings),
            ("INSERT INTO score VALUES (?, ?, ?, ?, ?)", writes.scores),
        ):
            if rows:
                db.executemany(statement, rows)
        for part in chunks(writes.observations, EVIDENCE_ROWS):
            self._observe(db, definition_id, table, part)

    def _observe(self, db: Connection, definition_id: int, table: str, observations: Sequence[_Observation]) -> None:
        evidence = db.execute(
            "INSERT INTO evidence (import_id, definition_id, body) VALUES (?, ?, ?)",
            (self._import, definition_id, self._catalogue.codec.pack([seen.row for seen in observations])),
        ).lastrowid
        db.executemany(
            "INSERT INTO observation (submission_id, import_id, run_id, standing, unlisted, reasons, evidence_id,"
            " place) VALUES (?, ?, ?, ?, 0, ?, ?, ?)",
            (
                (seen.submission_id, self._import, seen.run_id, seen.standing, seen.reasons, evidence, place)
                for place, seen in enumerate(observations)
            ),
        )
        self._claims.keep(
            db,
            [
                (table, seen.run_id, seen.claim, evidence, place)
                for place, seen in enumerate(observations)
                if seen.claim is not None
            ],
        )

    def _mark(self, db: Connection, submissions: Sequence[int], *, unlisted: bool) -> None:
        """A new observation of the same facts and run: only the listing has changed."""
        if not submissions:
            return
        db.executemany("UPDATE submission SET unlisted = ? WHERE id = ?", ((unlisted, s) for s in submissions))
        same = "run_id, standing, reasons, evidence_id, place"
        db.executemany(
            f"INSERT INTO observation (submission_id, import_id, unlisted, {same})"
            f" SELECT submission_id, ?, ?, {same} FROM observation WHERE submission_id = ? AND import_id IN"
            " (SELECT id FROM import WHERE source = (SELECT source FROM import WHERE id = ?)) ORDER BY id DESC LIMIT 1",
            ((self._import, unlisted, submission, self._import) for submission in submissions),
        )


def _known(db: Connection, definition_id: int) -> dict[str, Known]:
    rows = db.execute(
        "SELECT s.external_id, s.id, s.facts_digest, s.standing, s.unlisted, m.digest, r.standing FROM submission s"
        " LEFT JOIN run r ON r.submission_id = s.id LEFT JOIN manifest m ON m.id = r.manifest_id"
        " WHERE s.definition_id = ?",
        (definition_id,),
    )
    known: dict[str, Known] = {}
    for name, submission_id, facts, standing, unlisted, run, run_standing in rows:
        if name not in known:
            known[name] = Known(submission_id, facts, standing, bool(unlisted), {})
        if run is not None:
            known[name].runs[run] = run_standing
    return known


def _of_this_definition(
    db: Connection, source: str, known: Mapping[str, Known], selected: list[Submission]
) -> tuple[list[Submission], list[Quarantined]]:
    """Splits off the records that are known under another definition: within a source, a record belongs to one."""
    new = [row.external_id for row in selected if row.external_id not in known and row.facts is not None]
    elsewhere: dict[str, str | None] = {}
    for names in chunks(new, CHUNK):
        elsewhere |= db.execute(
            # CROSS keeps the order: few of a source's submissions have one of these ids.
            "SELECT s.external_id, d.external_id FROM submission s CROSS JOIN definition d ON d.id = s.definition_id"
            f" WHERE d.source = ? AND s.external_id {ANY_OF}",
            [source, *filled(names)],
        ).fetchall()
    quarantined = [
        Quarantined(
            f"submission {row.external_id}",
            f"it was listed under kernel {elsewhere[row.external_id]} before",
            facts=row.facts,
            external_id=row.external_id,
        )
        for row in selected
        if row.external_id in elsewhere
    ]
    return [row for row in selected if row.external_id not in elsewhere], quarantined


def _absent(known: Mapping[str, Known], reading: Reading) -> list[int]:
    """The submissions that the source's own record was read of, and that its listing has no more."""
    present = {s.external_id for s in reading.submissions} | {q.external_id for q in reading.quarantined}
    return [
        old.id
        for name, old in known.items()
        if name not in present and not old.unlisted and old.facts_digest is not None
    ]


def _outcome(new: Submission, old: Known | None, facts: bytes) -> str:
    """What a record is to the catalogue; every record is exactly one of these."""
    if not new.runs:
        return f"skipped:{new.reasons[0]}"
    if old is None or old.last is None:
        return "new"
    if old.facts_digest == facts:
        return "unchanged"
    if old.standing == "retracted":
        return "restored"
    present = [run for run in new.runs if old.runs.get(run.manifest.digest.raw) == "current"]
    return "unchanged" if len(present) == len(new.runs) else "changed"


def _standing(new: Submission, old: Known | None) -> str:
    if new.runs:
        return "current"
    return "retracted" if old is not None and old.last is not None else "ineligible"


def _standing_of(run: Run, old: Known | None) -> str:
    """The standing of a run that others tell of."""
    if not run.has_passed:
        return "failed"
    if run.retraction is not None:
        return "retracted"
    if old is not None and old.facts_digest is not None and not old.has(run.manifest.digest):
        return "superseded"  # the source itself says otherwise
    return "current"
