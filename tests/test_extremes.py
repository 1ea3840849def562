"""Values at the edge of what a source can say: every command still answers, and answers right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from boards import detail, imported, row
from processes import kictl


@pytest.fixture(scope="module")
def no_time(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cohort that is led by a run of less than half a nanosecond, and one that has no other."""
    folder = tmp_path_factory.mktemp("no-time")
    rows = [row(1, "a", 0.004), row(2, "b", 0.002, day=2), row(3, "c", 1e-9, day=3), row(4, "d", 4e-7, day=4)]
    boards = [(detail(1, "001_one"), rows), (detail(2, "002_two"), [row(5, "c", 1e-9)])]
    return imported(folder / "board", folder / "c.sqlite", boards)


@pytest.mark.parametrize(
    "arguments",
    [
        "compare -d 001",
        "compare 1 3",
        "compare 3 4",
        "compare 1 --with-best",
        "show 1",
        "show 3",
        "show author/c",
        "show definition/001_one",
        "history -d 001",
        "leaders --sort contest",
        "authors",
        "export --what runs",
        "export --what cohorts",
        "report --out {out}",
    ],
)
def test_a_latency_that_rounds_to_nothing(no_time: Path, tmp_path: Path, arguments: str) -> None:
    done = kictl(*arguments.format(out=tmp_path / "site").split(), "--catalog", no_time)
    assert (done.code, done.err) == (0, "")


def test_a_latency_that_rounds_to_nothing_ranks_and_is_no_reference(no_time: Path) -> None:
    (cohort,) = json.loads(kictl("compare", "-d", "001", "--json", "--catalog", no_time).out)["cohorts"]
    found = [(ranked["rank"], ranked["submission"], ranked["latency_ns"]) for ranked in cohort["rows"]]
    assert found == [(1, "4", 0), (1, "3", 0), (2, "2", 2000), (3, "1", 4000)]
    pairing = json.loads(kictl("compare", "1", "3", "--json", "--catalog", no_time).out)
    assert pairing["comparable"]
    assert [run["ratio"] for run in pairing["runs"]] == [None, None]
    assert [run["difference_ns"] for run in pairing["runs"]] == [4000, 0]
    ranking = json.loads(kictl("show", "1", "--json", "--catalog", no_time).out)["ranking"]
    assert (ranking["rank"], ranking["ratio_to_first"], ranking["behind_next"]) == (3, None, 1.0)
