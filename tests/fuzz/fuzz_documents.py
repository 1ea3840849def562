"""Coverage-guided fuzzing of verification: `python tests/fuzz/fuzz_documents.py -max_total_time=600`.

Needs atheris, which no other part of the project needs. Anything but a report ends the run.
"""

from __future__ import annotations

import io
import sys

import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

with atheris.instrument_imports():
    from kictl.documents import from_stream
    from kictl.render import findings, github, junit, sarif
    from kictl.verify import verify

NAMES = ("x", "x.json", "x.yaml", "x.jsonl")


def one(data: bytes) -> None:
    """The first byte chooses the name; whatever follows is verified, and the report is written in every form."""
    report = verify(from_stream(NAMES[data[0] % len(NAMES)] if data else "x", io.BytesIO(data[1:])))
    assert report.checked >= report.unreadable
    for text in (findings.render(report), github.render(report), sarif.render(report), junit.render(report)):
        assert text.replace("\n", "").isprintable()


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
