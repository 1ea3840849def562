"""The key of a cohort: what must be equal before two runs may be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kictl.canonical import Digest, digest


def correctness_key(correctness: Mapping[str, Any]) -> Digest:
    """The digest of a workload's rule of correctness, as it enters a comparison key."""
    return digest({"correctness": correctness})


def comparison_key(
    *,
    operation: str,
    workload: str,
    protocol: str,
    environment: str,
    correctness: Mapping[str, Any],
    metric: str,
) -> Digest:
    """The identity of a cohort.

    The first four are manifest digests (workload: of the suite or case), `correctness` is the object from
    the workload's spec, `metric` names what is ranked by, as in `latency:mean:ns`.
    The implementation is not part of it: implementations are what a cohort compares.
    """
    return comparison_key_of(operation, workload, protocol, environment, correctness_key(correctness), metric)


def comparison_key_of(
    operation: str, workload: str, protocol: str, environment: str, correctness: str, metric: str
) -> Digest:
    """The same where the key of the rule of correctness is known."""
    return digest(
        {
            "v": 1,
            "operation": operation,
            "workload": workload,
            "protocol": protocol,
            "environment": environment,
            "correctness": correctness,
            "metric": metric,
        }
    )
