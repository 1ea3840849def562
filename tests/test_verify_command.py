"""`kictl verify` and `kictl rules` as processes: every form of output, hostile text in all of them, exit codes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import exports
from exports import identity
from kictl.sources.leaderboard import SolExecBench
from kictl.sources.recorded import open_snapshot
from kictl.verify import RULES, in_order
from leaderboards import FIXTURE, database, import_folder
from loopback import Reply, serving
from processes import ROOT, Done, kictl

Json = dict[str, Any]
FORMATS = ("text", "json", "github", "sarif", "junit")


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), "utf-8")
    return path


def report(*arguments: str | Path, stdin: bytes = b"", code: int | None = None) -> Json:
    done = kictl("verify", *arguments, "--json", stdin=stdin)
    assert done.err == ""
    if code is not None:
        assert done.code == code
    found: Json = json.loads(done.out)
    return found


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verify") / "c.sqlite"
    import_folder(FIXTURE, path)
    return path


@pytest.fixture
def copy(catalogue: Path, tmp_path: Path) -> Path:
    """A catalogue of one's own, to be damaged."""
    path = tmp_path / "c.sqlite"
    shutil.copy(catalogue, path)
    return path


def bundle_of(submission: str) -> Json:
    """The bundle of a run of definition 042 in the fixture."""
    with open_snapshot(FIXTURE) as fetcher:
        source = SolExecBench(fetcher)
        ref = next(ref for ref in source.listing().definitions if ref.external_id == "42")
        (made,) = next(row.runs for row in source.read(ref).submissions if row.external_id == submission)
    _, _, protocol, environment = made.others
    parts = {"run": made.manifest, "protocol": protocol, "environment": environment}
    return {name: part.document for name, part in parts.items()}


# What is read, what is said


def test_the_json_that_other_programs_rely_on(tmp_path: Path) -> None:
    manifest = exports.good("SoftwareProject")
    path = write(tmp_path / "x.json", manifest | {"extra": 1})
    assert report(path, code=1) == {
        "checked": 1,
        "manifests": 1,
        "ok": False,
        "nothing_checked": None,
        "errors": 1,
        "warnings": 0,
        "infos": 0,
        "findings": [
            {
                "rule": "schema/unknown-member",
                "severity": "error",
                "subject": str(path),
                "line": None,
                "pointer": "/extra",
                "message": 'unknown member "extra"',
                "expected": "only apiVersion, kind, metadata, spec",
                "got": "1",
                "digest": None,
            }
        ],
        "left_out": 0,
        "rules": {"schema/unknown-member": 1},
        "not_run": [
            {"rule": rule.id, "reason": reason}
            for rule in in_order()
            for need, reason in (
                ("bounds", "no bounds at hand (--catalog, or --against a source, has them)"),
                (
                    "rows",
                    "no rows of a source at hand (--against a source, or a snapshot as the path)",
                ),
                ("source", "no source to compare with (--against catalog, live or a snapshot)"),
                ("catalogue", "for a catalogue that is itself verified (kictl verify without a path)"),
            )
            if rule.needs == need
        ],
    }


TEXT = """\
not ok: 3 documents with 2 manifests checked; 2 errors, 0 warnings, 0 notes
x.jsonl
  error: line 2 /spec/extra [schema/unknown-member]
    unknown member "extra"
    expected only name, kind, repository, homepage, host, packages
    got      1
  error: line 3 /a [parse/duplicate-member]
    the member occurs twice (column 10)
    expected each member once
    got      the member occurs twice

        1  parse/duplicate-member
        1  schema/unknown-member
not checked, no rows of a source at hand (--against a source, or a snapshot as the path): time/order
not checked, no bounds at hand (--catalog, or --against a source, has them): arithmetic/speedup-baseline, bound/*
not checked, no source to compare with (--against catalog, live or a snapshot): source/*
not checked, for a catalogue that is itself verified (kictl verify without a path): catalogue/*
"""


