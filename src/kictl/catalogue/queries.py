"""What compare, show and their like ask of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kictl import units
from kictl.canonical import Digest
from kictl.catalogue.store import Catalogue, decoded
from kictl.model import Bounds, CaseBounds
from kictl.rank import Entry


class Known(NamedTuple):
    """A definition that the catalogue holds."""

    id: int
    source: str
    external_id: str
    name: str


class Cohort(NamedTuple):
    """A population whose runs may be ranked against each other: one definition, GPU, stack and comparison key."""

    id: int
    definition_id: int
    definition: str
    kernel: str
    """The definition's id at its source."""
    gpu: str
    stack: str | None
    comparison_key: Digest
    cases: int
    operation: Digest
    suite: Digest
    protocol: Digest
    environment: Digest


_COHORT = (
    "SELECT c.id, d.id, d.name, d.external_id, c.gpu, c.stack, c.comparison_key, c.cases,"
    " o.digest, w.digest, p.digest, e.digest"
    " FROM cohort c JOIN definition d ON d.id = c.definition_id"
    " JOIN manifest o ON o.id = c.operation_id JOIN manifest w ON w.id = c.suite_id"
    " JOIN manifest p ON p.id = c.protocol_id JOIN manifest e ON e.id = c.environment_id"
)


def definitions(catalogue: Catalogue) -> list[Known]:
    """Every definition, by name."""
    rows = catalogue.db.execute("SELECT id, source, external_id, name FROM definition ORDER BY name, source, id")
    return [Known(*row) for row in rows]


def authors(catalogue: Catalogue) -> list[str]:
    """Everybody who submitted something."""
    return [row[0] for row in catalogue.db.execute("SELECT DISTINCT author FROM submission ORDER BY author")]


def cohorts(catalogue: Catalogue, definition_id: int) -> list[Cohort]:
    """The cohorts of a definition: by GPU, then the newest stack first; older versions of the definition last."""
    return cohorts_where(catalogue, "c.definition_id = ?", definition_id)


def cohorts_where(catalogue: Catalogue, condition: str, *values: object) -> list[Cohort]:
    """The cohorts that a condition on `cohort c` and `definition d` selects, in the order of `cohorts`."""
    found = [_cohort(row) for row in catalogue.db.execute(f"{_COHORT} WHERE {condition} ORDER BY c.id DESC", values)]
    # Sorts are stable: last criterion first.
    found.sort(key=lambda cohort: units.version_order(cohort.stack), reverse=True)
    found.sort(key=lambda cohort: (cohort.definition, cohort.gpu))
    return found


def _cohort(row: tuple[Any, ...]) -> Cohort:
    fields: list[Any] = list(row[:8])
    fields[6] = Digest.from_raw(fields[6])
    fields += [Digest.from_raw(raw) for raw in row[8:]]
    return Cohort(*fields)


_ENTRY = (
    "SELECT s.cohort_id, s.external_id, s.author, s.latency_ns, s.observed_at, m.digest, s.unlisted,"
    " s.sol_score, s.avg_speedup, s.fast_1_count, s.fast_1_total"
    " FROM submission s JOIN manifest m ON m.id = s.run_id WHERE s.standing = 'current'"
)


def entries(catalogue: Catalogue, cohort_id: int) -> list[Entry]:
    """The current runs of a cohort."""
    return [_entry(*row[1:]) for row in catalogue.db.execute(f"{_ENTRY} AND s.cohort_id = ?", (cohort_id,))]


def all_entries(catalogue: Catalogue) -> Iterator[tuple[int, Entry]]:
    """Every current run, with the id of its cohort."""
    for row in catalogue.db.execute(_ENTRY):
        yield row[0], _entry(*row[1:])


def _entry(
    submission: str, author: str, latency_ns: int, observed_at: str, digest: bytes, unlisted: int, *figures: Any
) -> Entry:
    return Entry(submission, author, latency_ns, observed_at, Digest.from_raw(digest), bool(unlisted), *figures)


def excluded(catalogue: Catalogue, definition_id: int) -> Iterator[tuple[str, str | None, str, int]]:
    """What of a definition does not rank, as (GPU, stack, reason, number): the submissions that are not current by the
    first reason of each, and the superseded runs."""
    rows = catalogue.db.execute(
        "SELECT gpu, stack, standing, reasons, count(*) FROM submission"
        " WHERE definition_id = ? AND standing <> 'current' GROUP BY gpu, stack, standing, reasons",
        (definition_id,),
    )
    for gpu, stack, standing, reasons, count in rows:
        first = reasons.split(" ")[0]
        yield gpu, stack, f"retracted: {first}" if standing == "retracted" else first, count
    yield from (
        (gpu, stack, "superseded", count)
        for gpu, stack, count in catalogue.db.execute(
            "SELECT s.gpu, s.stack, count(DISTINCT o.run_id) FROM submission s"
            " JOIN observation o ON o.submission_id = s.id"
            " WHERE s.definition_id = ? AND o.run_id <> s.run_id GROUP BY s.gpu, s.stack",
            (definition_id,),
        )
    )


def bounds(catalogue: Catalogue, definition_id: int, *, import_id: int | None = None) -> Bounds:
    """The bounds that the definition stated last, or when an import read it."""
    row = catalogue.db.execute(
        "SELECT b.id, b.digest, b.is_dummy FROM definition_version v JOIN bounds b ON b.id = v.bounds_id"
        " WHERE v.definition_id = ? AND v.import_id <= coalesce(?, v.import_id) ORDER BY v.id DESC LIMIT 1",
        (definition_id, import_id),
    ).fetchone()
    return Bounds(Digest.from_raw(row[1]), tuple(_case_bounds(catalogue, row[0])), bool(row[2]))


def _case_bounds(catalogue: Catalogue, bounds_id: int) -> Iterator[CaseBounds]:
    rows = catalogue.db.execute(
        "SELECT axes, baseline_ms, sol_ms FROM bounds_case WHERE bounds_id = ? ORDER BY position",
        (bounds_id,),
    )
    for axes, baseline_ms, sol_ms in rows:
        yield CaseBounds(decoded(axes), baseline_ms, sol_ms)
