"""Rules about one row of a catalogue export: what its columns repeat of its manifest, of others, and of other rows.

Verification applies them to a stream of lines; the import of an export, which keeps what it reads, applies those about
ids of other rows as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kictl import cohort, units
from kictl.canonical import Digest
from kictl.model import Json
from kictl.schemas import show
from kictl.verify.registry import Problem, declare

COLUMN = declare(
    "export/column",
    "error",
    "What a row repeats of its manifest is what the manifest says.",
    "primaryValue 7698 beside a mean of 7699",
)
REFERENCE = declare(
    "export/reference",
    "error",
    "The id of another row leads to the row of the manifest that this row's manifest refers to.",
    "an implementationId of another implementation",
)
REPEATED = declare("export/repeated", "error", "A row stands in an export once.", "the same table and id on two lines")
MEASUREMENT = declare(
    "export/measurement",
    "error",
    "A row of measurements is one that its run's manifest states.",
    "a value of another run",
)
EVENT = declare(
    "export/record-event",
    "error",
    "A record follows from the runs of its comparison key: strictly better than every earlier one.",
    "a record event of a run that was not the best when it was observed",
)
COHORT = declare(
    "digest/cohort-key",
    "error",
    "The key of a serving cohort is recomputed from model, workload, protocol, topology, quality and metrics.",
    "a row with the cohortKey of another topology",
    needs="model and workload",
)

KINDS: Final = {
    "operations": ("OperationSpec",),
    "workloads": ("WorkloadCase", "WorkloadSuite"),
    "projects": ("SoftwareProject",),
    "implementations": ("ImplementationRevision",),
    "benchmark_runs": ("BenchmarkRun",),
    "model_revisions": ("ModelRevision",),
    "serving_stack_revisions": ("ServingStackRevision",),
    "serving_configurations": ("ServingConfiguration",),
    "serving_workloads": ("ServingWorkload",),
    "serving_runs": ("ServingRun",),
    "protocols": ("BenchmarkProtocol",),
    "environments": ("ExecutionEnvironment",),
}
"""The tables whose rows hold manifests, and of which kinds; that of a run of a benchmark is a bundle. KernelIndex has
no tables of protocols and environments, which stand in those bundles."""
TABLE_OF: Final = {kind: table for table, kinds in KINDS.items() for kind in kinds}
OTHER_TABLES: Final = (
    *("sources", "operation_aliases", "measurements", "serving_measurements", "record_events", "artifacts"),
)


class IdColumn(NamedTuple):
    """A column that holds the id of a row of another table. `path` is where the manifest refers to that row's
    manifest, None where it does not; `optional` says that the column may be null."""

    name: str
    table: str
    path: tuple[str, ...] | None = None
    optional: bool = False


IDS: Final[dict[str, tuple[IdColumn, ...]]] = {
    "operations": (IdColumn("supersedesId", "operations", optional=True),),
    "operation_aliases": (IdColumn("operationId", "operations"),),
    "workloads": (IdColumn("operationId", "operations", ("operationSpecDigest",)),),
    "implementations": (
        IdColumn("projectId", "projects"),
        IdColumn("operationId", "operations", ("operation", "specDigest")),
        IdColumn("supersedesId", "implementations", optional=True),
    ),
    "benchmark_runs": (
        IdColumn("implementationId", "implementations", ("implementationDigest",)),
        IdColumn("workloadId", "workloads", ("workloadDigest",)),
        IdColumn("sourceId", "sources", ("sourceNative", "source")),
        IdColumn("supersedesId", "benchmark_runs", optional=True),
    ),
    "measurements": (IdColumn("runId", "benchmark_runs"),),
    "record_events": (
        IdColumn("runId", "benchmark_runs"),
        IdColumn("previousRunId", "benchmark_runs", optional=True),
    ),
    "serving_stack_revisions": (IdColumn("projectId", "projects", optional=True),),
    "serving_configurations": (IdColumn("stackRevisionId", "serving_stack_revisions", ("stackDigest",)),),
    "serving_runs": (
        IdColumn("modelRevisionId", "model_revisions", ("modelDigest",)),
        IdColumn("configurationId", "serving_configurations", ("configurationDigest",)),
        IdColumn("workloadId", "serving_workloads", ("workloadDigest",)),
        IdColumn("sourceId", "sources", ("sourceNative", "source")),
        IdColumn("supersedesId", "serving_runs", optional=True),
    ),
    "serving_measurements": (IdColumn("runId", "serving_runs"),),
}
"""By table, the columns that lead to other rows."""


def columns(kind: str, row: Json, spec: Json, environment: Json | None = None) -> list[Problem]:
    """Columns of a row that say something else than its manifest's spec; `environment` is that of a bundle.

    A column that the row does not have is not missed.
    """
    problems = []
    for name, expected in _COLUMNS.get(kind, ()):
        if name in row and row[name] != (value := expected(spec)) and not _same(name, row[name], value):
            problems.append(_mismatch(COLUMN, name, value, row[name]))
    if environment is not None:
        stated = environment["hardware"]
        for name, member in _HARDWARE:
            if name in row and row[name] != stated.get(member):
                problems.append(_mismatch(COLUMN, name, stated.get(member), row[name]))
    return problems


def derived(kind: str, spec: Json) -> Json:
    """The columns that a row repeats of its manifest's spec."""
    return {name: value(spec) for name, value in _COLUMNS.get(kind, ())}


