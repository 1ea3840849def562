"""Values at the edge of what a source can say: every command still answers, and answers right."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boards import detail, imported, row
from kictl.bounds import geometric_mean
from kictl.render import numbers
from kictl.units import instant, version_order
from processes import kictl


@pytest.mark.parametrize(
    ("best", "ns", "shown"),
    [
        (7699, 7699, "7.699"),
        (7699, 6, "0.006"),
        (7699, 6.3, "0.0063"),
        (7699, 0.06, "6.0e-05"),
        (7699, 2e9, "2000000.000"),
        (7699, 0, "0.000"),
        (5, 7, "7"),
        (5, 9.6, "9.6"),
        (14_777_000, 600.5, "0.00060"),
        (14_777_000, 14_777_000, "14.78"),
    ],
)
def test_a_column_keeps_two_significant_digits(best: float, ns: float, shown: str) -> None:
    assert numbers.unit_for(best).show(ns) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.9999999, "1.000"), (999.96, "1000"), (2e5, "200000"), (6e-8, "6.000e-08"), (0.00012345, "0.0001234"), (0, "0")],
)
def test_numbers_have_four_significant_digits(value: float, shown: str) -> None:
    assert numbers.significant(value) == shown


def test_scores_are_never_rounded_to_nothing() -> None:
    assert [numbers.score(value) for value in (0.71128, 0.99999, 1e-5, 0)] == ["0.7113", "1.0000", "1.0e-05", "0.0000"]


def test_versions_sort_by_their_numbers() -> None:
    assert sorted(["v1.10", None, "v1.9", "beta", "v2"], key=version_order) == [None, "beta", "v1.9", "v1.10", "v2"]


def test_the_newest_stack_comes_first(tmp_path: Path) -> None:
    stacks = ["v1.9", None, "v1.10", "v1.0"]
    rows = [row(n, "a", 0.004, evaluation_stack_version=stack) for n, stack in enumerate(stacks, 1)]
    path = imported(tmp_path / "board", tmp_path / "c.sqlite", [(detail(1, "001_one"), rows)])
    found = {
        "compare": json.loads(kictl("compare", "-d", "001", "--json", "--catalog", path).out)["cohorts"],
        "leaders": json.loads(kictl("leaders", "--json", "--catalog", path).out)["rows"],
    }
    for name, cohorts in found.items():
        assert [cohort["stack"] for cohort in cohorts] == ["v1.10", "v1.9", "v1.0", None], name


@pytest.mark.parametrize("command", ["show", "note --text x", "compare 1"])
def test_a_name_that_is_no_text(no_time: Path, command: str) -> None:
    done = kictl(*command.split(), "\udcff", "--catalog", no_time)
    assert done.code == 2
    assert "UTF-8" in done.err


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
    assert [run["difference"] for run in pairing["runs"]] == [4000, 0]
    ranking = json.loads(kictl("show", "1", "--json", "--catalog", no_time).out)["ranking"]
    assert (ranking["rank"], ranking["ratio_to_first"], ranking["behind_next"]) == (3, None, 1.0)


NAMES = (
    "",
    " ",
    "\u3164",
    "a\u034fb",
    "\u00a0",
    "❤\ufe0f heart",
    "👩\u200d💻",
    "👍🏽",
    "算子" * 30,
    "e\u0301" * 5,
    "😀🎉🚀",
)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Authors whose names are not seen, or are wider or narrower than they have characters."""
    folder = tmp_path_factory.mktemp("names")
    rows = [row(number, name, 0.001 * 7**number) for number, name in enumerate(NAMES, 1)]
    return imported(folder / "board", folder / "c.sqlite", [(detail(1, "001_one"), rows)])


@pytest.mark.parametrize("columns", [60, 80, 140])
@pytest.mark.parametrize(
    "command", ["compare -d 001", "history -d 001", "leaders", "authors", "compare 1 2 3 4 5 6 7 8"]
)
def test_rows_fit_whatever_a_name_is_made_of(names: Path, command: str, columns: int) -> None:
    done = kictl(*command.split(), "--catalog", names, COLUMNS=str(columns))
    assert done.code == 0
    assert max(map(_cells, done.out.split("\n"))) <= columns
    assert not set("\u3164\u034f\u00a0\ufe0f\u200d🏽") & set(done.out)


def test_a_name_without_a_visible_character_is_shown_as_such(names: Path) -> None:
    out = kictl("compare", "-d", "001", "--catalog", names).out
    assert [line.split()[1] for line in out.split("\n")[7:11]] == ['""', '"', r"\u3164", r"a\u034fb"]
    assert '"" · 001_one · B200' in kictl("show", "1", "--catalog", names).out


def _cells(line: str) -> int:
    """How many cells of a terminal a line takes."""
    wide = {"W": 2, "F": 2}
    return sum(
        wide.get(unicodedata.east_asian_width(char), 1)
        for char in line
        if unicodedata.category(char) not in ("Mn", "Me")
    )


def test_what_is_pasted_says_which_import_it_is_from(no_time: Path) -> None:
    report = json.loads(kictl("show", "import/1", "--json", "--catalog", no_time).out)
    at, snapshot = report["finished_at"], report["snapshot_digest"]
    quoted = kictl("compare", "-d", "001", "--format", "markdown", "--catalog", no_time).out
    assert f"imported from sol-execbench until {at[:10]} {at[11:16]} UTC · snapshot {snapshot}" in quoted
    lines = csv.DictReader(io.StringIO(kictl("compare", "-d", "001", "--format", "csv", "--catalog", no_time).out))
    assert {(line["imported_at"], line["snapshot_digest"], line["population"]) for line in lines} == {
        (at, snapshot, "4")
    }


