"""Rules of the schema and authoring groups, and of impossible dates: whether a manifest has the shape of its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kictl import authoring, schemas
from kictl.authoring import Spelling
from kictl.model import Json
from kictl.schemas import Violation, pointer, show
from kictl.verify.registry import Problem, declare

API_VERSION = declare(
    "schema/api-version", "error", "Another version has other rules.", "apiVersion: kernelindex.dev/v2"
)
KIND = declare("schema/kind", "error", "Only known kinds can be checked.", "kind: BenchmarkRuns")
DOCUMENT = declare(
    "schema/document",
    "error",
    "What is neither a manifest nor holds one cannot be checked.",
    "a list of numbers, or a line whose row is a text",
)
MISSING = declare("schema/missing-member", "error", "The kind needs this member.", "a run without observedAt")
UNKNOWN = declare(
    "schema/unknown-member",
    "error",
    "Objects are closed: a misspelt member would silently mean nothing.",
    "spec.stauts",
)
TYPE = declare("schema/type", "error", "The member has another type.", 'mean: "7699"')
VALUE = declare(
    "schema/value", "error", "The value is outside of what the member allows.", "an upper-case digest, a negative count"
)
IMPOSSIBLE = declare("time/impossible", "error", "The date or time does not exist.", "observedAt: 2026-02-30T00:00:00Z")
DURATION = declare(
    "authoring/duration",
    "error",
    "A duration that is no whole number of ns cannot be kept.",
    'mean: "0.3 ns", or "12.5 parsecs"',
)
DURATION_SPELLING = declare(
    "authoring/duration-spelling", "info", "A duration with a unit is kept as ns before the digest.", 'mean: "12.5 us"'
)
SET_ORDER = declare(
    "authoring/set-order",
    "info",
    "A list that stands for a set is sorted, without repeats, before the digest.",
    "dtypes: [fp32, bf16, fp32]",
)

_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z")
_BY_KEYWORD = {"required": MISSING, "additionalProperties": UNKNOWN, "type": TYPE}
_NOTHING: list[Problem] = []
_ENVELOPE = ("apiVersion", "kind", "metadata", "spec")


def of_manifest(manifest: Any, kind: str | None = None) -> tuple[Any, list[Problem]]:
    """The manifest in its own spelling, and what is wrong with its shape; `kind` where only that one may stand here."""
    if not isinstance(manifest, dict):
        got = show(manifest)
        return manifest, [Problem(DOCUMENT, "", f"expected a manifest, got {got}", "a manifest", got)]
    kind = kind or manifest.get("kind")
    if kind not in schemas.KINDS:
        return manifest, [*_unknown_kind(manifest)]
    valid = schemas.is_valid(kind, manifest)
    if valid and authoring.is_in_order(kind, manifest):
        return manifest, _NOTHING
    normal, spellings = authoring.normalise(manifest)
    problems = [_respelt(spelling) for spelling in spellings]
    if not valid and not schemas.is_valid(kind, normal):
        # Places in lists are told as they were written, before any sorting.
        durations = [spelling for spelling in spellings if not isinstance(spelling.value, list)]
        bad = {spelling.pointer for spelling in durations if spelling.problem}
        problems += _violations(kind, authoring.respelt(manifest, durations), bad)
    return normal, problems


def has_identity(manifest: Any) -> bool:
    """Whether all is there that a digest is taken over."""
    return isinstance(manifest, dict) and "apiVersion" in manifest and "kind" in manifest and "spec" in manifest


def of_bundle(bundle: Json, members: Sequence[str]) -> Iterator[Problem]:
    """Members that a bundle lacks or has too many; what they hold is judged as manifests."""
    for member in members:
        if member not in bundle:
            yield _missing(member)
    for member, value in bundle.items():
        if member not in members:
            message = f"unknown member {show(member)}"
            yield Problem(UNKNOWN, pointer([member]), message, f"only {', '.join(members)}", show(value))


def not_a_row(line: Json) -> Problem:
    """A catalogue line without the name of a table or without a row."""
    got = show(line)
    message = f"a catalogue line has the name of a table, and an object as its row, got {got}"
    return Problem(DOCUMENT, "", message, "table and row", got)


def not_an_export_line(line: Json) -> Problem:
    """An export line with other members than it has."""
    got = show(", ".join(line))
    message = f"an export line has a digest, a kind and a manifest, got {got}"
    return Problem(DOCUMENT, "", message, "digest, kind, manifest", got)


_HARNESS = (
    ("trace", {"definition", "workload", "evaluation"}),
    ("solution", {"name", "definition", "sources", "spec"}),
    ("definition", {"name", "axes", "inputs", "outputs"}),
    ("workload", {"axes", "inputs", "uuid"}),
)
"""What the harness of a leaderboard writes and reads, and the members that tell it."""


def _unknown_kind(manifest: dict[str, Any]) -> Iterator[Problem]:
    if "apiVersion" not in manifest and "kind" not in manifest:
        for name, members in _HARNESS:
            if members <= manifest.keys():
                message = f"this is a harness {name}, not a manifest: it has no kind, and no digest of its own"
                yield Problem(DOCUMENT, "", message, "a manifest", f"a harness {name}")
                return
    for member in _ENVELOPE:
        if member not in manifest:
            yield _missing(member)
    if "kind" in manifest:
        got = show(manifest["kind"])
        yield Problem(KIND, "/kind", f"unknown kind {got}", "one of " + ", ".join(schemas.KINDS), got)


def _missing(member: str) -> Problem:
    return Problem(MISSING, f"/{member}", f'missing member "{member}"', f'member "{member}"', "nothing")


def _respelt(spelling: Spelling) -> Problem:
    got = show(spelling.authored)
    if spelling.problem:
        return Problem(DURATION, spelling.pointer, f"{spelling.problem}, got {got}", "a whole number of ns", got)
    rule = SET_ORDER if isinstance(spelling.value, list) else DURATION_SPELLING
    expected = show(spelling.value)
    return Problem(rule, spelling.pointer, f"{got} is read as {expected}", expected, got)


def _violations(kind: str, manifest: Any, told: set[str]) -> Iterator[Problem]:
    """One finding a place and rule; a text that breaks both pattern and format is told once."""
    seen: set[tuple[str, str]] = set()
    for violation in schemas.violations(kind, manifest):
        rule = _rule(violation, manifest)
        if violation.pointer not in told and (violation.pointer, rule) not in seen:
            seen.add((violation.pointer, rule))
            yield Problem(rule, violation.pointer, violation.message, violation.expected, violation.got)


def _rule(violation: Violation, manifest: Any) -> str:
    if violation.pointer == "/apiVersion" and violation.keyword != "required":
        return API_VERSION
    if violation.pointer == "/kind" and violation.keyword != "required":
        return KIND
    if violation.pointer == "/spec/observedAt" and violation.keyword in ("format", "pattern"):
        return IMPOSSIBLE if _INSTANT.fullmatch(manifest["spec"]["observedAt"]) else VALUE
    return _BY_KEYWORD.get(violation.keyword, VALUE)
