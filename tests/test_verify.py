"""Verification: what holds passes in silence, what does not is found where it is."""

from __future__ import annotations

import io
import json
import os
import random
import signal
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import exports
from exports import identity
from kictl import schemas
from kictl.canonical import ParseError, canonical_bytes, read
from kictl.catalogue.audit import Audit
from kictl.catalogue.beside import CatalogueContext
from kictl.catalogue.store import Catalogue
from kictl.documents import Document, Lines, from_inputs, from_stream
from kictl.errors import UsageError
from kictl.model import Finding
from kictl.units import now
from kictl.verify import Nothing, Options, Report, RunBounds, chosen, verify
from kictl.verify.checker import Checker
from kictl.verify.parallel import outcomes
from leaderboards import import_folder
from mutations import mutations

Json = dict[str, Any]
Place = tuple[str, str]

KINDS = [*schemas.KINDS, "Bundle"]


def checked(*values: Any, **options: Any) -> Report:
    """The report on values, each a file of its own."""
    documents = [Document(f"{number}.json", json.dumps(value).encode()) for number, value in enumerate(values)]
    return verify(documents, Options(**options))


def stream(values: Any, **options: Any) -> Report:
    return verify(from_stream("export.jsonl", io.BytesIO(exports.dump(values))), Options(**options))


def found(report: Report, *, without: tuple[str, ...] = ("reference/unresolved",)) -> list[Place]:
    return [(finding.rule, finding.pointer) for finding in report.findings if finding.rule not in without]


