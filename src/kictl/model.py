"""Frozen records that pass between the layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from kictl.canonical import Digest

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


class Definition(NamedTuple):
    """A definition as one reading of a source states it.

    `facts` is what the source said, less any source code; `operation`, `suite`, `cases` and
    `dtypes` (those of the inputs, each once, sorted) are derived from it.
    """

    external_id: str
    name: str
    tags: tuple[str, ...]
    gpus: tuple[str, ...]
    operation: Manifest
    suite: Manifest
    cases: tuple[Manifest, ...]
    dtypes: tuple[str, ...]
    bounds: Bounds
    facts: Json
    warnings: tuple[str, ...] = ()


class RunManifests(NamedTuple):
    """The manifests of one eligible submission, and the key of the cohort that its run belongs to."""

    run: Manifest
    implementation: Manifest
    project: Manifest
    protocol: Manifest
    environment: Manifest
    comparison_key: Digest


class Submission(NamedTuple):
    """One row of a source. Without `run` it is kept as an observation, with the reasons why it is not a run.

    `gpu` and `stack` are the names that tables group by; `stack` is None where the source does not say.
    `facts` is the row as received, unknown members included.
    """

    external_id: str
    author: str
    gpu: str
    stack: str | None
    facts: Json
    run: RunManifests | None = None
    reasons: tuple[str, ...] = ()


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
