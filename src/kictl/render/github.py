"""A verification report as workflow commands, one a line, which GitHub shows beside the lines of a change."""

from __future__ import annotations

from kictl.model import Finding
from kictl.render import findings
from kictl.text import printable
from kictl.verify.report import Report

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report) -> str:
    """Annotations, then one line of counts."""
    lines = [_annotation(finding) for finding in report.findings]
    return "".join(f"{line}\n" for line in [*lines, findings.summary(report)])


def _annotation(finding: Finding) -> str:
    place = f"file={_property(finding.subject)}"
    if finding.line is not None:
        place += f",line={finding.line}"
    title = _property(finding.rule)
    message = f"{finding.pointer} {finding.message}" if finding.pointer else finding.message
    return f"::{_COMMANDS[finding.severity]} {place},title={title}::{_data(message)}"


def _data(text: str) -> str:
    """Text in which nothing ends the line or starts another command; printable() leaves no control character."""
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    return printable(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
