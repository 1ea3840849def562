"""Ranking and eligibility: dense ranks, ties, who does not rank and why, whatever the order of arrival."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boards import Json, detail, imported, row
from kictl import cohort, rank
from kictl.catalogue.store import Catalogue
from kictl.model import Score
from kictl.rank import Entry
from kictl.workflow import comparing, dossier

NAME = "001_norm"


def order_of(metric: cohort.Metric) -> rank.Order:
    order = rank.order_of(metric)
    assert order is not None
    return order


LATENCY = order_of(cohort.LATENCY)
THROUGHPUT = order_of(cohort.Metric("throughput", "mean", "tokens_s"))


def entry(
    submission: str, value: float, *, author: str | None = None, day: int = 1, sol_score: float | None = None
) -> Entry:
    digest, at = f"sha256:{submission.zfill(64)}", f"2026-07-{day:02d}T00:00:00.000Z"
    score = None if sol_score is None else Score(sol_score)
    return Entry(submission, author or submission, value, at, digest, score=score)


def places(entries: list[Entry], order: rank.Order = LATENCY) -> list[tuple[int, str, bool, bool]]:
    return [(r.rank, r.entry.submission, r.tied, r.near) for r in rank.rank(entries, order)]


def test_dense_ranks_and_ties_in_every_order() -> None:
    """Equal values share a rank; of them the newer is first, then the lower id; the next rank is one more."""
    entries = [
        entry("7", 1000),
        entry("12", 2000, day=3),
        entry("9", 2000, day=3),
        entry("3", 2000, day=5),
        entry("1", 2050),
        entry("2", 9000),
    ]
    expected = [
        (1, "7", False, False),
        (2, "3", True, False),
        (2, "9", True, False),
        (2, "12", True, False),
        (3, "1", False, True),
        (4, "2", False, False),
    ]
    for permuted in itertools.permutations(entries):
        assert places(list(permuted)) == expected


def test_a_whole_tie_is_near_the_rank_above() -> None:
    assert places([entry("1", 1000), entry("2", 1050), entry("3", 1050)]) == [
        (1, "1", False, False),
        (2, "2", True, True),
        (2, "3", True, True),
    ]


@pytest.mark.parametrize(("ns", "near"), [(1049, True), (1050, True), (1051, False)])
def test_near_is_within_five_percent(ns: int, near: bool) -> None:
    assert rank.rank([entry("1", 1000), entry("2", ns)], LATENCY)[1].near is near


def test_none_and_one() -> None:
    assert rank.rank([], LATENCY) == []
    assert places([entry("1", 5)]) == [(1, "1", False, False)]
    assert rank.best_of_each([], LATENCY, by_author=True) == []
    assert rank.record([], LATENCY) == []


def test_by_sol_score_higher_is_first_and_none_has_no_place() -> None:
    entries = [
        entry("1", 10, sol_score=0.5),
        entry("2", 20, sol_score=0.9),
        entry("3", 1),
        entry("4", 30, sol_score=0.9),
    ]
    for permuted in itertools.permutations(entries):
        found = places(list(permuted), rank.BY_SCORE)
        assert [(place, name) for place, name, _, _ in found] == [(1, "2"), (1, "4"), (2, "1")]


def test_the_best_of_each_author_is_its_first() -> None:
    entries = [
        entry("1", 30, author="a"),
        entry("2", 20, author="a", day=1),
        entry("3", 20, author="a", day=2),
        entry("4", 25, author="b"),
        entry("5", 26, author="c"),
    ]
    for permuted in itertools.permutations(entries):
        assert [e.submission for e in rank.best_of_each(permuted, LATENCY, by_author=True)] == ["3", "4", "5"]


def test_where_submissions_compete_an_author_has_several_places() -> None:
    entries = [entry("1", 30, author="a"), entry("2", 20, author="a"), entry("2", 40, author="a", day=2)]
    assert [e.value for e in rank.best_of_each(entries, LATENCY, by_author=False)] == [20, 30]


def test_of_runs_by_nobody_named_each_stands_for_itself() -> None:
    entries = [entry(name, value)._replace(author=None) for name, value in (("1", 30), ("2", 20))]
    assert [e.submission for e in rank.best_of_each(entries, LATENCY, by_author=True)] == ["2", "1"]


def test_more_is_better_where_the_unit_is_a_rate() -> None:
    entries = [entry("1", 100), entry("2", 104), entry("3", 50, day=2), entry("4", 120, day=3)]
    assert places(entries, THROUGHPUT) == [
        (1, "4", False, False),
        (2, "2", False, False),
        (3, "1", False, True),
        (4, "3", False, False),
    ]
    assert [e.submission for e in rank.record(entries, THROUGHPUT)] == ["2", "4"]
    assert rank.behind(50, 100, THROUGHPUT) == 2
    assert rank.behind(100, 50, LATENCY) == 2


@pytest.mark.parametrize("unit", ["ratio", "tokens", "w", "percent"])
def test_a_unit_of_which_nobody_says_what_is_better_ranks_nothing(unit: str) -> None:
    assert rank.order_of(cohort.Metric("something", "mean", unit)) is None


def test_the_record_only_ever_falls() -> None:
    entries = [
        entry("1", 50, day=1),
        entry("2", 60, day=2),
        entry("3", 50, day=3),
        entry("4", 40, day=4),
        entry("5", 30, day=4),
        entry("6", 20, day=9),
    ]
    for permuted in itertools.permutations(entries):
        assert [e.submission for e in rank.record(permuted, LATENCY)] == ["1", "5", "6"]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 3), st.sampled_from("abc")), max_size=12), st.randoms())
def test_what_holds_of_every_ranking(rows: list[tuple[int, int, str]], shuffle: random.Random) -> None:
    entries = [entry(str(n), ns, author=author, day=day) for n, (ns, day, author) in enumerate(rows)]
    ranked = rank.rank(entries, LATENCY)
    shuffled = entries.copy()
    shuffle.shuffle(shuffled)
    assert rank.rank(shuffled, LATENCY) == ranked
    distinct = sorted({e.value for e in entries})
    assert [r.entry.value for r in ranked] == sorted(e.value for e in entries)
    for r in ranked:
        assert r.rank == distinct.index(r.entry.value) + 1
        assert r.tied == (sum(e.value == r.entry.value for e in entries) > 1)


# Through a catalogue


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.sqlite"


def compared(path: Path, **options: object) -> comparing.Comparison:
    with Catalogue.open(path) as catalogue:
        return comparing.compare(catalogue, NAME, comparing.Options(all_submissions=True, **options))  # type: ignore[arg-type]


def tables(found: comparing.Comparison) -> dict[tuple[str, str | None], list[tuple[int, str]]]:
    return {
        (table.cohort.gpu, table.cohort.stack): [(r.rank, r.entry.submission) for r in table.rows]
        for table in found.tables
    }


ROWS: list[Json] = [
    row(10, "a", 0.005),
    row(11, "b", 0.004, day=2),
    row(12, "c", 0.004, day=3),
    row(13, "d", 0.003, is_correct=False),
    row(14, "e", 0.003, status="FAILED"),
    row(15, "f", None),
    row(16, "g", 0),
    row(17, "h", 0.003, is_disqualified=True, disqualification_reason="cheat"),
    row(18, "i", None, status="PENDING_RESULT"),
    row(19, "j", 0.006, evaluation_stack_version="v1.0"),
    row(20, "k", 0.007, evaluation_stack_version=None),
    row(21, "l", 0.002, gpu_type="H200"),
    row(22, "m", 0.009, gpu_type="NVIDIA_B200"),
    row(23, "n", 0.002, evaluation_stack_version="v2.0"),
]


def test_two_gpus_and_stacks_known_or_not_are_never_mixed(path: Path, tmp_path: Path) -> None:
    """The same whatever order the rows came in; a name for the same GPU is the same GPU, no stack is its own cohort."""
    expected = {
        ("B200", "v2.0"): [(1, "23")],
        ("B200", "v1.1"): [(1, "12"), (1, "11"), (2, "10"), (3, "22")],
        ("B200", "v1.0"): [(1, "19")],
        ("B200", None): [(1, "20")],
        ("H200", "v1.1"): [(1, "21")],
    }
    orders = [ROWS, ROWS[::-1], *(random.Random(seed).sample(ROWS, len(ROWS)) for seed in range(3))]
    for number, rows in enumerate(orders):
        into = imported(tmp_path / f"board{number}", tmp_path / f"{number}.sqlite", [(detail(1, NAME), rows)])
        found = compared(into)
        assert tables(found) == expected
        assert list(tables(found)) == list(expected)
        assert found.excluded == {"disqualified": 1, "no-latency": 2, "not-completed": 2, "not-correct": 1}


def test_every_submission_is_ranked_or_accounted_for(path: Path, tmp_path: Path) -> None:
    imported(tmp_path / "board", path, [(detail(1, NAME), ROWS)])
    for options in ({}, {"gpus": ("B200",)}, {"stacks": ("v1.1",)}, {"gpus": ("NVIDIA_H200",)}):
        found = compared(path, **options)
        assert sum(len(table.rows) for table in found.tables) + sum(found.excluded.values()) == len(ROWS)


def test_a_retracted_run_does_not_rank_and_says_why(path: Path, tmp_path: Path) -> None:
    board = detail(1, NAME)
    imported(tmp_path / "1", path, [(board, [row(1, "a", 0.004), row(2, "b", 0.005)])])
    imported(tmp_path / "2", path, [(board, [row(1, "a", 0.004, is_disqualified=True), row(2, "b", 0.005)])])
    found = compared(path)
    assert tables(found) == {("B200", "v1.1"): [(1, "2")]}
    assert found.excluded == {"retracted: disqualified": 1}
    with Catalogue.open(path) as catalogue:
        it = dossier.dossier(catalogue, "1")
    assert (it.row.standing, it.row.reasons, it.placing) == ("retracted", ("disqualified",), None)
    assert [event.what for event in it.history.events] == ["first-seen", "retracted"]
    assert it.entry is not None
    assert it.entry.value == 4000

    imported(tmp_path / "3", path, [(board, [row(1, "a", 0.004), row(2, "b", 0.005)])])
    with Catalogue.open(path) as catalogue:
        it = dossier.dossier(catalogue, "1")
    assert [event.what for event in it.history.events] == ["first-seen", "retracted", "restored"]
    assert it.placing is not None
    assert (it.placing.rank, it.history.seen_in) == (1, (1, 2, 3))


def test_a_superseded_run_does_not_rank(path: Path, tmp_path: Path) -> None:
    board = detail(1, NAME)
    imported(tmp_path / "1", path, [(board, [row(1, "a", 0.004), row(2, "b", 0.005)])])
    with Catalogue.open(path) as catalogue:
        old = dossier.dossier(catalogue, "1").run.digest
    imported(tmp_path / "2", path, [(board, [row(1, "a", 0.006), row(2, "b", 0.005)])])
    found = compared(path)
    assert tables(found) == {("B200", "v1.1"): [(1, "2"), (2, "1")]}
    assert found.excluded == {"superseded": 1}
    with Catalogue.open(path) as catalogue:
        it, new = dossier.dossier(catalogue, old), dossier.dossier(catalogue, "1")
    assert (it.row.standing, it.placing, it.entry and it.entry.value) == ("superseded", None, 4000)
    assert it.row.latest == new.run.digest != old
    assert [event.what for event in new.history.events] == ["first-seen", "superseded"]
    assert (new.entry and new.entry.value, new.placing and new.placing.rank) == (6000, 2)


def test_an_unlisted_run_ranks_marked(path: Path, tmp_path: Path) -> None:
    board = detail(1, NAME)
    imported(tmp_path / "1", path, [(board, [row(1, "a", 0.004), row(2, "b", 0.005)])])
    imported(tmp_path / "2", path, [(board, [row(2, "b", 0.005)])])
    assert tables(compared(path)) == {("B200", "v1.1"): [(1, "1"), (2, "2")]}
    assert [r.entry.unlisted for r in compared(path).tables[0].rows] == [True, False]
    assert tables(compared(path, listed_only=True)) == {("B200", "v1.1"): [(1, "2")]}
    with Catalogue.open(path) as catalogue:
        it = dossier.dossier(catalogue, "1")
    assert ([event.what for event in it.history.events], it.history.seen_in) == (["first-seen", "unlisted"], (1,))


def test_a_cohort_can_become_empty(path: Path, tmp_path: Path) -> None:
    board = detail(1, NAME)
    imported(tmp_path / "1", path, [(board, [row(1, "a", 0.004)])])
    imported(tmp_path / "2", path, [(board, [row(1, "a", 0.004, is_correct=False)])])
    found = compared(path)
    assert [(table.population, table.rows, table.best) for table in found.tables] == [(0, (), None)]
    assert found.excluded == {"retracted: not-correct": 1}


def test_a_definition_without_submissions(path: Path, tmp_path: Path) -> None:
    imported(tmp_path / "1", path, [(detail(1, NAME), [])])
    assert compared(path) == comparing.Comparison(NAME, (), {})


def test_the_limit_and_what_it_hides(path: Path, tmp_path: Path) -> None:
    rows = [row(n, f"author {n % 3}", n / 1000, sol_score=None if n == 4 else 0.5) for n in range(1, 8)]
    imported(tmp_path / "1", path, [(detail(1, NAME), rows)])
    table = compared(path, limit=2).tables[0]
    assert (len(table.rows), table.unshown, table.population, table.authors) == (2, 5, 7, 3)
    scored = compared(path, limit=2, by="sol-score").tables[0]
    assert (len(scored.rows), scored.unshown, scored.unscored) == (2, 4, 1)
