"""Report: everything that a static site of the catalogue shows, one definition and one run at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from kictl import patterns, rank
from kictl.canonical import Digest
from kictl.catalogue import dossiers, queries
from kictl.catalogue.dossiers import RunRow
from kictl.catalogue.queries import Origin
from kictl.catalogue.store import Catalogue
from kictl.errors import CatalogueError, UsageError
from kictl.workflow import comparing, dossier, history, leaders
from kictl.workflow.comparing import Comparison, Table
from kictl.workflow.dossier import Dossier
from kictl.workflow.history import CohortHistory, History
from kictl.workflow.leaders import Leaders


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a report is of; empty means all. `leaders_only` leaves out the pages of runs that lead no cohort."""

    definitions: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    leaders_only: bool = False


@dataclass(frozen=True, slots=True)
class CohortReport:
    """One cohort: the best run of each author, all runs, and the record over time, `until` the last import."""

    table: Table
    runs: tuple[rank.Ranked, ...]
    history: CohortHistory
    until: str


@dataclass(frozen=True, slots=True)
class DefinitionReport:
    """One definition. `withdrawn` are its retracted, superseded and failed runs; `origins` are the imports that read
    it last, one for each source."""

    name: str
    title: str | None
    tags: tuple[str, ...]
    comparison: Comparison
    history: History
    cohorts: tuple[CohortReport, ...]
    withdrawn: tuple[RunRow, ...]
    origins: tuple[Origin, ...]


class Report:
    """What is to be shown of one catalogue. Raises UsageError where nothing of it is asked for."""

    def __init__(self, catalogue: Catalogue, wanted: Wanted) -> None:
        self.catalogue = catalogue
        self.wanted = wanted
        self._version = self._data_version()
        self._options = comparing.Options(gpus=wanted.gpus, stacks=wanted.stacks, explain=True)
        known = queries.definitions(catalogue)
        names = [definition.name for definition in known]
        chosen = {name for pattern in wanted.definitions for name in patterns.all_matching(pattern, names)}
        self._known: dict[str, list[int]] = {}
        for definition in known:
            if not chosen or definition.name in chosen:
                self._known.setdefault(definition.name, []).append(definition.id)
        if wanted.gpus or wanted.stacks:
            ranked = {row.cohort.definition for row in self.leaders.rows}
            self._known = {name: ids for name, ids in self._known.items() if name in ranked}
        if not self._known:
            raise UsageError("nothing to report", hint="run 'kictl import' first, or ask for less")

    @cached_property
    def leaders(self) -> Leaders:
        """The head of every cohort."""
        wanted = leaders.Filter(self.wanted.gpus, self.wanted.stacks, definitions=self.wanted.definitions)
        return leaders.leaders(self.catalogue, wanted)

    @cached_property
    def digest(self) -> Digest:
        """The digest of the whole catalogue."""
        return self.catalogue.digest()

    @property
    def names(self) -> tuple[str, ...]:
        """The definitions, by name."""
        return tuple(self._known)

    def has_page(self, run: str) -> bool:
        """Whether a run that a definition names is shown on a page of its own."""
        return not self.wanted.leaders_only or run in self._first

    def definitions(self) -> Iterator[DefinitionReport]:
        """Every definition, by name."""
        return map(self._definition, self._known)

    def runs(self) -> Iterator[Dossier]:
        """Every run that has a page, by definition."""
        for ids in self._known.values():
            for row in self._rows(ids):
                if self.has_page(row.run):
                    yield dossier.of_run(self.catalogue, row)

    def count_pages(self) -> int:
        """How many definitions and runs have a page, and one more."""
        runs = (self.has_page(row.run) for ids in self._known.values() for row in self._rows(ids))
        return len(self._known) + sum(runs) + 1

    def settle(self) -> None:
        """Raises CatalogueError where another process wrote to the catalogue while it was reported: numbers of
        different states do not belong on one site."""
        if self._data_version() != self._version:
            message = f"{self.catalogue.path} was changed while it was reported"
            raise CatalogueError(message, code="changed", hint="run again when the import has ended")

    def _data_version(self) -> int:
        return int(self.catalogue.db.execute("PRAGMA data_version").fetchone()[0])

    @cached_property
    def _first(self) -> frozenset[str]:
        return frozenset(row.first.run_digest for row in self.leaders.rows)

    def _rows(self, ids: list[int]) -> list[RunRow]:
        return [
            row
            for definition_id in ids
            for row in dossiers.runs_of(self.catalogue, definition_id)
            if self._options.leaves_out(row.gpu, row.stack) is None
        ]

    def _definition(self, name: str) -> DefinitionReport:
        ids = self._known[name]
        found = comparing.compare(self.catalogue, name, self._options)
        past = history.history(self.catalogue, name, self._options)
        facts = dossiers.definition_facts(self.catalogue, ids[-1])
        title = facts.get("title")
        read = (queries.origin(self.catalogue, definition_id) for definition_id in ids)
        return DefinitionReport(
            name=name,
            title=title if isinstance(title, str) and title != name else None,
            tags=tuple(tag for tag in facts.get("tags") or () if isinstance(tag, str)),
            comparison=found,
            history=past,
            cohorts=tuple(
                CohortReport(table, self._ranked(table), records, past.as_of)
                for table, records in zip(found.tables, past.cohorts, strict=True)
            ),
            withdrawn=tuple(row for row in self._rows(ids) if row.standing != "current"),
            origins=tuple(origin for origin in read if origin is not None),
        )

    def _ranked(self, table: Table) -> tuple[rank.Ranked, ...]:
        order = table.cohort.metric and rank.order_of(table.cohort.metric)
        return tuple(rank.rank(queries.entries(self.catalogue, table.cohort.id), order)) if order else ()
