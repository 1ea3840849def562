"""Listings that shift, lie or never end while they are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kictl import canonical
from kictl.canonical import Digest
from kictl.errors import SourceError
from kictl.model import Body
from kictl.sources import paging
from kictl.sources.fetch import Decode, Fetcher
from kictl.sources.interface import DefinitionRef, Reading
from kictl.sources.leaderboard import SolExecBench
from kictl.sources.recording import MAX_BODY

T = TypeVar("T")
Row = dict[str, Any]

REF = DefinitionRef("7", "007_softmax", ("B200",))
DETAIL = {
    "id": 7,
    "name": "007_softmax",
    "gpu_types": ["B200"],
    "axes": {"n": {"type": "var"}},
    "inputs": {"x": {"shape": ["n"], "dtype": "float32"}},
    "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
    "workloads": [{"axes": {"n": 64}, "baseline_latency_ms": 0.5, "sol_ms": 0.25}],
}


def row(number: Any, **changes: Any) -> Row:
    return {
        "id": number,
        "username": f"author {number}",
        "kernel_id": 7,
        "kernel_name": "007_softmax",
        "status": "COMPLETED",
        "gpu_type": "B200",
        "is_correct": True,
        "latency_ms": 0.375,
        "evaluation_stack_version": "v1",
        "finished_at": "2026-07-01T10:20:30.123456",
        **changes,
    }


class Board(Fetcher):
    """The rows of one definition, newest first. `between` is called after each page, to change them."""

    origin = "a board in memory"

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.most = 50
        self.between: Callable[[list[Row]], None] = lambda rows: None
        self.total: Callable[[int], object] = lambda count: count
        self.echo: Callable[[int], object] = lambda limit: limit
        self.place: Callable[[int], int] = lambda offset: offset
        self.pages = 0

    def fetch(self, path: str, params: Mapping[str, str], decode: Decode[T]) -> tuple[Body, T]:
        data = json.dumps({"data": DETAIL if path == "kernels/7" else self._page(params)}).encode()
        return Body(f"{path}?{params}", data, Digest.of(data)), decode(
            *canonical.read_leniently(self.sent(data), max_bytes=MAX_BODY)
        )

    def sent(self, data: bytes) -> bytes:
        return data

    def _page(self, params: Mapping[str, str]) -> dict[str, object]:
        self.pages += 1
        offset, limit = self.place(int(params["offset"])), min(int(params["limit"]), self.most)
        page = {"submissions": self.rows[offset : offset + limit], "offset": offset}
        page |= {"total": self.total(len(self.rows)), "limit": self.echo(limit)}
        self.rows = list(self.rows)
        self.between(self.rows)
        return {name: value for name, value in page.items() if value != "absent"}


def read(board: Board) -> Reading:
    return SolExecBench(board).read(REF)


def ids(reading: Reading) -> set[int]:
    return {int(submission.external_id) for submission in reading.submissions}


@pytest.mark.parametrize(("count", "pages"), [(0, 1), (1, 1), (2, 1), (49, 1), (50, 2), (51, 2), (99, 3), (251, 6)])
def test_a_listing_that_stands_still(count: int, pages: int) -> None:
    board = Board([row(n) for n in range(count, 0, -1)])
    reading = read(board)
    assert [int(s.external_id) for s in reading.submissions] == list(range(count, 0, -1))
    assert (reading.received, reading.expected, reading.complete, board.pages) == (count, count, True, pages)


@pytest.mark.parametrize("pushed", [1, 3, 49, 60])
def test_newer_rows_push_others_down(pushed: int) -> None:
    board = Board([row(n) for n in range(200, 0, -1)])
    numbers = iter(range(1000, 1000 + 3 * pushed))

    def push(rows: list[Row]) -> None:
        rows[:0] = [row(number) for _, number in zip(range(pushed), numbers, strict=False)][::-1]

    board.between = push
    reading = read(board)
    assert ids(reading) >= set(range(1, 201))
    assert reading.complete


@pytest.mark.parametrize("gone", [1, 20, 49])
@pytest.mark.parametrize("count", [60, 200])
def test_rows_that_go_pull_others_up(gone: int, count: int) -> None:
    board = Board([row(n) for n in range(count, 0, -1)])

    def pull(rows: list[Row]) -> None:
        if board.pages == 1:
            del rows[:gone]

    board.between = pull
    reading = read(board)
    assert ids(reading) == set(range(1, count + 1)), "also those that went after they were seen"
    assert reading.complete


def test_rows_that_keep_going_are_no_reason_to_read_for_ever() -> None:
    board = Board([row(n) for n in range(3000, 0, -1)])

    def pull(rows: list[Row]) -> None:
        del rows[:60]

    board.between = pull
    reading = read(board)
    assert not reading.complete
    assert reading.problem == "rows kept moving while it was read"
    assert board.pages < 60


def removals_and_insertions() -> st.SearchStrategy[list[list[tuple[bool, int, int]]]]:
    change = st.tuples(st.booleans(), st.integers(0, 400), st.integers(1, 70))
    return st.lists(st.lists(change, max_size=3), max_size=12)


@given(
    st.integers(0, 260),
    removals_and_insertions(),
    st.sampled_from([50, 20, 3]),
    st.sampled_from(["honest", "high", "low", "absent", "negative", None]),
    st.sampled_from(["honest", "absent"]),
)
def test_a_row_that_is_there_throughout_is_received_or_nothing_is_claimed(
    count: int, changes: list[list[tuple[bool, int, int]]], most: int, total: str, echo: str
) -> None:
    board = Board([row(n) for n in range(count, 0, -1)])
    there_throughout = set(range(1, count + 1))
    fresh = iter(range(1000, 10**6))
    steps = iter(changes)
    lies = {"high": lambda n: n + 5, "low": lambda n: n // 2, "negative": lambda n: -n}

    def change(rows: list[Row]) -> None:
        for insert, place, number in next(steps, []):
            if insert:
                rows[place:place] = [row(next(fresh)) for _ in range(number)]
            else:
                there_throughout.difference_update(r["id"] for r in rows[place : place + number])
                del rows[place : place + number]

    board.between = change
    board.most = most
    board.total = lies.get(total, lambda n: n if total == "honest" else total)
    board.echo = lambda limit: limit if echo == "honest" else "absent"
    reading = read(board)
    assert not reading.complete or ids(reading) >= there_throughout
    assert reading.received == len(ids(reading)), "each row once"
    if not any(changes) and total != "high" and count != 1:
        assert reading.complete
        assert ids(reading) == there_throughout


@pytest.mark.parametrize(("total", "expected"), [(255, 255), (50, 50), (-3, None), (None, None), ("absent", None)])
def test_a_total_that_lies_is_reported_and_not_believed(total: object, expected: int | None) -> None:
    board = Board([row(n) for n in range(251, 0, -1)])
    board.total = lambda count: total
    reading = read(board)
    assert (reading.received, reading.expected) == (251, expected)
    assert reading.complete == (total != 255), "more was claimed than came"
    assert (reading.problem is None) == reading.complete


@pytest.mark.parametrize("total", [2.5, "251", True, {}])
def test_a_total_of_another_type_breaks_the_page(total: object) -> None:
    board = Board([row(1)])
    board.total = lambda count: total
    with pytest.raises(Exception, match="total"):
        read(board)


def test_a_service_that_gives_fewer_rows_than_asked_for_without_saying_so() -> None:
    board = Board([row(n) for n in range(120, 0, -1)])
    board.most, board.echo, board.total = 20, lambda limit: 50, lambda count: "absent"
    reading = read(board)
    assert reading.complete
    assert ids(reading) == set(range(1, 121))


@pytest.mark.parametrize("total", [251, 50, 1, "absent"])
def test_a_service_that_ignores_the_offset(total: object) -> None:
    board = Board([row(n) for n in range(251, 0, -1)])
    board.place, board.total = lambda offset: 0, lambda count: total
    reading = read(board)
    assert ids(reading) == set(range(202, 252))
    assert not reading.complete
    assert board.pages < 10


def test_a_service_that_rounds_the_offset_down() -> None:
    board = Board([row(n) for n in range(251, 0, -1)])
    board.place = lambda offset: offset // 50 * 50
    reading = read(board)
    assert ids(reading) == set(range(1, 252))
    assert not reading.complete


def test_a_service_that_gives_one_row_at_a_time() -> None:
    board = Board([row(n) for n in range(5, 0, -1)])
    board.most, board.total = 1, lambda count: "absent"
    reading = read(board)
    assert not reading.complete


def test_a_listing_that_does_not_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "MAX_PAGES", 20)
    board = Board([])
    endless = iter(range(10**9, 0, -1))
    board.rows = [row(next(endless)) for _ in range(60)]

    def grow(rows: list[Row]) -> None:
        rows.extend(row(next(endless)) for _ in range(60))

    board.between = grow
    reading = read(board)
    assert board.pages == 20
    assert reading.problem == "it does not end"


def test_a_listing_of_huge_rows_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "MAX_BYTES", 1 << 20)
    board = Board([row(n, run_log="x" * 10_000) for n in range(500, 0, -1)])
    reading = read(board)
    assert board.pages == 3
    assert not reading.complete


def test_a_repeated_row_counts_as_it_was_last_seen() -> None:
    board = Board([row(n) for n in range(60, 0, -1)])

    def change(rows: list[Row]) -> None:
        rows[49] = row(11, latency_ms=0.125)

    board.between = change
    reading = read(board)
    assert reading.received == 60
    (last,) = [s for s in reading.submissions if s.external_id == "11"]
    assert last.facts is not None
    assert last.facts["latency_ms"] == 0.125


BAD_ROWS: list[tuple[Any, str]] = [
    (None, "expected object"),
    ([], "expected object"),
    ("row", "expected object"),
    ({}, "missing member"),
    (row("8"), "expected integer"),
    (row(8.0), "not written as an integer"),
    (row(8, kernel_id=9), "a row of kernel 9"),
    (row(8, username=None), "expected string"),
    (row(8, latency_ms="0.1"), "expected number or null"),
    (row(8, latency_ms=1e305), "beyond any range"),
    (row(8, latency_ms=1e20), "latencyNs"),
    (row(8, finished_at="yesterday"), "not a date and time"),
    (row(8, finished_at="0001-01-01T00:00:00+14:00"), "beyond the years"),
    (row(8, user_id=2**53), "2^53"),
    (row(8, run_log={"bytes": 10**300}), "2^53"),
    (row(8, latency_ms=float("inf")), "the number 1e999 is beyond the range"),
    (row(8, latency_ms=float("nan")), "NaN is not a JSON number"),
    (row(8, username="\ud800"), "surrogate"),
]


class Written(Board):
    """As Board; an infinity is written as a number that is too large for a double."""

    def sent(self, data: bytes) -> bytes:
        return data.replace(b"Infinity", b"1e999")


@pytest.mark.parametrize(("bad", "reason"), BAD_ROWS)
def test_a_bad_row_costs_no_other(bad: Any, reason: str) -> None:
    board = Written([row(9), bad, row(7)])
    reading = read(board)
    assert ids(reading) == {9, 7}
    assert reading.complete
    (quarantined,) = reading.quarantined
    assert reason in quarantined.reason
    assert reading.received == 3
    expected_id = "8" if isinstance(bad, dict) and type(bad.get("id")) is int else None
    assert quarantined.external_id == expected_id
    text = json.dumps(bad).replace("Infinity", "1e999")
    copy = quarantined.facts
    assert copy in (bad, text)


def test_rows_whose_ids_look_alike_are_different_rows() -> None:
    board = Board([row(8), row("8"), row(8.0)])
    reading = read(board)
    assert ids(reading) == {8}
    assert (reading.received, len(reading.quarantined)) == (3, 2)


class WithoutListing(Board):
    """A definition whose listing the service does not know."""

    def fetch(self, path: str, params: Mapping[str, str], decode: Decode[T]) -> tuple[Body, T]:
        if path == "submissions":
            raise SourceError("not found", code="not_found")
        return super().fetch(path, params, decode)


def test_a_listing_that_is_not_found_is_no_empty_listing() -> None:
    reading = read(WithoutListing([row(1)]))
    assert reading.definition is not None
    assert (reading.received, reading.complete) == (0, False)


def test_drift_is_counted_once_with_an_example() -> None:
    rows = [row(n, novelty={"a": n}, status="THINKING", gpu_type="X9", submission_mode="secret") for n in (3, 2)]
    board = Board([*rows, row(1)])
    found = {drift.what: (drift.count, drift.example) for drift in read(board).drift}
    assert found == {
        "upstream/submission member 'novelty'": (2, '{"a":3}'),
        "status 'THINKING'": (2, "3"),
        "submission_mode 'secret'": (2, "3"),
        "gpu_type 'X9'": (2, "3"),
    }


@pytest.fixture
def detail(monkeypatch: pytest.MonkeyPatch) -> Row:
    """The detail that a board answers with, to be changed by the test."""
    changed: Row = json.loads(json.dumps(DETAIL))
    monkeypatch.setitem(globals(), "DETAIL", changed)
    return changed


def test_drift_inside_a_definition(detail: Row) -> None:
    detail["licence"] = "x"
    detail["workloads"][0]["seed"] = 4
    detail["axes"]["n"]["unit"] = "rows"
    assert [drift.what for drift in read(Board([])).drift] == [
        "upstream/kernel member 'licence'",
        "upstream/kernel member axes.*.'unit'",
        "upstream/kernel member workloads.*.'seed'",
    ]


def test_made_up_members_do_not_fill_the_report() -> None:
    rows = [row(n, **{f"member {n}-{m} " + "x" * 300: m for m in range(100)}) for n in range(20)]
    drift = read(Board(rows)).drift
    assert len(drift) == 501
    assert sum(d.count for d in drift) == 2000
    assert all(len(d.what) <= 200 for d in drift)


@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("id", 8, "asked for kernel 7, got 8"),
        ("workloads", None, "expected array"),
        ("axes", {"n": {"type": "guess"}}, "expected"),
        ("axes", {"n": {"type": "const", "value": 2**60}}, "2^53"),
        ("workloads", [{"axes": {"n": 1}, "tolerance": {"max_atol": "small"}}], "max_atol"),
        ("latency_unit", "s", "latency_unit"),
        ("title", "\udfff", "surrogate"),
    ],
)
def test_a_bad_definition_is_quarantined_with_its_rows(detail: Row, member: str, value: Any, reason: str) -> None:
    detail[member] = value
    reading = read(Board([row(2), row(1)]))
    assert reading.definition is None
    assert reading.refused is not None
    assert reason in reading.refused.reason
    assert [q.external_id for q in reading.quarantined] == ["2", "1"]
    assert {q.reason for q in reading.quarantined} == {"its definition is quarantined"}
