"""The published stand-in for the leaderboard as a process, and what it saw."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Replica:
    """A running server. Each line of `log` is a request."""

    url: str
    log: Path

    def requests(self) -> list[tuple[str, int]]:
        """Path below the API, and status, of each request so far."""
        lines = [line.split(" ") for line in self.log.read_text("utf-8").splitlines()]
        return [(parts[2].partition("/api/")[2], int(parts[4])) for parts in lines]


@contextmanager
def replica(shared: Path, corpus: Path, log: Path, *options: str | Path) -> Iterator[Replica]:
    """Serves a corpus until the context is left."""
    log.touch()
    command = [sys.executable, shared / "tools/replica.py", corpus, "--log", log, *options]
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Replica(process.stdout.readline().strip(), log)
        process.terminate()


def part(corpus: Path, kernels: Iterable[int], into: Path) -> Path:
    """A corpus of some definitions of another."""
    wanted = set(kernels)
    listed = json.loads((corpus / "kernels.json").read_text("utf-8"))
    listed["data"]["kernels"] = [row for row in listed["data"]["kernels"] if row["id"] in wanted]
    for folder in ("kernels", "submissions"):
        (into / folder).mkdir(parents=True)
        for number in wanted:
            shutil.copy(corpus / folder / f"{number}.json", into / folder)
    (into / "kernels.json").write_text(json.dumps(listed), "utf-8")
    return into
