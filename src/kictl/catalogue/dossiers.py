"""What the catalogue knows about one run, one submission, one definition, one author, one import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kictl.canonical import Digest
from kictl.catalogue import queries
from kictl.catalogue.store import PREFIX, PREFIX_BYTES, Catalogue, decoded
from kictl.model import Json


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run and the submission that it belongs to.

    `standing` is that of the run: current, superseded, retracted or failed; `reasons` and `unlisted` are those of the
    submission as it stands now. `latest` is the run that replaced this one, or the run itself.
    """

    run: Digest
    submission_id: int
    submission: str
    source: str
    definition_id: int
    definition: str
    kernel: str | None
    author: str | None
    project_id: int | None
    gpu: str
    stack: str | None
    cohort_id: int
    status: str
    standing: str
    reasons: tuple[str, ...]
    unlisted: bool
    latest: Digest


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """A submission, with or without runs; `runs` are their digests, `run` is the one that it stands for, if it is one.

    `is_own` says that the source's own record of it was read, not only what others tell.
    """

    id: int
    submission: str
    source: str
    definition_id: int
    definition: str
    author: str | None
    gpu: str | None
    stack: str | None
    standing: str
    reasons: tuple[str, ...]
    unlisted: bool
    is_own: bool
    runs: tuple[Digest, ...]

    @property
    def run(self) -> Digest | None:
        return self.runs[0] if len(self.runs) == 1 else None


@dataclass(frozen=True, slots=True)
class ObservationRow:
    """One state that a submission was seen in, and the import that saw it so for the first time. `source` is what was
    imported: the source of the submission itself, or one that tells of it."""

    import_id: int
    source: str
    at: str
    standing: str
    unlisted: bool
    reasons: tuple[str, ...]
    run: Digest | None


@dataclass(frozen=True, slots=True)
class ImportRow:
    """One import event. `finished_at` is None where it was interrupted or still runs; `report` is its own account."""

    id: int
    source: str
    origin: str
    selection: Json
    version: str
    started_at: str
    finished_at: str | None
    snapshot_digest: str | None
    catalog_digest: str | None
    report: Json | None


@dataclass(frozen=True, slots=True)
class BoundsVersion:
    """The bounds that a definition stated from one import on."""

    import_id: int
    at: str
    digest: Digest


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note that a user of this catalogue attached to a run; it changes neither evidence nor rank."""

    id: int
    kind: str
    text: str
    written_at: str


# The run that replaced another is the one of its submission that is not superseded: only where a submission has one at
# a time is any replaced.
_RUN = (
    "SELECT m.digest, s.id, s.external_id, d.source, d.id, d.name, d.external_id, s.author, s.project_id, c.gpu,"
    " c.stack, r.cohort_id, r.status, r.standing, s.reasons, s.unlisted,"
    " coalesce((SELECT n.digest FROM run q JOIN manifest n ON n.id = q.manifest_id WHERE r.standing = 'superseded'"
    " AND q.submission_id = s.id AND q.standing IN ('current', 'retracted') LIMIT 1),"
    " m.digest)"
    " FROM run r JOIN manifest m ON m.id = r.manifest_id JOIN submission s ON s.id = r.submission_id"
    " JOIN definition d ON d.id = s.definition_id JOIN cohort c ON c.id = r.cohort_id"
)
_SUBMISSION = (
    "SELECT s.id, s.external_id, d.source, d.id, d.name, s.author, s.gpu, s.stack, s.standing, s.reasons, s.unlisted,"
    " s.facts_digest IS NOT NULL,"
    " (SELECT group_concat(hex(m.digest)) FROM run r JOIN manifest m ON m.id = r.manifest_id"
    " WHERE r.submission_id = s.id AND r.standing <> 'superseded')"
    " FROM submission s JOIN definition d ON d.id = s.definition_id"
)


def submissions(catalogue: Catalogue, external_id: str) -> list[SubmissionRow]:
    """The submissions of that id: one for each source and definition that has it."""
    rows = catalogue.db.execute(f"{_SUBMISSION} WHERE s.external_id = ? ORDER BY d.source, d.name", (external_id,))
    return [_submission(row) for row in rows]


def submissions_of(catalogue: Catalogue, author: str) -> list[SubmissionRow]:
    """Everything that an author submitted, by definition, GPU and stack."""
    rows = catalogue.db.execute(
        f"{_SUBMISSION} WHERE s.definition_id IN (SELECT id FROM definition) AND s.author = ?"
        " ORDER BY d.name, s.gpu, s.stack DESC, s.id",
        (author,),
    )
    return [_submission(row) for row in rows]


def submissions_to(catalogue: Catalogue, definition_id: int) -> Iterator[SubmissionRow]:
    """Everything that was submitted to a definition, by id, shorter ones first."""
    rows = catalogue.db.execute(
        f"{_SUBMISSION} WHERE s.definition_id = ? ORDER BY length(s.external_id), s.external_id, s.id", (definition_id,)
    )
    return (_submission(row) for row in rows)


def runs(catalogue: Catalogue, prefix: str, *, limit: int = 20) -> list[RunRow]:
    """The runs whose digest starts with these hexadecimal digits, superseded, withdrawn and failed ones included."""
    first, last = _between(prefix)
    rows = catalogue.db.execute(
        f"{_RUN} WHERE r.manifest_id IN (SELECT id FROM manifest"
        f" WHERE {PREFIX} BETWEEN ? AND ? AND digest BETWEEN ? AND ?) ORDER BY m.digest LIMIT ?",
        (first[:PREFIX_BYTES], last[:PREFIX_BYTES], first, last, limit),
    )
    return [_run(row) for row in rows]


def runs_of(catalogue: Catalogue, definition_id: int) -> list[RunRow]:
    """Every run of a definition, superseded, withdrawn and failed ones included, by submission, then by digest."""
    rows = catalogue.db.execute(
        f"{_RUN} WHERE s.definition_id = ? ORDER BY length(s.external_id), s.external_id, m.digest", (definition_id,)
    )
    return [_run(row) for row in rows]


def runs_of_submission(catalogue: Catalogue, submission_id: int) -> list[RunRow]:
    """Every run of a submission, by cohort."""
    rows = catalogue.db.execute(f"{_RUN} WHERE r.submission_id = ? ORDER BY r.cohort_id, m.digest", (submission_id,))
    return [_run(row) for row in rows]


def cohorts(catalogue: Catalogue, prefix: str) -> list[queries.Cohort]:
    """The cohorts whose key starts with these hexadecimal digits."""
    return queries.cohorts_where(catalogue, "c.key BETWEEN ? AND ?", *_between(prefix))


def _between(prefix: str) -> tuple[bytes, bytes]:
    """The first and the last digest with a prefix of hexadecimal digits."""
    return bytes.fromhex(prefix.ljust(64, "0")), bytes.fromhex(prefix.ljust(64, "f"))


def observations(catalogue: Catalogue, submission_id: int, run: Digest | None = None) -> list[ObservationRow]:
    """Every change of a submission's state, oldest first; of one that others tell of, those of the one run."""
    rows = catalogue.db.execute(
        "SELECT o.import_id, i.source, i.started_at, o.standing, o.unlisted, o.reasons, m.digest"
        " FROM observation o JOIN import i ON i.id = o.import_id LEFT JOIN manifest m ON m.id = o.run_id"
        f" WHERE o.submission_id = ? AND ({IS_OWN} OR o.run_id = ?) ORDER BY o.id",
        (submission_id, None if run is None else catalogue.id_of(run.raw)),
    )
    return [_observation(list(row)) for row in rows]