def test_the_text_for_people(tmp_path: Path) -> None:
    manifest = exports.good("SoftwareProject")
    extra = manifest | {"spec": manifest["spec"] | {"extra": 1}}
    lines = exports.dump([manifest, extra]) + b'{"a": 1, "a": 2}\n'
    (tmp_path / "x.jsonl").write_bytes(lines)
    done = _in(tmp_path, "verify", "x.jsonl")
    assert (done.code, done.err) == (1, "")
    assert done.out == TEXT
    quiet = _in(tmp_path, "verify", "x.jsonl", "--quiet")
    assert quiet.out.splitlines()[:2] == TEXT.splitlines()[:2]
    assert "not checked" not in quiet.out
    (tmp_path / "x.jsonl").write_bytes(exports.dump([manifest]))
    assert _in(tmp_path, "verify", "x.jsonl", "--quiet") == Done(0, "", "")
    (tmp_path / "x.jsonl").write_bytes(exports.dump([exports.good("WorkloadSuite")]))
    mild = _in(tmp_path, "verify", "x.jsonl", "--quiet")
    assert (mild.code, "[reference/unresolved]" in mild.out) == (0, True)
    strict = _in(tmp_path, "verify", "x.jsonl", "--quiet", "--strict")
    assert (strict.code, "[reference/unresolved]" in strict.out) == (1, True)


def test_notes_are_a_line_for_each_rule_or_all_of_them(tmp_path: Path) -> None:
    manifest = exports.good("SoftwareProject")
    other = manifest | {"metadata": {"name": "another-name"}}
    (tmp_path / "x.jsonl").write_bytes(exports.dump([manifest, other]))
    few = _in(tmp_path, "verify", "x.jsonl").out
    assert "line 2" not in few
    assert f"1  collection/metadata: {RULES['collection/metadata'].why}" in few
    assert "info: line 2 /metadata [collection/metadata]" in _in(tmp_path, "verify", "x.jsonl", "--notes").out


def test_a_file_that_cannot_be_parsed_is_marked_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{\n  "a": 1,\n  "a": 2\n}\n')
    done = _in(tmp_path, "verify", "x.json", "--format", "github")
    assert done.out.splitlines()[0] == (
        "::error file=x.json,line=3,title=parse/duplicate-member::/a the member occurs twice (column 3)"
    )


