"""Rules about all documents together: references, keys, counts, one id with two contents."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kictl import cohort
from kictl.canonical import Digest
from kictl.model import Finding, Severity
from kictl.schemas import show
from kictl.verify import rows
from kictl.verify.context import Context
from kictl.verify.facts import Facts, Record
from kictl.verify.keys import Keys
from kictl.verify.records import (
    ATTEMPT,
    EVENT,
    MADE,
    MODEL,
    NAMED,
    REFERENCES,
    RESULT,
    SERVED,
    SERVING_WORKLOAD,
    WANTED,
    WORKLOAD,
    Claims,
    Event,
    Made,
    Named,
    Place,
    Result,
    Served,
    Wanted,
    Workload,
    row_of,
)
from kictl.verify.registry import RULES, Problem, declare

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


UNCHECKED = declare(
    "reference/unchecked",
    "error",
    "With --closed, nothing may be left unchecked for want of a document of the same input.",
    "--closed for a run whose workload is in another file",
)


class Together:
    """Judges the facts, part by part. `missed` counts the runs that a rule could not judge, by rule."""

    def __init__(self, context: Context, *, closed: bool = False) -> None:
        self.context = context
        self.closed = closed
        self.missed: Counter[str] = Counter()
        self._keys = Keys()
        self._unresolved = 0

    def findings(self, facts: Facts) -> Iterator[Finding]:
        for records in facts.by_part():
            yield from self._part(records)
            yield from self._events(records)
            yield from self._served(records)
        if self.closed and not self._unresolved:
            yield from self._unchecked()

    def _unchecked(self) -> Iterator[Finding]:
        """What was left for want of another document."""
        for rule, count in sorted(self.missed.items()):
            needs = RULES[rule].needs or "documents"
            message = f"{rule} was not checked for {count} of the runs: their {needs} is not here"
            expected = f"the {needs} of every run"
            yield Finding(UNCHECKED, RULES[UNCHECKED].severity, "-", message, "", expected, f"{count} without")

    def _events(self, records: list[Record]) -> Iterator[Finding]:
        """Record events beside the records that follow from the runs of their comparison keys."""
        attempts: dict[str, list[rows.Attempt]] = {}
        events = [Event(*record[1:]) for record in records if record[0] == EVENT]
        if not events:
            return
        for record in records:
            if record[0] == ATTEMPT:
                attempts.setdefault(record[1], []).append(rows.Attempt(*record[2:]))
        follows = {key: rows.records(attempts.get(key, [])) for key in {event.key for event in events}}
        for event in events:
            if (problem := rows.event(event.row, follows[event.key])) is not None:
                yield _of_problem(problem, event.place)

    def _served(self, records: list[Record]) -> Iterator[Finding]:
        """The keys of serving runs, from their models and workloads."""
        models = {record[1]: record[2] for record in records if record[0] == MODEL}
        workloads = {record[1]: record[2:] for record in records if record[0] == SERVING_WORKLOAD}
        for record in records:
            if record[0] == SERVED:
                yield from self._served_run(Served(*record[1:]), models, workloads)

    def _served_run(
        self, served: Served, models: Mapping[bytes, str | None], workloads: Mapping[bytes, Sequence[Any]]
    ) -> Iterator[Finding]:
        spec = json.loads(served.spec)
        model, workload = (Digest(spec[f"{name}Digest"]) for name in ("model", "workload"))
        if model.raw not in models or workload.raw not in workloads:
            self.missed[rows.COHORT] += bool(served.claimed)
            return
        streaming, load = workloads[workload.raw]
        keys = cohort.serving_keys(spec, {"streaming": streaming, "loadGeneration": load})
        tokenizer = models[model.raw]
        key = cohort.serving_cohort_key(model=model, tokenizer=tokenizer, workload=workload, keys=keys)
        subject, line, base = served.place
        for problem in rows.keys(served.claimed, {"cohortKey": key, "protocolKey": keys.protocol}):
            yield _of_problem(problem, (subject, line, row_of(base)), served.raw)

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
            self._unresolved += 1
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


def _of_problem(problem: Problem, place: Place, raw: bytes | None = None) -> Finding:
    expected, got = problem.expected or "", problem.got or ""
    return _finding(problem.rule, place, problem.pointer, problem.message, expected, got, raw)


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
