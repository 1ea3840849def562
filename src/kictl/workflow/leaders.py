"""Leaders: who is first in every cohort, by how much, for how long; and the same by author."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kictl import patterns, rank, units
from kictl.bounds import BoundsFacts, gap
from kictl.catalogue import dossiers, queries
from kictl.catalogue import leaders as catalogued
from kictl.catalogue.leaders import Group
from kictl.catalogue.queries import Cohort
from kictl.catalogue.store import Catalogue
from kictl.errors import UsageError
from kictl.rank import Entry, Order

PLACES = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which cohorts are asked for; empty means all. `authors`: cohorts that one of them has a run in."""

    gpus: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def groups(self, catalogue: Catalogue) -> Iterator[Group]:
        """The cohorts, each with all its runs. Raises UsageError for a definition pattern that means nothing."""
        gpus = {units.gpu(name).name for name in self.gpus}
        known = [definition.name for definition in queries.definitions(catalogue)]
        names = {name for pattern in self.definitions for name in patterns.all_matching(pattern, known)}
        for group in catalogued.groups(catalogue):
            cohort = group.cohort
            wanted = (
                (not gpus or cohort.gpu in gpus)
                and (not self.stacks or cohort.stack in self.stacks)
                and (not names or cohort.definition in names)
                and (not self.sources or cohort.source in self.sources)
                and (not self.tags or not set(self.tags).isdisjoint(group.tags))
                and (not self.authors or any(entry.author in self.authors for entry in group.entries))
            )
            if wanted:
                yield group


@dataclass(frozen=True, slots=True)
class Leader:
    """The head of one cohort, each author by the best run.

    `places` are the entries at first, fifth and tenth place, None where there are fewer. `shared` counts the others
    that have exactly the first's value, `near_ties` those behind it within the portal's noise. `age_days` is how long
    the first has stood, up to the catalogue's last import. `gap` is the first's latency over the bound; both it and
    `bounds` are None where there are none.
    """

    cohort: Cohort
    tags: tuple[str, ...]
    outdated: bool
    runs: int
    authors: int
    places: tuple[Entry | None, ...]
    shared: int
    near_ties: int
    age_days: int
    bounds: BoundsFacts | None
    gap: float | None

    @property
    def first(self) -> Entry:
        entry = self.places[0]
        if entry is None:
            raise ValueError("a cohort without runs has no leader")
        return entry


@dataclass(frozen=True, slots=True)
class Leaders:
    """The leaders of the cohorts that were asked for. `as_of` is the time of the catalogue's last import."""

    ranked_by: str
    as_of: str
    rows: tuple[Leader, ...]


@dataclass(frozen=True, slots=True)
class Author:
    """How an author stands in the cohorts that were asked for: numbers of cohorts, never a mean over them.

    `alone` and `shared` are the cohorts led, `near` those where the best run is behind the first within the portal's
    noise, `top_five` those where fewer than five authors are faster (led ones included); `entered` counts all, `runs`
    are the current runs in them.
    """

    name: str
    alone: int
    shared: int
    near: int
    top_five: int
    entered: int
    runs: int
    leads: tuple[str, ...]
    """The definitions of the cohorts led, each once."""

    @property
    def led(self) -> int:
        return self.alone + self.shared


@dataclass(frozen=True, slots=True)
class Authors:
    """The authors of the cohorts that were asked for, those who lead most of them first."""

    ranked_by: str
    as_of: str
    cohorts: int
    rows: tuple[Author, ...]


def leaders(
    catalogue: Catalogue, wanted: Filter | None = None, *, by: str = "metric", sort: str = "definition"
) -> Leaders:
    """The leader of every cohort that has a run: by GPU, then stack, then as `sort` says (a name in SORTS)."""
    as_of = _as_of(catalogue)
    rows = [
        leader for group in (wanted or Filter()).groups(catalogue) if (leader := _leader(group, by, as_of)) is not None
    ]
    rows.sort(key=SORTS[sort])
    rows.sort(key=lambda row: units.version_order(row.cohort.stack), reverse=True)
    rows.sort(key=lambda row: row.cohort.gpu)
    return Leaders(by, as_of, tuple(rows))