def _in(folder: Path, *arguments: str) -> Done:
    done = subprocess.run(
        [Path(sys.executable).with_name("kictl"), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_every_way_in_gives_the_same(tmp_path: Path) -> None:
    lines = [*exports.lines(definitions=1, runs=2)]
    data = exports.dump(lines)
    (tmp_path / "a.jsonl").write_bytes(data)
    (tmp_path / "b.json").write_text(json.dumps(lines))
    for name in ("a.jsonl", "b.json"):
        found = report(tmp_path / name, "--closed", code=0)
        assert (found["checked"], found["errors"], found["warnings"]) == (len(lines), 0, 0)
    assert report("-", "--closed", stdin=data, code=0)["checked"] == len(lines)
    assert report(tmp_path, "--closed", code=0)["checked"] == 2 * len(lines)
    assert kictl("verify", "-", "-").code == 2


def test_yaml_is_checked_as_json_is(tmp_path: Path) -> None:
    manifest = exports.good("BenchmarkProtocol")
    text = json.dumps(manifest)
    path = tmp_path / "x.yaml"
    path.write_text("# a comment\n" + "\n".join(f"{name}: {json.dumps(value)}" for name, value in manifest.items()))
    assert report(path, "--expect", identity(manifest), code=0)["findings"] == []
    path.write_text(path.read_text() + "\nkind: BenchmarkProtocol\n")
    [told] = report(path, code=3)["findings"]
    assert (told["rule"], told["pointer"]) == ("parse/duplicate-member", "/kind")
    assert json.loads(text) == manifest


def test_expect(tmp_path: Path) -> None:
    manifest = exports.good("OperationSpec")
    path = write(tmp_path / "x.json", manifest)
    assert report(path, "--expect", identity(manifest), code=0)["ok"] is True
    other = "sha256:" + "0" * 64
    [told] = report(path, "--expect", other, code=1)["findings"]
    assert (told["rule"], told["pointer"], told["expected"], told["got"]) == (
        "digest/expected",
        "",
        other,
        identity(manifest),
    )
    for wrong in ("sha256:00", "x", other.upper(), other + "\n"):
        assert kictl("verify", path, "--expect", wrong).code == 2
    assert kictl("verify", path, path, "--expect", other).code == 2


REFUSED = {
    "one digit": lambda text: text.replace('"kind": "O', '"kind": "P'),
    "removed": lambda text: text.replace('"family"', '"famili"'),
    "duplicate": lambda text: text.replace("{", '{"kind": "OperationSpec", ', 1),
    "newline": lambda text: text.replace('"family": "', '"family": "\\n'),
    "cut": lambda text: text[:-1],
}


@pytest.mark.parametrize("change", REFUSED)
def test_what_is_wrong_is_refused_with_place_expected_and_got(change: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(REFUSED[change](json.dumps(exports.good("OperationSpec"))))
    done = kictl("verify", path, "--json")
    assert done.code in (1, 3)
    for finding in json.loads(done.out)["findings"]:
        assert finding["pointer"] or finding["rule"] == "parse/syntax"
        assert finding["expected"]
        assert finding["got"]


@pytest.mark.parametrize("arguments", [["nowhere.json"], ["fixtures", "nowhere"], ["--against", "nowhere", "fixtures"]])
def test_what_is_not_there(arguments: list[str]) -> None:
    done = kictl("verify", *arguments)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("kictl: nowhere")
    assert done.err.count("\n") <= 2


def test_unknown_rules_and_formats() -> None:
    assert kictl("verify", "fixtures/manifests/good", "--select", "nothing").code == 2
    assert kictl("verify", "fixtures/manifests/good", "--format", "nothing").code == 2


# Hostile text in every form of output

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07 \r\n::error file=x::forged\n%0A::warning::y ]]> </failure><x a='\"&\"'> "
    "\u202egnp.exe\u2066 \u200b\u2028\u2029 \x00\x85\x9b31m [red] |,; =1+1 \U000e0041 \ufffe"
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder whose files' names and contents are hostile."""
    manifest = exports.good("SoftwareProject")
    folder = tmp_path / "f"
    folder.mkdir()
    name = HOSTILE.replace("/", "").replace("\x00", "")
    spec = manifest["spec"] | {HOSTILE: HOSTILE, "kind": HOSTILE, "name": "x" * 500 + HOSTILE}
    values = [manifest | {"spec": spec}, manifest | {"kind": HOSTILE}, {HOSTILE: HOSTILE}, HOSTILE]
    (folder / f"{name}.jsonl").write_bytes(exports.dump(values) + b'{"\xe2\x80\xae": 1, "\xe2\x80\xae": 2}\n')
    (folder / "x.yaml").write_text("a: !\u202ex 1", "utf-8")
    return folder


@pytest.mark.parametrize("output", FORMATS)
def test_hostile_text_is_shown_escaped_in_every_form(output: str, hostile: Path) -> None:
    done = kictl("verify", hostile, "--format", output)
    assert (done.code, done.err) == (1, "")
    assert [char for char in done.out if not char.isprintable() and char != "\n"] == []
    if output != "json":
        assert "\\x1b[2J" in done.out.replace("\\\\", "\\")
        assert "\\u202e" in done.out.replace("\\\\", "\\")
    else:
        subjects = {finding["subject"] for finding in json.loads(done.out)["findings"]}
        assert str(hostile / "x.yaml") in subjects


def test_hostile_text_forges_no_annotation(hostile: Path) -> None:
    lines = kictl("verify", hostile, "--format", "github").out.splitlines()
    found = report(hostile, code=1)["findings"]
    assert len(lines) == len(found) + 1
    for line in lines[:-1]:
        match = re.fullmatch(r"::(error|warning|notice) file=([^,:]*)(,line=[0-9]+)?,title=([a-z/-]+)::(.*)", line)
        assert match, line
        assert match.group(4) in RULES


def test_hostile_text_breaks_no_xml(hostile: Path) -> None:
    found = report(hostile, code=1)["findings"]
    root = ET.fromstring(kictl("verify", hostile, "--format", "junit").out)  # noqa: S314 - our own
    cases = root.findall("./testsuite/testcase")
    assert len(cases) == len(found) == int(root.attrib["tests"])
    assert len(root.findall("./testsuite/testcase/failure")) == int(root.attrib["failures"])
    assert {element.tag for element in root.iter()} == {"testsuites", "testsuite", "testcase", "failure"}


def test_hostile_text_breaks_no_sarif(hostile: Path) -> None:
    log = json.loads(kictl("verify", hostile, "--format", "sarif").out)
    [run] = log["runs"]
    assert log["version"] == "2.1.0"
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == [rule.id for rule in in_order()]
    assert len(run["results"]) == len(report(hostile, code=1)["findings"])
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        [location] = result["locations"]
        assert re.fullmatch(r"[A-Za-z0-9_.~/:%-]+", location["physicalLocation"]["artifactLocation"]["uri"])


@pytest.mark.parametrize("output", FORMATS)
def test_every_form_of_an_empty_report(output: str) -> None:
    done = kictl("verify", "fixtures/manifests/good/SoftwareProject-full.json", "--format", output)
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("\n")


# The catalogue and the source


def test_the_catalogue_verifies(catalogue: Path) -> None:
    by_name = report("--catalog", catalogue, code=0)
    assert (by_name["errors"], by_name["warnings"]) == (0, 1)
    assert by_name["rules"]["bound/below-mean"] == 1
    assert not [entry for entry in by_name["not_run"] if entry["rule"].startswith(("bound", "catalogue"))]
    for arguments in ((), ("--catalog",)):
        done = kictl("verify", *arguments, "--json", KICTL_CATALOG=str(catalogue))
        assert json.loads(done.out) == by_name
    assert kictl("verify").code == 5
    assert kictl("verify", "--catalog", "fixtures/demo.sh").code == 5


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("UPDATE manifest SET digest = zeroblob(32) WHERE id = (SELECT max(id) FROM manifest)", "digest/column"),
        ("UPDATE kind SET name = 'Serving' WHERE name = 'OperationSpec'", "catalogue/row"),
        (
            "INSERT INTO manifest (digest, kind_id, body) SELECT digest, kind_id, body FROM manifest LIMIT 1",
            "catalogue/row",
        ),
        (
            "UPDATE manifest SET body = x'00' WHERE kind_id = (SELECT id FROM kind WHERE name = 'SoftwareProject')",
            "parse/compression",
        ),
        ("UPDATE bounds_case SET sol_ms = sol_ms * 2 WHERE position = 0", "catalogue/bounds"),
        ("UPDATE bounds SET digest = randomblob(32)", "catalogue/bounds"),
        ("UPDATE cohort SET key = randomblob(32)", "digest/comparison-key"),
        ("UPDATE run SET value = value + 1", "catalogue/row"),
        ("UPDATE score SET sol_score = 0.9", "catalogue/row"),
        (
            "DELETE FROM manifest WHERE kind_id = (SELECT id FROM kind WHERE name = 'ImplementationRevision')",
            "parse/compression",
        ),
        ("DELETE FROM manifest WHERE kind_id = (SELECT id FROM kind WHERE name = 'BenchmarkRun')", "catalogue/row"),
    ],
)
def test_a_changed_catalogue_is_found(statement: str, rule: str, copy: Path) -> None:
    with database(copy) as db:
        db.execute(statement)
    found = report("--catalog", copy, "--closed", code=1)
    assert rule in found["rules"]


