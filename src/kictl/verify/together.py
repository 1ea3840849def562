"""Rules about all documents together: references, keys, counts, one id with two contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kictl.canonical import Digest
from kictl.model import Finding, Severity
from kictl.schemas import show
from kictl.verify.context import Context
from kictl.verify.facts import Facts, Record
from kictl.verify.keys import Keys
from kictl.verify.records import (
    MADE,
    NAMED,
    REFERENCES,
    RESULT,
    WANTED,
    WORKLOAD,
    Claims,
    Made,
    Named,
    Place,
    Result,
    Wanted,
    Workload,
    row_of,
)
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
        self._keys = Keys()

    def findings(self, facts: Facts) -> Iterator[Finding]:
        for records in facts.by_part():
            yield from self._part(records)

    def _part(self, records: list[Record]) -> Iterator[Finding]:
        made: dict[bytes, Record] = {}
        workloads: dict[bytes, Record] = {}
        names: dict[str, bytes] = {}
        editions: set[tuple[bytes, int]] = set()
        for record in records:
            if record[0] == MADE:
                first = made.setdefault(record[1], record)
                if first[3] != record[3] and (record[1], record[3]) not in editions:
                    editions.add((record[1], record[3]))
                    yield _other_metadata(Made(*first[1:]), Made(*record[1:]))
            elif record[0] == WORKLOAD:
                workloads[record[1]] = record
            elif record[0] == NAMED and names.setdefault(record[1], record[2]) != record[2]:
                yield _other_content(names[record[1]], Named(*record[1:]))
        for record in records:
            if record[0] == WANTED:
                target = made.get(record[1])
                if target is None or target[2] not in REFERENCES[record[2]][2]:
                    yield from self._reference(None if target is None else target[2], Wanted(*record[1:]))
            elif record[0] == RESULT:
                workload = workloads.get(record[1])
                beside = None if workload is None else Workload(*workload[1:])
                yield from self._result(beside, Result(*record[1:]))

    def _reference(self, kind: str | None, wanted: Wanted) -> Iterator[Finding]:
        _, path, kinds = REFERENCES[wanted.reference]
        digest = Digest.from_raw(wanted.raw)
        kind = kind or self.context.kind_of(digest)
        pointer = "/spec/" + "/".join(path)
        expected = " or ".join(kinds)
        if kind is None:
            severity: Severity = "error" if self.closed else "warning"
            message, expected = f"{digest} is not here", f"{expected} {digest}"
            yield _finding(UNRESOLVED, wanted.place, pointer, message, expected, "nothing", severity=severity)
        elif kind not in kinds:
            message = f"{digest} is a {kind}, not a {expected}"
            yield _finding(OTHER_KIND, wanted.place, pointer, message, expected, kind)

    def _result(self, workload: Workload | None, result: Result) -> Iterator[Finding]:
        claims = Claims(*result.claims)
        cases = workload.cases if workload else self._cases(result)
        if claims.total is not None and cases is None:
            self.missed[CASES] += 1
        elif claims.total is not None and claims.total != cases:
            pointer = "/spec/sourceNative/metrics/fast_1_total"
            message = f"fast_1_total is {claims.total}, the suite has {cases} cases"
            yield _finding(CASES, result.place, pointer, message, str(cases), str(claims.total), result.raw)
        comparison = self._keys.comparison(workload, claims) if workload else None
        correctness = self._keys.correctness(workload) if workload else None
        for rule, column, key, claimed in (
            (COMPARISON, "comparisonKey", comparison, claims.comparison_key),
            (CORRECTNESS, "correctnessKey", correctness, claims.correctness_key),
        ):
            if claimed is None:
                continue
            if key is None:
                self.missed[rule] += 1
            elif key != claimed:
                got = claimed if isinstance(claimed, str) else show(claimed)
                message = f"expected {key}, got {got}"
                subject, line, base = result.place
                place = (subject, line, row_of(base))
                yield _finding(rule, place, f"/{column}", message, key, got, result.raw)

    def _cases(self, result: Result) -> int | None:
        if "bounds" not in self.context.offers:
            return None
        bounds = self.context.bounds(Digest.from_raw(result.workload))
        return len(bounds.sol_ms) if bounds else None


def _finding(
    rule: str,
    place: Place,
    pointer: str,
    message: str,
    expected: str,
    got: str,
    raw: bytes | None = None,
    *,
    severity: Severity | None = None,
) -> Finding:
    subject, line, base = place
    digest = None if raw is None else Digest.from_raw(raw)
    severity = severity or RULES[rule].severity
    return Finding(rule, severity, subject, message, base + pointer, expected, got, line, digest)


def _other_metadata(first: Made, new: Made) -> Finding:
    where = _shown(first.place)
    message = f"the same identity as at {where}, with other metadata"
    return _finding(METADATA, new.place, "/metadata", message, f"the metadata at {where}", "other metadata", new.raw)


def _other_content(first: bytes, new: Named) -> Finding:
    expected, got = Digest.from_raw(first), Digest.from_raw(new.raw)
    message = f"the same id of the source has also the digest {expected}"
    return _finding(EXTERNAL_ID, new.place, "/spec/sourceNative/externalId", message, expected, got, new.raw)


def _shown(place: Place) -> str:
    subject, line, base = place
    return f"{subject}{f':{line}' if line is not None else ''}{' ' + base if base else ''}"
