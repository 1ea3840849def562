"""What changed between two imports or snapshots: everything that did, once, and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import boards
from boards import Json, detail, row
from kictl.catalogue.store import Catalogue
from kictl.errors import UsageError
from kictl.render import diff as rendering
from kictl.workflow import diffing
from leaderboards import FIXTURE
from processes import kictl
from replicas import part, replica

A, B, C = row(1, "ann", 0.005), row(2, "bob", 0.004), row(3, "cyd", 0.006)
KINDS = (
    *("new", "leaders", "changed", "retracted", "restored", "unlisted", "relisted", "bounds"),
    *("new_definitions", "changed_definitions"),
)
Boards = list[tuple[Json, list[Json]]]


def board(*rows: Json, **members: Any) -> Boards:
    return [(detail(1, "001_norm") | members, list(rows))]


def imported(tmp_path: Path, *states: Boards) -> Path:
    """A catalogue into which each state was imported in turn."""
    path = tmp_path / "catalogue.sqlite"
    for number, state in enumerate(states):
        boards.imported(tmp_path / f"board {number}", path, state)
    return path


def between(path: Path, *numbers: int) -> Json:
    """What the diff says for programs; what it says for people has to be writable as well."""
    with Catalogue.open(path) as catalogue:
        found = diffing.between(catalogue, *numbers)
    assert rendering.to_grids(found)
    written: Json = json.loads(json.dumps(rendering.to_json(found)))
    assert written["different"] == (not found.is_empty) == any(written[kind] for kind in KINDS)
    return written


def kinds(diff: Json) -> set[str]:
    return {kind for kind in KINDS if diff[kind]}


def test_no_difference(tmp_path: Path) -> None:
    path = imported(tmp_path, board(A, B), board(A, B))
    assert kinds(between(path)) == set()


def test_new_submissions_with_and_without_a_lead(tmp_path: Path) -> None:
    pending = row(4, "dee", None, status="PENDING_RESULT")
    path = imported(tmp_path, board(A), board(B, A), board(C, pending, B, A))
    first, second = between(path, 1, 2), between(path, 2, 3)
    assert kinds(first) == {"new", "leaders"}
    assert [new["submission"] for new in first["new"]] == ["2"]
    (change,) = first["leaders"]
    assert (change["before"]["submission"], change["after"]["submission"]) == ("1", "2")
    assert kinds(second) == {"new"}
    assert {new["submission"]: new["standing"] for new in second["new"]} == {"3": "current", "4": "ineligible"}


def test_changed_figures(tmp_path: Path) -> None:
    path = imported(tmp_path, board(A, B), board(A | {"latency_ms": 0.0055, "review_status": "x"}, B))
    diff = between(path)
    assert kinds(diff) == {"changed"}
    (changed,) = diff["changed"]
    assert changed["members"] == {"latency_ms": [0.005, 0.0055], "review_status": [None, "x"]}
    assert (changed["before"]["latency_ns"], changed["latency_ns"]) == (5000, 5500)
    assert changed["before"]["run_digest"] != changed["run_digest"]


def test_a_result_that_arrives(tmp_path: Path) -> None:
    pending = A | {"status": "PENDING_RESULT", "latency_ms": None, "is_correct": None}
    diff = between(imported(tmp_path, board(pending), board(A)))
    assert kinds(diff) == {"changed", "leaders"}
    assert diff["leaders"][0]["before"] is None


def test_retracted_and_restored(tmp_path: Path) -> None:
    gone = B | {"is_disqualified": True, "disqualification_reason": "copied"}
    path = imported(tmp_path, board(A, B), board(A, gone), board(A, B))
    there, back = between(path, 1, 2), between(path)
    assert kinds(there) == {"retracted", "leaders"}
    assert there["retracted"][0]["reasons"] == ["disqualified"]
    assert there["retracted"][0]["members"]["disqualification_reason"] == [None, "copied"]
    assert there["leaders"][0]["after"]["submission"] == "1"
    assert kinds(back) == {"restored", "leaders"}
    assert kinds(between(path, 1, 3)) == set(), "what was undone in between is no difference"


def test_the_last_run_of_a_cohort_is_retracted(tmp_path: Path) -> None:
    diff = between(imported(tmp_path, board(A), board(A | {"is_correct": False})))
    assert diff["leaders"][0]["after"] is None


def test_unlisted_and_relisted(tmp_path: Path) -> None:
    path = imported(tmp_path, board(A, B), board(A), board(A, B))
    assert kinds(between(path, 1, 2)) == {"unlisted"}, "it still leads"
    assert [gone["submission"] for gone in between(path, 1, 2)["unlisted"]] == ["2"]
    assert kinds(between(path, 2, 3)) == {"relisted"}
    assert kinds(between(path, 1, 3)) == set()


def test_moved_bounds(tmp_path: Path) -> None:
    before, after = detail(1, "001_norm", cases=4), detail(1, "001_norm", cases=4)
    after["workloads"][1]["sol_ms"] = 0.0005
    after["workloads"][2] |= {"baseline_latency_ms": 0.011, "sol_ms": None}
    after["baseline_latency_ms"] = 0.5
    diff = between(imported(tmp_path, [(before, [A])], [(after, [A])]))
    assert kinds(diff) == {"bounds"}
    (moved,) = diff["bounds"]
    assert (moved["moved"], moved["cases"]) == (2, 4)
    assert moved["largest"] == {
        "axes": {"rows": 2, "hidden": 64},
        "bound": "sol_ms",
        "before_ms": 0.001,
        "after_ms": 0.0005,
        "ratio": 0.5,
    }


def test_bounds_that_become_placeholders(tmp_path: Path) -> None:
    diff = between(imported(tmp_path, board(A), board(A, sol_is_dummy=True)))
    assert kinds(diff) == {"bounds"}
    assert (diff["bounds"][0]["moved"], diff["bounds"][0]["became_dummy"]) == (0, True)


def test_new_and_changed_definitions(tmp_path: Path) -> None:
    more = detail(1, "001_norm", cases=3) | {"description": "in other words"}
    diff = between(imported(tmp_path, board(A), [(more, [A]), (detail(2, "002_gemm"), [])]))
    assert kinds(diff) == {"bounds", "new_definitions", "changed_definitions"}
    assert diff["new_definitions"] == [{"definition": "002_gemm", "kernel": "2"}]
    (changed,) = diff["changed_definitions"]
    assert changed["members"] == ["description", "workloads"]
    assert (changed["operation"], changed["suite"] is None) == (None, False)
    assert (diff["bounds"][0]["moved"], diff["bounds"][0]["cases"]) == (0, 3), "the cases that there were are the same"


def test_what_others_imported_in_between_counts(tmp_path: Path) -> None:
    path = imported(tmp_path, board(A), board(A, B), board(A, B, C))
    assert [new["submission"] for new in between(path, 1, 3)["new"]] == ["2", "3"]
    assert [new["submission"] for new in between(path, 2)["new"]] == ["3"]
    assert [new["submission"] for new in between(path)["new"]] == ["3"]


def test_the_order_and_existence_of_imports_is_checked(tmp_path: Path) -> None:
    path = imported(tmp_path, board(A))
    with Catalogue.open(path) as catalogue:
        for numbers, code in (
            ((), "too_few_imports"),
            ((1, 1), "usage"),
            ((2, 1), "usage"),
            ((1, 5), "unknown_import"),
        ):
            with pytest.raises(UsageError) as caught:
                diffing.between(catalogue, *numbers)
            assert caught.value.code == code


def test_two_snapshots(tmp_path: Path) -> None:
    first = boards.write(tmp_path / "first", board(A, B))
    second = boards.write(tmp_path / "second", board(A | {"latency_ms": 0.003}))
    found = rendering.to_json(diffing.snapshots(first, second))
    assert kinds(found) == {"changed", "unlisted", "leaders"}
    assert [event["origin"] for event in (found["before"], found["after"])] == [str(first), str(second)]
    assert kinds(rendering.to_json(diffing.snapshots(first, first))) == set()


# The command


def test_exit_codes_and_output(tmp_path: Path) -> None:
    first = boards.write(tmp_path / "first", board(A, B))
    second = boards.write(tmp_path / "second", board(A, B | {"is_disqualified": True}))
    same, different = kictl("diff", first, first), kictl("diff", first, second)
    assert (same.code, same.err, same.out.splitlines()[-1]) == (0, "", "no difference")
    assert (different.code, different.err) == (0, "")
    assert "1 retraction\n" in different.out
    assert kictl("diff", first, second, "--exit-code") == different.__class__(1, different.out, "")
    assert kictl("diff", first, first, "--exit-code").code == 0
    assert json.loads(kictl("diff", first, second, "--json").out)["retracted"][0]["submission"] == "2"


@pytest.mark.parametrize(
    ("arguments", "code"), [(["1"], 5), (["somewhere"], 2), (["1", "somewhere"], 2), (["no", "where"], 3)]
)
def test_what_cannot_be_compared(tmp_path: Path, arguments: list[str], code: int) -> None:
    done = kictl("diff", *arguments, "--catalog", tmp_path / "none.sqlite")
    assert (done.code, done.out) == (code, "")


def test_hostile_text_is_escaped(tmp_path: Path) -> None:
    states = [board(row(1, name, 0.005)) for name in ("ann", *boards.HOSTILE)]
    done = kictl("diff", "1", str(len(states)), "--catalog", imported(tmp_path, *states))
    assert done.code == 0
    assert not any(ord(char) < 32 and char != "\n" for char in done.out)


def test_imports_are_listed_and_shown(tmp_path: Path) -> None:
    path = imported(tmp_path, board(A, B), board(A))
    listed = kictl("imports", "--catalog", path)
    assert (listed.code, listed.err) == (0, "")
    assert listed.out.startswith("2 imports\n")
    events = json.loads(kictl("imports", "--json", "--catalog", path).out)
    assert [(event["import"], event["counts"]["received"], event["unlisted"]) for event in events] == [
        (1, 2, 0),
        (2, 1, 1),
    ]
    assert json.loads(kictl("imports", "2", "--json", "--catalog", path).out)["report"]["unlisted"] == 1
    assert "unlisted" in kictl("imports", "2", "--catalog", path).out
    assert kictl("imports", "7", "--catalog", path).code == 2


# A leaderboard that changes under its client


def test_four_changes_upstream_are_named_and_undone(shared: Path, tmp_path: Path) -> None:
    changes = {"10": {"latency_ms": 0.5}, "101": {"is_disqualified": True}, "103": None}
    names: dict[str, str] = {}
    mutations = {}
    for kernel, change in changes.items():
        last = json.loads((shared / f"corpus/submissions/{kernel}.json").read_text("utf-8"))[-1]
        names[kernel] = str(last["id"])
        mutations[names[kernel]] = change
    (tmp_path / "changes.json").write_text(json.dumps(mutations), "utf-8")
    corpus = part(shared / "corpus", (10, 101, 103, 42, 2, 46), tmp_path / "corpus")
    moved = tmp_path / "moved"
    shutil.copytree(corpus, moved)
    bounds = json.loads((moved / "kernels/42.json").read_text("utf-8"))
    bounds["data"]["workloads"][3]["sol_ms"] *= 1.5
    (moved / "kernels/42.json").write_text(json.dumps(bounds), "utf-8")

    path = tmp_path / "catalogue.sqlite"
    states = (
        (corpus, ()),
        (moved, ("--mutate", tmp_path / "changes.json")),
        (corpus, ()),
        (corpus, ()),
    )
    reports = []
    for number, (served, options) in enumerate(states):
        with replica(shared, served, tmp_path / f"log {number}", *options) as server:
            done = kictl(
                *("import", "sol-execbench", "--base-url", server.url, "--rate", "1000", "--json"), "--catalog", path
            )
        assert done.code == 0, done
        reports.append(json.loads(done.out))

    diff = between(path, 1, 2)
    assert kinds(diff) - {"leaders"} == {"changed", "retracted", "unlisted", "bounds"}
    assert [moved["submission"] for moved in diff["changed"]] == [names["10"]]
    assert [moved["submission"] for moved in diff["retracted"]] == [names["101"]]
    assert [moved["submission"] for moved in diff["unlisted"]] == [names["103"]]
    assert [(b["kernel"], b["moved"], round(b["largest"]["ratio"], 9)) for b in diff["bounds"]] == [("42", 1, 1.5)]
    undone = between(path, 2, 3)
    assert kinds(undone) - {"leaders"} == {"changed", "restored", "relisted", "bounds"}
    assert kinds(between(path, 1, 4)) == kinds(between(path, 3, 4)) == set()
    assert reports[0]["catalog_digest"] != reports[1]["catalog_digest"] == reports[3]["catalog_digest"]
    assert kictl("verify", "--catalog", path, "--quiet").code == 0


def test_the_fixture_against_itself() -> None:
    assert kictl("diff", FIXTURE, FIXTURE, "--exit-code").code == 0
