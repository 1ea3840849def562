"""CSV that a spreadsheet cannot be tricked with."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from kictl.text import printable

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def defuse(value: object) -> object:
    """Numbers as they are; text that a spreadsheet would take for a formula gets an apostrophe in front."""
    if value is None or isinstance(value, int | float):
        return value
    text = printable(str(value))
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def render(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """RFC 4180 text, lines ended by CRLF; None is an empty field."""
    return "".join(lines(header, rows))


def lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """As `render`, record by record."""
    out = io.StringIO()
    writer = csv.writer(out)
    for row in chain([header], ([defuse(value) for value in row] for row in rows)):
        writer.writerow(row)
        yield out.getvalue()
        out.seek(0)
        out.truncate()
