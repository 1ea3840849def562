"""Units, times and names, against values worked out by hand."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kictl import units


@pytest.mark.parametrize(
    ("ms", "ns"),
    [
        (0.007699, 7699),
        (0.284299, 284299),
        (0.0119999996, 12000),
        (0.0140005, 14001),  # a half goes up, also where Python's round would go to the even one
        (0.0000025, 3),
        (0.0000005, 1),
        (0.00000049, 0),
        (6e-8, 0),
        (1, 1_000_000),
        (1234.5678905, 1_234_567_891),
        (9_007_199_254.0, 9_007_199_254_000_000),
    ],
)
def test_ms_to_ns(ms: float, ns: int) -> None:
    assert units.ms_to_ns(ms) == ns


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("042_moe_Expert", "042-moe-expert"),
        ("  J. Doe (lab) ", "j-doe-lab"),
        ("a | b", "a-b"),
        ("算子优化", ""),
        ("--", ""),
        ("Some-Lab", "some-lab"),
        ("some lab", "some-lab"),
        ("x" * 120, "x" * 100),
        ("v1.1", "v1-1"),
    ],
)
def test_kebab(text: str, expected: str) -> None:
    assert units.kebab(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", "a"),
        ("B.T", "b_t"),
        ("2nd-bias", "x_2nd_bias"),
        ("_residual", "x__residual"),
        ("é", "x__"),
        ("", "x_"),
        ("ﬁ", "x__"),
    ],
)
def test_token(text: str, expected: str) -> None:
    assert units.token(text) == expected


@given(st.text(max_size=30))
def test_names_have_the_form_that_manifests_ask_for(text: str) -> None:
    assert re.fullmatch("[a-z][a-z0-9_]*", units.token(text))
    assert re.fullmatch("([a-z0-9]([a-z0-9-]*[a-z0-9])?)?", units.kebab(text))
    assert re.fullmatch("[a-z0-9_]*", units.dtype(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bfloat16", "bf16"),
        ("half", "fp16"),
        ("float16", "fp16"),
        ("float", "fp32"),
        ("float32", "fp32"),
        ("double", "fp64"),
        ("float64", "fp64"),
        ("float8_e4m3fn", "fp8_e4m3"),
        ("float8_e4m3", "fp8_e4m3"),
        ("float8_e5m2", "fp8_e5m2"),
        ("float4_e2m1", "fp4_e2m1"),
        ("int64", "int64"),
        ("Int64", "int64"),
        ("torch.int8", "torch_int8"),
    ],
)
def test_dtype(text: str, expected: str) -> None:
    assert units.dtype(text) == expected


@pytest.mark.parametrize(
    ("text", "name", "product", "architecture"),
    [
        ("B200", "B200", "NVIDIA B200", "sm_100"),
        ("GB200", "GB200", "NVIDIA GB200", "sm_100"),
        ("H200", "H200", "NVIDIA H200", "sm_90"),
        ("NVIDIA_H100", "H100", "NVIDIA H100", "sm_90"),
        ("A100", "A100", "NVIDIA A100", "sm_80"),
        ("RTX_PRO_6000", "RTX_PRO_6000", "RTX PRO 6000", "unknown"),
        ("NVIDIA_L40S", "NVIDIA_L40S", "NVIDIA L40S", "unknown"),
        ("b200", "b200", "b200", "unknown"),
    ],
)
def test_gpu(text: str, name: str, product: str, architecture: str) -> None:
    assert units.gpu(text) == units.Gpu(name, "nvidia", product, architecture)
    assert units.gpu(text).known is (architecture != "unknown")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-08-14T05:38:44.902912", "2026-08-14T05:38:44.902Z"),
        ("2026-08-14T05:38:44.902999", "2026-08-14T05:38:44.902Z"),  # truncated, not rounded
        ("2026-08-14T23:59:59.9999", "2026-08-14T23:59:59.999Z"),
        ("2026-08-14T05:38:44", "2026-08-14T05:38:44.000Z"),
        ("2026-08-14T05:38:44Z", "2026-08-14T05:38:44.000Z"),
        ("2026-08-14 05:38:44.5", "2026-08-14T05:38:44.500Z"),
        ("2026-08-01T00:30:00.5+02:00", "2026-07-31T22:30:00.500Z"),
        ("2024-02-29T00:00:00", "2024-02-29T00:00:00.000Z"),
        ("0001-01-01T00:00:00.0009", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_instant(text: str, expected: str) -> None:
    assert units.instant(text) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "2026-08-14", "2026-02-30T00:00:00", "2026-08-14T25:00:00", "now T"])
def test_what_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        units.instant(text)


@given(st.datetimes(max_value=datetime(9999, 1, 1)))
def test_an_instant_stays_what_it_is(moment: datetime) -> None:
    once = units.instant(moment.isoformat())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", once)
    assert units.instant(once) == once
    assert 0 <= (moment.replace(tzinfo=UTC) - datetime.fromisoformat(once)).total_seconds() < 0.001


def test_titles_are_cut() -> None:
    assert units.title("é" * 201) == "é" * 200
    assert units.title("short") == "short"
