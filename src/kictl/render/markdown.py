"""Grids as Markdown tables, with everything that could be markup escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kictl.render.grid import Grid
from kictl.text import printable

_MARKUP = re.compile(r"[\\`*_{}\[\]()<>#|~&]|^[-+]|!(?=\[)")
_LINKS = re.compile(r":(?=//)|@|(?<=www)\.", re.IGNORECASE)


def escape(text: str) -> str:
    """Untrusted text as plain Markdown text: no cell break, no markup, no HTML, no mention, no link."""
    plain = _MARKUP.sub(lambda match: f"\\{match[0]}", printable(text))
    return _LINKS.sub(lambda match: f"&#{ord(match[0])};", plain)


def render(grids: Sequence[Grid]) -> str:
    return "\n".join(_grid(grid) for grid in grids)


def _grid(grid: Grid) -> str:
    title, *facts = grid.head
    lines = [f"### {escape(title)}", "", *(f"{escape(line)}  " for line in facts), ""]
    if grid.rows:
        lines += [
            line([escape(column.name) for column in grid.columns]),
            line(["---:" if column.align == "right" else ":---" for column in grid.columns]),
            *(line([escape(cell) for cell in row.cells]) for row in grid.rows),
            "",
        ]
    lines += [f"{escape(line)}  " for line in grid.foot]
    return "\n".join(lines).rstrip() + "\n"


def line(cells: Sequence[str]) -> str:
    """One line of a table, of cells that are escaped already."""
    return f"| {' | '.join(cells)} |"