def hardware(environment: Json) -> Json:
    """The columns that the row of a run repeats of its environment's spec."""
    return {name: environment["hardware"].get(member) for name, member in _HARDWARE}


def keys(row: Json, expected: dict[str, str]) -> Iterator[Problem]:
    """Columns of keys that are not what they are recomputed to be; null is no key."""
    for name, key in expected.items():
        if name in row and row[name] != key:
            yield _mismatch(_KEY_RULES.get(name, COLUMN), name, key, row[name])


def id_mismatch(column: IdColumn, row: Json, wanted: str, found: str | None) -> Problem | None:
    """A column of an id that leads to another row than the manifest refers to; `found` is the digest, or the slug, of
    the row that it leads to, None where there is none."""
    if found == wanted:
        return None
    got = f"a row of {found}" if found else "no row of this export"
    message = f"{column.name} leads to {got}, the manifest refers to {wanted}"
    return Problem(REFERENCE, f"/{column.name}", message, wanted, found or "nothing")


def id_missing(column: IdColumn, value: Any) -> Problem:
    """A column of an id that leads to no row."""
    message = f"{column.name} {show(value)} leads to no row of {column.table}"
    return Problem(REFERENCE, f"/{column.name}", message, f"the id of a row of {column.table}", show(value))


def repeated(table: str, name: Any, first: str) -> Problem:
    """A row whose table and id came before."""
    return Problem(REPEATED, "/id", f"{table} {show(name)} came before, {first}", "a row that is new", show(name))


Stated = tuple[str, str, str, float]
"""One measurement of a run: metric, statistic, unit, value."""
_STATISTICS = {"minimum": "min", "maximum": "max"}


def measurements(spec: Json) -> list[Stated]:
    """Everything that a run's spec states as measured, as rows of measurements have it."""
    found: list[Stated] = [
        ("latency", _STATISTICS.get(statistic, statistic), "ns", value)
        for statistic, value in spec.get("timing", {}).get("latencyNs", {}).items()
        if not isinstance(value, list)
    ]
    found += ((m["metric"], m["statistic"], m["unit"], m["value"]) for m in spec.get("measurements", ()))
    return found


def measured(row: Json, stated: list[Stated] | tuple[Stated, ...]) -> Problem | None:
    """A row of measurements that its run does not state."""
    got = (row.get("metric"), row.get("statistic"), row.get("unit"), row.get("value"))
    if got in stated:
        return None
    alike = [item for item in stated if item[:3] == got[:3]]
    expected = show(alike[0][3]) if alike else "one of " + ", ".join(":".join(item[:3]) for item in stated)
    pointer = "/value" if alike else "/metric"
    message = f"the run states {expected}, the row {show(got[3] if alike else ':'.join(map(str, got[:3])))}"
    return Problem(MEASUREMENT, pointer, message, expected, show(got[3]))


class Attempt(NamedTuple):
    """A run that may have set a record. `value` is smaller for the better one; `name` is what events call it."""

    observed_at: str
    value: float
    name: str


def records(attempts: list[Attempt]) -> dict[str, tuple[str | None, str]]:
    """The records that follow from the runs of one comparison key: by the run that set it, the run that held it before
    and when it was set (policy ranking-v1)."""
    found: dict[str, tuple[str | None, str]] = {}
    holder: Attempt | None = None
    for attempt in sorted(attempts):
        if holder is None or attempt.value < holder.value:
            found[attempt.name] = (holder and holder.name, attempt.observed_at)
            holder = attempt
    return found


