"""Coverage-guided fuzzing of the strict reader, for `python tests/fuzz/fuzz_read.py -max_total_time=600`.

Needs atheris, which no other part of the project needs. Any exception but ParseError ends the run.
"""

from __future__ import annotations

import re
import sys

import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

with atheris.instrument_imports():
    from kictl.canonical import MAX_DEPTH, ParseError, canonical_bytes, read
    from kictl.strictjson import decode, parse

LONG_INTEGER = re.compile(rb"[0-9]{16}")


def one(data: bytes) -> None:
    """Both paths read alike, and what was read has canonical bytes that read as themselves."""
    try:
        value = read(data)
    except ParseError:
        return
    assert repr(parse(decode(data), max_depth=MAX_DEPTH)) == repr(value)
    out = canonical_bytes(value)
    assert canonical_bytes(value, checked=True) == out
    if not LONG_INTEGER.search(out):  # 1e20 is written as an integer, which a strict reader refuses
        assert canonical_bytes(read(out)) == out


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
