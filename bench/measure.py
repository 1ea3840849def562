"""Interleaved rounds of functions and processes, and what their medians say about a goal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, TypeVar

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results")
BIN = Path(sys.executable).parent
KICTL = str(BIN / "kictl")
PASS = (sys.executable, "-c", "pass")
"""The shortest process there is, for scale."""


T = TypeVar("T")


@dataclass(frozen=True)
class Goal:
    """What was to be reached: `measured`, a ratio or number, at least or at most `limit`; None where a peer is absent.

    `reason` says why there is no number.
    """

    work: str
    measured: float | None
    relation: str
    limit: float
    unit: str
    reason: str = ""

    @property
    def met(self) -> bool | None:
        if self.measured is None:
            return None
        return self.measured >= self.limit if self.relation == "≥" else self.measured <= self.limit


@dataclass
class Table:
    """The medians of one kind of work, in its unit, and the goals that they are held against.

    `rounds` has what they are the medians of, where that is known.
    """

    title: str
    unit: str
    rounds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.figures |= {name: median(values) for name, values in self.rounds.items()}

    def goal(self, work: str, top: str, bottom: str, relation: str, limit: float) -> None:
        """Holds the ratio of two figures against a limit: the median of the rounds' own ratios.

        A machine that is slower for a while is slower for both.
        """
        absent = [name for name in (top, bottom) if name not in self.figures]
        ratio = None
        if top in self.rounds and bottom in self.rounds:
            ratio = median(a / b for a, b in zip(self.rounds[top], self.rounds[bottom], strict=True))
        elif not absent:
            ratio = self.figures[top] / self.figures[bottom]
        self.goals.append(Goal(work, ratio, relation, limit, "×", ", ".join(f"no {name}" for name in absent)))


def interleaved(tasks: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """What each task returned in each round; every round does all tasks once, after one that does not count."""
    results: dict[str, list[T]] = {name: [] for name in tasks}
    for number in range(rounds + 1):
        for name, task in tasks.items():
            result = task()
            if number:
                results[name].append(result)
    return results


def scaled(results: Mapping[str, Sequence[float]], scale: float) -> dict[str, list[float]]:
    return {name: [value * scale for value in values] for name, values in results.items()}


def timed(function: Callable[..., object], items: Sequence[tuple[Any, ...]]) -> Callable[[], float]:
    """A task: the seconds that `function` takes with each of the arguments, on average."""

    def task() -> float:
        start = perf_counter()
        for item in items:
            function(*item)
        return (perf_counter() - start) / len(items)

    return task


def process(command: Sequence[str]) -> Callable[[], float]:
    """A task: the seconds of one process, its output thrown away."""

    def task() -> float:
        start = perf_counter()
        _finished(command, subprocess.DEVNULL)
        return perf_counter() - start

    return task


def processes(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[float]]:
    """The milliseconds of each command in each round."""
    return scaled(interleaved({name: process(command) for name, command in commands.items()}, rounds), 1e3)


# What a process is started from counts as its peak, too, so that a small one has to start it.
_PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def peak(command: Sequence[str]) -> float:
    """The most MiB that a process, or the largest of its own processes, held."""
    return int(_finished([sys.executable, "-I", "-S", "-c", _PEAK, *command], subprocess.PIPE)) / 1024


def _finished(command: Sequence[str], stdout: int) -> bytes:
    # Modules are read as compiled, as where kictl is installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=stdout, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    return done.stdout or b""
