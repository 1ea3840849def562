"""A second implementation of normalisation, naive and without kictl, so that expected digests are not our own output.

Run it on a leaderboard folder to get its expected digests: `python tests/independent.py fixtures/leaderboard`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import rfc8785

Json = dict[str, Any]

DTYPES = {
    "bfloat16": "bf16",
    **dict.fromkeys(("float16", "half"), "fp16"),
    **dict.fromkeys(("float32", "float"), "fp32"),
    **dict.fromkeys(("float64", "double"), "fp64"),
    **dict.fromkeys(("float8_e4m3fn", "float8_e4m3"), "fp8_e4m3"),
    "float8_e5m2": "fp8_e5m2",
    "float4_e2m1": "fp4_e2m1",
}
ARCHITECTURES = {"B200": "sm_100", "GB200": "sm_100", "H200": "sm_90", "H100": "sm_90", "A100": "sm_80"}
NOTES = (
    "Suite-mean latency and SOL-Score as published by the SOL-ExecBench leaderboard. Comparable only within one "
    "definition, GPU type, and evaluation stack version."
)


def digest(value: Any) -> str:
    return "sha256:" + hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def manifest(kind: str, spec: Json) -> str:
    return digest({"apiVersion": "kernelindex.dev/v1alpha1", "kind": kind, "spec": spec})


def token(text: str) -> str:
    name = re.sub("[^a-z0-9_]", "_", text.lower())
    return name if re.match("[a-z]", name) else "x_" + name


def kebab(text: str) -> str:
    return re.sub("^-|-$", "", re.sub("[^a-z0-9]+", "-", text.lower()))[:100]


def dtype(text: str) -> str:
    return DTYPES.get(text, re.sub("[^a-z0-9_]", "_", text.lower()))


def lower(axes: Json) -> Json:
    return {name.lower(): value for name, value in axes.items()}


def dimension(entry: str | int) -> str | int:
    return entry if isinstance(entry, int) else int(entry) if re.fullmatch("[0-9]+", entry) else entry.lower()


def family(detail: Json) -> str:
    candidates = [detail.get("op_type") or ""]
    for tag in detail.get("tags") or []:
        if tag not in ("L1", "L2", "Quant", "FlashInfer-Bench") and not tag.startswith("model:"):
            candidates.append(tag)
            break
    return next((kebab(text) for text in candidates if kebab(text)), "uncategorized")


def operation(detail: Json) -> Json:
    axes: Json = {}
    for name, axis in detail["axes"].items():
        entry = {"role": {"var": "variable", "const": "constant", "expr": "derived"}[axis["type"]], "type": "integer"}
        if axis["type"] == "const":
            entry["value"] = axis["value"]
        if axis["type"] == "expr":
            entry["expression"] = axis["expression"].lower()
        axes[name.lower()] = entry
    return {
        "family": family(detail),
        "axes": axes,
        "inputs": [argument(name, value) for name, value in detail["inputs"].items()],
        "outputs": [argument(name, value) for name, value in detail["outputs"].items()],
        "semantics": {"mutation": "none", "determinism": "unspecified"},
    }


def argument(name: str, value: Json) -> Json:
    element = {"dtype": dtype(value["dtype"])}
    if not value["shape"]:
        return {"name": token(name), "scalar": element}
    return {"name": token(name), "tensor": {"shape": [dimension(entry) for entry in value["shape"]], **element}}


def bound(detail: Json, workload: Json) -> Json:
    """Every axis that has a value: tries all expressions again until none of them gets any further."""
    values = {n.lower(): a["value"] for n, a in detail["axes"].items() if a["type"] == "const"}
    values |= lower(workload["axes"])
    expressions = {n.lower(): a["expression"].lower() for n, a in detail["axes"].items() if a["type"] == "expr"}
    for _ in expressions:
        for name, expression in expressions.items():
            assert re.fullmatch(r"[a-z0-9_+\-*%/() ]*", expression)
            if name not in values and set(re.findall("[a-z_][a-z0-9_]*", expression)) <= set(values):
                values[name] = eval(expression, {"__builtins__": {}}, dict(values))  # noqa: S307
    return values


def case(detail: Json, workload: Json, operation_digest: str) -> Json:
    values = bound(detail, workload)
    tensors = {}
    for name, value in detail["inputs"].items():
        shape = [dimension(entry) for entry in value["shape"] or []]
        sizes = [values.get(entry) if isinstance(entry, str) else entry for entry in shape]
        if sizes and None not in sizes:
            tensors[token(name)] = {"shape": sizes, "dtype": dtype(value["dtype"])}
    return {
        "operationSpecDigest": operation_digest,
        "axes": lower(workload["axes"]),
        "tensors": tensors,
        "correctness": {"comparator": "sol_execbench_eval"},
    }


def external_id(workload: Json) -> str:
    if workload.get("uuid"):
        return str(workload["uuid"])
    # A space sorts before digits and letters, as `_` has to; swapped, lowercase sorts before uppercase.
    names = sorted(workload["axes"], key=lambda name: (name.lower().replace("_", " "), name.swapcase()))
    text = json.dumps({name: workload["axes"][name] for name in names}, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def suite(detail: Json, operation_digest: str) -> Json:
    return {
        "operationSpecDigest": operation_digest,
        "cases": [{"externalId": external_id(w), "axes": lower(w["axes"])} for w in detail["workloads"]],
        "correctness": {
            "comparator": "sol_execbench_eval",
            "description": "Correctness must pass on every case in the SOL evaluation stack.",
        },
        "aggregation": {"metric": "latency", "statistic": "mean"},
    }


def instant(text: str) -> str:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[:23] + "Z"


def is_run(row: Json) -> bool:
    latency = row.get("latency_ms")
    return bool(
        row["status"] == "COMPLETED"
        and row.get("is_correct") is True
        and row.get("is_disqualified") is not True
        and isinstance(latency, int | float)
        and latency > 0
        and (row.get("finished_at") or row.get("submitted_at"))
    )


def run(row: Json, operation_digest: str, suite_digest: str, dtypes: list[str]) -> Json:
    """The digests of one row; KeyError, TypeError or ValueError where it is malformed."""
    stack = row.get("evaluation_stack_version")
    gpu = re.sub("^NVIDIA_", "", row["gpu_type"])
    known = gpu in ARCHITECTURES
    product = f"NVIDIA {gpu}" if known else row["gpu_type"].replace("_", " ")
    architecture = ARCHITECTURES.get(gpu, "unknown")
    protocol = manifest(
        "BenchmarkProtocol",
        {
            "harness": {"name": "SOL-ExecBench evaluation stack", **({"version": stack} if stack else {})},
            "measurement": {"timer": "harness_reported", "primaryStatistic": "mean"},
            "correctness": {"reference": "definition reference implementation", "comparator": "sol_execbench_eval"},
            "comparability": {"family": "sol_execbench_leaderboard", "notes": NOTES},
        },
    )
    environment = manifest(
        "ExecutionEnvironment",
        {
            "hardware": {"vendor": "nvidia", "product": product, "architecture": architecture},
            "software": {"libraries": {"evaluation_stack": stack}} if stack else {},
        },
    )
    implementation = manifest(
        "ImplementationRevision",
        {
            "projectRevision": {"version": f"submission-{row['id']}"},
            "operation": {"specDigest": operation_digest},
            "callable": {"language": "unknown"},
            "support": {
                "hardwareArchitectures": [architecture],
                "productsTested": [product],
                "dtypes": sorted(set(dtypes)),
            },
            "licensing": {},
        },
    )
    names = ("latency_ms", "sol_score", "avg_speedup", "fast_1_count", "fast_1_total")
    primary = math.floor(row["latency_ms"] * 1e6 + 0.5)
    made = manifest(
        "BenchmarkRun",
        {
            "implementationDigest": implementation,
            "workloadDigest": suite_digest,
            "protocolDigest": protocol,
            "environmentDigest": environment,
            "status": "passed",
            "timing": {"primaryStatistic": "mean", "latencyNs": {"mean": primary}},
            "sourceNative": {
                "source": "sol-execbench",
                "benchmark": row["kernel_name"],
                "externalId": str(row["id"]),
                "metrics": {name: row[name] for name in names if row.get(name) is not None},
            },
            "observedAt": instant(row.get("finished_at") or row["submitted_at"]),
        },
    )
    correctness = suite({"workloads": []}, "")["correctness"]
    key = {
        "v": 1,
        "operation": operation_digest,
        "workload": suite_digest,
        "protocol": protocol,
        "environment": environment,
        "correctness": digest({"correctness": correctness}),
        "metric": "latency:mean:ns",
    }
    return {
        "run": made,
        "implementation": implementation,
        "protocol": protocol,
        "environment": environment,
        "comparison_key": digest(key),
        "primary_ns": primary,
    }


def is_well_formed(row: Any, kernel_id: int) -> bool:
    return (
        isinstance(row, dict)
        and isinstance(row.get("id"), int)
        and row.get("kernel_id") == kernel_id
        and not isinstance(row.get("latency_ms"), str)
        and len(f"sol-execbench/user/{row.get('username', 'x' * 200)}") <= 200
    )


def runs(rows: list[Any], detail: Json, operation_digest: str, suite_digest: str) -> Json:
    dtypes = [dtype(value["dtype"]) for value in detail["inputs"].values()]
    made = {}
    for row in rows:
        if is_well_formed(row, detail["id"]) and is_run(row):
            try:
                made[str(row["id"])] = run(row, operation_digest, suite_digest, dtypes)
            except ValueError:  # its time cannot be read
                continue
    return made


def expected(folder: Path) -> list[Json]:
    """What a folder's definitions and runs come to, by kernel id."""
    out = []
    for path in sorted((folder / "kernels").glob("*.json"), key=lambda path: int(path.stem)):
        detail = json.loads(path.read_text("utf-8"))["data"]
        if len(lower(detail["axes"])) < len(detail["axes"]):
            continue
        operation_digest = manifest("OperationSpec", operation(detail))
        suite_digest = manifest("WorkloadSuite", suite(detail, operation_digest))
        rows = json.loads((folder / "submissions" / path.name).read_text("utf-8"))
        cases = {manifest("WorkloadCase", case(detail, w, operation_digest)) for w in detail["workloads"]}
        out.append(
            {
                "kernel_id": detail["id"],
                "definition": detail["name"],
                "operation": operation_digest,
                "suite": suite_digest,
                "cases": sorted(cases),
                "runs": runs(rows, detail, operation_digest, suite_digest),
            }
        )
    return out


if __name__ == "__main__":
    for line in expected(Path(sys.argv[1])):
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
