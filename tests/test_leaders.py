"""Leaders and authors: heads of cohorts, counted and never averaged."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path

import pytest

from boards import HOSTILE, Json, detail, imported, row
from kictl.catalogue.store import Catalogue
from kictl.workflow import leaders
from kictl.workflow.leaders import Filter
from leaderboards import database, import_folder
from processes import Done, kictl

AS_OF = "2026-07-31T12:00:00.000Z"
NORM, ROPE = detail(1, "001_norm"), detail(2, "002_rope", tags=("L2", "rope"), sol_ms=0.002)
ROWS: list[Json] = [
    row(1, "a", 0.0040, day=3),
    row(2, "a", 0.0041, day=2),
    row(3, "b", 0.0042, day=4),
    row(4, "c", 0.0040, day=1),
    row(5, "d", 0.0050, day=5),
    row(6, "e", 0.0060, day=6),
    *(row(10 + n, f"more{n}", 0.007 + n / 1000, day=7) for n in range(5)),
    row(20, "z", 0.0040, evaluation_stack_version="v1.0"),
    row(30, "b", 0.0030, gpu_type="H200", day=30),
    row(31, "wrong", 0.001, is_correct=False),
]
OTHER: list[Json] = [row(40, "b", 0.005, day=9), row(41, "a", 0.0052, day=8)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two definitions; the last import was at noon of 31 July 2026."""
    folder = tmp_path_factory.mktemp("leaders")
    path = imported(folder / "board", folder / "c.sqlite", [(NORM, ROWS), (ROPE, OTHER)])
    settle(path)
    return path


def settle(path: Path) -> None:
    """Imports happen at the time of the test; this one is to have happened at a known one."""
    with database(path) as db:
        db.execute("UPDATE import SET started_at = ?, finished_at = ?", (AS_OF, AS_OF))


def found(path: Path, wanted: Filter | None = None, **options: str) -> leaders.Leaders:
    with Catalogue.open(path) as catalogue:
        return leaders.leaders(catalogue, wanted, **options)


def heads(of: leaders.Leaders) -> list[tuple[str, str, str | None]]:
    return [(row.cohort.definition, row.cohort.gpu, row.cohort.stack) for row in of.rows]


def counted(path: Path, wanted: Filter | None = None, **options: str) -> dict[str, tuple[int, ...]]:
    with Catalogue.open(path) as catalogue:
        rows = leaders.authors(catalogue, wanted, **options).rows
    return {r.name: (r.alone, r.shared, r.near, r.top_five, r.entered, r.runs) for r in rows}


def run(path: Path, command: str, *arguments: str, **environment: str) -> Done:
    return kictl(command, *arguments, "--catalog", path, stdin=b"", stdout=None, **{"COLUMNS": "80", **environment})


def test_the_head_of_each_cohort(path: Path) -> None:
    """Places are of authors by their best runs: a's second run takes none. Ages end with the last import."""
    it = found(path)
    assert it.as_of == AS_OF
    assert heads(it) == [
        ("001_norm", "B200", "v1.1"),
        ("002_rope", "B200", "v1.1"),
        ("001_norm", "B200", "v1.0"),
        ("001_norm", "H200", "v1.1"),
    ]
    norm = it.rows[0]
    assert [place and place.submission for place in norm.places] == ["1", "6", "14"]
    assert (norm.runs, norm.authors, norm.shared, norm.near_ties, norm.age_days) == (11, 10, 1, 1, 28)
    assert norm.gap == pytest.approx(4.0)
    rope = it.rows[1]
    assert [place and place.submission for place in rope.places] == ["40", None, None]
    assert (rope.shared, rope.near_ties) == (0, 1)
    assert rope.gap == pytest.approx(2.5)


def test_filters_and_orders(path: Path) -> None:
    assert heads(found(path, Filter(stacks=("v1.0",)))) == [("001_norm", "B200", "v1.0")]
    assert heads(found(path, Filter(gpus=("NVIDIA_H200",)))) == [("001_norm", "H200", "v1.1")]
    assert heads(found(path, Filter(tags=("rope", "no such")))) == [("002_rope", "B200", "v1.1")]
    assert heads(found(path, Filter(authors=("z",)))) == [("001_norm", "B200", "v1.0")]
    assert heads(found(path, Filter(definitions=("002",)))) == [("002_rope", "B200", "v1.1")]
    assert heads(found(path, Filter(gpus=("A100",)))) == []
    orders = {sort: [h[0][:3] for h in heads(found(path, Filter(gpus=("B200",), stacks=("v1.1",)), sort=sort))]
              for sort in leaders.SORTS}  # fmt: skip
    assert orders == {
        "definition": ["001", "002"],
        "gap": ["001", "002"],
        "age": ["001", "002"],
        "entries": ["002", "001"],
        "contest": ["001", "002"],
        "leader": ["001", "002"],
    }


def test_by_sol_score_without_scores(tmp_path: Path) -> None:
    rows = [row(1, "a", 0.004, sol_score=0.6), row(2, "b", 0.005, sol_score=0.7), row(3, "c", 0.001, sol_score=None)]
    path = imported(tmp_path / "b", tmp_path / "c.sqlite", [(NORM, rows), (ROPE, [row(9, "a", 0.004, sol_score=None)])])
    it = found(path, by="sol-score")
    assert [(r.first.submission, r.authors, r.runs) for r in it.rows] == [("2", 2, 3)]
    assert counted(path, by="sol-score") == {"b": (1, 0, 0, 1, 1, 1), "a": (0, 0, 0, 1, 1, 1)}


