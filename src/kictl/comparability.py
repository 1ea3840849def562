"""Whether runs may be compared: what decides it, and every reason why not, the most material first."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from kictl import cohort
from kictl.canonical import Digest
from kictl.cohort import Metric, ServingKeys
from kictl.model import PASSED, Json, Manifest


class Facts(NamedTuple):
    """What decides whether a run may be compared with another; None where it is not known.

    `definition` is the source's name for what was run, the other names are for people; `operation` is, for serving,
    the model. `metric` is `metric:statistic:unit`; `key` the comparison key, for serving the cohort key. `bounds` is
    the digest of those that its score was made with. `topology` and `quality` are for serving alone.
    """

    definition: str | None
    operation: str | None
    workload: str
    is_suite: bool | None
    cases: int | None
    gpu: str | None
    environment: str | None
    stack: str | None
    family: str | None
    harness: str | None
    protocol: str | None
    correctness: str | None
    status: str
    metric: str | None
    key: Digest | None
    bounds: str | None
    topology: str | None = None
    quality: str | None = None


class Reason(NamedTuple):
    """One thing in which runs differ that forbids to compare them, or a caveat if it does not.

    `values` are what each run has, in the order in which they were given.
    """

    code: str
    message: str
    values: tuple[str | None, ...]


class Verdict(NamedTuple):
    """Whether measurements may be compared. `caveats` restrict a comparison that is allowed."""

    reasons: tuple[Reason, ...]
    caveats: tuple[Reason, ...]

    @property
    def comparable(self) -> bool:
        return not self.reasons


WHY: dict[str, str] = {
    "different-definition": "different definitions compute different things: a ratio of their latencies means nothing",
    "different-operation": "the definition was revised: same name, another operation",
    "suite-and-case": "a suite's figure is a mean over its cases, a case's is one of them",
    "different-suite": "another set of cases, or another order or aggregation, is another workload",
    "different-case": "other shapes or inputs are another workload",
    "different-workload": "the workload is part of what was measured",
    "different-topology": "more accelerators, or others between them, serve more; that says nothing of the software",
    "different-quality": "a lower demand on the quality of answers admits faster serving",
    "different-gpu": "results on different GPUs say as much about the GPUs as about the kernels",
    "different-environment": "the same GPU with other software or settings is another environment",
    "leaderboard-and-harness": "a harness run was timed on its owner's machine, clocks and stack, not on the board's",
    "different-stack": "versions of the evaluation stack time differently; v1.0 and v1.1 are not comparable",
    "different-protocol": "another protocol measures something else under the same name",
    "different-correctness": "a looser rule of correctness admits faster kernels",
    "not-passed": "a run that did not pass has no place among those that did",
    "no-measurement": "without a primary measurement there is nothing to compare",
    "different-metric": "a mean and a median, or two units, do not compare",
    "different-bounds": "scores and gaps made with different bounds do not compare; latencies still do",
    "moved-bounds": "the source changed the bounds after it made this score; gaps are measured by the present ones",
    "same-run": "a run does not differ from itself",
    "same-submission": "two runs of one submission: the source changed what it says of it",
    "not-current": "a superseded or retracted run is compared, but takes no rank",
}
"""What each code means, for `--explain`."""

EXCLUDED: dict[str, str] = {
    "not-completed": "the source has not finished with it, or it failed",
    "not-correct": "the source does not say that it is correct",
    "disqualified": "the source disqualified it",
    "no-latency": "the source states no latency above zero",
    "no-time": "the source states no time at which it was finished or submitted",
    "failed": "the run did not pass: its status says how it failed",
    "superseded": "an older run of a submission that the source later stated differently",
    "retracted": "it was a run once; the source has since withdrawn what made it one",
    "unlisted": "no longer in the source's listing, which is capped",
    "other-gpu": "on a GPU that was not asked for",
    "other-stack": "under a stack version that was not asked for",
}
"""What each reason for not being ranked means."""


def facts(
    run: Json,
    *,
    workload: Manifest | None = None,
    protocol: Manifest | None = None,
    environment: Manifest | None = None,
    definition: str | None = None,
    bounds: str | None = None,
) -> Facts:
    """The facts of a run from its spec and the manifests that it refers to, where these are known."""
    spec, measured, machine = (manifest.spec if manifest else {} for manifest in (workload, protocol, environment))
    harness = measured.get("harness", {})
    libraries = machine.get("software", {}).get("libraries", {})
    found = cohort.primary(run)
    return Facts(
        definition=definition or run.get("sourceNative", {}).get("benchmark"),
        operation=spec.get("operationSpecDigest"),
        workload=run["workloadDigest"],
        is_suite=workload.kind == "WorkloadSuite" if workload else None,
        cases=len(spec["cases"]) if "cases" in spec else None,
        gpu=machine.get("hardware", {}).get("product"),
        environment=run["environmentDigest"],
        stack=libraries.get("evaluation_stack") or harness.get("version"),
        family=measured.get("comparability", {}).get("family"),
        harness=harness.get("name"),
        protocol=run["protocolDigest"],
        correctness=cohort.correctness_key(spec["correctness"]) if "correctness" in spec else None,
        status=run["status"],
        metric=None if found is None else str(found.metric),
        key=None if workload is None or found is None else run_key(run, workload),
        bounds=bounds,
    )


def of_serving(
    run: Json, *, model: Manifest | None, workload: Manifest | None, definition: str | None, gpu: str | None
) -> Facts:
    """The facts of a serving run from its spec and the manifests that it refers to, where these are known."""
    found = cohort.primary(run)
    keys = None if workload is None else cohort.serving_keys(run, workload.spec)
    key = None
    if keys is not None and model is not None:
        key = cohort.serving_cohort_key(
            model=model.digest, tokenizer=cohort.tokenizer_of(model.spec), workload=run["workloadDigest"], keys=keys
        )
    return Facts(
        definition=definition or run.get("sourceNative", {}).get("benchmark"),
        operation=run["modelDigest"],
        workload=run["workloadDigest"],
        is_suite=None,
        cases=None,
        gpu=gpu,
        environment=None,
        stack=run["harness"]["version"],
        family=None,
        harness=run["harness"]["name"],
        protocol=keys and keys.protocol,
        correctness=None,
        status=run["status"],
        metric=None if found is None else str(found.metric),
        key=key,
        bounds=None,
        topology=keys and keys.topology,
        quality=run["qualityPolicy"],
    )


def of_cohort(
    *,
    definition: str,
    subject: Digest,
    metric: Metric | None,
    key: Digest,
    gpu: str,
    workload: Manifest,
    protocol: Manifest | None,
    environment: Manifest | None,
    serving: ServingKeys | None,
    bounds: str | None,
) -> Facts:
    """The facts that all runs of a cohort share."""
    measured, machine = (manifest.spec if manifest else {} for manifest in (protocol, environment))
    harness = measured.get("harness", {})
    libraries = machine.get("software", {}).get("libraries", {})
    correctness = workload.spec.get("correctness")
    return Facts(
        definition=definition,
        operation=subject,
        workload=workload.digest,
        is_suite=None if serving else workload.kind == "WorkloadSuite",
        cases=len(workload.spec["cases"]) if "cases" in workload.spec else None,
        gpu=machine.get("hardware", {}).get("product", gpu),
        environment=environment and environment.digest,
        stack=libraries.get("evaluation_stack") or harness.get("version"),
        family=measured.get("comparability", {}).get("family"),
        harness=harness.get("name"),
        protocol=serving.protocol if serving else protocol and protocol.digest,
        correctness=None if correctness is None else cohort.correctness_key(correctness),
        status=PASSED[0],
        metric=metric and str(metric),
        key=key,
        bounds=bounds,
        topology=serving and serving.topology,
        quality=serving and serving.quality,
    )


def run_key(run: Json, workload: Manifest) -> Digest:
    """The comparison key of a run, from its spec."""
    return cohort.comparison_key(
        operation=workload.spec["operationSpecDigest"],
        workload=workload.digest,
        protocol=run["protocolDigest"],
        environment=run["environmentDigest"],
        correctness=workload.spec["correctness"],
        metric=cohort.metric_in_key(run),
    )


def verdict(runs: Sequence[Facts]) -> Verdict:
    """Whether these runs may be compared, all of them with each other."""
    reasons = tuple(reason for check in CHECKS for reason in check(runs))
    bounds = tuple(_bounds(runs))
    return Verdict((*reasons, *bounds), ()) if reasons else Verdict((), bounds)


def spread(values: Sequence[str | None]) -> str:
    """The distinct values, each with the letters of the runs that have it: `B200 (A, C), H200 (B)`."""
    letters: dict[str | None, list[str]] = {}
    for position, value in enumerate(values):
        letters.setdefault(value, []).append(letter(position))
    return ", ".join(f"{value or 'not known'} ({', '.join(who)})" for value, who in letters.items())


def letter(position: int) -> str:
    """The name of a run by its place in the comparison."""
    return chr(ord("A") + position)


def _differ(values: Sequence[Hashable]) -> bool:
    """Whether two of those that are known are different."""
    return len({value for value in values if value is not None}) > 1


def _reason(code: str, what: str, values: Sequence[str | None]) -> Reason:
    return Reason(code, f"{what}: {spread(values)}", tuple(values))


def _definition(runs: Sequence[Facts]) -> Iterator[Reason]:
    names = [run.definition for run in runs]
    operations = [run.operation for run in runs]
    # Names first: two definitions with the same signature make the same operation, suite and comparison key.
    if _differ(names):
        yield _reason("different-definition", "different definitions", names)
    elif _differ(operations):
        yield _reason("different-operation", "different operations of one definition", operations)


def _workload(runs: Sequence[Facts]) -> Iterator[Reason]:
    digests = [run.workload for run in runs]
    kinds = {run.is_suite for run in runs}
    if {True, False} <= kinds:
        yield _reason("suite-and-case", "a suite against a single case", [_workload_name(run) for run in runs])
    elif _differ(digests) and not any(_definition(runs)):
        what = "workload" if None in kinds else "suite" if True in kinds else "case"
        yield _reason(f"different-{what}", f"different {what}s", [_workload_name(run) for run in runs])


def _workload_name(run: Facts) -> str:
    if run.is_suite is False:
        return f"case {run.workload[:19]}…"
    return f"{'suite' if run.is_suite else 'workload'} {run.workload[:19]}…"


def _gpu(runs: Sequence[Facts]) -> Iterator[Reason]:
    gpus = [run.gpu for run in runs]
    if _differ(gpus):
        yield _reason("different-gpu", "different GPUs", gpus)
    topologies = [run.topology for run in runs]
    if _differ(topologies):
        yield _reason("different-topology", "different topologies", topologies)


def _protocol(runs: Sequence[Facts]) -> Iterator[Reason]:
    """Stack and protocol, and what else of the environment is neither the GPU nor the stack."""
    stacks = [run.stack for run in runs]
    protocols = [run.protocol for run in runs]
    environments = [run.environment for run in runs]
    if _differ([run.family for run in runs]):
        kinds = {_origin(run) for run in runs}
        code = "leaderboard-and-harness" if len(kinds) > 1 else "different-protocol"
        what = "a leaderboard's figure against a harness run" if len(kinds) > 1 else "different protocols"
        yield _reason(code, what, [run.harness or run.family for run in runs])
    elif _differ(protocols) or _differ(environments):
        if len(set(stacks)) > 1:
            yield _reason(
                "different-stack",
                "different evaluation stacks",
                [run.stack or (run.harness and "not stated") for run in runs],
            )
        elif _differ(protocols):
            yield _reason("different-protocol", "different protocols", [_short(digest) for digest in protocols])
        elif not _differ([run.gpu for run in runs]):
            yield _reason(
                "different-environment", "different environments", [_short(digest) for digest in environments]
            )


def _origin(run: Facts) -> str | None:
    return run.family and run.family.rpartition("_")[2]


def _correctness(runs: Sequence[Facts]) -> Iterator[Reason]:
    rules = [run.correctness for run in runs]
    statuses = [run.status for run in runs]
    if _differ(rules) and len({run.is_suite for run in runs}) == 1:
        yield _reason("different-correctness", "different rules of correctness", [_short(rule) for rule in rules])
    qualities = [run.quality for run in runs]
    if _differ(qualities):
        yield _reason("different-quality", "different demands on quality", qualities)
    if any(status not in PASSED for status in statuses):
        yield _reason("not-passed", "not every run passed", statuses)


def _metric(runs: Sequence[Facts]) -> Iterator[Reason]:
    metrics = [run.metric for run in runs]
    if None in metrics:
        yield _reason(
            "no-measurement", "not every run has a primary measurement", [metric or "none" for metric in metrics]
        )
    if _differ(metrics):
        yield _reason("different-metric", "different measurements", metrics)


def _bounds(runs: Sequence[Facts]) -> Iterator[Reason]:
    """Only bounds of one definition can have moved; those of two are different anyway."""
    bounds = [run.bounds for run in runs]
    if _differ(bounds) and not any(_definition(runs)):
        yield _reason("different-bounds", "the bounds moved between these runs", [_short(digest) for digest in bounds])


def _short(digest: str | None) -> str | None:
    return f"{digest[:19]}…" if digest and digest.startswith("sha256:") else digest


CHECKS: tuple[Callable[[Sequence[Facts]], Iterator[Reason]], ...] = (
    _definition,
    _workload,
    _gpu,
    _protocol,
    _correctness,
    _metric,
)
"""In the order of how material they are."""
