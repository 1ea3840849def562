"""History: how the record of each cohort of a definition moved over time."""

from __future__ import annotations

from dataclasses import dataclass

from kictl import rank, units
from kictl.bounds import BoundsFacts
from kictl.catalogue import dossiers, queries
from kictl.catalogue.queries import Cohort
from kictl.catalogue.store import Catalogue
from kictl.workflow import comparing
from kictl.workflow.comparing import Options


@dataclass(frozen=True, slots=True)
class Step:
    """A new record. `gain_by` (in the unit of the metric) and `gain` (relative) are by how much it is better than the
    record before, None for the first one; `held_days` is how long it stood, up to the next record or the catalogue's
    last import."""

    entry: rank.Entry
    gain_by: float | None
    gain: float | None
    held_days: int
    near: bool


@dataclass(frozen=True, slots=True)
class CohortHistory:
    """The records of one cohort, oldest first, made of runs that are current today."""

    cohort: Cohort
    runs: int
    steps: tuple[Step, ...]
    bounds: BoundsFacts | None


@dataclass(frozen=True, slots=True)
class History:
    """The histories of one definition. `excluded` counts the submissions that are in none, by reason."""

    definition: str
    as_of: str
    cohorts: tuple[CohortHistory, ...]
    bounds_versions: tuple[dossiers.BoundsVersion, ...]
    excluded: dict[str, int]


def history(catalogue: Catalogue, pattern: str, options: Options | None = None) -> History:
    """The history of the one definition that `pattern` means, for the GPUs and stacks of the options.

    UsageError where the pattern means none or several definitions, or nothing of it is on that GPU and stack.
    """
    found = comparing.compare(catalogue, pattern, options or Options(all_submissions=True))
    as_of = dossiers.last_import_at(catalogue) or ""
    known = [definition.id for definition in queries.definitions(catalogue) if definition.name == found.definition]
    cohorts = []
    for table in found.tables:
        entries = queries.entries(catalogue, table.cohort.id)
        steps = () if table.order is None else steps_of(rank.record(entries, table.order), as_of)
        cohorts.append(CohortHistory(table.cohort, len(entries), steps, table.bounds))
    versions = tuple(version for definition in known for version in dossiers.bounds_versions(catalogue, definition))
    return History(found.definition, as_of, tuple(cohorts), versions, found.excluded)


def steps_of(holders: list[rank.Entry], as_of: str) -> tuple[Step, ...]:
    """The records of a cohort, given who held it, oldest first."""
    steps = []
    for position, entry in enumerate(holders):
        before = holders[position - 1].value if position else None
        until = holders[position + 1].observed_at if position + 1 < len(holders) else as_of
        gain = None if before is None else abs(before - entry.value)
        steps.append(
            Step(
                entry,
                gain,
                None if before is None or gain is None else rank.ratio(gain, before),
                units.days_between(entry.observed_at, until),
                before is not None and rank.is_near(entry.value, before),
            )
        )
    return tuple(steps)
