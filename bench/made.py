"""Made-up leaderboards of any size and the exports of them: the same bytes at every run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from kictl import canonical
from kictl.model import Definition, Manifest
from kictl.normalize import definitions, leaderboard

Json = dict[str, Any]

DEFINITIONS, RUNS, LINES = 235, 7_857, 40_795
"""The mix of a public catalogue's export: 35,458 manifests on 40,795 lines, most of which hold none."""

_WORDS = "attention projection norm rope gemm softmax gate expert cache conv residual fused quant scan mask".split()  # noqa: SIM905 - shorter than fourteen quoted words
_GPUS = ("B200", "B200", "B200", "H200", "H100")
_STACKS = ("v1.0", "v1.1", "v1.1")
_START = datetime(2026, 6, 1)  # noqa: DTZ001 - the leaderboard's times have no zone


def detail(number: int) -> Json:
    """A definition as the leaderboard's API states it, with 16 cases; most have tolerances."""
    random = Random(number)
    hidden, heads = random.choice((2048, 4096, 5120, 7168)), random.choice((8, 16, 64))
    axes = {
        "batch_size": {"type": "var"},
        "seq_len": {"type": "var"},
        "hidden_size": {"type": "const", "value": hidden},
        "num_heads": {"type": "const", "value": heads},
        "num_tokens": {"type": "expr", "expression": "batch_size * seq_len"},
    }
    shapes = (["batch_size", "seq_len", "hidden_size"], ["hidden_size"], ["num_heads", "hidden_size"])
    tensors = {
        name: {"shape": shape, "dtype": random.choice(("bfloat16", "float32", "float8_e4m3fn"))}
        for name, shape in zip(("hidden_states", "norm_weight", "projection_weight"), shapes, strict=True)
    }
    # 1e-05 is written otherwise by Python's json than by RFC 8785, 5e-06 by orjson.
    tolerance = random.choices(({}, {"max_atol": 1e-5, "max_rtol": 0.01}, {"max_atol": 5e-6}), (54, 40, 6))[0]
    return {
        "id": number,
        "name": f"{number:03}_" + "_".join(random.sample(_WORDS, 4)),
        "tags": [random.choice(_WORDS), random.choice(("L1", "L2"))],
        "axes": axes,
        "inputs": {**tensors, "eps": {"shape": None, "dtype": "float32"}},
        "outputs": {"output": {"shape": ["num_tokens", "hidden_size"], "dtype": "bfloat16"}},
        "latency_unit": "ms",
        "sol_is_dummy": False,
        "workloads": [_workload(random, hidden, heads, tolerance) for _ in range(16)],
    }


def _workload(random: Random, hidden: int, heads: int, tolerance: Json) -> Json:
    batch, length = random.choice((1, 2, 4, 8, 16, 32, 64)), random.randrange(64, 8192)
    sol = round(random.lognormvariate(-4, 1), 4)
    axes = {"batch_size": batch, "hidden_size": hidden, "num_heads": heads, "seq_len": length}
    return {
        "axes": {**axes, "num_tokens": batch * length},
        "baseline_latency_ms": round(sol * random.uniform(2.5, 9), 6),
        "sol_ms": sol,
        **({"tolerance": tolerance} if tolerance else {}),
    }


def row(number: int, definition: Definition) -> Json:
    """A submission under a definition, as the API lists it: passed, faster than its baseline."""
    random = Random(number)
    latency = round(random.lognormvariate(-2, 1.2), 6)
    finished = _START + timedelta(seconds=number * 37, milliseconds=random.randrange(1000))
    return {
        "id": number,
        "type": "kernel",
        "username": f"{random.choice(_WORDS)}-{int(random.paretovariate(0.7)) % 300}",
        "kernel_id": int(definition.external_id),
        "kernel_name": definition.name,
        "kernel_title": definition.name,
        "submission_mode": "release",
        "status": "COMPLETED",
        "is_correct": True,
        "sol_score": round(random.uniform(0.51, 0.93), 6),
        "latency_ms": latency,
        "benchmark_results": None,
        "fast_1_count": random.randrange(9, 17),
        "fast_1_total": 16,
        "avg_speedup": round(random.uniform(1.05, 6), 3),
        "gpu_type": random.choice(_GPUS),
        "worker_id": f"B200-ext-prod-{random.randrange(4000)}",
        "evaluation_stack_version": random.choice(_STACKS),
        "is_disqualified": False,
        "submitted_at": None,
        "finished_at": finished.isoformat(timespec="microseconds"),
        "error_log": None,
    }


def export_lines(times: int = 1) -> Iterator[bytes]:
    """The lines of an export, each a JSON object {table, row}; `times` as many of them, all different."""
    for part in range(times):
        yield from _part(part * DEFINITIONS, part * RUNS)


def _part(first_definition: int, first_run: int) -> Iterator[bytes]:
    made = [definitions.definition(detail(first_definition + number)) for number in range(1, DEFINITIONS + 1)]
    count = 0
    for definition in made:
        case_lines = [_line("workload_case", _named("workloadDigest", case)) for case in definition.cases]
        yield _line("operation", _named("semanticDigest", definition.operation))
        yield _line("workload_suite", _named("workloadDigest", definition.suite))
        yield from case_lines
        count += 2 + len(case_lines)
    for number in range(first_run, first_run + RUNS):
        definition = made[number % DEFINITIONS]
        yield from _run_lines(row(10_000 + number, definition), definition)
    for number in range(LINES - count - 2 * RUNS):
        yield _line("ranking_entry", _entry(number, made[number % DEFINITIONS]))


def _run_lines(submission: Json, definition: Definition) -> Iterator[bytes]:
    run = leaderboard.submission(submission, definition).run
    assert run is not None
    yield _line("implementation", _named("implementationDigest", run.implementation))
    bundle = {part: getattr(run, part).document for part in ("run", "protocol", "environment")}
    digests = {f"{part}Digest": getattr(run, part).digest for part in bundle}
    yield _line("benchmark_run", {**digests, "comparisonKey": run.comparison_key, "manifest": bundle})


def _named(column: str, manifest: Manifest) -> Json:
    return {column: manifest.digest, "name": manifest.document["metadata"]["name"], "manifest": manifest.document}


def _entry(number: int, definition: Definition) -> Json:
    """A line without a manifest, as most of an export's are."""
    return {
        "definition": definition.name,
        "rank": number // DEFINITIONS + 1,
        "latencyNs": 7_000 + number,
        "tied": False,
    }


def _line(table: str, content: Json) -> bytes:
    return canonical.canonical_bytes({"table": table, "row": content})


def manifests(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The manifests on the lines, as texts of their own: those of a bundle one by one."""
    for line in lines:
        manifest = canonical.read(line)["row"].get("manifest")
        if manifest is not None:
            yield from map(canonical.to_json, [manifest] if "kind" in manifest else manifest.values())


def write_export(path: Path, times: int = 1) -> None:
    """The export as one compressed file."""
    import zstandard

    temporary = path.with_suffix(".new")
    with temporary.open("wb") as file, zstandard.ZstdCompressor(level=3).stream_writer(file) as writer:
        for line in export_lines(times):
            writer.write(line + b"\n")
    temporary.replace(path)