def test_references_and_bounds_from_the_catalogue(catalogue: Path, tmp_path: Path) -> None:
    bundle = write(tmp_path / "b.json", bundle_of("19969"))
    assert report(bundle, "--closed", code=1)["errors"] == 2
    found = report(bundle, "--closed", "--catalog", catalogue, code=0)
    assert (found["errors"], found["warnings"]) == (0, 0)


def test_against_a_snapshot_the_catalogue_and_a_server(catalogue: Path, tmp_path: Path) -> None:
    bundle = bundle_of("19969")
    good = write(tmp_path / "good.json", bundle)
    bundle["run"]["spec"]["sourceNative"]["metrics"]["sol_score"] = 0.712
    bundle["run"]["spec"]["observedAt"] = "2026-07-10T06:07:05.525Z"
    bad = write(tmp_path / "bad.json", bundle)
    bundle["run"]["spec"]["sourceNative"]["externalId"] = "1"
    unknown = write(tmp_path / "unknown.json", bundle)
    rows = json.loads((FIXTURE / "submissions/42.json").read_text("utf-8"))
    page = {"data": {"submissions": rows, "total": len(rows), "offset": 0, "limit": 50}}
    with serving() as server:
        server.script("kernels", Reply(body=(FIXTURE / "kernels.json").read_bytes()))
        server.script("kernels/42", Reply(body=(FIXTURE / "kernels/42.json").read_bytes()))
        server.script("submissions?kernel_id=42&limit=50&offset=0", Reply(body=json.dumps(page).encode()))
        for source in ([FIXTURE], [server.url], ["catalog", "--catalog", catalogue]):
            _compared(good, bad, unknown, ["--against", *source])