IS_OWN = (
    "o.import_id IN (SELECT own.id FROM import own JOIN submission t ON t.id = o.submission_id"
    " JOIN definition e ON e.id = t.definition_id WHERE own.source = e.source)"
)
"""Whether an observation `o` is of the source's own record, not of what others tell."""


def readings(catalogue: Catalogue, submission_id: int) -> list[tuple[int, bool]]:
    """The imports of its source that read the submission's definition, each with whether they could have missed the
    submission: the listing was not read to its end, or its row was set aside as malformed."""
    rows = catalogue.db.execute(
        "SELECT r.import_id, r.complete AND NOT EXISTS"
        " (SELECT 1 FROM quarantine q WHERE q.import_id = r.import_id AND q.external_id = s.external_id)"
        " FROM submission s JOIN definition d ON d.id = s.definition_id"
        " JOIN reading r ON r.definition_id = d.id JOIN import i ON i.id = r.import_id AND i.source = d.source"
        " WHERE s.id = ? ORDER BY r.import_id",
        (submission_id,),
    )
    return [(row[0], not row[1]) for row in rows]


def facts(catalogue: Catalogue, submission_id: int, run: Digest | None) -> Json:
    """The source's row of a submission, as it was when the submission last had that run (None: was seen last). Where
    only others tell of it, what they say of the run."""
    condition = "" if run is None else " AND o.run_id = ?"
    row = catalogue.db.execute(
        "SELECT e.body, o.place FROM observation o JOIN evidence e ON e.id = o.evidence_id"
        f" WHERE o.submission_id = ?{condition} ORDER BY {IS_OWN} DESC, o.id DESC LIMIT 1",
        (submission_id,) if run is None else (submission_id, catalogue.id_of(run.raw)),
    ).fetchone()
    found: Json = catalogue.codec.unpack(row[0])[row[1]]
    return found


@dataclass(frozen=True, slots=True)
class Telling:
    """An import that told of a run: what was imported, where it was read from, and the digest of what it received."""

    import_id: int
    source: str
    origin: str
    at: str
    snapshot_digest: str | None


