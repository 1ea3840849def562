"""The keys that a run's row claims, made from what is remembered of its workload."""

from __future__ import annotations

import json

from kictl import cohort
from kictl.canonical import Digest
from kictl.verify.records import Result, Workload

_REMEMBERED = 1024


class Keys:
    """Comparison and correctness keys; those made last are remembered, since cohorts share them."""

    def __init__(self) -> None:
        self._comparison: dict[tuple[bytes, str, str, str], str] = {}
        self._correctness: dict[bytes, str] = {}

    def comparison(self, workload: Workload, result: Result) -> str | None:
        """None where the run does not say what its primary measurement is."""
        if result.metric is None:
            return None
        memo = (workload.raw, result.protocol, result.environment, result.metric)
        key = self._comparison.get(memo)
        if key is None:
            if len(self._comparison) >= _REMEMBERED:
                self._comparison.clear()
            key = self._comparison[memo] = cohort.comparison_key(
                operation=workload.operation,
                workload=Digest.from_raw(workload.raw),
                protocol=result.protocol,
                environment=result.environment,
                correctness=json.loads(workload.correctness),
                metric=result.metric,
            )
        return key

    def correctness(self, workload: Workload) -> str:
        key = self._correctness.get(workload.correctness)
        if key is None:
            if len(self._correctness) >= _REMEMBERED:
                self._correctness.clear()
            key = cohort.correctness_key(json.loads(workload.correctness))
            self._correctness[workload.correctness] = key
        return key

    def hold(self, workload: Workload, result: Result) -> bool:
        """Whether all that is claimed follows from the workload."""
        return (
            result.total in (None, workload.cases)
            and (result.comparison_key is None or result.comparison_key == self.comparison(workload, result))
            and (result.correctness_key is None or result.correctness_key == self.correctness(workload))
        )
