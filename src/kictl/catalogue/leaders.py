"""All cohorts of the catalogue at once, with what leaders and authors ask of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from kictl.catalogue import queries
from kictl.catalogue.queries import Cohort
from kictl.catalogue.store import Catalogue
from kictl.model import Bounds
from kictl.rank import Entry


@dataclass(frozen=True, slots=True)
class Group:
    """A cohort with its current runs and the definition's present bounds.

    `outdated` says that the definition's operation or suite has changed since; its newer runs are in another cohort.
    `bounds` is None where the definition has none.
    """

    cohort: Cohort
    tags: tuple[str, ...]
    outdated: bool
    bounds: Bounds | None
    entries: tuple[Entry, ...]


def groups(catalogue: Catalogue) -> Iterator[Group]:
    """Every cohort that has a current run: by GPU, the newest stack first, then by definition."""
    entries = _entries(catalogue)
    definitions = {
        row[0]: row[1:]
        for row in catalogue.db.execute(
            "SELECT c.id, c.definition_id,"
            " v.subject_id <> c.subject_id OR c.cases IS NOT NULL AND u.suite_id <> c.workload_id, v.facts"
            " FROM cohort c JOIN definition_version v ON v.id ="
            " (SELECT max(id) FROM definition_version WHERE definition_id = c.definition_id)"
            " LEFT JOIN definition_suite u ON u.version_id = v.id"
        )
    }
    bounds: dict[int, Bounds | None] = {}
    tags: dict[int, tuple[str, ...]] = {}
    for cohort in queries.cohorts_where(catalogue, "1"):
        definition_id, outdated, facts = definitions[cohort.id]
        if not entries[cohort.id]:
            continue
        if definition_id not in bounds:
            bounds[definition_id] = queries.bounds(catalogue, definition_id)
            tags[definition_id] = tuple(catalogue.codec.unpack(facts).get("tags") or ())
        own_bounds = bounds[definition_id] if cohort.is_suite else None
        yield Group(cohort, tags[definition_id], bool(outdated), own_bounds, tuple(entries[cohort.id]))


def _entries(catalogue: Catalogue) -> dict[int, list[Entry]]:
    found: dict[int, list[Entry]] = defaultdict(list)
    for cohort_id, entry in queries.all_entries(catalogue):
        found[cohort_id].append(entry)
    return found
