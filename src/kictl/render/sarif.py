"""A verification report as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from kictl import __version__, canonical, project_url
from kictl.model import Finding
from kictl.text import printable
from kictl.verify.registry import Rule, in_order
from kictl.verify.report import Report

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(report: Report) -> str:
    """The whole log as indented JSON."""
    rules = in_order()
    numbers = {rule.id: number for number, rule in enumerate(rules)}
    driver: dict[str, Any] = {"name": "kictl", "version": __version__, "rules": [_rule(rule) for rule in rules]}
    if (address := project_url()) is not None:
        driver["informationUri"] = address
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, numbers[finding.rule]) for finding in report.findings],
        "invocations": [
            {
                "executionSuccessful": not report.unreadable,
                "toolExecutionNotifications": [
                    {"level": "note", "message": {"text": f"{rule} was not checked: {reason}"}}
                    for rule, reason in report.not_run
                ],
            }
        ],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return canonical.to_json(log, indent=True).decode() + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.why},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.subject)}}
    if finding.line is not None:
        location["region"] = {"startLine": finding.line}
    message = f"{finding.pointer} {finding.message}" if finding.pointer else finding.message
    stated = {"expected": finding.expected, "got": finding.got, "digest": finding.digest}
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": printable(message)},
        "locations": [
            {
                "physicalLocation": location,
                "logicalLocations": [{"fullyQualifiedName": printable(finding.pointer)}],
            }
        ],
        "properties": {name: printable(text) for name, text in stated.items() if text is not None},
    }


def _uri(subject: str) -> str:
    """A file's name as a relative or file URI; stdin as a name of its own."""
    if subject == "-":
        return "stdin"
    path = quote(subject.encode("utf-8", "surrogateescape"))
    return f"file://{path}" if path.startswith("/") else path.removeprefix("./")
