"""What the catalogue knows about one run, one submission, one definition, one author, one import."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kictl.canonical import Digest
from kictl.catalogue import queries
from kictl.catalogue.store import PREFIX, Catalogue, decoded, prefix_of
from kictl.model import Json


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run and the submission it belongs to, as the submission stands now.

    `latest` is the submission's last run: another digest means that this one is superseded.
    """

    run: Digest
    submission_id: int
    submission: str
    source: str
    definition_id: int
    definition: str
    kernel: str
    author: str
    gpu: str
    stack: str | None
    standing: str
    reasons: tuple[str, ...]
    unlisted: bool
    latest: Digest


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """A submission, with or without a run."""

    id: int
    submission: str
    source: str
    definition_id: int
    definition: str
    author: str
    gpu: str
    stack: str | None
    standing: str
    reasons: tuple[str, ...]
    unlisted: bool
    run: Digest | None


@dataclass(frozen=True, slots=True)
class ObservationRow:
    """One state that a submission was seen in, and the import that saw it so for the first time."""

    import_id: int
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


_RUN = (
    "SELECT DISTINCT m.digest, s.id, s.external_id, d.source, d.id, d.name, d.external_id, s.author, s.gpu, s.stack,"
    " s.standing, s.reasons, s.unlisted, l.digest"
    " FROM observation o JOIN manifest m ON m.id = o.run_id"
    " JOIN submission s ON s.id = o.submission_id JOIN manifest l ON l.id = s.run_id"
    " JOIN definition d ON d.id = s.definition_id"
)
_SUBMISSION = (
    "SELECT s.id, s.external_id, d.source, d.id, d.name, s.author, s.gpu, s.stack, s.standing, s.reasons, s.unlisted,"
    " m.digest FROM submission s JOIN definition d ON d.id = s.definition_id LEFT JOIN manifest m ON m.id = s.run_id"
)


def submissions(catalogue: Catalogue, external_id: str) -> list[SubmissionRow]:
    """The submissions of that id: one per source that has it."""
    rows = catalogue.db.execute(f"{_SUBMISSION} WHERE s.external_id = ? ORDER BY d.source", (external_id,))
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
    """The runs whose digest starts with these hexadecimal digits, superseded and retracted ones included."""
    rows = catalogue.db.execute(
        f"{_RUN} WHERE o.run_id IN (SELECT id FROM manifest"
        f" WHERE {PREFIX} BETWEEN {prefix_of('?1')} AND {prefix_of('?2')} AND digest BETWEEN ?1 AND ?2)"
        " ORDER BY m.digest LIMIT ?3",
        (*_between(prefix), limit),
    )
    return [_run(row) for row in rows]


def runs_of(catalogue: Catalogue, definition_id: int) -> list[RunRow]:
    """Every run of a definition, superseded and retracted ones included, by submission, then by digest."""
    rows = catalogue.db.execute(
        f"{_RUN} WHERE s.definition_id = ? ORDER BY length(s.external_id), s.external_id, m.digest", (definition_id,)
    )
    return [_run(row) for row in rows]


def cohorts(catalogue: Catalogue, prefix: str) -> list[queries.Cohort]:
    """The cohorts whose comparison key starts with these hexadecimal digits."""
    return queries.cohorts_where(catalogue, "c.comparison_key BETWEEN ? AND ?", *_between(prefix))


def _between(prefix: str) -> tuple[bytes, bytes]:
    """The first and the last digest with a prefix of hexadecimal digits."""
    return bytes.fromhex(prefix.ljust(64, "0")), bytes.fromhex(prefix.ljust(64, "f"))


def observations(catalogue: Catalogue, submission_id: int) -> list[ObservationRow]:
    """Every change of a submission's state, oldest first."""
    rows = catalogue.db.execute(
        "SELECT o.import_id, i.started_at, o.standing, o.unlisted, o.reasons, m.digest"
        " FROM observation o JOIN import i ON i.id = o.import_id LEFT JOIN manifest m ON m.id = o.run_id"
        " WHERE o.submission_id = ? ORDER BY o.id",
        (submission_id,),
    )
    return [
        ObservationRow(row[0], row[1], row[2], bool(row[3]), _words(row[4]), row[5] and Digest.from_raw(row[5]))
        for row in rows
    ]


def readings(catalogue: Catalogue, submission_id: int) -> list[tuple[int, bool]]:
    """The imports that read the submission's definition, each with whether they could have missed the submission:
    the listing was not read to its end, or its row was set aside as malformed."""
    rows = catalogue.db.execute(
        "SELECT r.import_id, r.complete AND NOT EXISTS"
        " (SELECT 1 FROM quarantine q WHERE q.import_id = r.import_id AND q.external_id = s.external_id)"
        " FROM submission s JOIN definition d ON d.id = s.definition_id"
        " JOIN reading r ON r.definition_external_id = d.external_id"
        " JOIN import i ON i.id = r.import_id AND i.source = d.source"
        " WHERE s.id = ? ORDER BY r.import_id",
        (submission_id,),
    )
    return [(row[0], not row[1]) for row in rows]


def facts(catalogue: Catalogue, submission_id: int, run: Digest | None) -> Json:
    """The source's row of a submission, as it was when the submission last had that run (None: was seen last)."""
    condition = "" if run is None else " AND o.run_id = ?"
    row = catalogue.db.execute(
        "SELECT e.body, o.place FROM observation o JOIN evidence e ON e.id = o.evidence_id"
        f" WHERE o.submission_id = ?{condition} ORDER BY o.id DESC LIMIT 1",
        (submission_id,) if run is None else (submission_id, catalogue.id_of(run.raw)),
    ).fetchone()
    found: Json = catalogue.codec.unpack(row[0])[row[1]]
    return found


def definition_facts(catalogue: Catalogue, definition_id: int) -> Json:
    """What the source last said of a definition."""
    row = catalogue.db.execute(
        "SELECT facts FROM definition_version WHERE definition_id = ? ORDER BY id DESC LIMIT 1", (definition_id,)
    ).fetchone()
    found: Json = catalogue.codec.unpack(row[0])
    return found


def current_manifests(catalogue: Catalogue, definition_id: int) -> tuple[Digest, Digest]:
    """The digests of a definition's present operation and suite."""
    row = catalogue.db.execute(
        "SELECT o.digest, w.digest FROM definition_version v JOIN manifest o ON o.id = v.operation_id"
        " JOIN manifest w ON w.id = v.suite_id WHERE v.definition_id = ? ORDER BY v.id DESC LIMIT 1",
        (definition_id,),
    ).fetchone()
    return Digest.from_raw(row[0]), Digest.from_raw(row[1])


def bounds_versions(catalogue: Catalogue, definition_id: int) -> list[BoundsVersion]:
    """The bounds of a definition over time, oldest first; a version of it that left them as they were is no entry."""
    rows = catalogue.db.execute(
        "SELECT v.import_id, i.started_at, b.digest FROM definition_version v JOIN bounds b ON b.id = v.bounds_id"
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


def _run(row: tuple[Any, ...]) -> RunRow:
    values = list(row)
    values[0], values[13] = Digest.from_raw(values[0]), Digest.from_raw(values[13])
    values[11], values[12] = _words(values[11]), bool(values[12])
    return RunRow(*values)


def _submission(row: tuple[Any, ...]) -> SubmissionRow:
    values = list(row)
    values[9], values[10] = _words(values[9]), bool(values[10])
    values[11] = values[11] and Digest.from_raw(values[11])
    return SubmissionRow(*values)


def _words(reasons: str) -> tuple[str, ...]:
    return tuple(reasons.split())