def _compared(good: Path, bad: Path, unknown: Path, against: list[str | Path]) -> None:
    assert not [f for f in report(good, *against, code=0)["findings"] if f["rule"].startswith("source")]
    differs = [f for f in report(bad, *against, code=1)["findings"] if f["rule"] == "source/differs"]
    assert [(f["pointer"], f["expected"], f["got"]) for f in differs] == [
        ("/run/spec/observedAt", '"2026-07-10T06:07:05.524Z"', '"2026-07-10T06:07:05.525Z"'),
        ("/run/spec/sourceNative/metrics/sol_score", "0.711284", "0.712"),
    ]
    assert "source/unknown" in report(unknown, *against, code=0)["rules"]


def test_a_disqualified_submission_is_told(tmp_path: Path, catalogue: Path) -> None:
    folder = tmp_path / "board"
    shutil.copytree(FIXTURE, folder)
    bundle = write(tmp_path / "b.json", bundle_of("19969"))
    rows_file = folder / "submissions/42.json"
    for member, value, rule in (
        ("is_disqualified", True, "source/disqualified"),
        ("is_correct", False, "source/not-eligible"),
        ("status", "FAILED", "source/not-eligible"),
    ):
        rows = json.loads((FIXTURE / "submissions/42.json").read_text())
        for row in rows:
            if isinstance(row, dict) and row.get("id") == 19969:
                row[member] = value
        rows_file.write_text(json.dumps(rows))
        found = report(bundle, "--against", folder, code=1)
        assert rule in found["rules"]
        import_folder(folder, tmp_path / f"{member}.sqlite")
        copy = tmp_path / f"{member}-later.sqlite"
        shutil.copy(catalogue, copy)
        import_folder(folder, copy)
        assert rule in report(bundle, "--against", "catalog", "--catalog", copy, code=1)["rules"]


def test_a_submission_that_cannot_be_read_any_more_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "board"
    shutil.copytree(FIXTURE, folder)
    rows = json.loads((folder / "submissions/42.json").read_text())
    for row in rows:
        if isinstance(row, dict) and row.get("id") == 19969:
            row["latency_ms"] = "fast"
    (folder / "submissions/42.json").write_text(json.dumps(rows))
    bundle = write(tmp_path / "b.json", bundle_of("19969"))
    [finding] = report(bundle, "--against", folder, "--select", "source", code=1)["findings"]
    assert (finding["rule"], finding["got"][:9]) == ("source/not-eligible", "malformed")


