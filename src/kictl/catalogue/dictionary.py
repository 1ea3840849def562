"""The content that a new catalogue compresses against: one made-up submission, normalised as any other."""

from __future__ import annotations

from kictl import canonical
from kictl.model import Json
from kictl.normalize import definitions, leaderboard

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
    "username": "author",
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
    """The manifests of two such submissions, in the form in which bodies are stored."""
    definition = definitions.definition(_DETAIL)
    documents = [definition.operation.document, definition.suite.document, definition.cases[0].document]
    for number, stack in enumerate(("v1.0", "v1.1"), start=10000):
        row = {**_ROW, "id": number, "evaluation_stack_version": stack}
        made = leaderboard.run_manifests(row, definition, row["gpu_type"], stack)
        manifests = (made.project, made.protocol, made.environment, made.implementation, made.run)
        documents += [manifest.document for manifest in manifests]
    return b"\n".join(canonical.to_json(document, sort=True) for document in documents)
