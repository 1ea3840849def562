"""What may be at hand beside the documents: bounds, other manifests, and the source that a run came from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

from kictl.bounds import geometric_mean
from kictl.model import Json


class RunBounds:
    """The bounds of a run's cases in ms, as far as they may be used: None where one is missing or a dummy."""

    def __init__(
        self, baseline_ms: Sequence[float | None], sol_ms: Sequence[float | None], is_dummy: bool = False
    ) -> None:
        self.baseline_ms = baseline_ms
        self.sol_ms = sol_ms
        self.is_dummy = is_dummy

    @cached_property
    def smallest_sol_ms(self) -> float | None:
        known = [value for value in self.sol_ms if value is not None and value > 0]
        return min(known) if known and len(known) == len(self.sol_ms) and not self.is_dummy else None

    @cached_property
    def mean_sol_ms(self) -> float | None:
        return None if self.is_dummy else geometric_mean(self.sol_ms)

    @cached_property
    def mean_baseline_ms(self) -> float | None:
        return geometric_mean(self.baseline_ms)

    @cached_property
    def vacuous(self) -> tuple[float, ...]:
        """The baseline/sol ratios that are so large or so small that a score says little."""
        if self.is_dummy:
            return ()
        pairs = zip(self.baseline_ms, self.sol_ms, strict=True)
        ratios = [baseline / sol for baseline, sol in pairs if baseline and sol and sol > 0]
        return tuple(ratio for ratio in ratios if ratio >= 1000 or ratio < 2)


class SourceState(NamedTuple):
    """What a source says today about the submission that a run names.

    `derived` is the run manifest that the submission makes now, None where it makes none, for the `reasons` given.
    `superseded` says that this very run was the submission's once, and a later import saw it change.
    """

    where: str
    derived: Json | None
    reasons: tuple[str, ...] = ()
    unlisted: bool = False
    superseded: bool = False
    submitted_at: str | None = None
    finished_at: str | None = None
    bounds_moved: str | None = None


class Context(Protocol):
    """Answers for rules that need more than the documents. `offers` names what it has: bounds, manifests,
    rows of a source, the source to compare with, a whole catalogue."""

    offers: frozenset[str]

    def bounds(self, workload: str, benchmark: str | None = None) -> RunBounds | None:
        """The bounds of a suite, by its digest; `benchmark` is the definition's name in the source, where known."""

    def kind_of(self, digest: str) -> str | None:
        """The kind of a manifest that is known elsewhere."""

    def state_of(self, run: Json, digest: str) -> SourceState | None:
        """What the source says about a run; None where it has no such submission.

        Raises LookupError for a run of another source.
        """


class Nothing:
    """Only the documents themselves."""

    offers: frozenset[str] = frozenset()

    def bounds(self, workload: str, benchmark: str | None = None) -> RunBounds | None:
        return None

    def kind_of(self, digest: str) -> str | None:
        return None

    def state_of(self, run: Json, digest: str) -> SourceState | None:
        return None
