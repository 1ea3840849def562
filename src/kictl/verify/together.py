"""Rules about all documents together: references, keys, counts, one id with two contents."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from kictl import cohort
from kictl.canonical import Digest
from kictl.model import Finding, Severity
from kictl.schemas import show
from kictl.verify.checker import REFERENCES, Made, Named, Result, Wanted, Workload
from kictl.verify.context import Context
from kictl.verify.facts import Facts, Record
from kictl.verify.registry import RULES, declare

UNRESOLVED = declare(
    "reference/unresolved",
    "warning",
    "What is referred to is not here, so it was not checked; an error with --closed.",
    "a run without its implementation",
)
OTHER_KIND = declare(
    "digest/kind", "error", "The digest is of another kind than may be referred to.", "workloadDigest of an operation"
)
CASES = declare(
    "arithmetic/case-count",
    "error",
    "The source counts as many cases as the suite has.",
    "fast_1_total 16 beside a suite of 15 cases",
    needs="workload",
)
COMPARISON = declare(
    "digest/comparison-key",
    "error",
    "The key of the cohort is recomputed from operation, workload, protocol, environment, correctness and metric.",
    "a row with the comparisonKey of another cohort",
    needs="workload",
)
CORRECTNESS = declare(
    "digest/correctness-key",
    "error",
    "The key of the rule of correctness is recomputed from the workload.",
    "a row with the correctnessKey of another rule",
    needs="workload",
)
METADATA = declare(
    "collection/metadata",
    "info",
    "One identity under different editorial facts.",
    "the same protocol with two titles",
)
EXTERNAL_ID = declare(
    "collection/external-id",
    "warning",
    "One id of the source with two contents: it was changed upstream.",
    "submission 19969 with 7699 ns and with 7700 ns",
)


class Together:
    """Judges the facts, part by part. `missed` counts the runs that a rule could not judge, by rule."""

    def __init__(self, context: Context, *, closed: bool = False) -> None:
        self.context = context
        self.closed = closed
        self.missed: Counter[str] = Counter()

    def findings(self, facts: Facts) -> Iterator[Finding]:
        for records in facts.by_part():
            yield from self._part(records)

    def _part(self, records: list[Record]) -> Iterator[Finding]:
        made: dict[bytes, Made] = {}
        workloads: dict[bytes, Workload] = {}
        names: dict[str, str] = {}
        for record in records:
            if record[0] == 0:
                new = Made(*record[1:])
                first = made.setdefault(new.raw, new)
                if first.editorial != new.editorial:
                    yield _other_metadata(first, new)
            elif record[0] == 2:
                workloads[record[1]] = Workload(*record[1:])
            elif record[0] == 4 and names.setdefault(record[1], record[2]) != record[2]:
                yield _other_content(names[record[1]], Named(*record[1:]))
        keys: dict[tuple[Any, ...], str] = {}
        for record in records:
            if record[0] == 1:
                yield from self._reference(made.get(record[1]), record)
            elif record[0] == 3:
                yield from self._result(workloads.get(record[1]), Result(*record[1:]), keys)

    def _reference(self, target: Made | None, record: Record) -> Iterator[Finding]:
        kinds = REFERENCES[record[2]][2]
        if target is not None and target.kind in kinds:
            return
        wanted = Wanted(*record[1:])
        digest = Digest.from_raw(wanted.raw)
        kind = target.kind if target else self.context.kind_of(digest)
        pointer = wanted.base + "/spec/" + "/".join(REFERENCES[wanted.reference][1])
        expected = " or ".join(kinds)
        if kind is None:
            severity: Severity = "error" if self.closed else "warning"
            message = f"{digest} is not here"
            yield _finding(UNRESOLVED, wanted, pointer, message, f"{expected} {digest}", "nothing", severity=severity)
        elif kind not in kinds:
            yield _finding(OTHER_KIND, wanted, pointer, f"{digest} is a {kind}, not a {expected}", expected, kind)

    def _result(self, workload: Workload | None, result: Result, keys: dict[tuple[Any, ...], str]) -> Iterator[Finding]:
        cases = workload.cases if workload else self._cases(result)
        if result.total is not None and cases is None:
            self.missed[CASES] += 1
        elif result.total is not None and result.total != cases:
            pointer = f"{result.base}/spec/sourceNative/metrics/fast_1_total"
            message = f"fast_1_total is {result.total}, the suite has {cases} cases"
            yield _finding(CASES, result, pointer, message, str(cases), str(result.total), result.digest)
        for rule, column, claimed in (
            (COMPARISON, "comparisonKey", result.comparison_key),
            (CORRECTNESS, "correctnessKey", result.correctness_key),
        ):
            if claimed is None:
                continue
            key = None if workload is None else _key(rule, workload, result, keys)
            if key is None:
                self.missed[rule] += 1
            elif key != claimed:
                got = claimed if isinstance(claimed, str) else show(claimed)
                message = f"expected {key}, got {got}"
                yield _finding(rule, result, f"{result.prefix}/{column}", message, key, got, result.digest)

    def _cases(self, result: Result) -> int | None:
        if "bounds" not in self.context.offers:
            return None
        bounds = self.context.bounds(Digest.from_raw(result.workload))
        return len(bounds.sol_ms) if bounds else None


def _key(rule: str, workload: Workload, result: Result, keys: dict[tuple[Any, ...], str]) -> str | None:
    if rule == CORRECTNESS:
        memo: tuple[Any, ...] = (workload.correctness,)
        if memo not in keys:
            keys[memo] = cohort.correctness_key(json.loads(workload.correctness))
    else:
        if result.metric is None:
            return None
        memo = (workload.raw, result.protocol, result.environment, result.metric)
        if memo not in keys:
            keys[memo] = cohort.comparison_key(
                operation=workload.operation,
                workload=Digest.from_raw(workload.raw),
                protocol=result.protocol,
                environment=result.environment,
                correctness=json.loads(workload.correctness),
                metric=result.metric,
            )
    return keys[memo]


def _finding(
    rule: str,
    place: Made | Wanted | Result | Named,
    pointer: str,
    message: str,
    expected: str,
    got: str,
    digest: str | None = None,
    *,
    severity: Severity | None = None,
) -> Finding:
    severity = severity or RULES[rule].severity
    return Finding(rule, severity, place.subject, message, pointer, expected, got, place.line, digest)


def _other_metadata(first: Made, new: Made) -> Finding:
    digest = Digest.from_raw(new.raw)
    expected = f"the metadata at {_place(first)}"
    message = f"the same identity as at {_place(first)}, with other metadata"
    return _finding(METADATA, new, f"{new.base}/metadata", message, expected, "other metadata", digest)


def _other_content(first: str, new: Named) -> Finding:
    message = f"{show(new.name)} has also the digest {first}"
    pointer = f"{new.base}/spec/sourceNative/externalId"
    return _finding(EXTERNAL_ID, new, pointer, message, first, new.digest, new.digest)


def _place(made: Made) -> str:
    line = f":{made.line}" if made.line is not None else ""
    return f"{made.subject}{line}{' ' + made.base if made.base else ''}"