def at(value: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        value = value[int(part) if isinstance(value, list) else part]
    return value


def put(document: Any, pointer: str, value: Any) -> Any:
    """A copy of the document with another value at a place."""
    copy = deepcopy(document)
    *path, last = pointer.split("/")[1:]
    holder = at(copy, "".join(f"/{part}" for part in path))
    holder[int(last) if isinstance(holder, list) else last] = value
    return copy


# What holds


def test_good_manifests_have_no_findings_but_absent_neighbours() -> None:
    report = verify(from_inputs([str(exports.GOOD)], io.BytesIO()), Options(ignore=("collection",)))
    assert found(report) == []
    assert (report.ok, report.errors, report.checked) == (True, 0, len([*exports.GOOD.iterdir()]))


def test_an_export_of_every_kind_verifies_in_any_order_of_lines() -> None:
    lines: list[Json] = [*exports.lines(definitions=8, runs=64)]
    assert len(lines) > 1500
    kinds = {line["row"]["manifest"].get("kind", "Bundle") for line in lines if line["row"].get("manifest")}
    assert kinds | {"BenchmarkRun", "BenchmarkProtocol", "ExecutionEnvironment"} == set(KINDS)
    in_order = stream(lines, closed=True)
    assert in_order.findings == ()
    assert in_order.checked == len(lines)
    random.Random(4).shuffle(lines)
    assert stream(lines, closed=True) == in_order


def test_the_published_runs_verify(shared: Path, tmp_path: Path) -> None:
    """Of the published runs, only those of three definitions are below their bounds; no other rule warns."""
    path = tmp_path / "c.sqlite"
    import_folder(shared / "corpus", path)
    with Catalogue.open(path) as catalogue:
        lines: list[Json] = [
            {"digest": m.digest, "kind": m.kind, "manifest": m.document} for m in catalogue.manifests()
        ]
        alone = stream(lines, closed=True)
        beside = verify(
            from_stream("x.jsonl", io.BytesIO(exports.dump(lines))), context=CatalogueContext(catalogue, against=True)
        )
        audit = Audit(catalogue)
        whole = verify(audit.documents(), context=CatalogueContext(catalogue, whole=True), extra=audit.findings())
    assert alone.findings == ()
    assert alone.checked == len(lines) > 3000
    benchmarks = {line["digest"]: line["manifest"]["spec"].get("sourceNative", {}).get("benchmark") for line in lines}
    for report in (beside, whole):
        told = [finding for finding in report.findings if finding.severity != "info"]
        assert {finding.rule for finding in told} == {"bound/below-mean"}
        definitions = {benchmarks[str(finding.digest)] for finding in told}
        assert all(name.startswith(("045_audio", "062_kv_cache", "082_moe_layer")) for name in definitions)
        assert {finding.rule for finding in report.findings} == {"bound/below-mean", "bound/vacuous"}


def test_the_published_bundle_has_the_published_digest(shared: Path) -> None:
    digest = "sha256:deb0ae259fd84c5e3321ed2b634493bcfbbe08ba88b3646967d236453e2c8bc6"
    bundle = (shared / "vectors/published/run-19969.json").read_bytes()
    assert found(verify([Document("b", bundle)], Options(expect=digest))) == []
    changed = bundle.replace(b'"mean": 7699', b'"mean": 7698')
    assert changed != bundle
    report = verify([Document("b", changed)], Options(expect=digest))
    assert found(report) == [
        ("digest/expected", "/run"),
        ("arithmetic/latency", "/run/spec/timing/latencyNs/mean"),
    ]
    assert report.findings[0].expected == digest
    assert report.exit_code() == 1


# What does not hold: single changes


def export_line(manifest: Json) -> Json:
    return {"digest": identity(manifest), "kind": manifest["kind"], "manifest": manifest}


def related(pointer: str, path: str) -> bool:
    """Whether one place is inside the other, or the same."""
    return f"{pointer}/".startswith(f"{path}/") or f"{path}/".startswith(f"{pointer}/")


@pytest.mark.parametrize("kind", schemas.KINDS)
def test_every_change_of_meaning_or_validity_is_found_where_it_is(kind: str) -> None:
    """Changes of a manifest that stands in an export line under its digest."""
    manifest = exports.good(kind)
    line = export_line(manifest)
    before = canonical_bytes({name: manifest[name] for name in ("apiVersion", "kind", "spec")})
    count = 0
    for what, path, changed in mutations(manifest):
        if not path:
            continue
        count += 1
        pointer = "/manifest" + schemas.pointer(path)
        same = _identity_bytes(changed) == before
        valid = schemas.is_valid(kind, changed) and is_readable(changed)
        report = checked(line | {"manifest": changed}, select=("parse", "schema", "digest", "authoring", "time"))
        errors = [finding for finding in report.findings if finding.severity == "error"]
        if valid and same:
            assert errors == [], (what, path)
        elif valid:
            assert [(f.rule, f.pointer) for f in errors if f.rule != "time/future"] == [("digest/column", "/digest")], (
                what,
                path,
            )
        elif path == ("kind",):
            assert {f.pointer for f in errors} & {"/manifest/kind", "/kind"}, (what, path)
        else:
            assert any(related(finding.pointer, pointer) for finding in errors), (what, path, errors)
    assert count > 300


def is_readable(value: Any) -> bool:
    try:
        read(json.dumps(value).encode())
    except ParseError:
        return False
    return True


def _identity_bytes(manifest: Json) -> bytes | None:
    try:
        return canonical_bytes({name: manifest[name] for name in ("apiVersion", "kind", "spec")})
    except (KeyError, ParseError):
        return None


@pytest.mark.parametrize("part", ["run", "protocol", "environment"])
def test_every_change_in_a_bundle_is_found(part: str) -> None:
    bundle = exports.run_line(exports.good("ImplementationRevision"), exports.good("WorkloadSuite"), "x")["row"][
        "manifest"
    ]
    digest = identity(bundle["run"])
    before = _identity_bytes(bundle[part])
    for what, path, changed in mutations(bundle[part]):
        if not path or path == ("spec", "observedAt"):
            continue
        report = checked(
            bundle | {part: changed},
            expect=digest,
            select=("parse", "schema", "authoring", "digest", "reference/bundle"),
        )
        if _identity_bytes(changed) == before and schemas.is_valid(bundle[part]["kind"], changed):
            assert found(report) == [], (what, path)
        else:
            assert report.errors, (what, path)


def test_order_white_space_and_metadata_change_nothing() -> None:
    manifest = exports.good("BenchmarkRun")
    reversed_ = {name: manifest[name] for name in reversed(manifest)}
    reversed_["spec"] = {name: manifest["spec"][name] for name in reversed(manifest["spec"])}
    other = manifest | {"metadata": {"name": "other", "title": "x"}}
    for text in (json.dumps(reversed_), json.dumps(manifest, indent=7), json.dumps(other)):
        assert found(verify([Document("x", text.encode())], Options(expect=identity(manifest)))) == []


RUN = exports.run_line(exports.good("ImplementationRevision"), exports.good("WorkloadSuite"), "x")["row"]["manifest"][
    "run"
]
METRICS = "/spec/sourceNative/metrics"

SCORE = f"{METRICS}/sol_score"
CHANGES: list[tuple[str, Any, list[Place]]] = [
    ("/spec/timing/latencyNs/mean", 9999, [("arithmetic/latency", "/spec/timing/latencyNs/mean")]),
    (f"{METRICS}/latency_ms", 1e305, [("arithmetic/latency", "/spec/timing/latencyNs/mean")]),
    (f"{METRICS}/fast_1_count", 3, [("arithmetic/faster-count", f"{METRICS}/fast_1_count")]),
    (f"{METRICS}/fast_1_count", 0, [("arithmetic/none-faster", SCORE)]),
    (SCORE, 0, [("arithmetic/all-faster", SCORE), ("arithmetic/score-range", SCORE)]),
    (SCORE, 1.0001, [("arithmetic/score-range", SCORE)]),
    (SCORE, 1, [("arithmetic/score-one", SCORE)]),
    (SCORE, 0.5, []),
    (SCORE, 0.499999, [("arithmetic/all-faster", SCORE)]),
    (f"{METRICS}/avg_speedup", 1, []),
    (f"{METRICS}/avg_speedup", 0.9999, [("arithmetic/all-faster", f"{METRICS}/avg_speedup")]),
    ("/spec/observedAt", "2026-02-29T00:00:00Z", [("time/impossible", "/spec/observedAt")]),
    ("/spec/observedAt", "2026-13-01T00:00:00.000Z", [("time/impossible", "/spec/observedAt")]),
    ("/spec/observedAt", "2026-07-10T24:00:00Z", [("time/impossible", "/spec/observedAt")]),
    ("/spec/observedAt", "2999-01-01T00:00:00Z", [("time/future", "/spec/observedAt")]),
    ("/spec/observedAt", "2026-07-10T06:07:05+02:00", [("schema/value", "/spec/observedAt")]),
    ("/spec/observedAt", "2026-07-10T06:07:05Z\n", [("schema/value", "/spec/observedAt")]),
    ("/apiVersion", "kernelindex.dev/v2", [("schema/api-version", "/apiVersion")]),
    ("/kind", "Benchmark", [("schema/kind", "/kind")]),
    ("/spec/status", 5, [("schema/value", "/spec/status")]),
    ("/spec/workloadDigest", RUN["spec"]["workloadDigest"] + "\n", [("schema/value", "/spec/workloadDigest")]),
    ("/spec/stauts", "passed", [("schema/unknown-member", "/spec/stauts")]),
    ("/spec/timing/latencyNs/mean", "10 us", [("authoring/duration-spelling", "/spec/timing/latencyNs/mean")]),
    ("/spec/timing/latencyNs/mean", "0.5 ns", [("authoring/duration", "/spec/timing/latencyNs/mean")]),
    ("/spec/timing/latencyNs/mean", "-1 ns", [("authoring/duration", "/spec/timing/latencyNs/mean")]),
    ("/spec/timing/latencyNs/mean", "10 us\n", [("authoring/duration", "/spec/timing/latencyNs/mean")]),
]  # fmt: skip


@pytest.mark.parametrize(("pointer", "value", "expected"), CHANGES)
def test_rules_of_a_run(pointer: str, value: Any, expected: list[Place]) -> None:
    assert found(checked(RUN)) == []
    report = checked(put(RUN, pointer, value))
    assert found(report) == expected
    for finding in report.findings:
        assert finding.expected
        assert finding.got
        assert finding.message


@pytest.mark.parametrize("hours", [23, 25])
def test_tomorrow_is_the_future_only_after_a_day(hours: int) -> None:
    from datetime import UTC, datetime, timedelta

    observed = (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    assert now() < observed
    report = checked(put(RUN, "/spec/observedAt", observed))
    assert [rule for rule, _ in found(report)] == ["time/future"] * (hours > 24)


def test_a_serving_run_of_the_future_is_told() -> None:
    run = put(exports.good("ServingRun"), "/spec/observedAt", "2999-01-01T00:00:00Z")
    assert found(checked(run)) == [("time/future", "/spec/observedAt")]


def test_authored_spellings_have_the_digest_of_what_they_stand_for() -> None:
    report = checked(put(RUN, "/spec/timing/latencyNs/mean", "10 µs"), expect=identity(RUN))
    assert found(report) == [("authoring/duration-spelling", "/spec/timing/latencyNs/mean")]
    implementation = exports.good("ImplementationRevision")
    shuffled = put(implementation, "/spec/support/dtypes", ["fp32", "bf16", "fp32", "fp16"])
    in_order = put(implementation, "/spec/support/dtypes", ["bf16", "fp16", "fp32"])
    report = checked(shuffled, expect=identity(in_order))
    assert found(report) == [("authoring/set-order", "/spec/support/dtypes")]
    assert (report.ok, report.exit_code(strict=True)) == (True, 1)  # the reference to the operation
    assert report.findings[-1].expected == '["bf16", "fp16", "fp32"]'


# Digests and references around manifests


def test_swapped_digests_and_keys_of_a_row_are_found() -> None:
    lines = [*exports.lines(definitions=2, runs=2)]
    where = next(n for n, line in enumerate(lines) if line["table"] == "runs")
    other = next(line for line in lines[where + 1 :] if line["table"] == "runs" and line != lines[where])
    for column, rule in {
        "runDigest": "digest/column",
        "implementationDigest": "digest/column",
        "workloadDigest": "digest/column",
        "comparisonKey": "digest/comparison-key",
        "correctnessKey": "digest/correctness-key",
    }.items():
        wrong = other["row"][column] if other["row"][column] != lines[where]["row"][column] else "sha256:" + "0" * 64
        report = stream([*lines[:where], put(lines[where], f"/row/{column}", wrong), *lines[where + 1 :]])
        assert [(f.rule, f.pointer, f.line) for f in report.findings] == [(rule, f"/row/{column}", where + 1)]
        assert report.findings[0].got == wrong
        assert report.findings[0].expected == lines[where]["row"][column]


def test_keys_are_not_checked_without_the_workload() -> None:
    lines = [line for line in exports.lines(definitions=1, runs=3) if line["table"] == "runs"]
    report = stream(lines)
    assert found(report) == []
    reasons = dict(report.not_run)
    for rule in ("digest/comparison-key", "digest/correctness-key", "arithmetic/case-count"):
        assert "3 of the runs" in reasons[rule]


def test_a_bundle_refers_to_its_own_members() -> None:
    bundle = exports.run_line(exports.good("ImplementationRevision"), exports.good("WorkloadSuite"), "x")["row"][
        "manifest"
    ]
    for member in ("protocol", "environment"):
        name = f"{member}Digest"
        report = checked(put(bundle, f"/run/spec/{name}", "sha256:" + "1" * 64), ignore=("digest/column",))
        assert ("reference/bundle", f"/run/spec/{name}") in found(report)
    assert found(checked({k: v for k, v in bundle.items() if k != "protocol"})) == [
        ("schema/missing-member", "/protocol")
    ]
    assert found(checked(bundle | {"extra": 1})) == [("schema/unknown-member", "/extra")]
    swapped = bundle | {"protocol": bundle["environment"], "environment": bundle["protocol"]}
    assert {("schema/kind", "/protocol/kind"), ("schema/kind", "/environment/kind")} <= set(found(checked(swapped)))


def test_references_to_what_is_absent_or_of_another_kind() -> None:
    suite = exports.good("WorkloadSuite")
    pointer = "/spec/operationSpecDigest"
    report = checked(suite)
    assert [(f.rule, f.severity, f.pointer) for f in report.findings] == [("reference/unresolved", "warning", pointer)]
    assert checked(suite, closed=True).errors == 1
    project = exports.good("SoftwareProject")
    report = checked(project, put(suite, pointer, identity(project)))
    assert [(f.rule, f.severity, f.subject, f.pointer) for f in report.findings] == [
        ("digest/kind", "error", "1.json", pointer)
    ]
    operation = exports.good("OperationSpec")
    for both in (
        [operation, put(suite, pointer, identity(operation))],
        [put(suite, pointer, identity(operation)), operation],
    ):
        assert checked(*both, closed=True).findings == ()


def test_counts_of_cases() -> None:
    suite = exports.good("WorkloadSuite")
    cases = len(suite["spec"]["cases"])
    line = exports.run_line(exports.good("ImplementationRevision"), suite, "x", fast_1_total=cases + 1, fast_1_count=1)
    report = checked(suite, line["row"]["manifest"])
    assert found(report) == [("arithmetic/case-count", f"/run{METRICS}/fast_1_total")]
    assert (report.findings[-1].expected, report.findings[-1].got) == (str(cases), str(cases + 1))


def test_one_identity_twice_and_one_id_with_two_contents() -> None:
    protocol = exports.good("BenchmarkProtocol")
    renamed = protocol | {"metadata": {"name": "other"}}
    report = checked(protocol, renamed, protocol, renamed)
    assert [(f.rule, f.severity, f.subject, f.pointer) for f in report.findings] == [
        ("collection/metadata", "info", "1.json", "/metadata")
    ]
    changed = put(put(RUN, f"{METRICS}/latency_ms", 0.011), "/spec/timing/latencyNs/mean", 11000)
    report = checked(RUN, changed, RUN)
    [told] = [finding for finding in report.findings if finding.rule != "reference/unresolved"]
    assert (told.rule, told.severity, told.subject) == ("collection/external-id", "warning", "1.json")
    assert (told.pointer, told.expected, told.got) == (
        "/spec/sourceNative/externalId",
        identity(RUN),
        identity(changed),
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, [("schema/document", "")]),
        ([5], [("schema/document", "/0")]),
        ({"a": 1}, [("schema/missing-member", f"/{m}") for m in ("apiVersion", "kind", "metadata", "spec")]),
        ({"table": "x", "row": 1}, [("schema/document", "")]),
        ({"table": "x", "row": {"manifest": 1}}, [("schema/document", "/row/manifest")]),
        ({"digest": "x", "manifest": RUN}, [("schema/document", ""), ("digest/column", "/digest")]),
        (export_line(RUN) | {"kind": "ServingRun"}, [("schema/line-kind", "/kind")]),
    ],
)
def test_what_is_no_manifest(value: Any, expected: list[Place]) -> None:
    report = checked(value)
    assert found(report) == expected
    assert report.exit_code() == 1