def told_by(catalogue: Catalogue, submission_id: int, run: Digest) -> list[Telling]:
    """The first import of each source that told of a run."""
    rows = catalogue.db.execute(
        "SELECT min(i.id), i.source, i.origin, i.started_at, i.snapshot_digest FROM observation o"
        " JOIN import i ON i.id = o.import_id WHERE o.submission_id = ? AND o.run_id = ?"
        " GROUP BY i.source ORDER BY min(i.id)",
        (submission_id, catalogue.id_of(run.raw)),
    )
    return [Telling(*row) for row in rows]


def definition_facts(catalogue: Catalogue, definition_id: int) -> Json:
    """What the source last said of a definition."""
    row = catalogue.db.execute(
        "SELECT facts FROM definition_version WHERE definition_id = ? ORDER BY id DESC LIMIT 1", (definition_id,)
    ).fetchone()
    found: Json = catalogue.codec.unpack(row[0])
    return found


def current_manifests(catalogue: Catalogue, definition_id: int) -> tuple[Digest, Digest | None]:
    """The digests of a definition's present operation (of serving: of its model) and suite, None where it has none."""
    row = catalogue.db.execute(
        "SELECT o.digest, u.suite_id, w.digest FROM definition_version v JOIN manifest o ON o.id = v.subject_id"
        " LEFT JOIN definition_suite u ON u.version_id = v.id LEFT JOIN manifest w ON w.id = u.suite_id"
        " WHERE v.definition_id = ? ORDER BY v.id DESC LIMIT 1",
        (definition_id,),
    ).fetchone()
    return Digest.from_raw(row[0]), None if row[1] is None else Digest.from_raw(row[2])


def bounds_versions(catalogue: Catalogue, definition_id: int) -> list[BoundsVersion]:
    """The bounds of a definition over time, oldest first; a version of it that left them as they were is no entry."""
    rows = catalogue.db.execute(
        "SELECT v.import_id, i.started_at, b.digest FROM definition_version v"
        " JOIN definition_suite u ON u.version_id = v.id JOIN bounds b ON b.id = u.bounds_id"
        " JOIN import i ON i.id = v.import_id WHERE v.definition_id = ? ORDER BY v.id",
        (definition_id,),
    )
    versions: list[BoundsVersion] = []
    for import_id, at, digest in rows:
        if not versions or versions[-1].digest.raw != digest:
            versions.append(BoundsVersion(import_id, at, Digest.from_raw(digest)))
    return versions


def imports(catalogue: Catalogue) -> list[ImportRow]:
    """Every import event, oldest first."""
    return list(_imports(catalogue, ""))


def import_event(catalogue: Catalogue, import_id: int) -> ImportRow | None:
    """One import event."""
    return next(_imports(catalogue, " WHERE id = ?", import_id), None)


def last_import_at(catalogue: Catalogue) -> str | None:
    """When the catalogue was last brought up to date: the end of its last import, or its start if it has none."""
    found = catalogue.db.execute("SELECT max(coalesce(finished_at, started_at)) FROM import").fetchone()[0]
    return None if found is None else str(found)


def notes(catalogue: Catalogue, run: Digest) -> list[NoteRow]:
    """The notes on a run, oldest first."""
    rows = catalogue.db.execute(
        "SELECT id, kind, text, written_at FROM note WHERE run_digest = ? ORDER BY id", (run.raw,)
    )
    return [NoteRow(*row) for row in rows]


def add_note(catalogue: Catalogue, run: Digest, *, kind: str, text: str, at: str) -> None:
    """Attaches a note to a run."""
    with catalogue.transaction() as db:
        db.execute(
            "INSERT INTO note (run_digest, kind, text, written_at) VALUES (?, ?, ?, ?)", (run.raw, kind, text, at)
        )


def _imports(catalogue: Catalogue, condition: str, *values: object) -> Iterator[ImportRow]:
    rows = catalogue.db.execute(
        "SELECT id, source, origin, selection, version, started_at, finished_at, snapshot_digest, catalog_digest,"
        f" report FROM import{condition} ORDER BY id",
        values,
    )
    for row in rows:
        fields: list[Any] = list(row)
        fields[3] = decoded(fields[3])
        fields[9] = fields[9] and decoded(fields[9])
        yield ImportRow(*fields)


def _observation(row: list[Any]) -> ObservationRow:
    row[4:] = bool(row[4]), _words(row[5]), row[6] and Digest.from_raw(row[6])
    return ObservationRow(*row)


def _run(row: tuple[Any, ...]) -> RunRow:
    values = [Digest.from_raw(row[0]), *row[1:]]
    values[14:] = _words(row[14]), bool(row[15]), Digest.from_raw(row[16])
    return RunRow(*values)


def _submission(row: tuple[Any, ...]) -> SubmissionRow:
    values, runs = list(row), row[12]
    digests = tuple(sorted(Digest(f"sha256:{run.lower()}") for run in runs.split(",")) if runs else ())
    values[9:] = _words(row[9]), bool(row[10]), bool(row[11]), digests
    return SubmissionRow(*values)


def _words(reasons: str) -> tuple[str, ...]:
    return tuple(reasons.split())
