from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
import referencing

from kictl import schemas
from kictl.errors import UsageError
from mutations import mutations, places, replaced
from processes import kictl

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
GOOD = sorted((ROOT / "fixtures/manifests/good").glob("*.json"))
BAD = sorted((ROOT / "fixtures/manifests/bad").glob("*.json"))
URN = "urn:kictl:schema:"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"no reference data at {SHARED}")
each_schema = pytest.mark.parametrize("name", schemas.names())
each_good = pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)


def load(name: str) -> Any:
    return json.loads(schemas.text(name))


def schema_of(path: Path) -> str:
    return path.stem.split("-")[0]


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object of the schema that is itself a schema for something."""
    return (node for _, node in places(schema) if isinstance(node, dict) and {"type", "$ref"} & set(node))


# The files


def test_names_are_the_files() -> None:
    files = {
        path.relative_to(ROOT / "schemas").with_suffix("").as_posix() for path in (ROOT / "schemas").rglob("*.json")
    }
    assert files == set(schemas.names())
    assert set(schemas.KINDS) < files
    assert len(schemas.names()) == len(files)


@each_schema
def test_schema_is_valid_and_names_itself(name: str) -> None:
    schema = load(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema_rs.meta.validate(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == URN + name
    assert schema["title"]
    assert schema["description"]


@each_schema
def test_every_member_is_described_with_its_unit(name: str) -> None:
    units = {
        "Ns": "nanosecond",
        "Bytes": "bytes",
        "Watts": "watts",
        "Seconds": "seconds",
        "_ms": "milliseconds",
    }
    for path, node in places(load(name)):
        if len(path) > 1 and path[-2] == "properties" and "if" not in path and "then" not in path:
            assert node.get("description"), path
            for suffix, unit in units.items():
                if str(path[-1]).endswith(suffix):
                    assert unit in node["description"], path


@each_schema
def test_objects_are_closed_except_upstream(name: str) -> None:
    closed = not name.startswith("upstream/")
    for node in subschemas(load(name)):
        if node.get("type") == "object":
            is_map = "properties" not in node
            assert is_map or node.get("additionalProperties") == (False if closed else None), node
            assert not is_map or isinstance(node["additionalProperties"], dict), node
            assert not (is_map and closed) or "propertyNames" in node, node


@each_schema
def test_references_lead_to_our_own_files(name: str) -> None:
    for _, node in places(load(name)):
        if isinstance(node, dict) and "$ref" in node:
            uri, _, fragment = node["$ref"].partition("#")
            target = load(uri.removeprefix(URN))
            for part in fragment.split("/")[1:]:
                target = target[part]
            assert isinstance(target, dict)


@each_schema
def test_patterns_mean_the_same_in_every_dialect(name: str) -> None:
    """Anchored at both ends, `$` nowhere else, no class that differs between dialects, no look-around."""
    for _, node in places(load(name)):
        if isinstance(node, dict) and isinstance(pattern := node.get("pattern"), str):
            assert re.fullmatch(r"\^[^$]*\$", pattern)
            assert not re.search(r"\\[dDwWsSbB]|\(\?", pattern)


def test_a_choice_only_says_which_members_must_be_there() -> None:
    """The explanation of a refusal relies on it."""
    for name in schemas.names():
        for _, node in places(load(name)):
            for choice in ("oneOf", "anyOf"):
                if isinstance(node, dict) and choice in node:
                    assert all(set(alternative) == {"required"} for alternative in node[choice])


def test_unknown_schema_suggests_what_was_meant() -> None:
    with pytest.raises(UsageError, match='no schema is called "benchmarkrum"') as caught:
        schemas.text("benchmarkrum")
    assert caught.value.hint is not None
    assert "BenchmarkRun" in caught.value.hint
    for name in ("../pyproject", "", "zzz\x1b[31m"):
        with pytest.raises(UsageError) as caught:
            schemas.text(name)
        assert "\x1b" not in str(caught.value)


def test_a_reference_outside_is_refused_and_not_fetched() -> None:
    with pytest.raises(LookupError, match="not one of ours"):
        schemas._load("https://json.schemastore.org/package")


# The verdict


def test_every_kind_has_a_small_and_a_full_example() -> None:
    stems = {path.stem for path in GOOD}
    for kind in (*schemas.KINDS, "Bundle"):
        assert {f"{kind}-minimal", f"{kind}-full"} <= stems


@pytest.mark.parametrize("kind", [*schemas.KINDS, "Bundle"])
def test_full_examples_use_every_member(kind: str) -> None:
    document = json.loads((ROOT / f"fixtures/manifests/good/{kind}-full.json").read_text())
    used = {part for path, _ in places(document) for part in path}
    declared = {part for path, _ in places(load(kind)) for at, part in pairwise(path) if at == "properties"}
    assert declared <= used


@each_good
def test_good_manifests_are_accepted(path: Path) -> None:
    document = json.loads(path.read_text())
    assert schemas.violations(schema_of(path), document) == []
    assert schemas.is_valid(schema_of(path), document)


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad_manifests_are_refused_where_they_are_wrong(path: Path) -> None:
    """Beside each stands a file with one line per violation: keyword, space, JSON Pointer."""
    document = json.loads(path.read_text())
    expected = path.with_suffix(".expect").read_text().splitlines()
    assert expected
    assert not schemas.is_valid(schema_of(path), document)
    found = schemas.violations(schema_of(path), document)
    assert sorted(f"{violation.keyword} {violation.pointer}" for violation in found) == expected


def test_an_integral_float_is_an_integer() -> None:
    """As JSON Schema has it, and RFC 8785 writes 1.0 and 1 alike: the two spellings are one manifest."""
    run = json.loads((ROOT / "fixtures/manifests/good/BenchmarkRun-integral-float.json").read_text())
    assert isinstance(run["spec"]["timing"]["latencyNs"]["mean"], float)
    assert schemas.is_valid("BenchmarkRun", run)


@pytest.mark.parametrize("document", [None, True, 1, "x", [], [1], {}], ids=repr)
@pytest.mark.parametrize("name", [*schemas.KINDS, "Bundle"])
def test_anything_else_is_refused(name: str, document: Any) -> None:
    assert schemas.violations(name, document)


@needs_shared
def test_published_bundle_is_accepted() -> None:
    bundle = json.loads((SHARED / "vectors/published/run-19969.json").read_text())
    assert schemas.violations("Bundle", bundle) == []


# Verdict and explanation


@pytest.mark.parametrize("stem", [*(f"{kind}-full" for kind in schemas.KINDS), "Bundle-minimal"])
def test_verdict_and_explanation_hold_together(stem: str) -> None:
    """The explainer sees what the judge refuses, no more and no less, and at the right place."""
    name, document = (
        stem.split("-")[0],
        json.loads((ROOT / f"fixtures/manifests/good/{stem}.json").read_text()),
    )
    for what, where, changed in mutations(document):
        found = list(schemas._explained(name, changed))
        assert bool(found) is not schemas.is_valid(name, changed), (what, where, found)
        around = schemas.pointer(where[:-1])
        assert all(violation.pointer.startswith(around) for violation in found), (what, where, found)
        if what == "added":
            assert {violation.pointer for violation in found} == {schemas.pointer(where)}


@each_good
def test_a_digest_is_matched_to_its_last_character(path: Path) -> None:
    name, document = schema_of(path), json.loads(path.read_text())
    for where, value in places(document):
        if isinstance(value, str) and value.startswith("sha256:"):
            for wrong in (
                value + "\n",
                value[:-1] + "٣",
                value[:-1] + "G",
                value[:-1],
                " " + value,
                value.upper(),
            ):
                changed = replaced(document, where, lambda _, wrong=wrong: wrong)
                (violation,) = schemas.violations(name, changed)
                assert violation.pointer == schemas.pointer(where)
                assert violation.got == schemas.show(wrong)


def test_the_judge_explains_what_the_explainer_misses() -> None:
    run = json.loads((ROOT / "fixtures/manifests/good/BenchmarkRun-full.json").read_text())
    run["spec"]["measurements"][0]["value"] = float("nan")  # no JSON, and so no matter of the explainer's
    assert list(schemas._explained("BenchmarkRun", run)) == []
    (violation,) = schemas.violations("BenchmarkRun", run)
    assert (violation.pointer, violation.keyword) == ("/spec/measurements/0/value", "type")


def test_violations_of_one_document_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    suite = json.loads((ROOT / "fixtures/manifests/good/WorkloadSuite-full.json").read_text("utf-8"))
    suite["spec"]["cases"] = [5] * 50
    assert len(schemas.violations("WorkloadSuite", suite)) == 50
    monkeypatch.setattr(schemas, "MOST", 20)
    assert [v.pointer for v in schemas.violations("WorkloadSuite", suite)] == sorted(
        f"/spec/cases/{n}" for n in range(20)
    )


def test_what_a_violation_says() -> None:
    run = json.loads((ROOT / "fixtures/manifests/good/BenchmarkRun-minimal.json").read_text())
    del run["spec"]["status"]
    run["spec"]["rank/~\x1b"] = {"of": [1, "\u202e"]}
    run["metadata"]["title"] = "\u202e" * 300
    run["spec"]["timing"] = {"primaryStatistic": "mean", "latencyNs": {"p05": True}}
    said = [(v.pointer, v.message, v.expected, v.got) for v in schemas.violations("BenchmarkRun", run)]
    long = '300 characters: "' + "\\u202e" * 13 + "…"
    only = ", ".join(load("BenchmarkRun")["properties"]["spec"]["properties"])
    choice = "at least one of median, mean"
    assert said == [
        ("/metadata/title", f"expected at most 200 characters, got {long}", "at most 200 characters", long),
        ("/spec/rank~1~0\x1b", 'unknown member "rank/~\\u001b"', f"only {only}", '{"of": [1, "\\u202e"]}'),
        ("/spec/status", 'missing member "status"', 'member "status"', "nothing"),
        ("/spec/timing/latencyNs", f"expected {choice}, got none of them", choice, "none of them"),
        ("/spec/timing/latencyNs/p05", "expected integer, got true", "integer", "true"),
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("µ 核 ⚙", '"µ 核 ⚙"'),
        ("a\nb\x00\x7f\u2028\u202e\ufeff", '"a\\nb\\u0000\\u007f\\u2028\\u202e\\ufeff"'),
        ("\U000e0001", '"\\udb40\\udc01"'),
        ("x" * 78, '"' + "x" * 78 + '"'),
        ("x" * 79, '"' + "x" * 78 + "…"),
        ("x" * 10**6, '"' + "x" * 78 + "…"),
        (list(range(10**4)), str(list(range(22)))[:-1] + ", …"),
        ({"a": [1.5, None, True]}, '{"a": [1.5, null, true]}'),
    ],
)
def test_values_are_shown_on_one_short_line(value: Any, shown: str) -> None:
    assert schemas.show(value) == shown
    assert len(shown) <= 80


# What the leaderboard answers


def kernel_detail() -> dict[str, Any]:
    return {
        "id": 1,
        "name": "001_example",
        "gpu_types": ["B200"],
        "axes": {
            "M": {"type": "var"},
            "N": {"type": "const", "value": 8},
            "K": {"type": "expr", "expression": "M*N"},
        },
        "inputs": {
            "x": {"shape": ["M", 8, "16"], "dtype": "float32"},
            "s": {"shape": None, "dtype": "float32"},
        },
        "outputs": {"y": {"shape": [], "dtype": "float32", "since": "v2"}},
        "workloads": [{"axes": {"M": 1}, "sol_ms": 6e-8, "baseline_latency_ms": None}],
        "never_seen_before": {"a": 1},
    }


def submission_row() -> dict[str, Any]:
    return {
        "id": 1,
        "username": "a|b@(c) \u202e\x1b[31m <b>",
        "kernel_id": 1,
        "kernel_name": "001_example",
        "status": "ANYTHING",
        "gpu_type": "NVIDIA_B200",
        "latency_ms": -1e300,
        "sol_score": None,
        "never_seen_before": [],
    }


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("upstream/kernel", {"data": kernel_detail(), "meta": {}}),
        (
            "upstream/kernel-row",
            {"id": 1, "name": "", "gpu_types": [], "tags": None, "submission_count": None},
        ),
        ("upstream/kernels", {"data": {"kernels": [{"id": 1}, "a bad row"]}}),
        ("upstream/submission", submission_row()),
        ("upstream/submissions", {"data": {"submissions": [{"id": "x"}, None], "total": 2}}),
    ],
)
def test_upstream_may_say_more_than_is_known(name: str, body: Any) -> None:
    assert schemas.violations(name, body) == []


@pytest.mark.parametrize(
    ("name", "path", "value", "pointer"),
    [
        ("upstream/submission", ("id",), "1", "/id"),
        ("upstream/submission", ("id",), True, "/id"),
        ("upstream/submission", ("username",), None, "/username"),
        ("upstream/submission", ("latency_ms",), "0.1", "/latency_ms"),
        ("upstream/submission", ("is_correct",), 1, "/is_correct"),
        ("upstream/submission", ("finished_at",), 1784000000, "/finished_at"),
        ("upstream/submission", ("fast_1_count",), 1.5, "/fast_1_count"),
        ("upstream/kernel", ("data",), None, "/data"),
        ("upstream/kernel", ("data", "axes", "M"), {"type": "const", "value": None}, "/data/axes/M/value"),
        ("upstream/kernel", ("data", "axes", "M"), {"type": "expr"}, "/data/axes/M/expression"),
        ("upstream/kernel", ("data", "axes", "M"), {"type": "loop"}, "/data/axes/M/type"),
        ("upstream/kernel", ("data", "inputs", "x", "shape"), [1.5], "/data/inputs/x/shape/0"),
        ("upstream/kernel", ("data", "workloads"), {}, "/data/workloads"),
        ("upstream/kernel", ("data", "workloads", 0, "axes", "M"), "1", "/data/workloads/0/axes/M"),
        ("upstream/kernel", ("data", "workloads", 0), {"axes": {}, "inputs": []}, "/data/workloads/0/inputs"),
        (
            "upstream/kernel",
            ("data", "workloads", 0),
            {"axes": {}, "inputs": {"x": None}},
            "/data/workloads/0/inputs/x",
        ),
        ("upstream/kernel", ("data", "workloads", 0), {"axes": {}, "tolerance": 0.1}, "/data/workloads/0/tolerance"),
    ],
)
def test_upstream_must_have_the_types_that_are_used(name: str, path: Any, value: Any, pointer: str) -> None:
    body: dict[str, Any] = {"data": kernel_detail()} if name == "upstream/kernel" else submission_row()
    found = schemas.violations(
        name, replaced(body, path, lambda _: value) if path[0] in body else body | {path[0]: value}
    )
    assert {violation.pointer for violation in found} == {pointer}


@needs_shared
def test_upstream_schemas_accept_the_recorded_leaderboard() -> None:
    corpus = SHARED / "corpus"
    kernels = json.loads((corpus / "kernels.json").read_text())
    assert schemas.violations("upstream/kernels", kernels) == []
    rows = kernels["data"]["kernels"]
    assert rows
    assert [row for row in rows if not schemas.is_valid("upstream/kernel-row", row)] == []
    details = [json.loads(path.read_text()) for path in (corpus / "kernels").glob("*.json")]
    assert len(details) == len(rows)
    assert [detail for detail in details if not schemas.is_valid("upstream/kernel", detail)] == []
    pages = [json.loads(path.read_text()) for path in (corpus / "submissions").glob("*.json")]
    submissions = [row for page in pages for row in page]
    assert submissions
    assert [row for row in submissions if not schemas.is_valid("upstream/submission", row)] == []


# Start-up


def test_libraries_and_schemas_are_loaded_only_where_used() -> None:
    program = """
