"""The rules: stable id, severity, why, and an example of each; and the choice among them."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from kictl.errors import UsageError
from kictl.model import Severity


class Rule(NamedTuple):
    """One rule. `needs` says what has to be at hand beside the document, "" where nothing has to."""

    id: str
    severity: Severity
    why: str
    example: str
    needs: str = ""

    @property
    def group(self) -> str:
        return self.id.partition("/")[0]


class Problem(NamedTuple):
    """What a rule has to say about a manifest, before it is known which document that stands in.

    `pointer` is relative to the manifest. `severity` is None where it is the rule's own.
    """

    rule: str
    pointer: str
    message: str
    expected: str | None = None
    got: str | None = None
    severity: Severity | None = None


RULES: dict[str, Rule] = {}
"""Every rule by its id."""
_GROUPS = (
    "parse",
    "schema",
    "authoring",
    "digest",
    "reference",
    "time",
    "arithmetic",
    "bound",
    "source",
    "export",
    "collection",
    "catalogue",
)


def declare(rule_id: str, severity: Severity, why: str, example: str, needs: str = "") -> str:
    """Adds a rule, and returns its id."""
    RULES[rule_id] = Rule(rule_id, severity, why, example, needs)
    return rule_id


def in_order() -> list[Rule]:
    """All rules, by group, each group in the order in which it is applied."""
    return sorted(RULES.values(), key=lambda rule: _GROUPS.index(rule.group))


def chosen(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> frozenset[str]:
    """The ids of the rules that are wanted: all, or the selected ones, less the ignored ones.

    A pattern is an id, a group, or has `*` in it. Raises UsageError for one that means no rule.
    """
    wanted = {rule for pattern in select for rule in _meant(pattern)} or set(RULES)
    return frozenset(wanted - {rule for pattern in ignore for rule in _meant(pattern)})


def by_name(select: Iterable[str]) -> frozenset[str]:
    """The rules that are selected by their ids, rather than by a group or a pattern."""
    return frozenset(pattern for pattern in select if pattern in RULES)


def _meant(pattern: str) -> list[str]:
    found = [r.id for r in RULES.values() if pattern in (r.id, r.group) or fnmatchcase(r.id, pattern)]
    if not found:
        raise UsageError(f"no rule is called {pattern!r}", code="unknown_rule", hint="'kictl rules' lists them")
    return found
