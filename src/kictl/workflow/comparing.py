"""Compare: the ranked cohorts of one definition, each by itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kictl import patterns, rank, units
from kictl.bounds import BoundsFacts
from kictl.catalogue import queries
from kictl.catalogue.queries import Cohort
from kictl.catalogue.store import Catalogue
from kictl.errors import UsageError
from kictl.model import Bounds


@dataclass(frozen=True, slots=True)
class Options:
    """What to show of a definition. `limit` is per table; an empty `gpus` or `stacks` means all."""

    by: str = "latency"
    all_submissions: bool = False
    listed_only: bool = False
    gpus: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    limit: int | None = None

    def leaves_out(self, cohort: Cohort) -> str | None:
        """Why a cohort is not asked for, as a reason code; None if it is."""
        if self.gpus and cohort.gpu not in {units.gpu(name).name for name in self.gpus}:
            return "other-gpu"
        if self.stacks and cohort.stack not in self.stacks:
            return "other-stack"
        return None


@dataclass(frozen=True, slots=True)
class Table:
    """One cohort, ranked. `population` counts its runs, `authors` who they are by; `rows` is what was asked for.

    `bounds` are those that the definition states now.
    """

    cohort: Cohort
    population: int
    authors: int
    rows: tuple[rank.Ranked, ...]
    best_ns: int | None
    bounds: BoundsFacts


@dataclass(frozen=True, slots=True)
class Comparison:
    """The tables of one definition, and why its other submissions are in none of them."""

    definition: str
    ranked_by: str
    tables: tuple[Table, ...]
    excluded: dict[str, int]


def compare(catalogue: Catalogue, pattern: str, options: Options) -> Comparison:
    """The comparison of the one definition that `pattern` means. Raises UsageError where it means none or several."""
    known = queries.definitions(catalogue)
    if not known:
        raise UsageError("the catalogue holds no definition", code="empty_catalogue", hint="run 'kictl import' first")
    name = patterns.one_matching(pattern, [definition.name for definition in known])
    tables: list[Table] = []
    excluded: Counter[str] = Counter()
    for definition in known:
        if definition.name == name:
            cohorts = queries.cohorts(catalogue, definition.id)
            bounds = queries.bounds(catalogue, definition.id)
            for cohort in cohorts:
                if (reason := options.leaves_out(cohort)) is None:
                    tables.append(_table(catalogue, cohort, bounds, options))
                else:
                    excluded[reason] += len(queries.entries(catalogue, cohort.id))
            excluded += queries.excluded(catalogue, definition.id)
    if not tables and excluded.keys() & {"other-gpu", "other-stack"}:
        raise UsageError(f"{name} has no run for that GPU and stack", code="unknown_cohort")
    return Comparison(name, options.by, tuple(tables), dict(sorted(excluded.items())))


def _table(catalogue: Catalogue, cohort: Cohort, bounds: Bounds, options: Options) -> Table:
    score = rank.ORDERS[options.by]
    entries = queries.entries(catalogue, cohort.id)
    if options.listed_only:
        entries = [entry for entry in entries if not entry.unlisted]
    shown = entries if options.all_submissions else rank.best_per_author(entries, score)
    ranked = rank.rank(shown, score)
    return Table(
        cohort=cohort,
        population=len(entries),
        authors=len({entry.author for entry in entries}),
        rows=tuple(ranked[: options.limit]),
        best_ns=min((entry.latency_ns for entry in entries), default=None),
        bounds=BoundsFacts.of(bounds),
    )
