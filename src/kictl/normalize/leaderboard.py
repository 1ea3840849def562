"""A leaderboard's submissions to runs, implementations, projects, protocols and environments."""

from __future__ import annotations

from functools import lru_cache

from kictl import cohort, units
from kictl.canonical import Digest
from kictl.model import SOL_EXECBENCH, Cohort, Definition, Json, KernelParts, Manifest, Run, Submission, Suite
from kictl.normalize.build import NormalizeError, manifest
from kictl.normalize.definitions import COMPARATOR, SUITE_CORRECTNESS

SOURCE = SOL_EXECBENCH
HARNESS = "SOL-ExecBench evaluation stack"
# Part of a protocol's identity, to the letter (published record).
NOTES = (
    "Suite-mean latency and SOL-Score as published by the SOL-ExecBench leaderboard. "
    "Comparable only within one definition, GPU type, and evaluation stack version."
)

_METRICS = ("latency_ms", "sol_score", "avg_speedup", "fast_1_count", "fast_1_total")


def ineligible(row: Json) -> tuple[str, ...]:
    """Why a submission is not a run: none, or several, of the reason codes."""
    latency = row.get("latency_ms")
    checks = {
        "not-completed": row["status"] != "COMPLETED",
        "not-correct": row.get("is_correct") is not True,
        "disqualified": row.get("is_disqualified") is True,
        "no-latency": latency is None or latency <= 0,
        "no-time": not (row.get("finished_at") or row.get("submitted_at")),
    }
    return tuple(code for code, applies in checks.items() if applies)


def submission(row: Json, definition: Definition) -> Submission:
    """One row under its definition. Raises NormalizeError where an eligible row makes no valid manifest."""
    stack = row.get("evaluation_stack_version") or None  # an empty one states nothing either
    reasons = ineligible(row)
    project = None if reasons else project_manifest(row["username"])
    return Submission(
        external_id=str(row["id"]),
        author=row["username"],
        gpu=units.gpu(row["gpu_type"]).name,
        stack=stack,
        facts=row,
        runs=() if project is None else (run(row, definition, project, stack),),
        reasons=reasons,
        project=project and project.digest,
    )


def run(row: Json, definition: Definition, project: Manifest, stack: str | None) -> Run:
    """The run of one eligible row, with the manifests that it refers to."""
    assert definition.suite is not None, "a leaderboard's definition has a suite"  # noqa: S101
    protocol, environment = protocol_manifest(stack), environment_manifest(row["gpu_type"], stack)
    implementation = _implementation(row, definition)
    made = _run(row, definition.suite.manifest, implementation, protocol, environment)
    return Run(
        manifest=made,
        implementation=implementation.digest,
        cohort=_cohort(definition.subject, definition.suite, row["gpu_type"], stack),
        value=made.spec["timing"]["latencyNs"]["mean"],
        others=(project, implementation, protocol, environment),
    )


def _cohort(operation: Manifest, suite: Suite, gpu_type: str, stack: str | None) -> Cohort:
    protocol, environment = protocol_manifest(stack), environment_manifest(gpu_type, stack)
    shared = (operation.digest, suite.manifest.digest, protocol.digest, environment.digest)
    return _cohort_of(*shared, len(suite.manifest.spec["cases"]), units.gpu(gpu_type).name, stack)


@lru_cache(maxsize=4096)
def _cohort_of(
    operation: Digest, suite: Digest, protocol: Digest, environment: Digest, cases: int, gpu: str, stack: str | None
) -> Cohort:
    key = cohort.comparison_key(
        operation=operation,
        workload=suite,
        protocol=protocol,
        environment=environment,
        correctness=SUITE_CORRECTNESS,
        metric=str(cohort.LATENCY),
    )
    return Cohort(
        key=key,
        metric=str(cohort.LATENCY),
        gpu=gpu,
        stack=stack,
        subject=operation,
        workload=suite,
        cases=cases,
        shape=None,
        kernel=KernelParts(protocol, environment),
        serving=None,
    )


