"""python -m bench [NAME]... [--quick] [--json FILE] [--export FILE]: the tables, and which goals are met."""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from bench import catalogues, commands, documents, exports, peers
from bench.measure import RESULTS, Goal, Table
from kictl.__main__ import COLLECT_EVERY

LIBRARIES = ("orjson", "rfc8785", "jsonschema", "jsonschema-rs", "typer", "rich", "zstandard")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="few rounds and small catalogues, for a first look")
    parser.add_argument("--json", type=Path, default=RESULTS / "latest.json", metavar="FILE")
    parser.add_argument(
        "--export", type=Path, metavar="FILE", help="a published export, .jsonl or .jsonl.zst, to verify as well"
    )
    options = parser.parse_args()
    known = _known(options.quick, options.export)
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"no table is called {unknown[0]}; there are {', '.join(known)}")
    gc.set_threshold(COLLECT_EVERY)  # as where kictl runs
    machine = _machine()
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    tables: list[Table] = []
    for name in options.names or known:
        for table in known[name]():
            print(_text(table), flush=True)
            tables.append(table)
    for peer, reason in peers.missing.items():
        print(f"\nwithout {peer}: {reason}")
    print("\n" + _goals(goal for table in tables for goal in table.goals))
    _write(options.json, {"machine": machine, "tables": [_plain(table) for table in tables], "missing": peers.missing})
    return 0


def _known(quick: bool, export: Path | None) -> dict[str, Callable[[], list[Table]]]:
    rounds, count = (3, 2000) if quick else (15, 4000)
    small, large = (1_000, 20_000) if quick else (10_000, 1_000_000)
    return {
        "digest": lambda: [documents.digest(count, rounds)],
        "validate": lambda: [documents.validate(count, rounds)],
        "verify": lambda: exports.verify(rounds, export),
        "export": lambda: exports.importing(rounds, export),
        "startup": lambda: [commands.startup(rounds)],
        "files": lambda: [commands.files(rounds)],
        "import": lambda: [catalogues.importing(6_000 if quick else 60_000, 1 if quick else 3)],
        "size": lambda: [catalogues.size(large // 2)],
        "compare": lambda: [catalogues.comparing(small, large, rounds)],
    }


def _machine() -> dict[str, object]:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        processor = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor() or platform.machine()
    return {
        "processor": processor,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.system(),
        "Python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
    }


def _text(table: Table) -> str:
    width = max(len(name) for name in table.figures)
    lines = [f"  {name:{width}} {_number(value):>10} {table.unit}" for name, value in table.figures.items()]
    return "\n".join(["", table.title, *lines, *(f"  {note}" for note in table.notes)])


def _goals(goals: Iterable[Goal]) -> str:
    words = {True: "met", False: "NOT MET", None: "not measured"}
    lines = [f"{'goal':52} {'':>2} {'limit':>7} {'measured':>12}"]
    for goal in goals:
        measured = goal.reason if goal.measured is None else f"{_number(goal.measured)} {goal.unit}"
        lines.append(f"{goal.work:52} {goal.relation:>2} {goal.limit:>7,g} {measured:>12}  {words[goal.met]}")
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


def _plain(table: Table) -> dict[str, object]:
    return {**asdict(table), "goals": [{**asdict(goal), "met": goal.met} for goal in table.goals]}


def _write(path: Path, results: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
