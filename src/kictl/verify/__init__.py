"""Verification: documents in, findings out.

from kictl.documents import from_inputs
from kictl.verify import Options, verify

report = verify(from_inputs(["run.json"], sys.stdin.buffer), Options(closed=True))
report.ok, report.findings
"""

from __future__ import annotations

from kictl.verify.context import Context, Nothing, RunBounds, SourceState
from kictl.verify.engine import Options, verify
from kictl.verify.registry import RULES, Rule, chosen, in_order
from kictl.verify.report import Report

__all__ = [
    "RULES",
    "Context",
    "Nothing",
    "Options",
    "Report",
    "Rule",
    "RunBounds",
    "SourceState",
    "chosen",
    "in_order",
    "verify",
]
