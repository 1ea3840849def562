"""Rows of a catalogue export to definitions, submissions and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kictl import cohort, units
from kictl.canonical import Digest
from kictl.cohort import ServingKeys
from kictl.model import Cohort, Definition, Json, KernelParts, Manifest, Run, Submission

DERIVED: Mapping[str, frozenset[str]] = {
    "projects": frozenset({"name"}),
    "operations": frozenset({"family", "semanticDigest"}),
    "workloads": frozenset({"operationId", "workloadDigest"}),
    "implementations": frozenset({"operationId", "implementationDigest", "language", "targetArchitectures"}),
    "benchmark_runs": frozenset({
        "runDigest", "implementationId", "workloadId", "sourceId", "status", "observedAt",
        "hardwareVendor", "hardwareModel", "hardwareArchitecture", "protocolKey", "environmentKey", "correctnessKey",
        "comparisonKey", "primaryMetric", "primaryStatistic", "primaryUnit", "primaryValue",
    }),
    "model_revisions": frozenset({"modelDigest", "name"}),
    "serving_stack_revisions": frozenset({"stackDigest"}),
    "serving_configurations": frozenset({"configurationDigest", "stackRevisionId", "dtype", "quantization"}),
    "serving_workloads": frozenset({"workloadDigest", "streaming", "loadGeneration"}),
    "serving_runs": frozenset({
        "runDigest", "modelRevisionId", "configurationId", "workloadId", "sourceId", "status", "observedAt",
        "cohortKey", "protocolKey", "qualityPolicy", "metricSetKey", "scenario", "acceleratorVendor",
        "acceleratorModel", "acceleratorCount", "nodeCount", "totalAccelerators",
    }),
}  # fmt: skip
"""By table, the columns that follow from the manifest: they are checked, and made again when they are written."""


def claim(table: str, row: Json, own: str | None, **replaced: Any) -> Json:
    """What a row says beside its manifest; an id that is no more than the digest or name of the row is left out, and
    ids of other rows stand as what they lead to."""
    derived = DERIVED.get(table, frozenset())
    kept = {name: value for name, value in row.items() if name not in derived and name != "manifest"}
    if kept.get("id") == own:
        kept.pop("id", None)
    return {**kept, **{name: value for name, value in replaced.items() if name in kept}}


class Operation(NamedTuple):
    """An operation as runs refer to it; `row` is what the export says of it beside the manifest."""

    manifest: Manifest
    row: Json


class Workload(NamedTuple):
    """What the runs of a workload need of it. `cases` counts those of a suite, `shape` has the axes of a case."""

    digest: Digest
    operation: Digest
    correctness: Digest
    cases: int | None
    shape: str | None

    @classmethod
    def of(cls, manifest: Manifest) -> Workload:
        spec = manifest.spec
        cases = len(spec["cases"]) if "cases" in spec else None
        shape = shape_of(spec["axes"]) if cases is None else None
        key = cohort.correctness_key(spec["correctness"])
        return cls(manifest.digest, Digest(spec["operationSpecDigest"]), key, cases, shape)


class Implementation(NamedTuple):
    """What was run: an implementation with the project that stands for its author, or a serving configuration."""

    name: str
    operation: Digest | None
    project: Digest | None
    author: str | None


def shape_of(axes: Mapping[str, int]) -> str:
    """The axes of one case as text, by name: `k=256 m=64`."""
    return " ".join(f"{name}={axes[name]}" for name in sorted(axes))


def definition_name(run: Json, workload: Workload, operation: Operation) -> str:
    """The name of what was measured, as the source has it: its benchmark, less what names the case in it."""
    benchmark: str | None = run.get("sourceNative", {}).get("benchmark")
    if benchmark is None:
        metadata = operation.manifest.document["metadata"]
        return str(operation.row.get("name") or metadata.get("title") or metadata["name"])
    name, slash, _ = benchmark.rpartition("/")
    return name if slash and workload.cases is None else benchmark


def definition(name: str, operation: Operation) -> Definition:
    """A definition as an export tells of it: by its name alone, without suite and bounds."""
    metadata, row = operation.manifest.document["metadata"], operation.row
    tags = [tag for tag in row.get("tags") or () if isinstance(tag, str)]
    title = row.get("name") or metadata.get("title")
    facts = {"title": title, "tags": tags, "description": metadata.get("description")}
    known = {member: value for member, value in facts.items() if value}
    return Definition(None, name, tuple(tags), (), operation.manifest, None, _dtypes(operation.manifest), known)


def served(name: str, model: Manifest) -> Definition:
    """What serving runs measure: a benchmark with one model."""
    metadata = model.document["metadata"]
    facts = {"title": metadata.get("title") or model.spec["model"], "tags": ["serving"]}
    return Definition(None, name, ("serving",), (), model, None, (), facts)


def kernel_cohort(run: Json, workload: Workload, protocol: Json, environment: Json) -> Cohort:
    """The cohort of a benchmark run, from its spec and those of its protocol and environment."""
    metric = cohort.metric_in_key(run)
    key = cohort.comparison_key_of(
        workload.operation,
        workload.digest,
        run["protocolDigest"],
        run["environmentDigest"],
        workload.correctness,
        metric,
    )
    libraries = environment["software"].get("libraries", {})
    measured = cohort.primary(run)
    return Cohort(
        key=key,
        metric=cohort.NO_METRIC if measured is None else metric,
        gpu=units.gpu_of_product(environment["hardware"]["product"]),
        stack=libraries.get("evaluation_stack") or protocol["harness"].get("version"),
        subject=workload.operation,
        workload=workload.digest,
        cases=workload.cases,
        shape=workload.shape,
        kernel=KernelParts(Digest(run["protocolDigest"]), Digest(run["environmentDigest"])),
        serving=None,
    )


def serving_cohort(run: Json, keys: ServingKeys, tokenizer: str | None) -> Cohort:
    """The cohort of a serving run."""
    measured = cohort.primary(run)
    model, workload = Digest(run["modelDigest"]), Digest(run["workloadDigest"])
    return Cohort(
        key=cohort.serving_cohort_key(model=model, tokenizer=tokenizer, workload=workload, keys=keys),
        metric=cohort.NO_METRIC if measured is None else str(measured.metric),
        gpu=units.gpu_of_product(run["topology"]["acceleratorModel"]),
        stack=run["harness"]["version"],
        subject=model,
        workload=workload,
        cases=None,
        shape=None,
        kernel=None,
        serving=keys,
    )


def submissions(runs: Iterable[tuple[str, Implementation, Run]]) -> tuple[Submission, ...]:
    """The runs of one definition by the record of the source that each belongs to."""
    found: dict[str, list[tuple[Implementation, Run]]] = {}
    for name, implementation, run in runs:
        found.setdefault(name, []).append((implementation, run))
    return tuple(_submission(name, parts) for name, parts in found.items())


def submission_name(run: Json, implementation: Implementation) -> str:
    """The id of a record: the source's own, else the name of what was run."""
    return str(run.get("sourceNative", {}).get("externalId") or implementation.name)


def _submission(name: str, parts: list[tuple[Implementation, Run]]) -> Submission:
    implementation = parts[0][0]
    gpus, stacks = {run.cohort.gpu for _, run in parts}, {run.cohort.stack for _, run in parts}
    return Submission(
        external_id=name,
        author=implementation.author,
        gpu=gpus.pop() if len(gpus) == 1 else None,
        stack=stacks.pop() if len(stacks) == 1 else None,
        facts=None,
        runs=tuple(run for _, run in parts),
        project=implementation.project,
    )


def _dtypes(operation: Manifest) -> tuple[str, ...]:
    inputs = operation.spec["inputs"]
    return tuple(sorted({(item.get("tensor") or item["scalar"])["dtype"] for item in inputs}))
