"""Compare: the ranked cohorts of one definition, each by itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from kictl import comparability, patterns, rank, units
from kictl.bounds import BoundsFacts
from kictl.catalogue import origins, queries
from kictl.catalogue.origins import Origin
from kictl.catalogue.queries import Cohort
from kictl.catalogue.store import Catalogue
from kictl.comparability import Facts, Verdict
from kictl.errors import UsageError
from kictl.model import Bounds


class Options(NamedTuple):
    """What to show of a definition. `limit` is per table; an empty `gpus` or `stacks` means all; `explain` also says
    why the tables are apart."""

    by: str = "latency"
    all_submissions: bool = False
    listed_only: bool = False
    gpus: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    limit: int | None = None
    explain: bool = False

    def leaves_out(self, gpu: str, stack: str | None) -> str | None:
        """Why a GPU and stack are not asked for, as a reason code; None if they are."""
        if self.gpus and gpu not in {units.gpu(name).name for name in self.gpus}:
            return "other-gpu"
        if self.stacks and stack not in self.stacks:
            return "other-stack"
        return None


class Table(NamedTuple):
    """One cohort, ranked. `population` counts its runs, `authors` who they are by; `rows` is what was asked for.

    `unshown` counts the ranked rows beyond the limit, `unscored` the runs without the value that is ranked by. `bounds`
    are those that the definition states now, `origin` is the import that read it last.
    """

    cohort: Cohort
    population: int
    authors: int
    rows: tuple[rank.Ranked, ...]
    unshown: int
    unscored: int
    best_ns: int | None
    bounds: BoundsFacts
    origin: Origin | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The tables of one definition, and why its other submissions are in none of them.

    `apart` has, for each table but the first, why its runs may not be compared with those of the first.
    """

    definition: str
    ranked_by: str
    tables: tuple[Table, ...]
    excluded: dict[str, int]
    apart: tuple[Verdict, ...] = ()
    explained: bool = False


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
                if (reason := options.leaves_out(cohort.gpu, cohort.stack)) is None:
                    tables.append(table(catalogue, cohort, bounds, options))
                else:
                    excluded[reason] += len(queries.entries(catalogue, cohort.id))
            for gpu, stack, reason, count in queries.excluded(catalogue, definition.id):
                excluded[options.leaves_out(gpu, stack) or reason] += count
    if not tables and excluded.keys() & {"other-gpu", "other-stack"}:
        raise UsageError(f"{name} has no run for that GPU and stack", code="unknown_cohort")
    apart = _apart(catalogue, tables) if options.explain else ()
    return Comparison(name, options.by, tuple(tables), dict(sorted(excluded.items())), apart, options.explain)


def table(catalogue: Catalogue, cohort: Cohort, bounds: Bounds, options: Options) -> Table:
    """One cohort, ranked as the options say."""
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
        unshown=len(ranked[options.limit :]) if options.limit else 0,
        unscored=sum(score(entry) is None for entry in entries),
        best_ns=min((entry.latency_ns for entry in entries), default=None),
        bounds=BoundsFacts.of(bounds),
        origin=origins.origin(catalogue, cohort.definition_id),
    )


def _apart(catalogue: Catalogue, tables: list[Table]) -> tuple[Verdict, ...]:
    facts = [_facts(catalogue, table) for table in tables]
    return tuple(comparability.verdict([facts[0], other]) for other in facts[1:])


def _facts(catalogue: Catalogue, table: Table) -> Facts:
    cohort = table.cohort
    return comparability.of_cohort(
        definition=cohort.definition,
        workload=catalogue.held(cohort.suite),
        protocol=catalogue.held(cohort.protocol),
        environment=catalogue.held(cohort.environment),
        bounds=table.bounds.digest,
    )
