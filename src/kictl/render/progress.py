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
    now = Progress(0, 0, 0)

    def report(progress: Progress) -> None:
        nonlocal now
        now = progress
        move(progress.done, progress.total)

    with _bar(lambda elapsed: words(now, elapsed, printable(notes()))) as move:
        yield report


@contextmanager
def counted(what: str, total: Callable[[], int]) -> Iterator[Callable[[], None]]:
    """A callback that draws one step more of `total`, which is asked for only if there is somebody to see it."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    done, whole = 0, total()

    def step() -> None:
        nonlocal done
        done += 1
        move(done, max(done, whole))

    with _bar(lambda _: f"{done}/{max(done, whole)} {what} · time left") as move:
        yield step


@contextmanager
def _bar(say: Callable[[float | None], str]) -> Iterator[Callable[[int, int], None]]:
    """A callback that draws so much done of so much; `say` is asked for words, given the seconds, whenever the bar is
    drawn, so that they change while nothing else moves."""
    from rich.console import Console
    from rich.progress import BarColumn, ProgressColumn, Task, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.table import Column
    from rich.text import Text

    class Words(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(say(task.elapsed))

    console = Console(stderr=True)
    drawn = (BarColumn(bar_width=20), Words(Column(no_wrap=True)), TimeRemainingColumn())
    with Bar(*drawn, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, total=total, completed=done)


def words(now: Progress, elapsed: float | None, notes: str) -> str:
    """How far, how fast, and what else: `elapsed` is in seconds."""
    rate = f" · {now.rows / elapsed:.0f} rows/s" if elapsed and now.rows else ""
    return f"{now.done}/{now.total} definitions · {now.rows} rows{rate}{f' · {notes}' if notes else ''} · time left"
