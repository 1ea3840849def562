"""The recorded leaderboard of fixtures/: three ways to its digests, and every row accounted for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import independent
from leaderboards import EXPECTED, FIXTURE, Json, digests, import_folder, read_lines


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Json:
    return import_folder(FIXTURE, tmp_path_factory.mktemp("fixture") / "c.sqlite")


def test_two_implementations_and_the_file_agree() -> None:
    expected = read_lines(EXPECTED)
    assert {line["kernel_id"]: line for line in independent.expected(FIXTURE)} == expected
    assert digests(FIXTURE) == expected


def test_the_second_implementation_reproduces_what_was_published(shared: Path) -> None:
    found = {line["kernel_id"]: line for line in independent.expected(shared / "corpus")}
    assert found == read_lines(shared / "corpus/expected.jsonl")


def test_the_published_runs_have_their_published_digests(shared: Path) -> None:
    mine, published = read_lines(EXPECTED)[42], read_lines(shared / "corpus/expected.jsonl")[42]
    assert mine["runs"].keys() == {"19969", "19900", "14967", "14486"}
    assert mine == {**published, "runs": {name: published["runs"][name] for name in mine["runs"]}}


def test_every_row_is_accounted_for(report: Json) -> None:
    files = [json.loads(path.read_text("utf-8")) for path in (FIXTURE / "submissions").glob("*.json")]
    rows = sum(map(len, files))
    quarantined = [entry for entry in report["quarantined"] if " submission " in entry["where"]]
    assert report["received"] == rows
    assert sum(report["runs"].values()) + sum(report["skipped"].values()) + len(quarantined) == rows
    assert report["runs"]["new"] == sum(len(line["runs"]) for line in read_lines(EXPECTED).values())


def test_why_rows_are_no_runs(report: Json) -> None:
    assert report["skipped"] == {
        "disqualified": 1,
        "no-latency": 3,
        "no-time": 1,
        "not-completed": 4,
        "not-correct": 2,
    }
    assert {entry["where"]: entry["pointer"] for entry in report["quarantined"]} == {
        "kernels[8]": "/id",
        "kernels/302": "",
        "kernels/302 submission 30201": "",
        "kernels/307 submission 30760": "/username",
        "kernels/307 submission 30762": "/latency_ms",
        "kernels/307 submission 30763": "/spec/observedAt",
        "kernels/307 submission 30764": "/kernel_id",
        "kernels/307 submission 30765": "/spec/host/id",
        "kernels/307 submission without an id": "",
    }


def test_what_is_new_upstream_is_reported(report: Json) -> None:
    assert {entry["what"] for entry in report["drift"]} == {
        "gpu_type 'RTX_PRO_6000'",
        "status 'SHADOW'",
        "submission_mode 'benchmark'",
        "upstream/submission member 'future_member'",
    }
    assert report["warnings"][-1].endswith("recorded with the architecture \"unknown\": 'RTX_PRO_6000'")


def test_no_source_code_and_no_raw_control_characters() -> None:
    for path in FIXTURE.rglob("*.json"):
        text = path.read_text("utf-8")
        assert '"baseline":' not in text
        assert '"reference":' not in text
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text), path.name
