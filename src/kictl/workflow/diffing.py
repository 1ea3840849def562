"""Diff: what changed between two imports, or between two snapshots."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kictl import rank
from kictl.catalogue import diffs, dossiers, queries
from kictl.catalogue.diffs import State, Touched, TouchedDefinition, Version
from kictl.catalogue.dossiers import ImportRow
from kictl.catalogue.queries import Cohort
from kictl.catalogue.store import Catalogue
from kictl.errors import UsageError
from kictl.model import CaseBounds, Json
from kictl.rank import Entry
from kictl.workflow import importing

_BOUNDS = ("baseline_latency_ms", "sol_ms")
_NOT_THE_DEFINITION = frozenset({"submission_count", "baseline_latency_ms", "sol_is_dummy"})


@dataclass(frozen=True, slots=True)
class Moved:
    """A submission and what moved about it: each member of the source's row that differs, before and after."""

    subject: Touched
    members: dict[str, tuple[Any, Any]]

    @property
    def after(self) -> State:
        return self.subject.after


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """A cohort that another submission leads; None where it was or is without a run."""

    cohort: Cohort
    before: Entry | None
    after: Entry | None


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A bound of one case, in ms. `ratio` is after over before."""

    axes: dict[str, int]
    bound: str
    before: float | None
    after: float | None
    ratio: float | None


@dataclass(frozen=True, slots=True)
class BoundsChange:
    """Bounds that moved. `moved` counts the cases, of `cases`, whose numbers differ; `largest` is the largest change
    of one that has a number before and after."""

    definition: str
    kernel: str | None
    before: str | None
    after: str | None
    cases: int
    moved: int
    largest: CaseChange | None
    became_dummy: bool | None


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """A definition that is not what it was: which members differ, whether its operation and its cases do."""

    definition: str
    kernel: str | None
    members: tuple[str, ...]
    operation: tuple[str, str] | None
    suite: tuple[str | None, str | None] | None


@dataclass(frozen=True, slots=True)
class Diff:
    """What is different after the import `after` from what was after `before`."""

    before: ImportRow
    after: ImportRow
    new: tuple[Touched, ...]
    leaders: tuple[LeaderChange, ...]
    changed: tuple[Moved, ...]
    retracted: tuple[Moved, ...]
    restored: tuple[Moved, ...]
    unlisted: tuple[Touched, ...]
    relisted: tuple[Touched, ...]
    bounds: tuple[BoundsChange, ...]
    new_definitions: tuple[TouchedDefinition, ...]
    changed_definitions: tuple[DefinitionChange, ...]

    @property
    def is_empty(self) -> bool:
        submissions = (self.new, self.changed, self.retracted, self.restored, self.unlisted, self.relisted)
        return not any((*submissions, self.leaders, self.bounds, self.new_definitions, self.changed_definitions))


def between(catalogue: Catalogue, before: int | None = None, after: int | None = None) -> Diff:
    """The difference between two imports by their numbers: the last two that finished, unless told otherwise."""
    first, second = _numbers(catalogue, before, after)
    touched = list(diffs.submissions(catalogue, first, second))
    known = [(t, t.before) for t in touched if t.before is not None]
    moved = [_moved(t, old) for t, old in known if t.after.facts != old.facts]
    definitions = list(diffs.definitions(catalogue, first, second))
    return Diff(
        before=_event(catalogue, first),
        after=_event(catalogue, second),
        new=tuple(t for t in touched if t.before is None),
        leaders=tuple(_leaders(catalogue, first, second, touched)),
        changed=tuple(m for m in moved if _kind(m) == "changed"),
        retracted=tuple(m for m in moved if _kind(m) == "retracted"),
        restored=tuple(m for m in moved if _kind(m) == "restored"),
        unlisted=tuple(t for t, old in known if t.after.unlisted and not old.unlisted),
        relisted=tuple(t for t, old in known if old.unlisted and not t.after.unlisted),
        bounds=tuple(_bounds(catalogue, first, second, definitions)),
        new_definitions=tuple(d for d in definitions if d.before is None),
        changed_definitions=tuple(_definitions(definitions)),
    )


def snapshots(before: Path, after: Path) -> Diff:
    """The difference between two snapshots, or folders of API-shaped files: as if one was imported after the other."""
    from kictl.sources.leaderboard import SolExecBench
    from kictl.sources.recorded import open_snapshot

    with (
        tempfile.TemporaryDirectory(prefix="kictl-") as folder,
        Catalogue.create(Path(folder) / "catalogue.sqlite") as catalogue,
    ):
        for path in (before, after):
            with open_snapshot(path) as fetcher:
                importing.run(SolExecBench(fetcher), catalogue, importing.Selection(), resume=False)
        return between(catalogue)


def _numbers(catalogue: Catalogue, before: int | None, after: int | None) -> tuple[int, int]:
    if before is None or after is None:
        wanted = 2 if before is None else 1
        last = diffs.last_finished(catalogue, wanted)
        if len(last) < wanted:
            raise UsageError(
                f"the catalogue holds {len(last)} finished imports: a difference is between two",
                code="too_few_imports",
                hint="run 'kictl import' again, or give two snapshots",
            )
        before, after = last[0] if before is None else before, last[-1]
    if before >= after:
        raise UsageError(f"import {before} is not before import {after}: the earlier one comes first")
    return before, after


def _event(catalogue: Catalogue, number: int) -> ImportRow:
    event = dossiers.import_event(catalogue, number)
    if event is None:
        raise UsageError(f"there is no import {number}", code="unknown_import", hint="'kictl imports' lists them")
    return event


def _moved(touched: Touched, before: State) -> Moved:
    return Moved(touched, _differing(before.facts, touched.after.facts))


def _differing(before: Json, after: Json) -> dict[str, tuple[Any, Any]]:
    names = sorted(before.keys() | after.keys())
    pairs = {name: (before.get(name), after.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _kind(moved: Moved) -> str:
    before, after = moved.subject.before, moved.after
    if before is not None and before.standing != after.standing:
        if after.standing == "retracted":
            return "retracted"
        if before.standing == "retracted":
            return "restored"
    return "changed"


def _leaders(catalogue: Catalogue, first: int, second: int, touched: Iterable[Touched]) -> Iterator[LeaderChange]:
    cohorts = {
        state.cohort_id
        for t in touched
        for state in (t.before, t.after)
        if state is not None and state.cohort_id is not None
    }
    changes = []
    for cohort_id in cohorts:
        (cohort,) = queries.cohorts_where(catalogue, "c.id = ?", cohort_id)
        old, new = (_leader(catalogue, cohort, number) for number in (first, second))
        if (old and old.submission) != (new and new.submission):
            changes.append(LeaderChange(cohort, old, new))
    yield from sorted(changes, key=lambda c: (c.cohort.definition, c.cohort.gpu, c.cohort.stack or "", c.cohort.id))


def _leader(catalogue: Catalogue, cohort: Cohort, import_id: int) -> Entry | None:
    order = cohort.metric and rank.order_of(cohort.metric)
    ranked = rank.rank(diffs.entries(catalogue, cohort.id, import_id), order) if order else []
    return ranked[0].entry if ranked else None


def _bounds(
    catalogue: Catalogue, first: int, second: int, definitions: Iterable[TouchedDefinition]
) -> Iterator[BoundsChange]:
    for definition in definitions:
        old, new = definition.before, definition.after
        if old is None or (old.bounds, old.is_dummy) == (new.bounds, new.is_dummy):
            continue
        bounds = [queries.bounds(catalogue, definition.id, import_id=number) for number in (first, second)]
        cases = [item.cases if item else () for item in bounds]
        pairs = _paired(*cases)
        changes = [change for a, b in pairs for change in _case_changes(a, b)]
        yield BoundsChange(
            definition=definition.name,
            kernel=definition.kernel,
            before=old.bounds,
            after=new.bounds,
            cases=len(cases[1]),
            moved=sum((a.baseline_ms, a.sol_ms) != (b.baseline_ms, b.sol_ms) for a, b in pairs),
            largest=max(changes, key=_size, default=None),
            became_dummy=new.is_dummy if new.is_dummy != old.is_dummy else None,
        )


def _paired(before: Iterable[CaseBounds], after: Iterable[CaseBounds]) -> list[tuple[CaseBounds, CaseBounds]]:
    """The cases with equal axes; equal ones among themselves in their order."""
    waiting: dict[tuple[tuple[str, int], ...], list[CaseBounds]] = {}
    for case in before:
        waiting.setdefault(_axes(case), []).append(case)
    return [(same.pop(0), case) for case in after if (same := waiting.get(_axes(case)))]


def _axes(case: CaseBounds) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(case.axes.items()))


def _case_changes(before: CaseBounds, after: CaseBounds) -> Iterator[CaseChange]:
    values = ((before.baseline_ms, after.baseline_ms), (before.sol_ms, after.sol_ms))
    for bound, (old, new) in zip(_BOUNDS, values, strict=True):
        if old != new:
            ratio = new / old if old and new is not None else None
            yield CaseChange(dict(after.axes), bound, old, new, ratio)


def _size(change: CaseChange) -> float:
    """How large a change is, up or down alike."""
    ratio = change.ratio
    if ratio is None or ratio <= 0:
        return 0.0
    return max(ratio, 1 / ratio)


def _definitions(definitions: Iterable[TouchedDefinition]) -> Iterator[DefinitionChange]:
    for definition in definitions:
        old, new = definition.before, definition.after
        if old is None:
            continue
        members = tuple(_differing(_stated(old), _stated(new)))
        operation = (old.subject, new.subject) if old.subject != new.subject else None
        suite = (old.suite, new.suite) if old.suite != new.suite else None
        if members or operation or suite:
            yield DefinitionChange(definition.name, definition.kernel, members, operation, suite)


def _stated(version: Version) -> Json:
    """What the source said of the definition itself, without its bounds."""
    facts = {name: value for name, value in version.facts.items() if name not in _NOT_THE_DEFINITION}
    if "workloads" in facts:
        facts["workloads"] = [
            {name: value for name, value in case.items() if name not in _BOUNDS} for case in facts["workloads"]
        ]
    return facts
