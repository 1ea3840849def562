"""What is remembered of each document: one record for each thing that rules about many ask for."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

WORKLOADS: Final = ("WorkloadSuite", "WorkloadCase")

REFERENCES: Final[tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = (
    ("WorkloadCase", ("operationSpecDigest",), ("OperationSpec",)),
    ("WorkloadSuite", ("operationSpecDigest",), ("OperationSpec",)),
    ("ImplementationRevision", ("operation", "specDigest"), ("OperationSpec",)),
    ("BenchmarkRun", ("implementationDigest",), ("ImplementationRevision",)),
    ("BenchmarkRun", ("workloadDigest",), WORKLOADS),
    ("BenchmarkRun", ("protocolDigest",), ("BenchmarkProtocol",)),
    ("BenchmarkRun", ("environmentDigest",), ("ExecutionEnvironment",)),
    ("ServingConfiguration", ("stackDigest",), ("ServingStackRevision",)),
    ("ServingRun", ("modelDigest",), ("ModelRevision",)),
    ("ServingRun", ("configurationDigest",), ("ServingConfiguration",)),
    ("ServingRun", ("workloadDigest",), ("ServingWorkload",)),
)
"""Every member that refers to a manifest: kind that has it, its path in the spec, kinds it may lead to."""

REFERENCES_OF: Final = {
    kind: tuple((number, path, kinds) for number, (owner, path, kinds) in enumerate(REFERENCES) if owner == kind)
    for kind in {owner for owner, _, _ in REFERENCES}
}
"""By kind, the number in REFERENCES, the path, and the kinds of each of its references."""
REFERRED_TO: Final = {kind: kinds for *_, kinds in REFERENCES for kind in kinds}
"""By kind, all kinds that a reference to it may lead to."""


MADE, WANTED, WORKLOAD, RESULT, NAMED, ATTEMPT, EVENT, SERVED, SERVING_WORKLOAD, MODEL = range(10)
"""The first member of a record says which it is; the others are those of the class of that name."""

Place = tuple[str, int | None, str]
"""Where a manifest stands: subject, line, and the pointer to it in its document."""


class Made(NamedTuple):
    """A manifest of these documents. `editorial` is a hash of its metadata."""

    raw: bytes
    kind: str
    editorial: int
    place: Place


class Wanted(NamedTuple):
    """A reference to a manifest; `reference` is its number in REFERENCES."""

    raw: bytes
    reference: int
    place: Place


class Workload(NamedTuple):
    """What the keys of a run need of its workload. `cases` is None for what is no suite."""

    raw: bytes
    operation: str
    correctness: bytes
    cases: int | None


class Claims(NamedTuple):
    """What is claimed of a run, or said by it, that has to follow from its workload. `metric` is as in its key."""

    protocol: str
    environment: str
    metric: str
    comparison_key: Any
    correctness_key: Any
    total: Any


class Result(NamedTuple):
    """A run with such claims; the record holds them as a plain tuple."""

    workload: bytes
    raw: bytes
    claims: tuple[Any, ...]
    place: Place


class Named(NamedTuple):
    """A manifest under the id that its source gives it."""

    name: str
    raw: bytes
    place: Place


class Event(NamedTuple):
    """A record event: its key, and its row."""

    key: str
    row: dict[str, Any]
    place: Place


class Served(NamedTuple):
    """A serving run with keys in its row, and its spec as JSON."""

    raw: bytes
    spec: bytes
    claimed: dict[str, Any]
    place: Place


def part_of_key(key: str, parts: int) -> int:
    """The part that what is said of a comparison key goes to."""
    return int(key[7:9], 16) % parts


def row_of(base: str) -> str:
    """The pointer to the row that a manifest, or the bundle around it, stands in."""
    return base.removesuffix("/run").removesuffix("/manifest")
