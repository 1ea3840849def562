"""Made-up exports of any length in the mix of a public one: the same bytes at every run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from bench import synthetic
from kictl import canonical
from kictl.model import Definition, Manifest, Submission
from kictl.normalize import definitions, leaderboard
from kictl.verify import rows
from kictl.verify.claims import OWN_COLUMN

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
        "kernel_id": int(definition.external_id or 0),
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
    submissions = [
        leaderboard.submission(row(10_000 + number, made[number % DEFINITIONS]), made[number % DEFINITIONS])
        for number in range(first_run, first_run + RUNS)
    ]
    count = 1
    yield _line("sources", {"id": leaderboard.SOURCE, "slug": leaderboard.SOURCE, "kind": "leaderboard"})
    for line in (*_definitions(made), *_submitted(submissions)):
        yield line
        count += 1
    for number in range(LINES - count):
        digest = canonical.digest([first_run, number])
        yield _line("artifacts", {"id": digest, "contentDigest": digest, "kind": "log", "sizeBytes": number})


def _definitions(made: list[Definition]) -> Iterator[bytes]:
    for each in made:
        assert each.suite is not None
        yield _line("operations", _row("OperationSpec", each.subject, name=each.name, tags=list(each.tags)))
        yield from (_line("workloads", _row(w.kind, w)) for w in (each.suite.manifest, *each.suite.cases))


def _submitted(submissions: list[Submission]) -> Iterator[bytes]:
    projects: set[str] = set()
    for submission in submissions:
        (run,) = submission.runs
        project, implementation, protocol, environment = run.others
        if project.digest not in projects:
            projects.add(project.digest)
            yield _line("projects", _row("SoftwareProject", project))
        about = {"projectId": project.digest, "sourceRevision": f"submission-{submission.external_id}"}
        yield _line("implementations", _row("ImplementationRevision", implementation, **about))
        bundle = {"run": run.manifest, "protocol": protocol, "environment": environment}
        yield _line(
            "benchmark_runs",
            {
                **_row("BenchmarkRun", run.manifest),
                **rows.hardware(environment.spec),
                "implementationId": implementation.digest,
                "workloadId": run.cohort.workload,
                "sourceId": leaderboard.SOURCE,
                "comparisonKey": run.cohort.key,
                "publishedAt": run.spec["observedAt"],
                "manifest": {part: manifest.document for part, manifest in bundle.items()},
            },
        )
        for metric, statistic, unit, value in rows.measurements(run.spec):
            measured = {"metric": metric, "statistic": statistic, "unit": unit, "value": value}
            yield _line("measurements", {"id": f"{run.manifest.digest}/0", "runId": run.manifest.digest, **measured})


def _row(kind: str, manifest: Manifest, **columns: Any) -> Json:
    """A row as exports have it: what it repeats of its manifest, and that."""
    own = OWN_COLUMN.get(kind)
    claimed = {} if own is None else {own: manifest.digest}
    return {
        "id": manifest.digest,
        **claimed,
        **rows.derived(kind, manifest.spec),
        **columns,
        "manifest": manifest.document,
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
