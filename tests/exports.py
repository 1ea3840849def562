"""Made-up catalogue exports: lines {"table", "row"} with manifests of every kind, keys and digests as they must be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rfc8785

Json = dict[str, Any]

API_VERSION = "kernelindex.dev/v1alpha1"
GOOD = Path(__file__).parents[1] / "fixtures/manifests/good"


def sha(value: Any) -> str:
    return "sha256:" + hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def identity(manifest: Json) -> str:
    """The identity digest by its definition, not by kictl's code."""
    return sha({member: manifest[member] for member in ("apiVersion", "kind", "spec")})


def good(kind: str) -> Json:
    """The fixture with every member of a kind."""
    manifest: Json = json.loads((GOOD / f"{kind}-full.json").read_text("utf-8"))
    return manifest


def altered(kind: str, name: str, /, **members: Any) -> Json:
    """A good manifest with some members of its spec replaced; None takes one away."""
    manifest = good(kind)
    manifest["metadata"] = {"name": name}
    manifest["spec"] = {k: v for k, v in {**manifest["spec"], **members}.items() if v is not None}
    return manifest


def line(table: str, manifest: Json, column: str, **columns: Any) -> Json:
    return {"table": table, "row": {column: identity(manifest), **columns, "manifest": manifest}}


def lines(definitions: int = 4, runs: int = 8) -> Iterator[Json]:
    """An export in which every reference is resolved; each definition has a suite of two cases and `runs` runs."""
    for number in range(definitions):
        yield from _definition(number, runs)
    yield from _serving()
    yield {"table": "ranking", "row": {"rank": 1, "note": None}}
    yield {"table": "note", "row": {"text": "nothing to verify", "manifest": None}}


def _definition(number: int, runs: int) -> Iterator[Json]:
    operation = altered("OperationSpec", f"operation-{number}", family=f"family-{number}")
    yield line("operations", operation, "semanticDigest")
    of = identity(operation)
    cases = [{"externalId": str(size), "axes": {"n": size}} for size in (64, 128 + number)]
    suite = altered("WorkloadSuite", f"suite-{number}", operationSpecDigest=of, cases=cases)
    yield line("workloads", suite, "workloadDigest")
    for case in cases:
        yield line(
            "workloads",
            altered("WorkloadCase", f"case-{number}", operationSpecDigest=of, axes=case["axes"]),
            "workloadDigest",
        )
    for run in range(runs):
        yield from _run(number, run, of, suite)


def _run(number: int, run: int, operation: str, suite: Json) -> Iterator[Json]:
    name = f"run-{number}-{run}"
    implementation = altered(
        "ImplementationRevision", name, operation={"specDigest": operation}, projectRevision={"version": name}
    )
    yield line("projects", altered("SoftwareProject", name, name=name), "projectDigest")
    yield line("implementations", implementation, "implementationDigest")
    yield run_line(implementation, suite, name, latency_ms=0.01 + run / 1000)


def run_line(implementation: Json, suite: Json, name: str, latency_ms: float = 0.01, **metrics: Any) -> Json:
    """The row of a run in its bundle, with its keys."""
    protocol, environment = good("BenchmarkProtocol"), good("ExecutionEnvironment")
    mean = int(latency_ms * 1e6 + 0.5)
    figures = {"latency_ms": latency_ms, "sol_score": 0.7, "avg_speedup": 2.5, "fast_1_count": 2, "fast_1_total": 2}
    manifest = altered(
        "BenchmarkRun",
        name,
        implementationDigest=identity(implementation),
        workloadDigest=identity(suite),
        protocolDigest=identity(protocol),
        environmentDigest=identity(environment),
        timing={"primaryStatistic": "mean", "latencyNs": {"mean": mean}},
        sourceNative={
            "source": "sol-execbench",
            "benchmark": "042_example",
            "externalId": name,
            "metrics": figures | metrics,
        },
    )
    correctness = sha({"correctness": suite["spec"]["correctness"]})
    key = {
        "v": 1,
        "operation": suite["spec"]["operationSpecDigest"],
        "workload": identity(suite),
        "protocol": identity(protocol),
        "environment": identity(environment),
        "correctness": correctness,
        "metric": "latency:mean:ns",
    }
    row = {
        "runDigest": identity(manifest),
        "implementationDigest": identity(implementation),
        "workloadDigest": identity(suite),
        "comparisonKey": sha(key),
        "correctnessKey": correctness,
        "manifest": {"run": manifest, "protocol": protocol, "environment": environment},
    }
    return {"table": "runs", "row": row}


def _serving() -> Iterator[Json]:
    model, stack, workload = good("ModelRevision"), good("ServingStackRevision"), good("ServingWorkload")
    configuration = altered("ServingConfiguration", "configuration", stackDigest=identity(stack))
    yield line("models", model, "modelDigest")
    yield line("stacks", stack, "stackDigest")
    yield line("configurations", configuration, "configurationDigest", stackDigest=identity(stack))
    yield line("servingWorkloads", workload, "workloadDigest")
    references = {
        "modelDigest": identity(model),
        "configurationDigest": identity(configuration),
        "workloadDigest": identity(workload),
    }
    yield line("servingRuns", altered("ServingRun", "serving-run", **references), "runDigest", **references)


def dump(values: Any) -> bytes:
    """JSON lines."""
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)
