"""Exports of records: every format says the same, nothing in them is taken for more than text, files are whole."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from boards import HOSTILE, detail, imported, row
from kictl import cohort
from kictl.catalogue.store import Catalogue
from kictl.render import exports
from kictl.text import printable
from kictl.workflow import exporting
from leaderboards import FIXTURE, held, import_folder
from processes import KICTL, Done, kictl

WHAT = ("manifests", "runs", "cohorts", "history", "submissions")
HEAD = {
    "runs": {"definition", "gpu", "stack", "comparison_key", "population", "snapshot_digest", "imported_at"},
    "submissions": {"definition", "snapshot_digest", "imported_at"},
}
HEAD |= dict.fromkeys(("cohorts", "history"), HEAD["runs"])


@pytest.fixture(scope="module")
def fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "c.sqlite"
    import_folder(FIXTURE, path)
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hostile names, and a second import in which one run is retracted and one superseded."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [row(n, author, 0.004 + n / 1000) for n, author in enumerate(HOSTILE, 1)]
    definition = detail(1, "=cmd|' /C calc'!A0")
    imported(folder / "first", folder / "c.sqlite", [(definition, rows)])
    later = [{**rows[0], "is_disqualified": True}, {**rows[1], "latency_ms": 0.0049}, *rows[2:]]
    return imported(folder / "second", folder / "c.sqlite", [(definition, later)])


def export(path: Path, *arguments: str | Path) -> Done:
    done = kictl("export", *arguments, "--catalog", path)
    assert (done.code, done.err) == (0, "")
    return done


def records(path: Path, what: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in export(path, "--what", what).out.splitlines()]


@pytest.mark.parametrize("what", WHAT)
def test_every_format_holds_the_same_records(hostile: Path, what: str, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    lines = records(hostile, what)
    assert lines
    whole = json.loads(export(hostile, "--what", what, "--format", "json").out)
    assert whole["export"] == what
    assert {"catalog_digest", "as_of", "policy"} <= whole.keys()
    assert [
        {**{name: value for name, value in group.items() if name != "rows"}, **line}
        for group in whole["groups"]
        for line in group["rows"]
    ] == lines
    export(hostile, "--what", what, "--format", "parquet", "-o", tmp_path / "it.parquet")
    table = parquet.read_table(tmp_path / "it.parquet")
    assert [
        {name: json.loads(value) if name == "manifest" else value for name, value in line.items()}
        for line in table.to_pylist()
    ] == lines
    assert table.schema.metadata[b"catalog_digest"].decode() == whole["catalog_digest"]
    text = export(hostile, "--what", what, "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [list(line) for line in rows] == [list(line) for line in lines]
    for line, read in zip(lines, rows, strict=True):
        for name, value in line.items():
            if name == "manifest":
                assert json.loads(read[name]) == value
            elif isinstance(value, str):
                assert read[name] in (printable(value), f"'{printable(value)}")
            else:
                assert read[name] == ("" if value is None else str(value))


@pytest.mark.parametrize("what", WHAT[1:])
def test_every_record_says_what_it_may_be_compared_with_and_where_it_is_from(fixture: Path, what: str) -> None:
    for line in records(fixture, what):
        assert HEAD[what] <= line.keys()
        assert line["imported_at"].endswith("Z")
        assert line["snapshot_digest"].startswith("sha256:")


def test_runs_are_ranked_in_their_cohort(fixture: Path) -> None:
    lines = records(fixture, "runs")
    wanted = Counter((definition, *line) for definition, rows in held(fixture).items() for line in rows)
    assert wanted == Counter(
        (r["definition"], r["submission"], r["gpu"], r["stack"], r["comparison_key"], r["latency_ns"]) for r in lines
    )
    moe = [r for r in lines if r["definition"].startswith("042_moe") and r["stack"] == "v1.1"]
    assert [(r["rank"], r["submission"], r["population"], r["best_of_author"]) for r in moe] == [
        (1, "19900", 2, True),
        (2, "19969", 2, True),
    ]
    tied = [r for r in lines if r["tied"]]
    assert tied
    for r in tied:
        same = [o for o in lines if o["comparison_key"] == r["comparison_key"] and o["latency_ns"] == r["latency_ns"]]
        assert len(same) > 1
        assert {o["rank"] for o in same} == {r["rank"]}


def test_cohorts_and_history_say_what_the_commands_say(fixture: Path) -> None:
    leaders = json.loads(kictl("leaders", "--json", "--catalog", fixture).out)["rows"]
    assert Counter((r["comparison_key"], r["submission"], r["gap"]) for r in records(fixture, "cohorts")) == Counter(
        (r["comparison_key"], r["places"]["1"]["submission"], r["gap"]) for r in leaders
    )
    past = json.loads(kictl("history", "--definition", "042_rms", "--json", "--catalog", fixture).out)
    told = [step["submission"] for cohort in past["cohorts"] for step in cohort["records"]]
    assert [r["submission"] for r in records(fixture, "history") if r["definition"] == past["definition"]] == told


def test_submissions_hold_also_what_is_no_run(hostile: Path, fixture: Path) -> None:
    standing = Counter(line["standing"] for line in records(fixture, "submissions"))
    assert standing == {"current": 41, "ineligible": 11}
    (retracted,) = (line for line in records(hostile, "submissions") if line["standing"] == "retracted")
    assert (retracted["submission"], retracted["reasons"]) == ("1", "disqualified")


def test_a_spreadsheet_finds_no_formula(hostile: Path) -> None:
    for what in WHAT:
        text = export(hostile, "--what", what, "--format", "csv").out
        for line in csv.reader(io.StringIO(text, newline="")):
            for cell in line:
                assert printable(cell) == cell
                assert not cell.lstrip().startswith(("=", "+", "-", "@")) or cell[1:].replace(".", "").isdigit()


def test_markdown_has_no_markup_of_others(hostile: Path) -> None:
    text = export(hostile, "--what", "runs", "--format", "markdown").out
    assert "<script>" not in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert len(tables) == 2 + len(HOSTILE) - 1
    assert len({line.replace("\\|", "").count("|") for line in tables}) == 1
    assert "snapshot\\_digest: sha256:" in text


def test_a_file_is_written_whole_or_not_at_all(fixture: Path, tmp_path: Path) -> None:
    target = tmp_path / "runs.csv"
    target.write_text("before")
    export(fixture, "--what", "runs", "--format", "csv", "--output", target)
    assert target.read_bytes().decode() == export(fixture, "--what", "runs", "--format", "csv", "-o", "-").out
    assert kictl("export", "-o", tmp_path, "--catalog", fixture).code == 2
    assert kictl("export", "-o", tmp_path / "no/such", "--catalog", fixture).code == 3
    assert kictl("export", "-o", tmp_path / ("x" * 300), "--catalog", fixture).code == 3
    assert kictl("export", "-o", target, "--catalog", tmp_path / "none").code == 5
    assert target.read_bytes().startswith(b"definition,")
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]


def test_a_pipe_and_what_a_link_leads_to_are_written_to(fixture: Path, tmp_path: Path) -> None:
    expected = export(fixture, "--what", "runs", "--format", "csv").out.encode()
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "folder/runs.csv"
    os.mkfifo(pipe)
    target.parent.mkdir()
    link.symlink_to(target)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_bytes)
        export(fixture, "--what", "runs", "--format", "csv", "-o", pipe)
        assert read.result(10) == expected
    for _ in range(2):
        export(fixture, "--what", "runs", "--format", "csv", "-o", link)
        assert target.read_bytes() == expected
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert [path.name for path in target.parent.iterdir()] == ["runs.csv"]


def test_parquet_without_pyarrow_is_told_with_a_hint(fixture: Path, tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    done = kictl("export", "--format", "parquet", "-o", tmp_path / "x", "--catalog", fixture, PYTHONPATH=str(tmp_path))
    assert done.code == 2
    assert "kictl[parquet]" in done.err
    assert not (tmp_path / "x").exists()


def test_closed_pipes_are_no_error(fixture: Path) -> None:
    command = f"'{KICTL}' export --what submissions --catalog '{fixture}' | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, check=False)
    assert (done.returncode in (0, 141), done.stderr) == (True, b"")


@pytest.mark.parametrize("which", ["fixture", "hostile"])
def test_the_shape_of_kernelindex_verifies(request: pytest.FixtureRequest, which: str, tmp_path: Path) -> None:
    path = request.getfixturevalue(which)
    export(path, "--format", "kernelindex", "-o", tmp_path / "catalogue.jsonl")
    # The figures of made-up runs do not agree with each other.
    ignored = ("--ignore", "arithmetic") if which == "hostile" else ()
    done = kictl("verify", "--closed", "--json", *ignored, tmp_path / "catalogue.jsonl")
    report = json.loads(done.out)
    assert (done.code, report["errors"]) == (0, 0)
    assert report["rules"].keys() <= ({"collection/external-id"} if which == "hostile" else set())
    with Catalogue.open(path) as catalogue:
        held_digests = {str(manifest.digest) for manifest in catalogue.manifests()}
    assert report["manifests"] >= len(held_digests)


def test_rows_of_runs_have_their_keys_and_standing(hostile: Path) -> None:
    lines = [json.loads(line) for line in export(hostile, "--format", "kernelindex").out.splitlines()]
    runs = [line["row"] for line in lines if line["table"] == "benchmark_runs"]
    workloads = {
        line["row"]["workloadDigest"]: line["row"]["manifest"] for line in lines if line["table"] == "workloads"
    }
    assert len(runs) == len(HOSTILE) + 1
    (replaced,) = [run["supersedesId"] for run in runs if "supersedesId" in run]
    assert replaced in {run["id"] for run in runs}
    (withdrawn,) = [run for run in runs if "retractedAt" in run]
    assert withdrawn["retractionReason"]
    for run in runs:
        assert set(run["manifest"]) == {"run", "protocol", "environment"}
        suite = workloads[run["workloadId"]]["spec"]
        assert run["correctnessKey"] == cohort.correctness_key(suite["correctness"])
        assert run["comparisonKey"] == cohort.comparison_key(
            operation=suite["operationSpecDigest"],
            workload=run["workloadId"],
            protocol=run["protocolKey"],
            environment=run["environmentKey"],
            correctness=suite["correctness"],
            metric="latency:mean:ns",
        )
    changed = "\n".join(json.dumps(line) for line in lines).replace(
        '"comparisonKey": "sha256:', '"comparisonKey": "sha256:0', 1
    )
    assert kictl("verify", "-", stdin=changed.encode()).code == 1


def test_kernelindex_is_of_manifests_only(fixture: Path) -> None:
    assert kictl("export", "--what", "runs", "--format", "kernelindex", "--catalog", fixture).code == 2


def test_records_are_written_as_they_come() -> None:
    """A sheet without an end is written without waiting for one."""

    class EnoughError(Exception):
        pass

    class Sink(io.BytesIO):
        def write(self, data: Any) -> int:
            if self.tell() > 100_000:
                raise EnoughError
            return super().write(data)

    def endless() -> Any:
        while True:
            yield {"a": 1, "b": "text"}

    for name in ("jsonl", "json", "csv", "markdown"):
        batch = exporting.Batch({"definition": "d"}, endless())
        sheet = exporting.Sheet("runs", {}, {"definition": "text"}, {"a": "integer", "b": "text"}, [batch])
        with pytest.raises(EnoughError):
            exports.FORMATS[name](sheet, Sink())


def test_nothing_of_pyarrow_is_loaded_unless_asked_for(fixture: Path) -> None:
    script = (
        "import sys; from kictl.cli.app import run;"
        f"run(['export', '--what', 'runs', '--catalog', {str(fixture)!r}]); sys.exit('pyarrow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL, check=False).returncode == 0
