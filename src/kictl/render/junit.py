"""A verification report as JUnit XML: a suite for each file, a case for each rule that found something there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from kictl.model import Finding
from kictl.text import printable
from kictl.verify.report import Report


def render(report: Report) -> str:
    """The whole document. Warnings and notes are told, not failed: only errors are failures."""
    lines = [*_document(report)]
    return "\n".join(lines) + "\n"


def _document(report: Report) -> Iterator[str]:
    suites = [(subject, [*found]) for subject, found in groupby(report.findings, key=lambda finding: finding.subject)]
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    total = sum(len(found) for _, found in suites) or 1
    yield f'<testsuites name="kictl verify" tests="{total}" failures="{_failures(report.findings)}">'
    for subject, found in suites:
        yield f'  <testsuite name={_attribute(subject)} tests="{len(found)}" failures="{_failures(found)}">'
        for finding in found:
            yield from _case(finding)
        yield "  </testsuite>"
    if not suites:
        yield '  <testsuite name="kictl verify" tests="1" failures="0">'
        yield f'    <testcase classname="kictl" name="{report.checked} checked"/>'
        yield "  </testsuite>"
    yield "</testsuites>"


def _failures(findings: tuple[Finding, ...] | list[Finding]) -> int:
    return sum(finding.severity == "error" for finding in findings)


def _case(finding: Finding) -> Iterator[str]:
    line = f"line {finding.line} " if finding.line is not None else ""
    name = f"{finding.rule} {line}{finding.pointer}".strip()
    yield f"    <testcase classname={_attribute(finding.subject)} name={_attribute(name)}>"
    text = escape(printable(f"expected {finding.expected}, got {finding.got}"))
    if finding.severity == "error":
        yield f"      <failure type={_attribute(finding.rule)} message={_attribute(finding.message)}>{text}</failure>"
    else:
        yield f"      <system-out>{finding.severity}: {escape(printable(finding.message))}</system-out>"
    yield "    </testcase>"


def _attribute(text: str) -> str:
    """A quoted attribute; printable() leaves no character that XML 1.0 has no place for."""
    return quoteattr(printable(text))
