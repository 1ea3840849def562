"""Compare: the ranked cohorts of one definition, each by itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from kictl import comparability, patterns, rank, units
from kictl.bounds import BoundsFacts
from kictl.catalogue import queries
from kictl.catalogue.queries import Cohort, Origin
from kictl.catalogue.store import Catalogue
from kictl.comparability import Facts, Verdict
from kictl.errors import UsageError
from kictl.model import Bounds
from kictl.rank import Entry, Order, Ranked


class Options(NamedTuple):
    """What to show of a definition. `limit` is per table; empty `gpus`, `stacks` or `sources` mean all; `case` is the
    shape of a single case; `explain` also says why the tables are separate."""

    by: str = "metric"
    all_submissions: bool = False
    listed_only: bool = False
    gpus: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    case: str | None = None
    sources: tuple[str, ...] = ()
    limit: int | None = None
    explain: bool = False

    def leaves_out(self, gpu: str | None, stack: str | None) -> str | None:
        """Why a GPU and stack are not asked for, as a reason code; None if they are."""
        if self.gpus and gpu not in {units.gpu(name).name for name in self.gpus}:
            return "other-gpu"
        if self.stacks and stack not in self.stacks:
            return "other-stack"
        return None

    def takes_case(self, cohort: Cohort) -> bool:
        """Whether a cohort is of the case that is asked for, if any is: each axis named has that size."""
        if self.case is None:
            return True
        wanted = set(self.case.replace(",", " ").split())
        return cohort.shape is not None and wanted <= set(cohort.shape.split(" "))


class Table(NamedTuple):
    """One cohort, ranked. `population` counts its runs, `authors` who they are by; `rows` is what was asked for.

    `order` is what it is ranked by, None where nobody says which values of its metric are better: then nothing is
    ranked. `unshown` counts the ranked rows beyond the limit, `unscored` the runs without the value that is ranked by.
    `bounds` are those that the definition states now, None where it has none; `origin` is the import that read it last.
    """

    cohort: Cohort
    population: int
    authors: int
    order: Order | None
    rows: tuple[Ranked, ...]
    unshown: int
    unscored: int
    best: float | None
    bounds: BoundsFacts | None
    origin: Origin | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The tables of one definition, and why its other submissions are in none of them.

    `apart` has, for each table but the first, why its runs may not be compared with those of the first.
    """

    definition: str
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
        if definition.name == name and (not options.sources or definition.source in options.sources):
            bounds = queries.bounds(catalogue, definition.id)
            for cohort in queries.cohorts(catalogue, definition.id):
                if cohort.metric is None or not options.takes_case(cohort):
                    continue
                if (reason := options.leaves_out(cohort.gpu, cohort.stack)) is None:
                    tables.append(table(catalogue, cohort, bounds, options))
                else:
                    excluded[reason] += len(queries.entries(catalogue, cohort.id))
            for gpu, stack, reason, count in queries.excluded(catalogue, definition.id):
                excluded[options.leaves_out(gpu, stack) or reason] += count
    if not tables and options.case is not None:
        raise UsageError(f"{name} has no case {options.case}", code="unknown_case", hint="without --case all are shown")
    if not tables and excluded.keys() & {"other-gpu", "other-stack"}:
        raise UsageError(f"{name} has no run for that GPU and stack", code="unknown_cohort")
    apart = _apart(catalogue, tables) if options.explain else ()
    return Comparison(name, tuple(tables), dict(sorted(excluded.items())), apart, options.explain)


def table(catalogue: Catalogue, cohort: Cohort, bounds: Bounds | None, options: Options) -> Table:
    """One cohort, ranked as the options say."""
    order = cohort.metric and rank.order_of(cohort.metric, options.by)
    entries = queries.entries(catalogue, cohort.id)
    if options.listed_only:
        entries = [entry for entry in entries if not entry.unlisted]
    ranked: list[Ranked] = []
    if order is not None:
        shown = entries if options.all_submissions else rank.best_of_each(entries, order, by_author=cohort.by_author)
        ranked = rank.rank(shown, order)
    return Table(
        cohort=cohort,
        population=len(entries),
        authors=len({entry.author for entry in entries if entry.author is not None}),
        order=order,
        rows=tuple(ranked[: options.limit]),
        unshown=len(ranked[options.limit :]) if options.limit else 0,
        unscored=sum(order is None or order.key(entry) is None for entry in entries),
        best=best_value(cohort, entries),
        bounds=None if bounds is None or not cohort.is_suite else BoundsFacts.of(bounds),
        origin=queries.origin(catalogue, cohort.definition_id),
    )


def best_value(cohort: Cohort, entries: list[Entry]) -> float | None:
    """The best primary measurement of a cohort, whatever it is ranked by; None where nobody says which that is."""
    better = cohort.metric and cohort.metric.better
    if better is None or not entries:
        return None
    values = [entry.value for entry in entries]
    return min(values) if better == "lower" else max(values)


def _apart(catalogue: Catalogue, tables: list[Table]) -> tuple[Verdict, ...]:
    facts = [_facts(catalogue, table) for table in tables]
    return tuple(comparability.verdict([facts[0], other]) for other in facts[1:])


def _facts(catalogue: Catalogue, table: Table) -> Facts:
    cohort = table.cohort
    return comparability.of_cohort(
        definition=cohort.definition,
        subject=cohort.subject,
        metric=cohort.metric,
        key=cohort.key,
        gpu=cohort.gpu,
        workload=catalogue.held(cohort.workload),
        protocol=catalogue.held(cohort.kernel.protocol) if cohort.kernel else None,
        environment=catalogue.held(cohort.kernel.environment) if cohort.kernel else None,
        serving=cohort.serving,
        bounds=table.bounds and table.bounds.digest,
    )
