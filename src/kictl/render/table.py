"""Grids as text for a terminal; the owner of rich."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kictl.render.grid import NARROWEST, Grid
from kictl.text import printable

PIPED_WIDTH = 200
ROOMY = 100
"""From this width on, columns are set two spaces apart instead of one, and digests are shown whole."""
_INDENT = " " * 4


def width() -> int:
    """Columns to fill: those of the terminal or of COLUMNS; when piped, enough for any row."""
    return Console().width if _has_width() else PIPED_WIDTH


def is_roomy() -> bool:
    """Whether tables may spread out; when piped they stay as narrow as their cells allow."""
    return _has_width() and width() >= ROOMY


def _has_width() -> bool:
    return os.environ.get("COLUMNS", "").isdigit() or sys.stdout.isatty()


def render(grids: Sequence[Grid], *, columns: int, roomy: bool, colour: bool) -> str:
    """The grids, one below the other; rows are never wrapped, cells are cut where they must be; text is wrapped."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=columns,
        force_terminal=colour,
        no_color=not colour,
        highlight=False,
        emoji=False,
        markup=False,
    )
    for number, grid in enumerate(grids):
        if number:
            console.print()
        for position, line in enumerate(grid.head):
            _print_line(console, line, "bold" if position == 0 else "")
        if grid.rows and grid.facts:
            _print_facts(console, grid)
        elif grid.rows:
            _print_table(console, grid, gap=2 if roomy else 1)
        for line in grid.foot:
            _print_line(console, line, "dim")
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _print_line(console: Console, line: str, style: str) -> None:
    """A line of text; where it is too long, what follows is indented as it is."""
    indent = len(line) - len(line.lstrip(" "))
    text = Text(printable(line.lstrip(" ")))
    for part in text.wrap(console, max(NARROWEST, console.width - indent)) or [text]:
        console.print(Text(" " * indent) + part, style=style)


def _print_table(console: Console, grid: Grid, gap: int) -> None:
    """The columns that there is room for, and the names of the others."""
    widths = _widths(grid, console.width, gap)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, gap - 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for position, column_width in widths.items():
        column = grid.columns[position]
        table.add_column(Text(column.name), justify=column.align, no_wrap=True, overflow="ellipsis", width=column_width)
    for row in grid.rows:
        cells = [Text(printable(row.cells[position])) for position in widths]
        table.add_row(*cells, style="dim" if row.reference else None)
    console.print(table)
    if hidden := [column.name for position, column in enumerate(grid.columns) if position not in widths]:
        _print_line(console, f"no room for: {', '.join(hidden)}", "dim")


def _print_facts(console: Console, grid: Grid) -> None:
    """Names and values; one with a word that would be broken, such as a digest, stands below its name."""
    width = min(_needed(grid, 0), console.width // 2) + 2
    for row in grid.rows:
        name, value = (Text(printable(cell)) for cell in row.cells)
        longest = max(Text(word).cell_len for word in value.plain.split(" "))
        if console.width - width < longest <= console.width - len(_INDENT):
            parts = value.wrap(console, console.width - len(_INDENT))
            console.print(name, *(Text(_INDENT) + part for part in parts), sep="\n", soft_wrap=True)
            continue
        name.truncate(width - 2, overflow="ellipsis")
        name.pad_right(width - name.cell_len)
        for number, line in enumerate(value.wrap(console, max(NARROWEST, console.width - width))):
            console.print(Text(" " * width) + line if number else name + line, soft_wrap=True)


def _widths(grid: Grid, columns: int, gap: int) -> dict[int, int]:
    """The width of each column that is shown: flexible ones give way first, then the least important go."""
    wanted = {position: _needed(grid, position) for position in range(len(grid.columns))}
    shown = sorted(wanted, key=lambda position: grid.columns[position].importance)
    while True:
        flexible = [position for position in shown if grid.columns[position].flexible]
        excess = sum(wanted[position] + gap for position in shown) - gap - columns
        give = sum(max(0, wanted[position] - grid.columns[position].narrowest) for position in flexible)
        if excess <= give or len(shown) == 1 or not grid.columns[shown[-1]].importance:
            break
        shown.pop()
    for _ in range(excess if flexible else 0):
        # The one that is furthest above what it needs at least.
        widest = max(flexible, key=lambda position: wanted[position] - grid.columns[position].narrowest)
        wanted[widest] = max(1, wanted[widest] - 1)
    return {position: wanted[position] for position in sorted(shown)}


def _needed(grid: Grid, position: int) -> int:
    cells = [printable(row.cells[position]) for row in grid.rows]
    return max(Text(text).cell_len for text in [grid.columns[position].name, *cells])
