"""The lines of findings, for reports that are shown beside a text."""

from __future__ import annotations

from functools import lru_cache

from kictl.documents import Document, from_stream
from kictl.errors import KictlError
from kictl.places import Places
from kictl.verify import Report


def placed(report: Report) -> Report:
    """The report with the line of its pointer at each finding in a file of one document; others have theirs already.

    What was read from stdin, a catalogue or a snapshot is not there to be read again, and keeps no line.
    """
    places = lru_cache(maxsize=1)(_places)
    findings = []
    for finding in report.findings:
        known = places(finding.subject) if finding.line is None and finding.subject != "-" else None
        findings.append(finding if known is None else finding._replace(line=known.line(finding.pointer)))
    return report._replace(findings=tuple(findings))


def _places(name: str) -> Places | None:
    try:
        with open(name, "rb") as file:
            document = next(from_stream(name, file), None)
    except (OSError, ValueError, KictlError):
        return None
    if not isinstance(document, Document) or document.error is not None:
        return None
    return Places(document.data.decode("utf-8", "replace"), is_yaml=document.format == "yaml")
