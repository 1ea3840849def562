"""From a source's records to manifests: what goes where, what stays absent, what is refused."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kictl import schemas
from kictl.model import Definition, Manifest, Suite
from kictl.normalize import definitions, leaderboard
from kictl.normalize.build import NormalizeError, manifest

Json = dict[str, Any]

DETAIL: Json = {
    "id": 7,
    "name": "007_Example_kernel",
    "gpu_types": ["B200"],
    "tags": ["L1", "model:x", "RMS Norm"],
    "axes": {
        "Batch": {"type": "var"},
        "hidden": {"type": "const", "value": 64},
        "half": {"type": "expr", "expression": "Hidden // 2"},
    },
    "inputs": {"x": {"shape": ["Batch", "hidden"], "dtype": "bfloat16"}, "eps": {"shape": None, "dtype": "float32"}},
    "outputs": {"y": {"shape": ["Batch", "half", "2"], "dtype": "bfloat16"}},
    "workloads": [{"axes": {"Batch": 3}, "baseline_latency_ms": 0.02, "sol_ms": 0.001}],
}
ROW: Json = {
    "id": 70,
    "username": "someone",
    "kernel_id": 7,
    "kernel_name": "007_Example_kernel",
    "status": "COMPLETED",
    "gpu_type": "B200",
    "is_correct": True,
    "latency_ms": 0.0123,
    "evaluation_stack_version": "v1.1",
    "finished_at": "2026-08-14T05:38:44.902912",
}


def detail(**changes: Any) -> Json:
    return {**copy.deepcopy(DETAIL), **changes}


def definition(**changes: Any) -> Definition:
    return definitions.definition(detail(**changes))


def suite_of(made: Definition) -> Suite:
    assert made.suite is not None
    return made.suite


def run(**changes: Any) -> Made:
    (made,) = leaderboard.submission({**ROW, **changes}, definition()).runs
    project, implementation, protocol, environment = made.others
    return Made(made.manifest, implementation, project, protocol, environment, made.cohort.key)


class Made(NamedTuple):
    """The manifests of a run, and the key of its cohort."""

    run: Manifest
    implementation: Manifest
    project: Manifest
    protocol: Manifest
    environment: Manifest
    comparison_key: str


# Definitions


def test_operation() -> None:
    assert definition().subject.document == {
        "apiVersion": "kernelindex.dev/v1alpha1",
        "kind": "OperationSpec",
        "metadata": {"name": "007-example-kernel", "title": "007_Example_kernel"},
        "spec": {
            "family": "rms-norm",
            "axes": {
                "batch": {"role": "variable", "type": "integer"},
                "hidden": {"role": "constant", "type": "integer", "value": 64},
                "half": {"role": "derived", "type": "integer", "expression": "hidden // 2"},
            },
            "inputs": [
                {"name": "x", "tensor": {"shape": ["batch", "hidden"], "dtype": "bf16"}},
                {"name": "eps", "scalar": {"dtype": "fp32"}},
            ],
            "outputs": [{"name": "y", "tensor": {"shape": ["batch", "half", 2], "dtype": "bf16"}}],
            "semantics": {"mutation": "none", "determinism": "unspecified"},
        },
    }


@pytest.mark.parametrize(
    ("changes", "family"),
    [
        ({"op_type": "GQA_Paged"}, "gqa-paged"),
        ({"op_type": "", "tags": ["L2", "Quant", "FlashInfer-Bench", "model:m", "gemm"]}, "gemm"),
        ({"op_type": None, "tags": ["L1"]}, "uncategorized"),
        ({"tags": None}, "uncategorized"),
        ({"tags": ["——", "gemm"]}, "uncategorized"),
    ],
)
def test_family(changes: Json, family: str) -> None:
    assert definition(**changes).subject.spec["family"] == family


def test_source_code_says_that_there_is_a_reference_and_is_not_kept() -> None:
    code = "def run(x): return x"
    made = definition(reference=code, baseline=code)
    assert made.subject.spec["reference"] == {"language": "python"}
    assert "reference" not in definition(reference=None).subject.spec
    documents = [
        made.facts,
        made.subject.document,
        suite_of(made).manifest.document,
        *(case.document for case in suite_of(made).cases),
    ]
    assert code not in json.dumps(documents)


def test_a_case_binds_constants_and_derived_axes() -> None:
    inputs = {
        "x": {"shape": ["Batch", "half"], "dtype": "half"},
        "n": {"shape": [], "dtype": "int32"},
        "w": {"shape": ["9"], "dtype": "int8"},
    }
    (case,) = suite_of(definition(inputs=inputs)).cases
    assert case.spec["axes"] == {"batch": 3}
    assert case.spec["tensors"] == {"x": {"shape": [3, 32], "dtype": "fp16"}, "w": {"shape": [9], "dtype": "int8"}}
    assert case.spec["correctness"] == {"comparator": "sol_execbench_eval"}
    assert "scalars" not in case.spec


def test_an_input_of_unknown_size_is_left_out_not_guessed() -> None:
    axes = {**DETAIL["axes"], "free": {"type": "var"}, "next": {"type": "expr", "expression": "free + 1"}}
    inputs = {
        **DETAIL["inputs"],
        "f": {"shape": ["free"], "dtype": "int8"},
        "g": {"shape": ["next"], "dtype": "int8"},
        "h": {"shape": ["elsewhere"], "dtype": "int8"},
    }
    (case,) = suite_of(definition(axes=axes, inputs=inputs)).cases
    assert case.spec["tensors"].keys() == {"x"}


def test_repeated_cases_keep_order_and_count_in_the_suite() -> None:
    workloads = [{"axes": {"Batch": n}} for n in (3, 1, 3, 3)]
    made = definition(workloads=workloads)
    assert [case["axes"]["batch"] for case in suite_of(made).manifest.spec["cases"]] == [3, 1, 3, 3]
    assert [case.spec["axes"]["batch"] for case in suite_of(made).cases] == [3, 1]
    assert len(suite_of(made).bounds.cases) == 4


def test_case_ids_are_the_sources_or_a_hash_of_the_axes_in_its_own_case() -> None:
    assert definitions.case_id({"uuid": "an-id", "axes": {"M": 1}}) == "an-id"
    hashed = hashlib.sha256(b'{"hidden_size":2,"M":1}').hexdigest()[:12]
    assert definitions.case_id({"axes": {"M": 1, "hidden_size": 2}}) == hashed
    assert definitions.case_id({"axes": {"m": 1, "hidden_size": 2}}) != hashed


def test_an_integer_is_one_however_it_is_written() -> None:
    axes = {**DETAIL["axes"], "hidden": {"type": "const", "value": 64.0}}
    written = definition(axes=axes, workloads=[{"axes": {"Batch": 3.0}, "baseline_latency_ms": 0.02, "sol_ms": 0.001}])
    assert written.subject.digest == definition().subject.digest
    assert suite_of(written).manifest.digest == suite_of(definition()).manifest.digest
    assert [case.digest for case in suite_of(written).cases] == [case.digest for case in suite_of(definition()).cases]
    assert suite_of(written).bounds.digest == suite_of(definition()).bounds.digest


@given(st.permutations(["_z", "K", "K_blocks", "K1", "Ka", "hidden_size", "M", "z"]))
def test_the_order_of_axes_is_icu_root_collation(names: list[str]) -> None:
    in_order = ["_z", "hidden_size", "K", "K_blocks", "K1", "Ka", "M", "z"]
    axes = {name: position for position, name in enumerate(in_order)}
    shuffled = {name: axes[name] for name in names}
    assert definitions.case_id({"axes": shuffled}) == definitions.case_id({"axes": axes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"axes": {"N": {"type": "var"}, "n": {"type": "var"}}}, "two axes"),
        ({"workloads": [{"axes": {"Batch": 1, "batch": 2}}]}, "two axes"),
        ({"inputs": {"a.b": DETAIL["inputs"]["x"], "a-b": DETAIL["inputs"]["x"]}}, "two arguments"),
        ({"axes": {"a": {"type": "enum"}}}, "unknown type 'enum'"),
        ({"axes": {**DETAIL["axes"], "half": {"type": "expr", "expression": "half // 2"}}}, "cycle: half"),
        ({"axes": {**DETAIL["axes"], "half": {"type": "expr", "expression": "64 // (hidden - 64)"}}}, "division by"),
        ({"axes": {**DETAIL["axes"], "half": {"type": "expr", "expression": "hidden / 2"}}}, "expression"),
        ({"axes": {**DETAIL["axes"], "half": {"type": "expr"}}}, "expression"),
        ({"axes": {**DETAIL["axes"], "1st": {"type": "var"}}}, "1st"),
        ({"inputs": {"x": {"shape": ["9" * 5000], "dtype": "int8"}}}, "dimension"),
        ({"inputs": {"x": {"shape": ["-1"], "dtype": "int8"}}}, "dimension"),
        ({"workloads": [{"axes": {"Batch": -1}}]}, "at least 0"),
        ({"outputs": {}}, "/spec/outputs"),
        ({"workloads": []}, "/spec/cases"),
        ({"latency_unit": "us"}, "latency_unit"),
    ],
)
def test_definitions_that_make_no_manifest(changes: Json, message: str) -> None:
    with pytest.raises(NormalizeError, match=message):
        definition(**changes)


def test_titles_and_names_within_their_limits() -> None:
    made = definition(name="x" * 300, title="é" * 300)
    assert made.subject.document["metadata"] == {"name": "x" * 100, "title": "é" * 200}
    assert definition(name="算子").subject.document["metadata"]["name"] == "definition-7"


def test_bounds_have_a_digest_of_exactly_their_numbers() -> None:
    bounds = suite_of(definition()).bounds
    moved = suite_of(definition(workloads=[{**DETAIL["workloads"][0], "sol_ms": 0.0011}])).bounds
    assert suite_of(definition(title="another")).bounds == bounds
    assert moved.digest != bounds.digest
    assert (bounds.cases[0].baseline_ms, bounds.cases[0].sol_ms) == (0.02, 0.001)
    assert suite_of(definition(sol_is_dummy=True)).bounds.is_dummy


# Submissions


def test_run() -> None:
    made = run(sol_score=0.5, avg_speedup=1.5, fast_1_count=0, fast_1_total=None, worker_id="w 1")
    document = made.run.document
    assert document["metadata"] == {
        "name": "sol-submission-70",
        "title": "someone · 007_Example_kernel · B200",
        "labels": {"worker": "w 1"},
    }
    assert document["spec"] == {
        "implementationDigest": made.implementation.digest,
        "workloadDigest": suite_of(definition()).manifest.digest,
        "protocolDigest": made.protocol.digest,
        "environmentDigest": made.environment.digest,
        "status": "passed",
        "timing": {"primaryStatistic": "mean", "latencyNs": {"mean": 12300}},
        "sourceNative": {
            "source": "sol-execbench",
            "benchmark": "007_Example_kernel",
            "externalId": "70",
            "metrics": {"latency_ms": 0.0123, "sol_score": 0.5, "avg_speedup": 1.5, "fast_1_count": 0},
        },
        "observedAt": "2026-08-14T05:38:44.902Z",
    }


def test_implementation_and_project() -> None:
    made = run(username="J. Doe (lab)")
    assert made.implementation.spec == {
        "projectRevision": {"version": "submission-70"},
        "operation": {"specDigest": definition().subject.digest},
        "callable": {"language": "unknown"},
        "support": {
            "hardwareArchitectures": ["sm_100"],
            "productsTested": ["NVIDIA B200"],
            "dtypes": ["bf16", "fp32"],
        },
        "licensing": {},
    }
    assert made.project.document["metadata"] == {"name": "sol-user-j-doe-lab", "title": "J. Doe (lab)"}
    assert made.project.spec["host"] == {"kind": "other", "id": "sol-execbench/user/J. Doe (lab)"}


def test_two_spellings_of_a_name_are_two_projects() -> None:
    one, two = run(username="Some-Lab").project, run(username="some lab").project
    assert one.document["metadata"]["name"] == two.document["metadata"]["name"]
    assert one.digest != two.digest


def test_a_stack_that_is_not_stated_stays_absent() -> None:
    made = run(evaluation_stack_version=None)
    assert made.protocol.spec["harness"] == {"name": "SOL-ExecBench evaluation stack"}
    assert made.environment.spec["software"] == {}
    assert made.comparison_key != run().comparison_key


def test_one_gpu_in_two_spellings_is_one_cohort() -> None:
    assert run(gpu_type="NVIDIA_B200").comparison_key == run().comparison_key
    assert len({run(gpu_type=gpu).comparison_key for gpu in ("B200", "GB200", "H200", "A40")}) == 4


def test_the_implementation_is_not_in_the_comparison_key() -> None:
    other = run(id=71, username="another", latency_ms=0.5)
    assert other.comparison_key == run().comparison_key
    assert other.implementation.digest != run().implementation.digest


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"status": "REJECTED"}, ("not-completed",)),
        (
            {"status": "PENDING_RESULT", "is_correct": None, "latency_ms": None},
            ("not-completed", "not-correct", "no-latency"),
        ),
        ({"is_correct": False}, ("not-correct",)),
        ({"is_correct": None}, ("not-correct",)),
        ({"is_disqualified": True}, ("disqualified",)),
        ({"is_disqualified": None}, ()),
        ({"latency_ms": None}, ("no-latency",)),
        ({"latency_ms": 0}, ("no-latency",)),
        ({"latency_ms": -1.0}, ("no-latency",)),
        ({"latency_ms": 1e-9}, ()),
        ({"finished_at": None}, ("no-time",)),
        ({"finished_at": None, "submitted_at": "2026-08-14T05:38:44"}, ()),
    ],
)
def test_eligibility(changes: Json, reasons: tuple[str, ...]) -> None:
    made = leaderboard.submission({**ROW, **changes}, definition())
    assert made.reasons == reasons
    assert (made.runs == ()) is bool(reasons)
    assert made.facts == {**ROW, **changes}


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"finished_at": "yesterday"}, "/spec/observedAt"),
        ({"username": "x" * 201}, "/spec/host/id"),
        ({"evaluation_stack_version": "v" * 101}, "/spec/harness/version"),
        ({"latency_ms": 1e12}, "/spec/timing/latencyNs/mean"),
        ({"kernel_name": "k" * 201}, "/spec/sourceNative/benchmark"),
    ],
)
def test_rows_that_make_no_manifest(changes: Json, pointer: str) -> None:
    with pytest.raises(NormalizeError) as caught:
        leaderboard.submission({**ROW, **changes}, definition())
    assert caught.value.pointer == pointer


def test_every_manifest_is_valid() -> None:
    made, found = run(), definition()
    for item in (
        made.run,
        made.implementation,
        made.project,
        made.protocol,
        made.environment,
        found.subject,
        suite_of(found).manifest,
    ):
        assert schemas.violations(item.kind, item.document) == []


def test_nothing_invalid_gets_a_digest() -> None:
    with pytest.raises(NormalizeError, match="/spec/name"):
        manifest("SoftwareProject", {"name": "x"}, {"kind": "individual"})
