"""Frozen records that pass between the layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from kictl.canonical import Digest
from kictl.cohort import ServingKeys

Json = dict[str, Any]


class Manifest(NamedTuple):
    """One manifest with its identity digest; `document` has apiVersion, kind, metadata and spec."""

    digest: Digest
    document: Json

    @property
    def kind(self) -> str:
        return str(self.document["kind"])

    @property
    def spec(self) -> Json:
        spec: Json = self.document["spec"]
        return spec


class CaseBounds(NamedTuple):
    """What the source publishes beside one workload case: the scoring baseline and the speed-of-light bound, in ms."""

    axes: Mapping[str, int]
    baseline_ms: float | None
    sol_ms: float | None


class Bounds(NamedTuple):
    """The bounds of a definition, case by case in source order, under the digest of exactly these numbers."""

    digest: Digest
    cases: tuple[CaseBounds, ...]
    is_dummy: bool = False


class Suite(NamedTuple):
    """The cases of a definition whose results are one figure over all of them, with their bounds; `cases` are the
    distinct ones."""

    manifest: Manifest
    cases: tuple[Manifest, ...]
    bounds: Bounds


class Definition(NamedTuple):
    """A definition as one reading of a source states it.

    `subject` is the manifest of what is measured: an OperationSpec, or the ModelRevision of serving runs. `facts` is
    what the source said, less any source code. `external_id` is None where the source knows it by its name alone,
    `suite` where it states none. `dtypes` are those of the inputs, each once, sorted.
    """

    external_id: str | None
    name: str
    tags: tuple[str, ...]
    gpus: tuple[str, ...]
    subject: Manifest
    suite: Suite | None
    dtypes: tuple[str, ...]
    facts: Json
    warnings: tuple[str, ...] = ()


class Cohort(NamedTuple):
    """What the runs share that may be ranked against each other.

    `key` is their comparison key, of serving runs their cohort key. `metric` is `metric:statistic:unit`, or `none` for
    runs without a primary measurement, which nothing ranks. `gpu` and `stack` are the names that tables group by.
    `cases` is the number of cases of a suite, `shape` the axes of a single case; both are None for serving.
    """

    key: Digest
    metric: str
    gpu: str
    stack: str | None
    subject: Digest
    workload: Digest
    cases: int | None
    shape: str | None
    kernel: KernelParts | None
    serving: ServingKeys | None


class KernelParts(NamedTuple):
    """What else the runs of a cohort of kernels share."""

    protocol: Digest
    environment: Digest


class Score(NamedTuple):
    """What SOL-ExecBench alone says of a run."""

    sol_score: float | None = None
    avg_speedup: float | None = None
    fast_1_count: int | None = None
    fast_1_total: int | None = None

    @classmethod
    def of(cls, run: Json) -> Score | None:
        """The score of a run's spec, if it is a run of that source and has any."""
        native = run.get("sourceNative", {})
        if native.get("source") != SOL_EXECBENCH:
            return None
        metrics = native.get("metrics", {})
        score = cls(*map(metrics.get, cls._fields))
        return score if any(value is not None for value in score) else None


SOL_EXECBENCH = "sol-execbench"


class Run(NamedTuple):
    """One run of a submission, and its place among others.

    `implementation` is what was run: an ImplementationRevision, or a ServingConfiguration. `value` is the primary
    measurement in the unit of the cohort's metric, None where there is none. `others` are manifests that are to be kept
    with it. `facts` is what the source says of this run beside its manifest, None where a submission has one row for
    all. `retraction` is why the source withdrew it.
    """

    manifest: Manifest
    implementation: Digest
    cohort: Cohort
    value: float | None
    others: tuple[Manifest, ...] = ()
    facts: Json | None = None
    retraction: str | None = None

    @property
    def spec(self) -> Json:
        return self.manifest.spec

    @property
    def status(self) -> str:
        return str(self.spec["status"])

    @property
    def has_passed(self) -> bool:
        """Only such runs are ranked."""
        return self.status in PASSED


PASSED = ("passed", "valid")
"""The statuses of a benchmark run and of a serving run that count."""


class Submission(NamedTuple):
    """One record of a source, with any number of runs. Without one it is kept, with the reasons why it is none.

    `author` is None where nobody is named; `project` is the manifest that stands for the author. `gpu` and `stack` are
    as the record states them, None where it does not, or where its runs differ. `facts` is the record as received,
    unknown members included; None where only what others say of it is known.
    """

    external_id: str
    author: str | None
    gpu: str | None
    stack: str | None
    facts: Json | None
    runs: tuple[Run, ...] = ()
    reasons: tuple[str, ...] = ()
    project: Digest | None = None


class Quarantined(NamedTuple):
    """A row or body that does not have the shape it must have; kept with the reason, never dropped.

    `external_id` is that of the submission, where one can be told.
    """

    where: str
    reason: str
    pointer: str = ""
    facts: Any = None
    external_id: str | None = None


class Body(NamedTuple):
    """One body exactly as received. `url` is None where it came from a file; `digest` is over the raw bytes."""

    name: str
    data: bytes
    digest: Digest
    url: str | None = None


Severity = Literal["error", "warning", "info"]


class Finding(NamedTuple):
    """What one verification rule has to say about one place. `pointer` is a JSON Pointer, "" for the whole document."""

    rule: str
    severity: Severity
    subject: str
    message: str
    pointer: str = ""
    expected: str | None = None
    got: str | None = None
    line: int | None = None
    digest: str | None = None