def test_a_row_with_part_of_a_bundle() -> None:
    lines = [*exports.lines(definitions=1, runs=1)]
    row = next(line for line in lines if line["table"] == "runs")
    del row["row"]["manifest"]["run"]
    assert found(checked(row)) == [("schema/missing-member", "/row/manifest/run")]


def test_a_name_that_is_no_text_is_escaped(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.json"
    with open(name, "wb") as file:
        file.write(b"5")
    report = verify(from_inputs([os.fsdecode(name)], io.BytesIO()))
    [finding] = report.to_json()["findings"]
    assert finding["subject"].endswith("/\\udcff.json")
    json.dumps(finding).encode("utf-8", "strict")


def test_many_bad_lines_take_little_memory() -> None:
    """A block of the shortest lines: what is found in it is counted, not kept."""
    checker = Checker(frozenset(["schema/missing-member"]), Nothing())
    checker.check(Lines("x", 1, b"{}\n" * 20_000))
    tally, _ = checker.take()
    assert (len(tally.kept), tally.rules["schema/missing-member"]) == (1000, 80_000)


# Bounds


class Bounds(Nothing):
    """Every suite has the same bounds."""

    offers = frozenset({"bounds"})

    def __init__(self, baseline: list[float | None], sol: list[float | None], *, dummy: bool = False) -> None:
        self.all = RunBounds(baseline, sol, dummy)

    def bounds(self, workload: str, benchmark: str | None = None) -> RunBounds | None:
        return self.all


@pytest.mark.parametrize(
    ("baseline", "sol", "dummy", "expected"),
    [
        ([0.025, 0.025], [0.004, 0.005], False, []),
        ([0.025, 0.025], [0.009, 0.012], False, ["bound/below-mean"]),
        ([0.025, 0.025], [0.011, 0.012], False, ["bound/below-mean", "bound/below-smallest"]),
        ([0.025, 0.025], [0.011, 0.012], True, []),
        ([0.025, 0.025], [0.011, None], False, []),
        ([0.025, None], [0.011, 0.012], False, ["bound/below-mean", "bound/below-smallest"]),
        ([0.0251, 0.0251], [0.004, 0.004], False, ["arithmetic/speedup-baseline"]),
        ([0.02501, 0.02501], [0.004, 0.004], False, []),
        ([0.02, 0.02], [0.00001, 0.004], False, ["bound/vacuous"]),
        ([0.02, 0.007], [0.004, 0.004], False, ["bound/vacuous"]),
        ([0.02, 0.02], [0.0, 0.004], False, []),
    ],
)
def test_bounds(baseline: list[float | None], sol: list[float | None], dummy: bool, expected: list[str]) -> None:
    """The run has 0.01 ms and a speedup of 2.5."""
    report = verify(
        [Document("x", json.dumps(RUN).encode())],
        Options(select=("bound", "arithmetic")),
        Bounds(baseline, sol, dummy=dummy),
    )
    assert sorted(finding.rule for finding in report.findings) == expected
    assert not [rule for rule, reason in report.not_run if "bounds" in reason]


def test_no_latency_beside_baselines() -> None:
    run = put(put(RUN, f"{METRICS}/latency_ms", 0), "/spec/timing/latencyNs/mean", 0)
    report = verify(
        [Document("x", json.dumps(run).encode())],
        Options(select=("arithmetic/speedup-baseline",)),
        Bounds([0.02], [0.02]),
    )
    [finding] = report.findings
    assert (finding.rule, finding.expected) == ("arithmetic/speedup-baseline", "a latency above 0")


# Choice, counting, exit codes


def test_rules_are_chosen_by_id_group_and_pattern() -> None:
    bad = put(put(RUN, SCORE, 2), "/spec/timing/latencyNs/mean", 1)
    assert [rule for rule, _ in found(checked(bad))] == ["arithmetic/score-range", "arithmetic/latency"]
    assert [rule for rule, _ in found(checked(bad, select=("arithmetic/latency",)))] == ["arithmetic/latency"]
    assert found(checked(bad, ignore=("arithmetic",))) == []
    assert [rule for rule, _ in found(checked(bad, select=("arithmetic/*",), ignore=("*/latency",)))] == [
        "arithmetic/score-range"
    ]
    with pytest.raises(UsageError, match="no rule is called"):
        checked(bad, select=("arithmetics",))


def test_findings_are_counted_beyond_what_is_kept() -> None:
    report = stream([{"a": 1}] * 3000)
    assert report.rules == {"schema/missing-member": 12000}
    assert (report.errors, len(report.findings), report.left_out) == (12000, 1000, 11000)


def test_expect_is_for_one_manifest() -> None:
    with pytest.raises(UsageError, match="one manifest"):
        checked(RUN, RUN, expect=identity(RUN))
    with pytest.raises(UsageError, match="not 0"):
        checked({"table": "runs", "row": {"manifest": None}}, expect=identity(RUN))
    assert checked(RUN | {"spec": None}, expect=identity(RUN)).exit_code() == 1


def test_exit_codes() -> None:
    broken = Document("x", b'{"a": 1, "a": 2}')
    assert verify([broken]).exit_code() == 3
    assert verify([broken, broken]).exit_code() == 1
    assert checked(exports.good("SoftwareProject")).exit_code(strict=True) == 0
    assert [checked(RUN).exit_code(strict=strict) for strict in (False, True)] == [0, 1]


@pytest.mark.parametrize("jobs", [2, 3])
def test_several_processes_find_the_same(jobs: int, tmp_path: Path) -> None:
    lines: list[Any] = []
    for number, line in enumerate(exports.lines(definitions=20, runs=120)):
        lines.append(put(line, "/table", 5) if number % 50 == 7 else line)
        lines.append({"table": "padding", "row": {"text": "x" * 500}})
    lines.insert(1000, {"table": "long", "row": {"text": "y" * (2 << 20)}})
    path = tmp_path / "export.jsonl"
    path.write_bytes(exports.dump(lines))
    assert path.stat().st_size > 6 << 20
    one, many = (verify(from_inputs([str(path)], io.BytesIO()), Options(jobs=n)) for n in (1, jobs))
    assert one == many
    assert one.rules["parse/size"] == 1
    assert one.rules["schema/document"] > 100
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, 0)  # no child is left


