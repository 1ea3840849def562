"""What changed between two imports, as tables and as a record for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from kictl.canonical import Digest
from kictl.catalogue.diffs import Touched
from kictl.catalogue.dossiers import ImportRow
from kictl.catalogue.queries import Cohort
from kictl.cohort import Metric
from kictl.rank import Entry
from kictl.render import measure, numbers
from kictl.render.comparison import cohort_title
from kictl.render.grid import Grid, Row, columns
from kictl.text import cut, named
from kictl.workflow.diffing import BoundsChange, CaseChange, DefinitionChange, Diff, LeaderChange, Moved

_LONGEST = 60


def to_json(diff: Diff) -> dict[str, Any]:
    """The stable form for programs; pairs are [before, after]."""
    return {
        "before": _event_json(diff.before),
        "after": _event_json(diff.after),
        "different": not diff.is_empty,
        "new": [_submission_json(t) for t in diff.new],
        "leaders": [_leader_json(change) for change in diff.leaders],
        "changed": [_moved_json(moved) for moved in diff.changed],
        "retracted": [_moved_json(moved) for moved in diff.retracted],
        "restored": [_moved_json(moved) for moved in diff.restored],
        "unlisted": [_submission_json(t) for t in diff.unlisted],
        "relisted": [_submission_json(t) for t in diff.relisted],
        "bounds": [_bounds_json(change) for change in diff.bounds],
        "new_definitions": [{"definition": d.name, "kernel": d.kernel} for d in diff.new_definitions],
        "changed_definitions": [
            {
                "definition": change.definition,
                "kernel": change.kernel,
                "members": change.members,
                "operation": change.operation,
                "suite": change.suite,
            }
            for change in diff.changed_definitions
        ],
    }


def _event_json(event: ImportRow) -> dict[str, Any]:
    names = ("source", "origin", "started_at", "finished_at", "snapshot_digest", "catalog_digest")
    return {"import": event.id} | {name: getattr(event, name) for name in names}


def _submission_json(touched: Touched) -> dict[str, Any]:
    state = touched.after
    return {
        "submission": touched.submission,
        "definition": touched.definition,
        "author": touched.author,
        "gpu": touched.gpu,
        "stack": touched.stack,
        "standing": state.standing,
        "reasons": state.reasons,
        "unlisted": state.unlisted,
        **_value_json(state.metric, state.value),
        "run_digest": state.run,
    }


def _value_json(metric: Metric | None, value: float | None) -> dict[str, Any]:
    """A primary measurement; `latency_ns` where it is one, as for whatever has no run of another metric."""
    is_latency = metric is None or (metric.name, metric.unit) == ("latency", "ns")
    return {"value": value, **({"latency_ns": value} if is_latency else {})}


def _moved_json(moved: Moved) -> dict[str, Any]:
    before = moved.subject.before
    return _submission_json(moved.subject) | {
        "before": before
        and {
            "standing": before.standing,
            **_value_json(before.metric, before.value),
            "run_digest": before.run,
        },
        "members": moved.members,
    }


def _leader_json(change: LeaderChange) -> dict[str, Any]:
    cohort = change.cohort
    return {
        "definition": cohort.definition,
        "gpu": cohort.gpu,
        "stack": cohort.stack,
        "comparison_key": cohort.key,
        "before": _entry_json(cohort, change.before),
        "after": _entry_json(cohort, change.after),
    }


def _entry_json(cohort: Cohort, entry: Entry | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    return {
        "submission": entry.submission,
        "author": entry.author,
        **_value_json(cohort.metric, entry.value),
        "run_digest": entry.run_digest,
    }


def _bounds_json(change: BoundsChange) -> dict[str, Any]:
    largest = change.largest
    return {
        "definition": change.definition,
        "kernel": change.kernel,
        "before": change.before,
        "after": change.after,
        "cases": change.cases,
        "moved": change.moved,
        "largest": largest
        and {
            "axes": largest.axes,
            "bound": largest.bound,
            "before_ms": largest.before,
            "after_ms": largest.after,
            "ratio": largest.ratio,
        },
        "became_dummy": change.became_dummy,
    }


def to_grids(diff: Diff) -> list[Grid]:
    """A table for each kind of difference that there is."""
    title = (_event_line("before", diff.before), _event_line("after ", diff.after))
    if diff.is_empty:
        return [Grid((*title, "no difference"), (), ())]
    parts = [
        _submissions("new submission", diff.new),
        _leaders(diff.leaders),
        _moved("changed submission", diff.changed),
        _moved("retraction", diff.retracted),
        _moved("restored submission", diff.restored),
        _submissions("submission no longer listed", diff.unlisted, "submissions no longer listed"),
        _submissions("submission listed again", diff.relisted, "submissions listed again"),
        _bounds(diff.bounds),
        _names("new definition", [(d.name, d.kernel) for d in diff.new_definitions]),
        _definitions(diff.changed_definitions),
    ]
    return [Grid(title, (), ()), *(part for part in parts if part.rows)]


def _event_line(name: str, event: ImportRow) -> str:
    return f"{name} import {event.id} of {event.source}, {numbers.minute(event.started_at)}, from {event.origin}"


def _counted(noun: str, items: Sequence[object], plural: str | None = None) -> tuple[str]:
    return (f"{len(items)} {noun if len(items) == 1 else plural or noun + 's'}",)


def _submissions(noun: str, items: Sequence[Touched], plural: str | None = None) -> Grid:
    names = columns(
        *("definition", "id", "author", "GPU", "stack", "result", "standing"),
        flexible=["definition", "author"],
        left=["GPU", "stack", "standing"],
        least=["stack"],
    )
    rows = tuple(
        Row((*_who(t), t.gpu or "–", t.stack or "–", _shown(t.after.metric, t.after.value), _standing(t)))
        for t in items
    )
    return Grid(_counted(noun, items, plural), names, rows)


def _who(touched: Touched) -> tuple[str, str, str]:
    return touched.definition, touched.submission, named(touched.author)


def _shown(metric: Metric | None, value: float | None) -> str:
    return measure.Scale.of(metric, value).with_unit(value) if value is not None else "–"


def _standing(touched: Touched) -> str:
    return ", ".join(touched.after.reasons) or touched.after.standing


def _moved(noun: str, items: Sequence[Moved]) -> Grid:
    names = columns(
        *("definition", "id", "author", "member", "before", "after"),
        flexible=["definition", "author", "before", "after"],
        left=["member"],
    )
    rows = []
    for moved in items:
        who: Iterable[str] = _who(moved.subject)
        for member, (before, after) in moved.members.items():
            rows.append(Row((*who, member, _value(before), _value(after))))
            who = ("", "", "")
    return Grid(_counted(noun, items), names, tuple(rows))


def _value(value: Any) -> str:
    return "–" if value is None else cut(json.dumps(value, ensure_ascii=False), _LONGEST)


def _leaders(items: Sequence[LeaderChange]) -> Grid:
    names = columns(
        *("definition", "measured on", "before", "was", "after", "is"),
        flexible=["definition", "measured on", "before", "after"],
    )
    rows = tuple(
        Row(
            (
                change.cohort.definition,
                cohort_title(change.cohort),
                *_entry(change.cohort, change.before),
                *_entry(change.cohort, change.after),
            )
        )
        for change in items
    )
    return Grid(_counted("new leader", items), names, rows)


def _entry(cohort: Cohort, entry: Entry | None) -> tuple[str, str]:
    if entry is None:
        return "nobody", "–"
    return f"{named(entry.author)} {entry.submission}", _shown(cohort.metric, entry.value)


def _bounds(items: Sequence[BoundsChange]) -> Grid:
    names = columns(
        *("definition", "cases", "largest change", "before", "after"),
        flexible=["definition", "largest change"],
        left=["before", "after"],
        least=["before", "after"],
    )
    rows = tuple(
        Row(
            (
                change.definition,
                f"{change.moved} of {change.cases}",
                _largest(change),
                Digest(change.before).short if change.before else "none",
                Digest(change.after).short if change.after else "none",
            )
        )
        for change in items
    )
    return Grid(_counted("definition with other bounds", items, "definitions with other bounds"), names, rows)


def _largest(change: BoundsChange) -> str:
    dummy = {True: "now placeholders", False: "no longer placeholders", None: ""}[change.became_dummy]
    return " ".join(filter(None, (dummy, _case(change.largest) if change.largest else "")))


def _case(change: CaseChange) -> str:
    before, after = (numbers.significant(value) for value in (change.before, change.after))
    return f"{change.bound} {before} → {after} ({numbers.ratio(change.ratio)})"


def _names(noun: str, items: Sequence[tuple[str, str | None]]) -> Grid:
    rows = tuple(Row((name, kernel or "–")) for name, kernel in items)
    return Grid(_counted(noun, items), columns("definition", "kernel", flexible=["definition"]), rows)


def _definitions(items: Sequence[DefinitionChange]) -> Grid:
    names = columns("definition", "what", flexible=["definition", "what"])
    return Grid(_counted("changed definition", items), names, tuple(Row((c.definition, _what(c))) for c in items))


def _what(change: DefinitionChange) -> str:
    parts = [name for name, pair in (("operation", change.operation), ("cases", change.suite)) if pair]
    return ", ".join((*parts, *change.members))
