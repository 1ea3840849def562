"""Rules about a run beside the submission it names: whether the source still says the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kictl.model import Json
from kictl.schemas import pointer, show
from kictl.units import moment
from kictl.verify.context import SourceState
from kictl.verify.registry import Problem, declare

UNKNOWN = declare(
    "source/unknown",
    "warning",
    "The source lists no such submission, which may only mean that its listing is capped.",
    "an externalId that no row has",
    needs="source",
)
UNLISTED = declare(
    "source/unlisted", "warning", "The submission is known, but no longer listed.", "a row that is gone", needs="source"
)
DISQUALIFIED = declare(
    "source/disqualified", "error", "The source has disqualified the submission.", "is_disqualified", needs="source"
)
NOT_ELIGIBLE = declare(
    "source/not-eligible",
    "error",
    "The source no longer calls the submission completed and correct.",
    "is_correct false",
    needs="source",
)
DIFFERS = declare(
    "source/differs",
    "error",
    "The submission now makes a run with other figures.",
    "latencyNs.mean 7699 here, 7700 there",
    needs="source",
)
MOVED = declare(
    "source/bounds-moved",
    "warning",
    "The bounds have changed since, so the score is not comparable with newer ones.",
    "every sol_ms of a definition",
    needs="source",
)
MALFORMED = declare(
    "collection/malformed",
    "error",
    "A row of the source from which nothing can be made was not checked.",
    "a submission without an id",
)
ORDER = declare(
    "time/order",
    "error",
    "Nothing is finished before it is submitted.",
    "finished_at before submitted_at",
    needs="rows",
)

_EXTERNAL_ID = "/spec/sourceNative/externalId"


def problems(run: Json, state: SourceState | None) -> Iterator[Problem]:
    """What differs between a run and what its source says now."""
    native = run["spec"]["sourceNative"]
    name = f"{native['source']} {native.get('externalId', 'without an id')}"
    if state is None:
        yield Problem(UNKNOWN, _EXTERNAL_ID, f"no submission {name} there", "a listed submission", "none")
        return
    if state.unlisted:
        yield Problem(UNLISTED, _EXTERNAL_ID, f"{name} is no longer listed in {state.where}", "listed", "unlisted")
    if state.bounds_moved:
        yield Problem(MOVED, "/spec/workloadDigest", state.bounds_moved, "the same bounds", "others")
    if (problem := order(state.submitted_at, state.finished_at, "/spec/observedAt")) is not None:
        yield problem
    severity = "warning" if state.superseded else None
    if state.derived is None:
        rule = DISQUALIFIED if "disqualified" in state.reasons else NOT_ELIGIBLE
        reasons = ", ".join(state.reasons)
        yield Problem(rule, _EXTERNAL_ID, f"{name} makes no run in {state.where}: {reasons}", "a run", reasons)
        return
    for where, expected, got in _differences(state.derived["spec"], run["spec"], ("spec",)):
        message = f"{state.where} says {expected}, the manifest {got}"
        yield Problem(DIFFERS, pointer(where), message, expected, got, severity)  # type: ignore[arg-type]


def order(submitted_at: str | None, finished_at: str | None, pointer: str) -> Problem | None:
    """A row of a source that ends before it begins; `pointer` is where that is told."""
    if submitted_at is None or finished_at is None:
        return None
    try:
        if moment(finished_at) >= moment(submitted_at):
            return None
    except ValueError:
        return None  # what cannot be read as a time is drift, told on import
    message = f"finished at {finished_at}, submitted at {submitted_at}"
    return Problem(ORDER, pointer, message, f"not before {submitted_at}", finished_at)


def _differences(there: Any, here: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    if isinstance(there, dict) and isinstance(here, dict):
        for member in [*there, *(name for name in here if name not in there)]:
            if member not in here:
                yield (*path, member), show(there[member]), "nothing"
            elif member not in there:
                yield (*path, member), "nothing", show(here[member])
            else:
                yield from _differences(there[member], here[member], (*path, member))
    elif there != here or isinstance(there, bool) != isinstance(here, bool):
        yield path, show(there), show(here)
