"""The rules of verification as text, and as the sections of their documentation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kictl.verify.registry import Rule


def listed(rules: Iterable[Rule]) -> str:
    """One rule a line: id, severity, why."""
    return "".join(f"{rule.id:<28} {rule.severity:<8} {rule.why}\n" for rule in rules)


def explained(rules: Iterable[Rule]) -> str:
    """A paragraph for each rule."""
    return "\n".join(_paragraph(rule) for rule in rules)


def as_json(rule: Rule) -> dict[str, Any]:
    """One rule as other programs read it."""
    return rule._asdict()


def _paragraph(rule: Rule) -> str:
    needs = f"  needs:    {rule.needs}\n" if rule.needs else ""
    return f"{rule.id} ({rule.severity})\n  {rule.why}\n  example:  {rule.example}\n{needs}"