def test_authors_are_counted_by_cohort(path: Path) -> None:
    counts = counted(path)
    assert list(counts)[:4] == ["b", "a", "c", "z"]
    assert counts["b"] == (2, 0, 1, 3, 3, 3)
    assert counts["a"] == (0, 1, 1, 2, 2, 3)
    assert counts["c"] == (0, 1, 0, 1, 1, 1)
    assert counts["z"] == (1, 0, 0, 1, 1, 1)
    assert "wrong" not in counts
    assert counts["more0"] == (0, 0, 0, 0, 1, 1)
    assert counted(path, Filter(authors=("a",))) == {"a": (0, 1, 1, 2, 2, 3)}


def test_the_order_of_arrival_means_nothing(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    shuffled = random.Random(1).sample(ROWS, len(ROWS))
    imported(tmp_path / "board", other, [(ROPE, OTHER[::-1]), (NORM, shuffled)])
    settle(other)
    for command in ("leaders", "authors"):
        assert run(path, command, "--json") == run(other, command, "--json")
        assert run(path, command) == run(other, command)


def test_an_earlier_version_of_a_definition_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    imported(tmp_path / "1", path, [(NORM, [row(1, "a", 0.004)])])
    imported(tmp_path / "2", path, [(detail(1, "001_norm", cases=3), [row(1, "a", 0.004), row(2, "b", 0.005)])])
    it = found(path)
    marks = {(r.cohort.cases, r.outdated) for r in it.rows}
    assert marks <= {(2, True), (3, False)}
    assert (3, False) in marks


def test_tables_at_80_columns(path: Path) -> None:
    assert run(path, "leaders", "--stack", "v1.1", "--gpu", "B200").out == (
        "B200 · stack v1.1 · sol-execbench\n"
        "2 definitions · by latency (mean, lower is better)\n"
        "each author by the best run · ages until 2026-07-31\n"
        "definition 1st µs by close   5th  10th authors runs days    gap    SOL id\n"
        "─────────────────────────────────────────────────────────────────────────\n"
        "001_norm    4.000 a  1= 1≈ 6.000 11.00      10   11   28 4.000× 0.7500  1\n"
        "002_rope    5.000 b  1≈        –     –       2    2   22 2.500× 0.6923 40\n"
        "no room for: date\n"
        "gap: the first's latency over the SOL bound; close: shares the first place (=),\n"
        "within 5 % of it (≈)\n"
    )
    assert run(path, "authors", "--stack", "v1.1").out.splitlines()[:7] == [
        "Authors",
        "3 cohorts with runs · by metric, each author by the best run",
        " # author led alone shared ≈ top 5 entered runs",
        "───────────────────────────────────────────────",
        " 1 b        2     2      0 1     3       3    3",
        "2= a        1     0      1 1     2       2    3",
        "2= c        1     0      1 0     1       1    1",
    ]


def test_programs_get_it_unrounded(path: Path) -> None:
    rows = json.loads(run(path, "leaders", "--json").out)["rows"]
    assert rows[0]["places"]["10"]["latency_ns"] == 11000
    assert (rows[0]["age_days"], rows[0]["tags"]) == (28, ["L1", "norm"])
    lines = list(csv.DictReader(io.StringIO(run(path, "leaders", "--format", "csv").out)))
    assert [(line["submission"], line["fifth_latency_ns"]) for line in lines[:2]] == [("1", "6000"), ("40", "")]
    authors = json.loads(run(path, "authors", "--json").out)
    assert authors["cohorts"] == 4
    assert authors["rows"][0]["leads"] == ["001_norm", "002_rope"]
    assert not [name for name in authors["rows"][0] if "mean" in name or "average" in name]


def test_nothing_asked_for_and_nothing_there(path: Path, tmp_path: Path) -> None:
    done = run(path, "leaders", "--tag", "nothing")
    assert (done.code, done.out) == (0, "no cohort with runs is as asked for\n")
    assert run(path, "leaders", "-d", "nothing").code == 2
    Catalogue.create(tmp_path / "empty.sqlite").close()
    for command in ("leaders", "authors"):
        assert run(tmp_path / "empty.sqlite", command).code == 2
        assert run(tmp_path / "none.sqlite", command).code == 5


@pytest.mark.parametrize("columns", ["80", "140"])
@pytest.mark.parametrize("form", ["table", "markdown", "csv"])
@pytest.mark.parametrize("command", ["leaders", "authors"])
def test_hostile_names_do_nothing(tmp_path: Path, command: str, form: str, columns: str) -> None:
    boards = [(detail(n, f"{n:03d}_norm_{name}"), [row(n, name, 0.004)]) for n, name in enumerate(HOSTILE, start=1)]
    path = imported(tmp_path / "b", tmp_path / "c.sqlite", boards)
    done = run(path, command, "--format", form, COLUMNS=columns, TERM="dumb", NO_COLOR="1")
    assert (done.code, done.err) == (0, "")
    assert not {"\x1b", "\u202e", "\t"} & set(done.out)
    if form == "table":
        assert max(map(len, done.out.splitlines())) <= int(columns)
        assert "[red]x[/red]" in done.out
    if form == "csv":
        assert not [c for line in csv.reader(io.StringIO(done.out)) for c in line if c.startswith(("=", "@"))]


def test_the_corpus_has_a_leader_for_every_cohort(shared: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    import_folder(shared / "corpus", path)
    expected: dict[str, int] = {}
    for line in map(json.loads, (shared / "corpus/expected.jsonl").read_text("utf-8").splitlines()):
        for name in line["runs"].values():
            key = name["comparison_key"]
            expected[key] = min(name["primary_ns"], expected.get(key, name["primary_ns"]))
    it = found(path)
    assert {str(r.cohort.key): r.first.value for r in it.rows} == expected
    counts = counted(path)
    assert sum(alone for alone, *_ in counts.values()) <= len(expected)
    assert sum(runs for *_, runs in counts.values()) == 400