def event(row: Json, follows: dict[str, tuple[str | None, str]]) -> Problem | None:
    """A record event that does not follow from the runs of its comparison key."""
    name = row.get("runId")
    if not isinstance(name, str) or name not in follows:
        message = f"run {show(name)} was not the best of its comparison key when it was observed"
        return Problem(EVENT, "/runId", message, "a run that set a record", show(name))
    previous, at = follows[name]
    if row.get("previousRunId") != previous:
        got = show(row.get("previousRunId"))
        message = f"the record before was that of {show(previous)}, not of {got}"
        return Problem(EVENT, "/previousRunId", message, show(previous), got)
    if not _same_instant(row.get("at"), at):
        return _mismatch(EVENT, "at", at, row.get("at"))
    return None


def no_key(row: Json) -> Problem:
    """A record event that names no comparison key."""
    got = show(row.get("comparisonKey"))
    return Problem(EVENT, "/comparisonKey", f"expected a comparison key, got {got}", "a comparison key", got)


def smaller_is_better(measurement: cohort.Measurement) -> float | None:
    """The value of a measurement as records compare it; None where nobody says which values are better."""
    better = measurement.metric.better
    return None if better is None else measurement.value if better == "lower" else -measurement.value


def _topology(member: str) -> Callable[[Json], Any]:
    return lambda spec: spec["topology"].get(member)


def _member(*path: str) -> Callable[[Json], Any]:
    def value(spec: Json) -> Any:
        found: Any = spec
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    return value


_COLUMNS: Final[dict[str, tuple[tuple[str, Callable[[Json], Any]], ...]]] = {
    "OperationSpec": (("family", _member("family")),),
    "SoftwareProject": (("name", _member("name")),),
    "ImplementationRevision": (
        ("language", _member("callable", "language")),
        ("targetArchitectures", _member("support", "hardwareArchitectures")),
    ),
    "BenchmarkRun": (
        ("status", _member("status")),
        ("observedAt", _member("observedAt")),
        ("protocolKey", _member("protocolDigest")),
        ("environmentKey", _member("environmentDigest")),
        ("primaryMetric", lambda spec: found.metric.name if (found := cohort.primary(spec)) else cohort.NO_METRIC),
        ("primaryStatistic", lambda spec: found.metric.statistic if (found := cohort.primary(spec)) else None),
        ("primaryUnit", lambda spec: found.metric.unit if (found := cohort.primary(spec)) else None),
        ("primaryValue", lambda spec: found.value if (found := cohort.primary(spec)) else None),
    ),
    "ModelRevision": (("name", _member("model")),),
    "ServingConfiguration": (("dtype", _member("dtype")), ("quantization", _member("quantization"))),
    "ServingWorkload": (("streaming", _member("streaming")), ("loadGeneration", _member("loadGeneration"))),
    "ServingRun": (
        ("status", _member("status")),
        ("observedAt", _member("observedAt")),
        ("qualityPolicy", _member("qualityPolicy")),
        ("metricSetKey", lambda spec: cohort.metric_set(spec["measurements"])),
        ("scenario", _member("sourceNative", "scenario")),
        ("acceleratorVendor", _topology("acceleratorVendor")),
        ("acceleratorModel", _topology("acceleratorModel")),
        ("acceleratorCount", _topology("acceleratorsPerNode")),
        ("nodeCount", _topology("nodeCount")),
        (
            "totalAccelerators",
            lambda spec: spec["topology"]["acceleratorsPerNode"] * spec["topology"]["nodeCount"],
        ),
    ),
}
"""By kind, the columns that repeat something of the manifest, and what they repeat."""
_HARDWARE: Final = (
    ("hardwareVendor", "vendor"),
    ("hardwareModel", "product"),
    ("hardwareArchitecture", "architecture"),
)
_KEY_RULES: Final = {
    "comparisonKey": "digest/comparison-key",
    "correctnessKey": "digest/correctness-key",
    "cohortKey": COHORT,
}


def _same(name: str, got: Any, expected: Any) -> bool:
    """Whether two unequal values mean the same."""
    if name == "observedAt":
        return _same_instant(got, expected)
    if name == "targetArchitectures" and isinstance(got, list) and isinstance(expected, list):
        return sorted(map(str, got)) == sorted(map(str, expected))
    return False


def _same_instant(got: Any, expected: Any) -> bool:
    """`…14Z` and `…14.000Z` are one instant."""
    if not isinstance(got, str) or not isinstance(expected, str):
        return False
    return got == expected or _instant(got) == _instant(expected)


@lru_cache(maxsize=1024)
def _instant(text: str) -> str:
    try:
        return units.instant(text)
    except ValueError:
        return text


def _mismatch(rule: str, column: str, expected: Any, claimed: Any) -> Problem:
    wanted, got = (value if isinstance(value, Digest) else show(value) for value in (expected, claimed))
    return Problem(rule, f"/{column}", f"{column}: expected {wanted}, got {got}", str(wanted), str(got))