def test_a_comparison_for_programs_depends_on_the_runs_alone(tmp_path: Path) -> None:
    """Another order of rows and of imports, and another hash seed, give the same answer to the last byte."""
    rows = [row(n, f"author {n % 3}", 0.004 + n % 2 / 1000, day=1 + n % 4) for n in range(1, 9)]
    first = imported(tmp_path / "1", tmp_path / "1.sqlite", [(detail(1, "001_one"), rows)])
    imported(tmp_path / "2", tmp_path / "2.sqlite", [(detail(1, "001_one"), rows[5:])])
    second = imported(tmp_path / "3", tmp_path / "2.sqlite", [(detail(1, "001_one"), rows[::-1])])
    for order in ("latency", "sol-score"):
        arguments = ("compare", "-d", "001", "--all", "--by", order, "--json", "--catalog")
        answers = {kictl(*arguments, path, PYTHONHASHSEED=seed).out for path in (first, second) for seed in "12"}
        assert len(answers) == 1


def test_a_digest_is_never_broken_at_80_columns(tmp_path: Path) -> None:
    """Not in a line of history either, nor among the bounds as they moved."""
    rows = [row(1, "a", 0.004)]
    imported(tmp_path / "1", tmp_path / "c.sqlite", [(detail(1, "001_one"), rows)])
    later = [row(1, "a", 0.005)]
    path = imported(tmp_path / "2", tmp_path / "c.sqlite", [(detail(1, "001_one", sol_ms=0.002), later)])
    for name in ("1", "definition/001_one"):
        out = kictl("show", name, "--catalog", path, COLUMNS="80").out
        assert max(map(len, out.split("\n"))) <= 80
        assert out.count("sha256:") == len(re.findall(r"sha256:[0-9a-f]{64}\b", out)) > 3


def test_what_a_killed_export_leaves_is_removed_by_the_next(no_time: Path, tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left, running = tmp_path / f".runs.csv.partial-{ended.pid}", tmp_path / f".runs.csv.partial-{os.getpid()}"
    left.touch()
    running.touch()
    out = tmp_path / "runs.csv"
    assert kictl("export", "--what", "runs", "--format", "csv", "-o", out, "--catalog", no_time).code == 0
    assert sorted(tmp_path.iterdir()) == [running, out]


def test_there_is_no_gap_to_close_where_the_baseline_is_below_the_bound(tmp_path: Path) -> None:
    rows = [row(1, "a", 0.005), row(2, "b", 0.006)]
    path = imported(tmp_path / "board", tmp_path / "c.sqlite", [(detail(1, "001_one", sol_ms=0.02), rows)])
    out = kictl("compare", "1", "2", "--catalog", path).out.partition("\n\n")[0]
    assert "SOL bound" in out
    assert "baseline" in out
    assert "%" not in out


def test_columns_that_there_is_no_room_for_are_named(no_time: Path) -> None:
    wide = kictl("leaders", "--catalog", no_time, COLUMNS="140").out
    assert "no room for" not in wide
    header = next(line for line in wide.split("\n") if line.startswith("definition")).split()
    for columns in (80, 60, 40):
        out = kictl("leaders", "--catalog", no_time, COLUMNS=str(columns)).out
        left_out = re.search(r"no room for: (.*(?:\n(?!gap).*)*)", out)
        shown = next(line for line in out.split("\n") if line.startswith("definition")).split()
        hidden = left_out[1].replace("\n", " ").split(", ") if left_out else []
        assert sorted([*shown, *" ".join(hidden).split()]) == sorted(header)
    assert hidden


@given(st.floats(), st.floats())
def test_every_formatter_takes_any_double(value: float, best: float) -> None:
    shown = [numbers.unit_for(best).show(value)]
    shown += [
        form(value) for form in (numbers.significant, numbers.ratio, numbers.percent, numbers.score, numbers.micros)
    ]
    assert all(0 < len(text) < 30 and "inf" not in text and "nan" not in text for text in shown)


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False), st.integers(1, 40))
def test_the_mean_of_equal_values_is_that_value(value: float, count: int) -> None:
    assert geometric_mean([value] * count) == value


@pytest.mark.parametrize("bound", [1e303, 1e-320])
def test_bounds_beyond_any_range_leave_every_command_working(tmp_path: Path, bound: float) -> None:
    board = (detail(1, "001_a", sol_ms=bound), [row(1, "a", 0.004), row(2, "b", 0.005)])
    catalogue = imported(tmp_path / "board", tmp_path / "c.sqlite", [board])
    for command in (("compare", "-d", "001"), ("leaders",), ("show", "1"), ("report", "--out", tmp_path / "site")):
        done = kictl(*command, "--catalog", catalogue)
        assert done.code == 0, (command, done.err)


def test_instants_have_the_grammar_of_rfc_3339() -> None:
    assert instant("2026-07-10t06:07:05z") == "2026-07-10T06:07:05.000Z"
    assert instant("2016-12-31T23:59:60Z") == "2017-01-01T00:00:00.000Z"
    with pytest.raises(ValueError, match="leap second"):
        instant("2016-12-31T12:59:60Z")