def authors(catalogue: Catalogue, wanted: Filter | None = None, *, by: str = "metric") -> Authors:
    """Every author of the cohorts asked for, by the number of cohorts led, then near, then entered, then by name."""
    as_of = _as_of(catalogue)
    wanted = wanted or Filter()
    tallies: dict[str, _Tally] = defaultdict(_Tally)
    count = 0
    for group in wanted.groups(catalogue):
        order = _order(group, by)
        ranked = _by_author(group, order)
        if order is None or not ranked:
            continue
        count += 1
        runs = Counter(entry.author for entry in group.entries)
        faster: dict[int, int] = {}
        for position, item in enumerate(ranked):
            better = faster.setdefault(item.rank, position)
            if (author := item.entry.author) is None:
                continue
            near = _is_near(item.entry, ranked[0].entry, order)
            tally = tallies[author]
            tally.add(group, item, faster=better, near=near)
            tally.runs += runs[author]
    rows = [tally.total(name) for name, tally in tallies.items() if not wanted.authors or name in wanted.authors]
    rows.sort(key=lambda row: (-row.led, -row.near, -row.top_five, -row.entered, row.name))
    return Authors(by, as_of, count, tuple(rows))


class _Tally:
    """The counts of one author while cohorts are gone through."""

    def __init__(self) -> None:
        self.alone = self.shared = self.near = self.top_five = self.entered = self.runs = 0
        self.leads: dict[str, None] = {}

    def add(self, group: Group, item: rank.Ranked, *, faster: int, near: bool) -> None:
        """One cohort; `faster` authors are before this one, `near` says that the first is within the noise."""
        self.entered += 1
        self.top_five += faster < PLACES[1]
        if item.rank == 1:
            self.leads[group.cohort.definition] = None
            self.shared += item.tied
            self.alone += not item.tied
        else:
            self.near += near

    def total(self, name: str) -> Author:
        return Author(
            name, self.alone, self.shared, self.near, self.top_five, self.entered, self.runs, tuple(self.leads)
        )


def _leader(group: Group, by: str, as_of: str) -> Leader | None:
    order = _order(group, by)
    ranked = _by_author(group, order)
    if order is None or not ranked:
        return None
    first = ranked[0].entry
    bounds = group.bounds and BoundsFacts.of(group.bounds)
    return Leader(
        cohort=group.cohort,
        tags=group.tags,
        outdated=group.outdated,
        runs=len(group.entries),
        authors=len({item.entry.author for item in ranked if item.entry.author is not None}),
        places=tuple(ranked[place - 1].entry if place <= len(ranked) else None for place in PLACES),
        shared=sum(item.rank == 1 for item in ranked) - 1,
        near_ties=sum(item.rank > 1 and _is_near(item.entry, first, order) for item in ranked),
        age_days=units.days_between(first.observed_at, as_of),
        bounds=bounds,
        gap=gap(first.value, bounds),
    )


def _order(group: Group, by: str) -> Order | None:
    return group.cohort.metric and rank.order_of(group.cohort.metric, by)


def _by_author(group: Group, order: Order | None) -> list[rank.Ranked]:
    return (
        []
        if order is None
        else rank.rank(rank.best_of_each(group.entries, order, by_author=group.cohort.by_author), order)
    )


def _is_near(entry: Entry, first: Entry, order: Order) -> bool:
    mine, best = order.key(entry), order.key(first)
    return mine is not None and best is not None and rank.is_near(mine, best)


def _as_of(catalogue: Catalogue) -> str:
    as_of = dossiers.last_import_at(catalogue)
    if as_of is None:
        raise UsageError("the catalogue holds no import", code="empty_catalogue", hint="run 'kictl import' first")
    return as_of


def _margin(row: Leader) -> float:
    """How many times worse the fifth is than the first: how close the field is."""
    fifth = row.places[1]
    order = row.cohort.metric and rank.order_of(row.cohort.metric)
    ratio = rank.behind(fifth.value, row.first.value, order) if fifth and order else None
    return float("inf") if ratio is None else ratio


SORTS: dict[str, Callable[[Leader], tuple[float | str | int, ...]]] = {
    "definition": lambda row: (row.cohort.definition, float(row.outdated), *units.version_order(row.cohort.shape)),
    "gap": lambda row: (-(row.gap or 0.0), row.cohort.definition),
    "age": lambda row: (-row.age_days, row.cohort.definition),
    "entries": lambda row: (row.authors, row.runs, row.cohort.definition),
    "contest": lambda row: (-row.near_ties, _margin(row), row.cohort.definition),
    "leader": lambda row: (row.first.author or "", row.cohort.definition),
}
"""Orders of the leaders: by name, the widest gap to the bound first, the oldest first, the fewest authors first, the
most contested first, by who leads."""
