"""Progress of long work, on a terminal's stderr and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kictl.text import printable
from kictl.workflow.importing import Progress

Report = Callable[[Progress], None]


@contextmanager
def shown(notes: Callable[[], str], *, quiet: bool) -> Iterator[Report]:
    """A callback that draws how far an import is; `notes` adds what the source has to say, such as retries."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, ProgressColumn, Task, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.table import Column
    from rich.text import Text

    class Words(ProgressColumn):
        """Asked for its text whenever the bar is drawn, so that retries show while nothing else moves."""

        def render(self, task: Task) -> Text:
            return Text(words(task.fields["now"], task.elapsed, printable(notes())))

    console = Console(stderr=True)
    drawn = (BarColumn(bar_width=20), Words(Column(no_wrap=True)), TimeRemainingColumn())
    with Bar(*drawn, console=console, transient=True) as bar:
        task = bar.add_task("import", total=None, now=Progress(0, 0, 0))
        yield lambda now: bar.update(task, total=now.total, completed=now.done, now=now)


def words(now: Progress, elapsed: float | None, notes: str) -> str:
    """How far, how fast, and what else: `elapsed` is in seconds."""
    rate = f" · {now.rows / elapsed:.0f} rows/s" if elapsed and now.rows else ""
    return f"{now.done}/{now.total} definitions · {now.rows} rows{rate}{f' · {notes}' if notes else ''} · time left"
