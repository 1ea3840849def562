"""Comparison keys against published ones."""

from __future__ import annotations

from pathlib import Path

from kictl.canonical import Digest, read
from kictl.cohort import comparison_key, correctness_key

CORRECTNESS = {
    "comparator": "sol_execbench_eval",
    "description": "Correctness must pass on every case in the SOL evaluation stack.",
}


def key(**changes: str) -> Digest:
    parts = {name: str(Digest.of(name.encode())) for name in ("operation", "workload", "protocol", "environment")}
    parts |= {"metric": "latency:mean:ns"} | changes
    return comparison_key(**parts, correctness=CORRECTNESS)


def test_published_keys(shared: Path) -> None:
    lines = (shared / "corpus/expected.jsonl").read_bytes().splitlines()
    runs = [(definition, run) for definition in map(read, lines) for run in definition["runs"].values()]
    assert len(runs) == 400
    for definition, run in runs:
        found = comparison_key(
            operation=definition["operation"],
            workload=definition["suite"],
            protocol=run["protocol"],
            environment=run["environment"],
            correctness=CORRECTNESS,
            metric="latency:mean:ns",
        )
        assert found == run["comparison_key"]


def test_every_part_is_in_the_key() -> None:
    other = str(Digest.of(b"other"))
    keys = {key(), key(metric="latency:median:ns")}
    keys |= {key(**{name: other}) for name in ("operation", "workload", "protocol", "environment")}
    assert len(keys) == 6


def test_correctness_key_is_over_a_member_of_that_name() -> None:
    assert correctness_key({"b": 1.0, "a": "x"}) == Digest.of(b'{"correctness":{"a":"x","b":1}}')
