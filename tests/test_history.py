"""How records move: who took them, by how much, for how long; and the drawing of it."""

from __future__ import annotations

import csv
import io
import itertools
import json
from pathlib import Path

import pytest

from boards import HOSTILE, detail, imported, row
from kictl.catalogue.store import Catalogue
from kictl.errors import UsageError
from kictl.render import plot
from kictl.workflow import history
from leaderboards import database
from processes import Done, kictl, on_terminal

ROWS = [
    row(1, "a", 0.009, day=1),
    row(2, "b", 0.0095, day=2),
    row(3, "b", 0.0088, day=3),
    row(4, "a", 0.004, day=11),
    row(5, "c", 0.004, day=12),
    row(6, "c", 0.002, day=21),
    row(7, "d", 0.001, day=22, is_correct=False),
    row(8, "d", 0.003, day=5, gpu_type="H200"),
]
AS_OF = "2026-07-31T12:00:00.000Z"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A board whose last import was at noon of 31 July 2026."""
    path = imported(tmp_path / "board", tmp_path / "c.sqlite", [(detail(1, "001_norm"), ROWS)])
    settle(path)
    return path


def settle(path: Path) -> None:
    """Imports happen at the time of the test; this one is to have happened at a known one."""
    with database(path) as db:
        db.execute("UPDATE import SET started_at = ?, finished_at = ?", (AS_OF, AS_OF))


def run(path: Path, *arguments: str, **environment: str) -> Done:
    return kictl(
        "history",
        "-d",
        "001",
        *arguments,
        "--catalog",
        path,
        stdin=b"",
        stdout=None,
        **{"COLUMNS": "80", **environment},
    )


def test_who_when_by_how_much_and_for_how_long(path: Path) -> None:
    with Catalogue.open(path) as catalogue:
        found = history.history(catalogue, "001")
    assert (found.as_of, found.excluded) == (AS_OF, {"not-correct": 1})
    assert [(part.cohort.gpu, part.runs) for part in found.cohorts] == [("B200", 6), ("H200", 1)]
    steps = found.cohorts[0].steps
    assert [(s.entry.submission, s.gain_by, s.held_days, s.near) for s in steps] == [
        ("1", None, 2, False),
        ("3", 200, 8, True),
        ("4", 4800, 10, False),
        ("6", 2000, 10, False),
    ]
    assert [s.gain for s in steps] == [None, 200 / 9000, 4800 / 8800, 0.5]


def test_the_table_and_the_drawing(path: Path) -> None:
    done = run(path, "--gpu", "B200")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "001_norm\n"
        "B200 · stack v1.1 · 2 cases · 4 records in 6 runs · until 2026-07-31\n"
        "sol-execbench · latency (mean, lower is better)\n"
        "date       author id    µs  gain better by days    SOL digest\n"
        "───────────────────────────────────────────────────────────────────\n"
        f"2026-07-01 a       1 9.000     –         –    2 0.5294 {short(path, '1')}\n"
        f"2026-07-03 b       3 8.800 0.200   ≈2.22 %    8 0.5357 {short(path, '3')}\n"
        f"2026-07-11 a       4 4.000 4.800    54.5 %   10 0.7500 {short(path, '4')}\n"
        f"2026-07-21 c       6 2.000 2.000    50.0 %   10 0.9000 {short(path, '6')}\n"
        "≈ within 5 %: inside the run-to-run noise\n"
        "\n"
        "      µs\n"
        "9.000 ───────────────────────╮\n"
        "                             │\n"
        "                             │\n"
        "                             │\n"
        "                             │\n"
        "                             ╰─────────────────────╮\n"
        "                                                   │\n"
        "2.000                                              ╰────────────────────────\n"
        "      2026-07-01                                                  2026-07-31\n"
        "not ranked: 1 not-correct, 1 other-gpu\n"
    )


def short(path: Path, submission: str) -> str:
    with Catalogue.open(path) as catalogue:
        digest: bytes = catalogue.db.execute(
            "SELECT m.digest FROM submission s JOIN run r ON r.submission_id = s.id"
            " JOIN manifest m ON m.id = r.manifest_id WHERE external_id = ?",
            (submission,),
        ).fetchone()[0]
    return digest.hex()[:12]


def test_programs_get_it_unrounded(path: Path) -> None:
    found = json.loads(run(path, "--json").out)
    assert [record["gain"] for record in found["cohorts"][0]["records"]] == [None, 200 / 9000, 4800 / 8800, 0.5]
    lines = list(csv.DictReader(io.StringIO(run(path, "--format", "csv").out)))
    assert [(line["gpu"], line["submission"], line["gain_by"]) for line in lines] == [
        ("B200", "1", ""),
        ("B200", "3", "200"),
        ("B200", "4", "4800"),
        ("B200", "6", "2000"),
        ("H200", "8", ""),
    ]
    assert "╮" not in run(path, "--format", "markdown").out
    assert "╮" not in run(path, "--no-plot").out


def test_a_dumb_terminal_gets_ascii(path: Path) -> None:
    dumb = on_terminal("history", "-d", "001", "--catalog", path, TERM="dumb")
    assert "╮" not in dumb
    assert "|" in dumb
    assert "\x1b" not in dumb
    assert "╮" in on_terminal("history", "-d", "001", "--catalog", path, NO_COLOR="1")


def test_moved_bounds_are_told(path: Path, tmp_path: Path) -> None:
    imported(tmp_path / "2", path, [(detail(1, "001_norm", sol_ms=0.0005), ROWS)])
    assert "\nbounds moved with import 2 (" in run(path).out


@pytest.mark.parametrize(("arguments", "code"), [(["-d", "002"], 2), (["--gpu", "A100"], 2), (["--stack", "v9"], 2)])
def test_what_there_is_not(path: Path, arguments: list[str], code: int) -> None:
    done = run(path, *arguments)
    assert (done.code, done.out) == (code, "")


def test_nothing_yet(tmp_path: Path) -> None:
    path = imported(tmp_path / "board", tmp_path / "c.sqlite", [(detail(1, "001_norm"), [])])
    assert run(path).out == "001_norm\nno runs\n"
    with Catalogue.create(tmp_path / "empty.sqlite") as catalogue, pytest.raises(UsageError, match="no definition"):
        history.history(catalogue, "001")


@pytest.mark.parametrize("columns", ["80", "140"])
def test_hostile_names_do_nothing(tmp_path: Path, columns: str) -> None:
    rows = [row(n, name, 0.009 - n / 2000, day=n) for n, name in enumerate(HOSTILE, start=1)]
    path = imported(tmp_path / "board", tmp_path / "c.sqlite", [(detail(1, "001_norm"), rows)])
    for form in ("table", "markdown", "csv"):
        done = run(path, "--format", form, COLUMNS=columns)
        assert (done.code, done.err) == (0, "")
        assert not {"\x1b", "\u202e", "\t"} & set(done.out)
        if form == "table":
            assert max(map(len, done.out.splitlines())) <= int(columns)


# The drawing


def drawn(points: list[tuple[float, float]], end: float, width: int = 12, height: int = 4) -> list[str]:
    return plot.falling_steps(points, end, width=width, height=height, pens=plot.ASCII)


def test_one_value_is_a_level_line() -> None:
    assert drawn([(0, 5)], 10) == ["------------", "", "", ""]
    assert drawn([(3, 5)], 3) == ["-", "", "", ""]


def test_a_fall() -> None:
    assert drawn([(0, 4), (5, 1)], 11) == ["-----+", "     |", "     |", "     +------"]


def test_a_fall_too_small_to_see_stays_level() -> None:
    assert drawn([(0, 100), (5, 99.9), (8, 60)], 11) == ["--------+", "        |", "        |", "        +---"]


def test_falls_of_magnitudes_are_logarithmic() -> None:
    assert not plot.is_logarithmic([9.9, 1])
    assert plot.is_logarithmic([1000, 100, 10, 1])
    lines = drawn([(0, 1000), (3, 100), (6, 10), (9, 1)], 11)
    assert lines == ["---+", "   +--+", "      +--+", "         +--"]


def test_every_drawing_fits() -> None:
    for steps, width, height in itertools.product((1, 2, 5, 40), (2, 10, 76), (2, 8)):
        points = [(float(n), 1000.0 / (n + 1)) for n in range(steps)]
        for end in (points[-1][0], points[-1][0] + 5, 0.0):
            lines = drawn(points, end, width, height)
            assert len(lines) == height
            assert max(map(len, lines)) <= width