import json, sys
from kictl import schemas
def loaded(): return [name for name in ("jsonschema", "jsonschema_rs", "referencing") if name in sys.modules]
assert loaded() == [], loaded()
assert schemas.is_valid("BenchmarkRun", json.load(sys.stdin))
assert loaded() == ["jsonschema_rs"], loaded()
assert list(schemas._verdicts) == ["BenchmarkRun"]
assert schemas.violations("BenchmarkRun", {})
assert "jsonschema" in loaded()
"""
    run = (ROOT / "fixtures/manifests/good/BenchmarkRun-full.json").read_bytes()
    done = subprocess.run([sys.executable, "-c", program], input=run, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", schemas.names())
def test_the_printed_schema_needs_no_other(name: str) -> None:
    """Validators that know no other schema, and may fetch none, judge by it as ours do."""
    done = kictl("schema", name)
    assert (done.code, done.err) == (0, "")
    printed = json.loads(done.out)
    jsonschema.Draft202012Validator.check_schema(printed)
    theirs: list[Any] = [
        jsonschema.Draft202012Validator(printed, registry=referencing.Registry()),
        jsonschema_rs.Draft202012Validator(printed),
    ]
    documents = [json.loads(path.read_bytes()) for path in GOOD + BAD[::5] if schema_of(path) == name]
    for document in [*documents, {}, None]:
        expected = schemas.is_valid(name, document)
        for validator in theirs:
            # Of formats, and of a newline at the end of a pattern, others judge more mildly.
            assert validator.is_valid(document) == expected or (not expected and document), (name, validator)


def test_split_prints_the_schema_as_its_file_has_it() -> None:
    assert kictl("schema", "BenchmarkRun", "--split").out == (ROOT / "schemas/BenchmarkRun.json").read_text("utf-8")
