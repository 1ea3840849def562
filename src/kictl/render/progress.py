"""Progress of long work, on a terminal's stderr and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kictl.workflow.importing import Progress

Report = Callable[[Progress], None]


@contextmanager
def shown(notes: Callable[[], str], *, quiet: bool) -> Iterator[Report]:
    """A callback that draws how far an import is; `notes` adds what the source has to say, such as retries."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("definitions · {task.fields[rows]} rows{task.fields[notes]} ·"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("import", total=None, rows=0, notes="")
        yield lambda now: bar.update(task, total=now.total, completed=now.done, rows=now.rows, notes=notes())