@lru_cache(maxsize=4096)
def protocol_manifest(stack: str | None) -> Manifest:
    """The protocol of an evaluation stack; where the source names none, the version stays absent."""
    name = f"sol-execbench-leaderboard-{units.kebab(stack or 'unknown')}"
    harness = {"name": HARNESS} if stack is None else {"name": HARNESS, "version": stack}
    spec = {
        "harness": harness,
        "measurement": {"timer": "harness_reported", "primaryStatistic": "mean"},
        "correctness": {"reference": "definition reference implementation", "comparator": COMPARATOR},
        "comparability": {"family": "sol_execbench_leaderboard", "notes": NOTES},
    }
    title = units.title(f"{HARNESS} {stack or 'of unknown version'}")
    return manifest("BenchmarkProtocol", {"name": name, "title": title}, spec)


@lru_cache(maxsize=4096)
def environment_manifest(gpu_type: str, stack: str | None) -> Manifest:
    """The environment that a GPU's name and a stack version stand for."""
    gpu = units.gpu(gpu_type)
    spec: Json = {
        "hardware": {"vendor": gpu.vendor, "product": gpu.product, "architecture": gpu.architecture},
        "software": {} if stack is None else {"libraries": {"evaluation_stack": stack}},
    }
    name = f"sol-execbench-{units.kebab(gpu.name)}-{units.kebab(stack or 'unknown')}"
    title = units.title(f"SOL-ExecBench {gpu.product}, stack {stack or 'unknown'}")
    return manifest("ExecutionEnvironment", {"name": name, "title": title}, spec)


@lru_cache(maxsize=4096)
def project_manifest(username: str) -> Manifest:
    """The project that stands for an author; two usernames can share its metadata name, never its digest."""
    host = {"kind": "other", "id": f"{SOURCE}/user/{username}"}
    spec = {"name": username, "kind": "individual", "host": host}
    metadata = {"name": f"sol-user-{units.kebab(username)}", "title": units.title(username)}
    return manifest("SoftwareProject", metadata, spec)


def _implementation(row: Json, definition: Definition) -> Manifest:
    gpu = units.gpu(row["gpu_type"])
    spec = {
        "projectRevision": {"version": f"submission-{row['id']}"},
        "operation": {"specDigest": str(definition.subject.digest)},
        "callable": {"language": "unknown"},
        "support": {
            "hardwareArchitectures": [gpu.architecture],
            "productsTested": [gpu.product],
            "dtypes": list(definition.dtypes),
        },
        "licensing": {},
    }
    return manifest("ImplementationRevision", {"name": f"sol-submission-{row['id']}"}, spec)


def _run(row: Json, suite: Manifest, implementation: Manifest, protocol: Manifest, environment: Manifest) -> Manifest:
    spec = {
        "implementationDigest": str(implementation.digest),
        "workloadDigest": str(suite.digest),
        "protocolDigest": str(protocol.digest),
        "environmentDigest": str(environment.digest),
        "status": "passed",
        "timing": {"primaryStatistic": "mean", "latencyNs": {"mean": _latency_ns(row)}},
        "sourceNative": {
            "source": SOURCE,
            "benchmark": row["kernel_name"],
            "externalId": str(row["id"]),
            "metrics": {name: row[name] for name in _METRICS if row.get(name) is not None},
        },
        "observedAt": _observed_at(row),
    }
    return manifest("BenchmarkRun", _run_metadata(row), spec)


def _run_metadata(row: Json) -> Json:
    title = units.title(f"{row['username']} · {row['kernel_name']} · {units.gpu(row['gpu_type']).name}")
    metadata: Json = {"name": f"sol-submission-{row['id']}", "title": title}
    if row.get("worker_id"):
        metadata["labels"] = {"worker": units.title(row["worker_id"])}
    return metadata


def _latency_ns(row: Json) -> int:
    try:
        return units.ms_to_ns(row["latency_ms"])
    except OverflowError as error:
        raise NormalizeError(f"latency_ms: {row['latency_ms']} ms is beyond any range", "/spec/timing") from error


def _observed_at(row: Json) -> str:
    try:
        return units.instant(row.get("finished_at") or row["submitted_at"])
    except ValueError as error:
        raise NormalizeError(f"finished_at or submitted_at: {error}", "/spec/observedAt") from error
