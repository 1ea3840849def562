"""What a new catalogue compresses against: a dictionary trained to made-up submissions, normalised as any others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random

from kictl import canonical
from kictl.catalogue.bodies import referring, trained
from kictl.model import Definition, Json
from kictl.normalize import definitions, leaderboard

SIZE = 16 << 10
_DEFINITIONS, _SUBMISSIONS = 20, 300

_DETAIL: Json = {
    "id": 1,
    "name": "001_attention_projection_backward",
    "tags": ["attention", "L1"],
    "axes": {
        "batch_size": {"type": "var"},
        "seq_len": {"type": "var"},
        "hidden_size": {"type": "const", "value": 4096},
        "num_tokens": {"type": "expr", "expression": "batch_size * seq_len"},
    },
    "inputs": {
        "hidden_states": {"shape": ["batch_size", "seq_len", "hidden_size"], "dtype": "bfloat16"},
        "weight": {"shape": ["hidden_size"], "dtype": "float32"},
        "eps": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"output": {"shape": ["num_tokens", "hidden_size"], "dtype": "bfloat16"}},
    "workloads": [{"axes": {"batch_size": 1, "seq_len": 512}, "baseline_latency_ms": 0.01, "sol_ms": 0.001}],
}
_ROW: Json = {
    "type": "kernel",
    "collection_id": None,
    "kernel_name": "001_attention_projection_backward",
    "status": "COMPLETED",
    "gpu_type": "B200",
    "is_correct": True,
    "sol_score": 0.5,
    "latency_ms": 0.01,
    "avg_speedup": 1.5,
    "fast_1_count": 16,
    "fast_1_total": 16,
    "worker_id": "external-prod-b200-modal-1",
    "finished_at": "2026-07-10T06:07:05.524000",
}


def content() -> bytes:
    """The dictionary, as zstd makes it; each call the same."""
    return trained(_texts(), SIZE)


def _texts() -> Iterator[bytes]:
    """Bodies of various submissions in the form in which they are compressed."""
    random = Random(1)  # noqa: S311 - nothing secret, and the same each time
    made = [_definition(number, random) for number in range(_DEFINITIONS)]
    documents: list[Json] = []
    for each in made:
        assert each.suite is not None, "made up with cases"  # noqa: S101
        documents += [each.subject.document, each.suite.manifest.document, each.suite.cases[0].document]
    for number in range(10_000, 10_000 + _SUBMISSIONS):
        row, definition = _row(number, random), random.choice(made)
        project = leaderboard.project_manifest(row["username"])
        run = leaderboard.run(row, definition, project, row["evaluation_stack_version"])
        documents += [project.document, run.others[1].document, run.manifest.document, row]
    numbers = count(20_000)
    return (referring(canonical.to_json(document, sort=True), numbers) for document in documents)


def _definition(number: int, random: Random) -> Definition:
    axes = {**_DETAIL["axes"], "hidden_size": {"type": "const", "value": random.choice((1024, 4096, 7168)) + number}}
    return definitions.definition({**_DETAIL, "id": number, "name": f"{number:03}_attention_{number}", "axes": axes})


def _row(number: int, random: Random) -> Json:
    return {
        **_ROW,
        "id": number,
        "username": f"author{random.randrange(100)}",
        "kernel_id": number % _DEFINITIONS,
        "gpu_type": random.choice(("B200", "H100")),
        "evaluation_stack_version": random.choice(("v1.0", "v1.1")),
        "sol_score": round(random.random(), 6),
        "latency_ms": round(random.uniform(0.005, 1), 6),
        "avg_speedup": round(random.uniform(1, 9), 3),
        "fast_1_count": random.randrange(17),
        "worker_id": f"external-prod-b200-{random.randrange(1000)}",
        "finished_at": f"2026-0{random.randrange(1, 10)}-1{random.randrange(10)}T06:07:{random.uniform(10, 60):.6f}",
    }