def test_several_processes_have_much_to_tell(tmp_path: Path) -> None:
    line = exports.dump([{"\n" + "x" * 300 + str(number): number for number in range(40)}])
    path = tmp_path / "export.jsonl"
    path.write_bytes(line * 300)
    inputs = [str(path), "-", str(path)]
    one, many = (verify(from_inputs(inputs, io.BytesIO(b"[]")), Options(jobs=n)) for n in (1, 2))
    assert one == many
    assert one.rules["schema/missing-member"] == 2400


def test_a_process_that_dies_while_it_checks_is_not_waited_for(tmp_path: Path) -> None:
    class Dying(Checker):
        def check(self, batch: Document | Lines) -> None:
            if os.getpid() != parent and isinstance(batch, Lines) and batch.first > 3000:
                os.kill(os.getpid(), signal.SIGKILL)
            super().check(batch)

    parent = os.getpid()
    path = tmp_path / "export.jsonl"
    path.write_bytes(exports.dump([{"table": "padding", "row": {"text": "x" * 500}}]) * 9000)
    with pytest.raises(RuntimeError, match="has ended"):
        list(outcomes(from_inputs([str(path)], io.BytesIO()), lambda: Dying(chosen(), Nothing()), 2))
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, 0)


def test_a_report_says_the_same_whatever_the_order_of_findings() -> None:
    one, two = Finding("parse/nan", "error", "b", "m", line=2), Finding("parse/nan", "error", "a", "m", line=3)
    assert verify([], extra=[one, two]) == verify([], extra=[two, one])
