"""What a verification came to: the findings in order of subject and line, counts, and what could not be checked."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from kictl.model import Finding
from kictl.text import whole

KEPT = 1000
"""The most findings of one rule that are kept; all are counted."""


class Report(NamedTuple):
    """`checked` counts documents, `manifests` what was in them; `rules` counts findings by rule, kept or not.

    `not_run` are pairs of rule and reason. `unreadable` says that there was one document, and it could not be parsed;
    `nothing` says why nothing at all was checked, which is not ok.
    """

    checked: int
    manifests: int
    errors: int
    warnings: int
    infos: int
    findings: tuple[Finding, ...]
    rules: dict[str, int]
    not_run: tuple[tuple[str, str], ...]
    unreadable: bool = False
    nothing: str | None = None

    @property
    def ok(self) -> bool:
        return self.errors == 0 and self.nothing is None

    @property
    def left_out(self) -> int:
        """Findings that were counted but not kept."""
        return self.errors + self.warnings + self.infos - len(self.findings)

    def exit_code(self, *, strict: bool = False) -> int:
        """0 fine, 1 findings that decide, 3 where the one document could not be parsed, or nothing was checked."""
        if self.unreadable or self.nothing is not None:
            return 3
        return 1 if self.errors or (strict and self.warnings) else 0

    def to_json(self) -> dict[str, Any]:
        """As other programs read it."""
        return {
            "checked": self.checked,
            "manifests": self.manifests,
            "ok": self.ok,
            "nothing_checked": self.nothing,
            "errors": self.errors,
            "warnings": self.warnings,
            "infos": self.infos,
            "findings": [as_json(finding) for finding in self.findings],
            "left_out": self.left_out,
            "rules": self.rules,
            "not_run": [{"rule": rule, "reason": reason} for rule, reason in self.not_run],
        }


_MEMBERS = ("rule", "severity", "subject", "line", "pointer", "message", "expected", "got", "digest")


def as_json(finding: Finding) -> dict[str, Any]:
    """One finding as other programs read it; of a file's name, bytes that are no text are escaped."""
    values = ((member, getattr(finding, member)) for member in _MEMBERS)
    return {member: whole(value) if isinstance(value, str) else value for member, value in values}


class Tally:
    """Findings as they come: counted all, kept up to a limit for each rule; and counts of what was looked at.

    `matched` counts manifests held against `--expect`, `missed` the runs that a rule could not judge, by rule.
    """

    def __init__(self) -> None:
        self.kept: list[Finding] = []
        self.rules: Counter[str] = Counter()
        self.severities: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()
        self.checked = self.manifests = self.unreadable = self.matched = 0

    def tell(self, finding: Finding) -> None:
        self.rules[finding.rule] += 1
        self.severities[finding.severity] += 1
        if self.rules[finding.rule] <= KEPT:
            self.kept.append(finding)

    def add(self, other: Tally) -> None:
        """Adds what another one has, which comes after this."""
        room = {rule: KEPT - self.rules[rule] for rule in other.rules}
        for finding in other.kept:
            room[finding.rule] -= 1
            if room[finding.rule] >= 0:
                self.kept.append(finding)
        for own, others in zip(self._counters(), other._counters(), strict=True):
            own.update(others)
        self.checked += other.checked
        self.manifests += other.manifests
        self.unreadable += other.unreadable
        self.matched += other.matched

    def plain(self) -> tuple[Any, ...]:
        """All of it in plain values."""
        findings = [tuple(_exact(getattr(finding, name)) for name in _MEMBERS) for finding in self.kept]
        counts = (self.checked, self.manifests, self.unreadable, self.matched)
        return findings, [dict(counter) for counter in self._counters()], counts

    @classmethod
    def from_plain(cls, plain: tuple[Any, ...]) -> Tally:
        findings, counters, counts = plain
        tally = cls()
        tally.kept = [Finding(**dict(zip(_MEMBERS, finding, strict=True))) for finding in findings]
        tally.rules, tally.severities, tally.missed = map(Counter, counters)
        tally.checked, tally.manifests, tally.unreadable, tally.matched = counts
        return tally

    def ordered(self) -> tuple[Finding, ...]:
        """Those kept, by subject, line and pointer."""
        return tuple(sorted(self.kept, key=lambda f: (f.subject, f.line or 0, f.pointer, f.rule, f.message)))

    def _counters(self) -> tuple[Counter[str], Counter[str], Counter[str]]:
        return self.rules, self.severities, self.missed


def _exact(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value
