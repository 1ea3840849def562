"""A verification report for people: the verdict, findings grouped by file, counts, and what could not be checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from kictl.model import Finding
from kictl.text import counted, cut, printable
from kictl.verify.registry import RULES
from kictl.verify.report import Report

LONGEST = 300


def render(report: Report, *, quiet: bool = False, notes: bool = False, colour: bool = False) -> str:
    """The verdict, then errors, warnings, notes (a line for each rule, or all with `notes`), and what was not checked.

    `quiet` leaves only errors and warnings, and the verdict where there are any or it is not ok."""
    lines = [*_lines(report, quiet, notes)]
    text = "".join(f"{line}\n" for line in lines)
    return _coloured(text) if colour else text


def _lines(report: Report, quiet: bool, notes: bool) -> Iterator[str]:
    wrong = report.errors or report.warnings
    if not quiet or wrong or not report.ok:
        yield summary(report)
    for severity in ("error", "warning"):
        yield from _grouped(finding for finding in report.findings if finding.severity == severity)
    if quiet:
        return
    if notes:
        yield from _grouped(finding for finding in report.findings if finding.severity == "info")
    if report.left_out:
        yield f"{report.left_out} more findings are counted below, not shown"
    for rule, count in report.rules.items():
        unseen = "" if notes or RULES[rule].severity != "info" else f": {RULES[rule].why} (each with --notes)"
        yield f"  {count:>7}  {rule}{unseen}"
    yield from _not_run(report)


def _grouped(findings: Iterable[Finding]) -> Iterator[str]:
    for subject, found in groupby(findings, key=lambda finding: finding.subject):
        yield _safe(subject)
        for finding in found:
            yield from _finding(finding)
        yield ""


_COLOURS = {"error:": "31", "warning:": "33", "ok:": "32", "not ok:": "31", "nothing was checked:": "31"}
_SIGN = re.compile(r"^( *)(error:|warning:|ok:|not ok:|nothing was checked:)", re.MULTILINE)


def _coloured(text: str) -> str:
    return _SIGN.sub(lambda sign: f"{sign[1]}\x1b[{_COLOURS[sign[2]]}m{sign[2]}\x1b[0m", text)


def summary(report: Report) -> str:
    """One line of counts."""
    if report.nothing is not None:
        return f"nothing was checked: {report.nothing} (--allow-empty, if that is meant)"
    verdict = "ok" if report.ok else "not ok"
    documents = counted(report.checked, "document")
    if report.manifests != report.checked:
        documents += f" with {counted(report.manifests, 'manifest')}"
    counts = ", ".join(
        counted(number, noun)
        for number, noun in ((report.errors, "error"), (report.warnings, "warning"), (report.infos, "note"))
    )
    return f"{verdict}: {documents} checked; {counts}"


def _finding(finding: Finding) -> Iterator[str]:
    line = f"line {finding.line} " if finding.line is not None else ""
    pointer = f"{_safe(finding.pointer)} " if finding.pointer else ""
    where = f"  {finding.severity}: {line}{pointer}[{finding.rule}]"
    if finding.severity == "info":
        yield f"{where} {_safe(finding.message)}"
        return
    yield where
    yield f"    {_safe(finding.message)}"
    stated = finding.message == f"expected {finding.expected}, got {finding.got}"
    if not stated and finding.expected is not None:
        yield f"    expected {_safe(finding.expected)}"
    if not stated and finding.got is not None:
        yield f"    got      {_safe(finding.got)}"


def _not_run(report: Report) -> Iterator[str]:
    """Rules that could not run, by reason; a whole group under its name."""
    reasons: dict[str, list[str]] = {}
    for rule, reason in report.not_run:
        reasons.setdefault(reason, []).append(rule)
    for reason, rules in reasons.items():
        names = dict.fromkeys(f"{_group(rule)}/*" if _is_whole(_group(rule), rules) else rule for rule in rules)
        yield f"not checked, {reason}: {', '.join(names)}"


def _group(rule: str) -> str:
    return rule.partition("/")[0]


def _is_whole(group: str, rules: list[str]) -> bool:
    return all(rule.id in rules for rule in RULES.values() if rule.group == group)


def _safe(text: str) -> str:
    return cut(printable(text), LONGEST)