def test_a_superseded_run_and_moved_bounds_are_warnings(tmp_path: Path, copy: Path) -> None:
    bundle = write(tmp_path / "b.json", bundle_of("19969"))
    folder = tmp_path / "board"
    shutil.copytree(FIXTURE, folder)
    rows = json.loads((folder / "submissions/42.json").read_text())
    for row in rows:
        if isinstance(row, dict) and row.get("id") == 19969:
            row["sol_score"] = 0.7
    (folder / "submissions/42.json").write_text(json.dumps(rows))
    detail = json.loads((folder / "kernels/42.json").read_text())
    detail["data"]["workloads"][0]["sol_ms"] *= 0.99
    (folder / "kernels/42.json").write_text(json.dumps(detail))
    moved = report(bundle, "--against", folder, "--catalog", copy, code=1)
    assert moved["rules"]["source/bounds-moved"] == 1
    import_folder(folder, copy)
    found = report(bundle, "--against", "catalog", "--catalog", copy, code=0)
    assert {f["rule"]: f["severity"] for f in found["findings"] if f["rule"].startswith("source")} == {
        "source/differs": "warning",
        "source/bounds-moved": "warning",
    }


def test_a_snapshot_verifies_with_its_own_bounds(tmp_path: Path) -> None:
    found = report(FIXTURE, code=1)
    assert set(found["rules"]) == {"bound/below-mean", "bound/vacuous", "collection/malformed"}
    assert found["errors"] == found["rules"]["collection/malformed"]
    assert found["manifests"] > 200


