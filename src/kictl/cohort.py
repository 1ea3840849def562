"""What makes a cohort: the metric that its runs are ranked by, and the key of all that must be equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from kictl.canonical import Digest, digest

Json = Mapping[str, Any]

NS_PER = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
"""Units of time, in nanoseconds."""
_RATES = ("_s", "/s", "_per_second")
"""How the units of rates end, as in `tokens_s`."""
NO_METRIC = "none"
"""What stands for the metric in the key of a run that has no primary measurement."""


class Metric(NamedTuple):
    """What is measured, how many measurements became one number, and the unit of that number."""

    name: str
    statistic: str
    unit: str

    def __str__(self) -> str:
        """As comparison keys have it: `latency:mean:ns`."""
        return f"{self.name}:{self.statistic}:{self.unit}"

    @classmethod
    def parse(cls, text: str) -> Metric | None:
        """The metric that a text from `__str__` stands for; None for NO_METRIC. ValueError for anything else."""
        if text == NO_METRIC:
            return None
        name, statistic, unit = text.split(":")
        return cls(name, statistic, unit)

    @property
    def better(self) -> Literal["lower", "higher"] | None:
        """Which values are better: lower times, higher rates. None for other units, by which nothing is ranked."""
        if self.unit in NS_PER:
            return "lower"
        return "higher" if self.unit.endswith(_RATES) else None


LATENCY = Metric("latency", "mean", "ns")


class Measurement(NamedTuple):
    """The primary measurement of a run."""

    metric: Metric
    value: float


def primary(run: Json) -> Measurement | None:
    """The primary measurement of a run's spec, of a benchmark or of serving: its timing's primary statistic, else the
    first of its measurements; None where it has neither."""
    timing = run.get("timing")
    if timing is not None:
        statistic = timing["primaryStatistic"]
        value = timing["latencyNs"].get(statistic)
        return Measurement(Metric("latency", statistic, "ns"), value) if isinstance(value, int) else None
    for item in run.get("measurements", ()):
        return Measurement(Metric(item["metric"], item["statistic"], item["unit"]), item["value"])
    return None


def metric_in_key(run: Json) -> str:
    """The metric as it enters the comparison key of a run, whose timing may lack its own primary statistic."""
    timing = run.get("timing")
    if timing is not None:
        return f"latency:{timing['primaryStatistic']}:ns"
    found = primary(run)
    return NO_METRIC if found is None else str(found.metric)


def correctness_key(correctness: Json) -> Digest:
    """The digest of a workload's rule of correctness, as it enters a comparison key."""
    return digest({"correctness": correctness})


def comparison_key(
    *, operation: str, workload: str, protocol: str, environment: str, correctness: Json, metric: str
) -> Digest:
    """The identity of a cohort of benchmark runs.

    The first four are manifest digests (workload: of the suite or case), `correctness` is the object from
    the workload's spec, `metric` names what is ranked by, as in `latency:mean:ns`.
    The implementation is not part of it: implementations are what a cohort compares.
    """
    return comparison_key_of(operation, workload, protocol, environment, correctness_key(correctness), metric)


def comparison_key_of(
    operation: str, workload: str, protocol: str, environment: str, correctness: str, metric: str
) -> Digest:
    """The same where the key of the rule of correctness is known."""
    return digest(
        {
            "v": 1,
            "operation": operation,
            "workload": workload,
            "protocol": protocol,
            "environment": environment,
            "correctness": correctness,
            "metric": metric,
        }
    )


class ServingKeys(NamedTuple):
    """What must be equal before two serving runs may be compared, beside model and workload; each a readable text."""

    protocol: str
    topology: str
    quality: str
    metrics: str


def serving_keys(run: Json, workload: Json) -> ServingKeys:
    """The parts of a serving cohort's key, from the specs of a ServingRun and of its ServingWorkload."""
    harness, topology = run["harness"], run["topology"]
    streaming = "streaming" if workload["streaming"] else "non_streaming"
    placement = run.get("placement", "unspecified")
    vendor, link = topology.get("acceleratorVendor", "unknown"), topology.get("interconnect", "unspecified")
    size = f"{topology['acceleratorsPerNode']}x{topology['nodeCount']}"
    return ServingKeys(
        protocol=f"{harness['name']}/{harness['version']}/{placement}/{streaming}/{workload['loadGeneration']}",
        topology=f"{vendor}/{topology['acceleratorModel']}/{size}/{link}",
        quality=run["qualityPolicy"],
        metrics=metric_set(run["measurements"]),
    )


def metric_set(measurements: Iterable[Json]) -> str:
    """Which measurements a serving run states: `metric·statistic`, sorted, joined with commas."""
    return ",".join(sorted(f"{item['metric']}·{item['statistic']}" for item in measurements))


def tokenizer_of(model: Json, row: Json | None = None) -> Any:
    """The tokenizer as it enters the key: what the row of the model says, where there is one that says it, else the
    name of the tokenizer in the model's spec, None where it has none."""
    if row is not None and "tokenizer" in row:
        return row["tokenizer"]
    return model.get("tokenizer", {}).get("name")


def serving_cohort_key(*, model: str, tokenizer: Any, workload: str, keys: ServingKeys) -> Digest:
    """The identity of a cohort of serving runs: `model` and `workload` are digests, `tokenizer` is the model's own or
    None."""
    return digest(
        {
            "modelDigest": model,
            "tokenizer": tokenizer,
            "workloadDigest": workload,
            "protocolKey": keys.protocol,
            "topologyKey": keys.topology,
            "qualityPolicy": keys.quality,
            "metricSetKey": keys.metrics,
        }
    )
