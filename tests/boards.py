"""Small leaderboards in the API's shape, written by the tests that need just these rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kictl.catalogue.store import Catalogue
from kictl.sources.leaderboard import SolExecBench
from kictl.sources.recorded import open_snapshot
from kictl.workflow import importing

Json = dict[str, Any]

HOSTILE = (
    "a | b",
    "[red]x[/red]",
    "=1+1",
    "<script>alert(1)</script>",
    "\x1b[31mred\x1b[0m",
    "evil\u202etxt.exe",
    "算子优化",
    "@mention",
    "back\\slash{brace}",
    "tab\there\nand a line",
    "x" * 150,
)


def detail(
    number: int, name: str, *, cases: int = 2, sol_ms: float = 0.001, tags: Iterable[str] = ("L1", "norm")
) -> Json:
    """A definition with so many cases of 0.010 ms baseline each, and that bound."""
    return {
        "id": number,
        "name": name,
        "title": name,
        "gpu_types": ["B200", "H200"],
        "tags": list(tags),
        "axes": {"rows": {"type": "var"}, "hidden": {"type": "const", "value": 64}},
        "inputs": {"x": {"shape": ["rows", "hidden"], "dtype": "bfloat16"}},
        "outputs": {"y": {"shape": ["rows", "hidden"], "dtype": "bfloat16"}},
        "latency_unit": "ms",
        "workloads": [
            {"axes": {"rows": 2**case, "hidden": 64}, "baseline_latency_ms": 0.010, "sol_ms": sol_ms}
            for case in range(cases)
        ],
    }


def row(number: int, username: str, latency_ms: float | None, **members: Any) -> Json:
    """A passed submission; later ids are later. `day` is of July 2026."""
    day = members.pop("day", 1)
    return {
        "id": number,
        "username": username,
        "status": "COMPLETED",
        "is_correct": True,
        "latency_ms": latency_ms,
        "sol_score": None if latency_ms is None else round(1 / (1 + (latency_ms - 0.001) / 0.009), 6),
        "avg_speedup": 2.0,
        "fast_1_count": 2,
        "fast_1_total": 2,
        "gpu_type": "B200",
        "evaluation_stack_version": "v1.1",
        "is_disqualified": False,
        "finished_at": f"2026-07-{day:02d}T00:00:00.000000",
        **members,
    }


def write(folder: Path, boards: Iterable[tuple[Json, list[Json]]]) -> Path:
    """The folder of a leaderboard with these definitions and their submissions."""
    (folder / "kernels").mkdir(parents=True, exist_ok=True)
    (folder / "submissions").mkdir(exist_ok=True)
    kernels = []
    for definition, rows in boards:
        about = {"kernel_id": definition["id"], "kernel_name": definition["name"]}
        kernels.append({name: definition[name] for name in ("id", "name", "title", "gpu_types", "tags")})
        kernels[-1]["submission_count"] = len(rows)
        _write(folder / f"kernels/{definition['id']}.json", {"data": definition})
        _write(folder / f"submissions/{definition['id']}.json", [about | submission for submission in rows])
    _write(folder / "kernels.json", {"data": {"kernels": kernels}})
    return folder


def imported(folder: Path, into: Path, boards: Iterable[tuple[Json, list[Json]]]) -> Path:
    """One more import of such a leaderboard into a catalogue, which is returned."""
    with open_snapshot(write(folder, boards)) as fetcher, Catalogue.create(into) as catalogue:
        importing.run(SolExecBench(fetcher), catalogue, importing.Selection(), resume=False)
    return into


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), "utf-8")
