"""A made-up leaderboard of any size, in the API's shape: the same numbers always give the same files.

python bench/synthetic.py FOLDER [SUBMISSIONS [KERNELS]]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

KERNELS = 235
SUBMISSIONS = 60_000

Json = dict[str, Any]

_OPERATIONS = ("softmax", "rms_norm", "moe_router", "attention_decode", "gemm_fp8", "rope", "layer_norm_backward")
_GPUS = ("B200", "B200", "B200", "H100")
_STACKS = ("v1.0", "v1.1", "v1.1", "v1.1")


def write(folder: Path, submissions: int = SUBMISSIONS, kernels: int = KERNELS) -> Path:
    """Writes kernels.json, kernels/<id>.json and submissions/<id>.json below `folder`; returns it."""
    for place in (folder / "kernels", folder / "submissions"):
        place.mkdir(parents=True, exist_ok=True)
    counts = [submissions // kernels + (number < submissions % kernels) for number in range(kernels)]
    first = 0
    listed = []
    for number, count in enumerate(counts, start=1):
        detail = definition(number)
        listed.append({name: detail[name] for name in ("id", "name", "title", "gpu_types", "tags")})
        listed[-1]["submission_count"] = count
        _write(folder / f"kernels/{number}.json", {"data": detail})
        _write(folder / f"submissions/{number}.json", list(rows(detail, first, count)))
        first += count
    _write(folder / "kernels.json", {"data": {"kernels": listed}})
    return folder


def definition(number: int) -> Json:
    """The detail of one definition: two axes that vary, sixteen cases."""
    random = Random(number)
    operation = random.choice(_OPERATIONS)
    name = f"{number:03}_{operation}_{number}"
    hidden = random.choice((1024, 2048, 4096, 7168))
    return {
        "id": number,
        "name": name,
        "title": name,
        "gpu_types": ["B200", "H100"],
        "tags": [operation.partition("_")[0], "L1"],
        "description": f"A made-up {operation} over rows of {hidden}.",
        "axes": {
            "batch_size": {"type": "var"},
            "seq_len": {"type": "var"},
            "hidden_size": {"type": "const", "value": hidden},
            "num_tokens": {"type": "expr", "expression": "batch_size * seq_len"},
        },
        "inputs": {
            "x": {"shape": ["batch_size", "seq_len", "hidden_size"], "dtype": "bfloat16"},
            "weight": {"shape": ["hidden_size"], "dtype": "float32"},
            "eps": {"shape": None, "dtype": "float32"},
        },
        "outputs": {"y": {"shape": ["num_tokens", "hidden_size"], "dtype": "bfloat16"}},
        "baseline_latency_ms": None,
        "latency_unit": "ms",
        "sol_is_dummy": False,
        "workloads": [_workload(random, case) for case in range(16)],
    }


def _workload(random: Random, case: int) -> Json:
    bound = round(random.uniform(1e-4, 1e-1), 8)
    axes = {"batch_size": 1 << case % 4, "seq_len": 128 << case // 4}
    return {"axes": axes, "sol_ms": bound, "baseline_latency_ms": round(bound * random.uniform(2, 20), 7)}


def rows(detail: Json, first: int, count: int) -> Iterator[Json]:
    """The submissions of one definition, newest first; about one in twelve is no run."""
    random = Random(f"{detail['id']} {first} {count}")
    for place in range(count):
        number = 1 + first + count - 1 - place
        author = min(random.randrange(400), random.randrange(400))
        yield _submission(random, detail, number, f"author {author}")


def _submission(random: Random, detail: Json, number: int, author: str) -> Json:
    at = f"2026-{1 + number // 9000 % 9:02}-{1 + number // 300 % 28:02}T{number // 13 % 24:02}:{number % 60:02}"
    latency = round(random.uniform(0.002, 0.5), 6)
    finished = random.random() > 0.04
    return {
        "id": number,
        "type": "kernel",
        "username": author,
        "user_id": None,
        "kernel_id": detail["id"],
        "kernel_name": detail["name"],
        "kernel_title": detail["title"],
        "collection_id": None,
        "submission_mode": "release",
        "status": "COMPLETED" if finished else "PENDING_RESULT",
        "is_correct": random.random() > 0.03 if finished else None,
        "sol_score": round(random.uniform(0.1, 0.99), 6) if finished else None,
        "latency_ms": latency if finished else None,
        "avg_speedup": round(random.uniform(0.5, 9), 4) if finished else None,
        "fast_1_count": random.randrange(17) if finished else None,
        "fast_1_total": 16 if finished else None,
        "benchmark_results": None,
        "gpu_type": random.choice(_GPUS),
        "worker_id": f"worker-{random.randrange(4)}",
        "evaluation_stack_version": random.choice(_STACKS),
        "is_disqualified": random.random() < 0.01,
        "disqualification_reason": None,
        "disqualification_source": None,
        "disqualified_at": None,
        "submitted_at": f"{at}:01.000001",
        "finished_at": f"{at}:{number % 59:02}.{number % 1000:03}912",
        "error_log": None,
        "original_filename": None,
    }


def _write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
