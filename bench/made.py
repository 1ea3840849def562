"""Made-up exports of any length in the mix of a public one: the same bytes at every run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from bench import synthetic
from kictl import canonical
from kictl.model import Definition, Manifest
from kictl.normalize import definitions, leaderboard

Json = dict[str, Any]

DEFINITIONS, RUNS, LINES = 235, 7_857, 40_795
"""The mix of a public catalogue's export: 35,458 manifests on 40,795 lines, most of which hold none."""

_GPUS = ("B200", "B200", "B200", "H200", "H100")
_STACKS = ("v1.0", "v1.1", "v1.1")
_START = datetime(2026, 6, 1)
# Python's json writes 1e-05 otherwise than RFC 8785 does, orjson 5e-06.
_TOLERANCES: tuple[Json, ...] = ({}, {"max_atol": 1e-5, "max_rtol": 0.01}, {"max_atol": 5e-6})


def definition(number: int) -> Definition:
    """A definition with 16 cases, which often have tolerances."""
    detail = synthetic.definition(number)
    detail["axes"]["hidden_size"]["value"] += number  # no two operations are the same
    tolerance = Random(number).choices(_TOLERANCES, (54, 40, 6))[0]
    for workload in detail["workloads"]:
        workload["tolerance"] = tolerance
    return definitions.definition(detail)


def row(number: int, definition: Definition) -> Json:
    """A submission under a definition, as the API lists it: passed, faster than its baseline."""
    random = Random(number)
    latency = round(random.lognormvariate(-2, 1.2), 6)
    finished = _START + timedelta(seconds=number * 37, milliseconds=random.randrange(1000))
    return {
        "id": number,
        "type": "kernel",
        "username": f"author-{int(random.paretovariate(0.7)) % 300}",
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
    made = [definition(first_definition + number) for number in range(1, DEFINITIONS + 1)]
    count = 0
    for each in made:
        case_lines = [_line("workload_case", _named("workloadDigest", case)) for case in each.cases]
        yield _line("operation", _named("semanticDigest", each.operation))
        yield _line("workload_suite", _named("workloadDigest", each.suite))
        yield from case_lines
        count += 2 + len(case_lines)
    for number in range(first_run, first_run + RUNS):
        each = made[number % DEFINITIONS]
        yield from _run_lines(row(10_000 + number, each), each)
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