@pytest.mark.parametrize(
    ("submitted", "finished", "told"),
    [
        ("2026-07-10T06:07:06", "2026-07-10T06:07:05.524", True),
        ("2026-07-10T06:07:05Z", "2026-07-10T06:07:05.524", False),
        ("2026-07-10T08:07:05+02:00", "2026-07-10T06:07:05Z", False),
        ("2026-07-10T06:07:05Z", "2026-07-10T08:07:04+02:00", True),
        ("yesterday", "2026-07-10T06:07:05Z", False),
        (None, "2026-07-10T06:07:05Z", False),
    ],
)
def test_what_is_finished_before_it_is_submitted_is_told(
    submitted: str | None, finished: str, told: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "board"
    shutil.copytree(FIXTURE, folder)
    rows = json.loads((folder / "submissions/42.json").read_text())
    for row in rows:
        if isinstance(row, dict) and row.get("id") == 19969:
            row |= {"submitted_at": submitted, "finished_at": finished}
    (folder / "submissions/42.json").write_text(json.dumps(rows))
    bundle = write(tmp_path / "b.json", bundle_of("19969"))
    of_run = report(bundle, "--against", folder, "--select", "time", code=int(told))["findings"]
    of_row = report(folder, "--select", "time", code=int(told))["findings"]
    assert [(f["rule"], f["pointer"]) for f in of_run] == [("time/order", "/run/spec/observedAt")] * told
    assert [(f["rule"], f["pointer"]) for f in of_row] == [("time/order", "/finished_at")] * told


def test_a_snapshot_beside_what_is_said_elsewhere(tmp_path: Path, catalogue: Path) -> None:
    folder = tmp_path / "board"
    shutil.copytree(FIXTURE, folder)
    rows = json.loads((folder / "submissions/42.json").read_text())
    for row in rows:
        if isinstance(row, dict) and row.get("id") == 19969:
            row["sol_score"] = 0.7
    (folder / "submissions/42.json").write_text(json.dumps(rows))
    for against in ([FIXTURE], ["catalog", "--catalog", catalogue]):
        found = report(folder, "--against", *against, "--ignore", "collection", code=1)
        assert [(f["rule"], f["pointer"]) for f in found["findings"] if f["severity"] == "error"] == [
            ("source/differs", "/run/spec/sourceNative/metrics/sol_score")
        ]


# The rules


def test_rules_are_listed_and_explained() -> None:
    listed = kictl("rules")
    assert (listed.code, listed.err) == (0, "")
    assert [line.split()[0] for line in listed.out.splitlines()] == [rule.id for rule in in_order()]
    one = kictl("rules", "arithmetic/latency").out
    assert one.startswith("arithmetic/latency (error)\n")
    assert RULES["arithmetic/latency"].example in one
    assert kictl("rules", "nothing").code == 2
    assert [rule["id"] for rule in json.loads(kictl("rules", "bound", "--json").out)] == [
        rule.id for rule in in_order() if rule.group == "bound"
    ]


def test_every_rule_has_a_section_in_the_docs() -> None:
    page = (ROOT / "docs/rules.md").read_text("utf-8")
    sections = dict(re.findall(r"^### ([a-z/-]+[a-z0-9-]*)\n\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE))
    assert [*sections] == [rule.id for rule in in_order()]
    for rule in in_order():
        assert rule.severity in sections[rule.id].lower(), rule.id
        assert rule.why in " ".join(sections[rule.id].split()), rule.id
        assert rule.example in " ".join(sections[rule.id].split()), rule.id


def test_one_file_is_checked_without_what_it_does_not_need() -> None:
    script = (
        "import sys; from kictl.cli.app import run\n"
        "code = run(['verify', 'fixtures/manifests/good/SoftwareProject-full.json', '--quiet'])\n"
        "heavy = {'rich', 'httpx', 'jsonschema', 'referencing', 'sqlite3', 'yaml', 'zstandard', 'gzip', 'tempfile',\n"
        "         'multiprocessing', 'asyncio', 'platformdirs', 'tenacity', 'pydantic', 'rfc8785'}\n"
        "print(code, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "0 []\n"


def test_the_pre_commit_hook_runs_what_there_is() -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    entry = re.search(r"^  entry: kictl (.*)$", hook, re.MULTILINE)
    assert entry
    assert kictl(*entry.group(1).split(), "fixtures/manifests/good/SoftwareProject-full.json").code == 0


# Nothing checked is not ok


@pytest.mark.parametrize("what", ["folder", "array", "file", "lines", "stream"])
def test_where_there_is_no_document_nothing_was_checked(what: str, tmp_path: Path) -> None:
    name = {"folder": "", "array": "a.json", "file": "e.json", "lines": "e.jsonl", "stream": "-"}[what]
    path: str | Path = name if name == "-" else tmp_path / name
    if isinstance(path, Path) and path != tmp_path:
        path.write_text("[]" if what == "array" else "", "utf-8")
    done = kictl("verify", path)
    reason = "there was no document in what was to be read"
    assert (done.code, done.err) == (3, "")
    assert done.out.splitlines()[0] == f"nothing was checked: {reason} (--allow-empty, if that is meant)"
    found = report(path, code=3)
    assert (found["ok"], found["checked"], found["errors"]) == (False, 0, 0)
    assert kictl("verify", "--allow-empty", path).code == 0


def test_a_rule_that_was_asked_for_by_name_and_could_not_run_is_an_error() -> None:
    run = ROOT / "fixtures/manifests/good/BenchmarkRun-full.json"
    named = report(run, "--select", "source/differs", code=1)
    assert [finding["rule"] for finding in named["findings"]] == ["collection/not-run"]
    group = report(run, "--select", "source", code=3)
    assert group["nothing_checked"] == "none of the rules that were chosen could run"
    assert kictl("verify", run, "--select", "source", "--select", "digest").code == 0


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("triton-rmsnorm-1.jsonl", "trace"),
        ("solution-eager.json", "solution"),
        ("definition-rmsnorm_h4096.json", "definition"),
        ("workload-rmsnorm_h4096.jsonl", "workload"),
    ],
)
def test_what_a_harness_writes_is_named_as_what_it_is(name: str, what: str) -> None:
    path = ROOT.parent / "shared/traces" / name
    if not path.exists():
        pytest.skip("the traces are not beside the repository")
    found = report(path, code=1)
    assert {(finding["rule"], finding["got"]) for finding in found["findings"]} == {
        ("schema/document", f"a harness {what}")
    }
    assert f"this is a harness {what}, not a manifest" in kictl("verify", path).out
