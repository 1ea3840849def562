"""A whole export through `kictl verify`, and through the obvious stacks."""

from __future__ import annotations

import sys
from pathlib import Path

import zstandard

from bench import made, peers
from bench.measure import KICTL, PASS, RESULTS, Goal, Table, peak, process, processes

JOBS = ("--jobs 1", "--jobs 2")


def export(times: int = 1) -> Path:
    """The made-up export with `times` its usual number of lines; written at the first use."""
    path = RESULTS / f"export-{made.LINES * times}.jsonl.zst"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        made.write_export(path, times)
    return path


def importing(rounds: int, real: Path | None) -> list[Table]:
    """The whole export into a new catalogue, beside its verification by one process."""
    paths = [("made up", export()), *([(real.name, real)] if real is not None else [])]
    return [_importing(name, path, rounds) for name, path in paths]


def _importing(name: str, path: Path, rounds: int) -> Table:
    catalogue = RESULTS / "imported.sqlite"
    fresh = f"rm -f {catalogue}*; exec {KICTL} import kernelindex {path} --catalog {catalogue} --quiet"
    commands = {
        "kictl verify --jobs 1": [KICTL, "verify", "--jobs", "1", str(path)],
        "kictl import kernelindex": ["sh", "-c", fresh],
    }
    table = Table(f"Import an export ({name}), as a process", "ms", processes(commands, rounds))
    table.goal("import an export, beside verifying it", "kictl import kernelindex", "kictl verify --jobs 1", "≤", 1.5)
    table.goals.append(Goal("import an export, peak", peak(commands["kictl import kernelindex"]), "≤", 150, "MiB"))
    return table


def verify(rounds: int, real: Path | None) -> list[Table]:
    """All rules over the export of the usual length, one ten times as long, and a real one if there is one."""
    tables = [_verify(f"Verify an export of {made.LINES} lines, as a process", export(), rounds)]
    tables[0].figures["kictl --jobs 1, ten times the lines"], goal = _ten_times()
    tables[0].goals.append(goal)
    if real is not None:
        tables.append(_verify(f"Verify {real.name}, as a process", _compressed(real), rounds))
    return tables


def _compressed(path: Path) -> Path:
    """The export as .zst, which the other stacks read."""
    if path.suffix == ".zst":
        return path
    RESULTS.mkdir(exist_ok=True)
    target = RESULTS / f"{path.name}.zst"
    target.write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
    return target


def _verify(title: str, path: Path, rounds: int) -> Table:
    commands: dict[str, list[str]] = {
        "python -c pass": [*PASS],
        **{f"kictl {jobs}": [KICTL, "verify", *jobs.split(), str(path)] for jobs in JOBS},
        "floor: schema and digest alone": [sys.executable, "-m", "bench.floor", str(path)],
    }
    node = peers.node_command("verify.js", str(path))
    if node is not None:
        commands["Node ajv + canonicalize"] = node
    table = Table(title, "ms", processes(commands, rounds))
    interpreter = peers.python()
    if interpreter is not None:
        stack = [interpreter, str(Path(__file__).with_name("stack.py")), "verify", str(path)]
        table.figures["json + jsonschema + rfc8785"] = process(stack)() * 1e3
    table.goal("verify an export, one process", "kictl --jobs 1", "Node ajv + canonicalize", "≤", 0.45)
    table.goal("verify an export, two processes", "kictl --jobs 2", "Node ajv + canonicalize", "≤", 0.3)
    table.goal("verify an export", "json + jsonschema + rfc8785", "kictl --jobs 1", "≥", 16)
    table.goals += [
        Goal(f"verify an export, peak, {jobs}", peak(commands[f"kictl {jobs}"]), "≤", 60, "MiB") for jobs in JOBS
    ]
    return table


def _ten_times() -> tuple[float, Goal]:
    """Milliseconds for ten times the lines, and the peak against that of the usual number."""
    once, ten = ([KICTL, "verify", "--jobs", "1", str(export(times))] for times in (1, 10))
    milliseconds = process(ten)() * 1e3
    return milliseconds, Goal("verify ten times the lines, peak against once", peak(ten) / peak(once), "≤", 1.15, "×")
