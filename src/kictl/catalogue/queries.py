"""What compare, show and their like ask of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kictl import units
from kictl.canonical import Digest
from kictl.catalogue.claims import Claims
from kictl.catalogue.store import Catalogue, decoded
from kictl.cohort import Metric, ServingKeys
from kictl.model import SOL_EXECBENCH, Bounds, CaseBounds, KernelParts, Score
from kictl.rank import Entry
from kictl.sources.names import DISPLAY


class Known(NamedTuple):
    """A definition that the catalogue holds. `external_id` is None where its source knows it by its name alone."""

    id: int
    source: str
    external_id: str | None
    name: str


class Cohort(NamedTuple):
    """A population whose runs may be ranked against each other: one definition, one key, one metric.

    `metric` is None where its runs have no primary measurement. `cases` counts those of a suite, `shape` has the axes
    of a single case, as `k=256 m=64`; serving has neither. `kernel` or `serving` has what else the runs share.
    """

    id: int
    definition_id: int
    source: str
    definition: str
    kernel_id: str | None
    """The definition's id at its source."""
    gpu: str
    stack: str | None
    key: Digest
    metric: Metric | None
    cases: int | None
    shape: str | None
    subject: Digest
    workload: Digest
    kernel: KernelParts | None
    serving: ServingKeys | None
    by_author: bool
    """Whether its source is a leaderboard, on which authors compete; on others what they submitted does."""

    @property
    def is_suite(self) -> bool:
        return self.cases is not None

    @property
    def has_scores(self) -> bool:
        """Whether its source gives SOL scores and counts of faster cases."""
        return self.source == SOL_EXECBENCH


_COHORT = (
    "SELECT c.id, d.id, d.source, d.name, d.external_id, c.gpu, c.stack, c.key, c.metric, c.cases, c.shape,"
    " o.digest, w.digest, p.digest, e.digest, v.protocol, v.topology, v.quality, v.metrics"
    " FROM cohort c JOIN definition d ON d.id = c.definition_id"
    " JOIN manifest o ON o.id = c.subject_id JOIN manifest w ON w.id = c.workload_id"
    " LEFT JOIN kernel_cohort k ON k.cohort_id = c.id"
    " LEFT JOIN manifest p ON p.id = k.protocol_id LEFT JOIN manifest e ON e.id = k.environment_id"
    " LEFT JOIN serving_cohort v ON v.cohort_id = c.id"
)


def definitions(catalogue: Catalogue) -> list[Known]:
    """Every definition, by name."""
    rows = catalogue.db.execute("SELECT id, source, external_id, name FROM definition ORDER BY name, source, id")
    return [Known(*row) for row in rows]


def authors(catalogue: Catalogue) -> list[str]:
    """Everybody who submitted something."""
    rows = catalogue.db.execute("SELECT DISTINCT author FROM submission WHERE author IS NOT NULL ORDER BY author")
    return [row[0] for row in rows]


def cohorts(catalogue: Catalogue, definition_id: int) -> list[Cohort]:
    """The cohorts of a definition: by GPU, then the newest stack first, suites before cases; older versions of the
    definition last."""
    return cohorts_where(catalogue, "c.definition_id = ?", definition_id)


def cohorts_where(catalogue: Catalogue, condition: str, *values: object) -> list[Cohort]:
    """The cohorts that a condition on `cohort c` and `definition d` selects, in the order of `cohorts`."""
    boards = _leaderboards(catalogue)
    rows = catalogue.db.execute(f"{_COHORT} WHERE {condition} ORDER BY c.id DESC", values)
    found = [_cohort(row, by_author=row[2] in boards) for row in rows]
    # Sorts are stable: last criterion first.
    found.sort(key=lambda cohort: units.version_order(cohort.shape))
    found.sort(key=lambda cohort: units.version_order(cohort.stack), reverse=True)
    found.sort(key=lambda cohort: (cohort.definition, cohort.gpu))
    return found


def _leaderboards(catalogue: Catalogue) -> set[str]:
    """The sources that are leaderboards, as exports say, or as is known."""
    said = {str(slug): row.get("kind") for slug, row in Claims(catalogue).all("sources")}
    known = {slug: kind for slug, (kind, _) in DISPLAY.items()}
    return {slug for slug, kind in {**said, **known}.items() if kind == "leaderboard"}


def _cohort(row: tuple[Any, ...], *, by_author: bool) -> Cohort:
    fields: list[Any] = list(row[:11])
    fields[7] = Digest.from_raw(fields[7])
    fields[8] = Metric.parse(fields[8])
    subject, workload, protocol, environment = (raw and Digest.from_raw(raw) for raw in row[11:15])
    fields += [subject, workload, None if protocol is None else KernelParts(protocol, environment)]
    fields += [None if row[15] is None else ServingKeys(*row[15:]), by_author]
    return Cohort(*fields)


