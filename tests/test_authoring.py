"""Authored spellings: what they stand for, and what stands for nothing."""

from __future__ import annotations

import pytest

from kictl.authoring import in_set_order, nanoseconds, normalise


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0 ns", 0),
        ("12 ns", 12),
        ("12.5 us", 12_500),
        ("12.5 µs", 12_500),
        ("12.5 μs", 12_500),
        ("0.000001 ms", 1),
        ("1.000000001 s", 1_000_000_001),
        ("1e3 us", 1_000_000),
        ("1.5e-6 s", 1500),
        ("9007199254740991 ns", 2**53 - 1),
        ("4.35 us", 4350),
        ("0.1 us", 100),
    ],
)
def test_durations(text: str, ns: int) -> None:
    assert nanoseconds(text) == ns


@pytest.mark.parametrize(
    "text",
    [
        "12.5 ns",
        "0.0000001 ms",
        "1",
        "1ns",
        "1  ns",
        " 1 ns",
        "1 ns ",
        "1 ns\n",
        "-1 ns",
        "+1 ns",
        "1 m",
        "1 NS",
        "1 min",
        "1_000 ns",
        "١ ns",
        ".5 us",
        "5. us",
        "1e999999999 s",
        "1e99 s",
        "9007199254740992 ns",
        "nan ns",
        "inf s",
        "0x10 ns",
        "9" * 200 + " ns",
        "0.1234567890123456789012345678901234567890 s",
        "",
    ],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|whole"):
        nanoseconds(text)


def test_sets_are_ordered_by_code_unit() -> None:
    assert in_set_order(["b", "a", "b", "B"]) == ["B", "a", "b"]
    assert in_set_order(["\uffff", "\U0001f600"]) == ["\U0001f600", "\uffff"]  # a surrogate is below U+FFFF


def test_nothing_to_respell_leaves_the_same_object() -> None:
    manifest = {"kind": "BenchmarkRun", "spec": {"timing": {"latencyNs": {"mean": 5}}}}
    normal, spellings = normalise(manifest)
    assert normal is manifest
    assert spellings == []


def test_the_authored_manifest_is_left_alone() -> None:
    manifest = {
        "kind": "BenchmarkRun",
        "spec": {"timing": {"latencyNs": {"mean": "5 us", "confidence95": ["1 us", 9000]}}},
    }
    normal, spellings = normalise(manifest)
    assert normal["spec"]["timing"]["latencyNs"] == {"mean": 5000, "confidence95": [1000, 9000]}
    assert manifest["spec"]["timing"]["latencyNs"]["mean"] == "5 us"  # type: ignore[index]
    assert [spelling.pointer for spelling in spellings] == [
        "/spec/timing/latencyNs/mean",
        "/spec/timing/latencyNs/confidence95/0",
    ]


@pytest.mark.parametrize(
    "spec", [None, [], 5, {"support": 5}, {"support": {"dtypes": 5}}, {"support": {"dtypes": [1, "a"]}}]
)
def test_odd_shapes_are_left_to_the_schema(spec: object) -> None:
    for kind in ("ImplementationRevision", "BenchmarkRun", "BenchmarkProtocol", 5, None):
        manifest = {"kind": kind, "spec": spec}
        assert normalise(manifest) == (manifest, [])


def test_many_spellings_in_one_list_take_no_more_than_linear_time() -> None:
    """Each of them was once a copy of the whole list."""
    listed = ["1 us"] * 100_000
    latency = {"mean": "2 us", "confidence95": listed}
    normal, spellings = normalise({"kind": "BenchmarkRun", "spec": {"timing": {"latencyNs": latency}}})
    assert normal["spec"]["timing"]["latencyNs"] == {"mean": 2000, "confidence95": [1000] * 100_000}
    assert (len(spellings), listed[0], latency["mean"]) == (100_001, "1 us", "2 us")
