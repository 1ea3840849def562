"""The keys that a run's row claims, made from what is remembered of its workload."""

from __future__ import annotations

import json

from kictl import cohort
from kictl.canonical import Digest
from kictl.verify.records import Claims, Workload

_REMEMBERED = 4096


class Keys:
    """Comparison and correctness keys; those made last are remembered, since cohorts share them."""

    def __init__(self) -> None:
        self._comparison: dict[tuple[bytes, str, str, str], str] = {}
        self._correctness: dict[bytes, str] = {}

    def comparison(self, workload: Workload, claims: Claims) -> str:
        memo = (workload.raw, claims.protocol, claims.environment, claims.metric)
        key = self._comparison.get(memo)
        if key is None:
            if len(self._comparison) >= _REMEMBERED:
                self._comparison.clear()
            key = self._comparison[memo] = cohort.comparison_key_of(
                workload.operation,
                Digest.from_raw(workload.raw),
                claims.protocol,
                claims.environment,
                self.correctness(workload),
                claims.metric,
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

    def hold(self, workload: Workload, claims: Claims) -> bool:
        """Whether all that is claimed follows from the workload."""
        return (
            claims.total in (None, workload.cases)
            and (claims.comparison_key is None or claims.comparison_key == self.comparison(workload, claims))
            and (claims.correctness_key is None or claims.correctness_key == self.correctness(workload))
        )