_ENTRY = (
    "SELECT r.cohort_id, s.external_id, s.author, r.value, r.observed_at, m.digest, s.unlisted,"
    " f.sol_score, f.avg_speedup, f.fast_1_count, f.fast_1_total"
    " FROM run r JOIN submission s ON s.id = r.submission_id JOIN manifest m ON m.id = r.manifest_id"
    " LEFT JOIN score f ON f.run_id = r.manifest_id WHERE r.standing = 'current' AND r.value IS NOT NULL"
)


def entries(catalogue: Catalogue, cohort_id: int) -> list[Entry]:
    """The current runs of a cohort."""
    return [_entry(*row[1:]) for row in catalogue.db.execute(f"{_ENTRY} AND r.cohort_id = ?", (cohort_id,))]


def all_entries(catalogue: Catalogue) -> Iterator[tuple[int, Entry]]:
    """Every current run, with the id of its cohort."""
    for row in catalogue.db.execute(_ENTRY):
        yield row[0], _entry(*row[1:])


def _entry(
    submission: str, author: str | None, value: float, observed_at: str, digest: bytes, unlisted: int, *figures: Any
) -> Entry:
    score = None if figures == _NO_SCORE else Score(*figures)
    return Entry(submission, author, value, observed_at, Digest.from_raw(digest), bool(unlisted), score)


_NO_SCORE = (None,) * len(Score._fields)


class Excluded(NamedTuple):
    """Results of a definition that no ranking takes: how many on a GPU and stack, and the reason that they share."""

    gpu: str | None
    stack: str | None
    reason: str
    number: int


def excluded(catalogue: Catalogue, definition_id: int) -> Iterator[Excluded]:
    """What of a definition does not rank: submissions without a run by the first of their reasons, withdrawn,
    superseded and failed runs."""
    rows = catalogue.db.execute(
        "SELECT gpu, stack, standing, reasons, count(*) FROM submission"
        " WHERE definition_id = ? AND facts_digest IS NOT NULL AND standing <> 'current'"
        " GROUP BY gpu, stack, standing, reasons",
        (definition_id,),
    )
    for gpu, stack, standing, reasons, count in rows:
        first = reasons.split(" ")[0]
        yield Excluded(gpu, stack, f"retracted: {first}" if standing == "retracted" else first, count)
    rows = catalogue.db.execute(
        "SELECT c.gpu, c.stack, CASE r.standing WHEN 'failed' THEN r.status ELSE r.standing END AS reason, count(*)"
        " FROM submission s JOIN run r ON r.submission_id = s.id JOIN cohort c ON c.id = r.cohort_id"
        " WHERE s.definition_id = ? AND r.standing <> 'current'"
        " AND (r.standing <> 'retracted' OR s.facts_digest IS NULL) GROUP BY c.gpu, c.stack, reason",
        (definition_id,),
    )
    yield from (Excluded(*row) for row in rows)


def bounds(catalogue: Catalogue, definition_id: int, *, import_id: int | None = None) -> Bounds | None:
    """The bounds that the definition stated last, or when an import read it; None where it has none."""
    row = catalogue.db.execute(
        "SELECT b.id, b.digest, b.is_dummy FROM definition_version v JOIN definition_suite u ON u.version_id = v.id"
        " JOIN bounds b ON b.id = u.bounds_id"
        " WHERE v.definition_id = ? AND v.import_id <= coalesce(?, v.import_id) ORDER BY v.id DESC LIMIT 1",
        (definition_id, import_id),
    ).fetchone()
    return None if row is None else Bounds(Digest.from_raw(row[1]), tuple(_cases(catalogue, row[0])), bool(row[2]))


def _cases(catalogue: Catalogue, bounds_id: int) -> Iterator[CaseBounds]:
    rows = catalogue.db.execute(
        "SELECT axes, baseline_ms, sol_ms FROM bounds_case WHERE bounds_id = ? ORDER BY position",
        (bounds_id,),
    )
    for axes, baseline_ms, sol_ms in rows:
        yield CaseBounds(decoded(axes), baseline_ms, sol_ms)


class Origin(NamedTuple):
    """The import that read a definition last. `at` is its end (its start where it was interrupted);
    `snapshot_digest` is over all that it received, None where it was interrupted."""

    import_id: int
    source: str
    at: str
    snapshot_digest: str | None


def origin(catalogue: Catalogue, definition_id: int) -> Origin | None:
    """Where the present state of a definition is from."""
    row = catalogue.db.execute(
        "SELECT i.id, i.source, coalesce(i.finished_at, i.started_at), i.snapshot_digest"
        " FROM reading r JOIN import i ON i.id = r.import_id WHERE r.definition_id = ? ORDER BY i.id DESC LIMIT 1",
        (definition_id,),
    ).fetchone()
    return None if row is None else Origin(*row)
