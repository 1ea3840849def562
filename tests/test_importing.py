"""What imports write down: every row accounted for, states beside older states, and nothing about what was not read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import boards
from boards import Json, detail, row
from kictl.catalogue import dossiers, queries
from kictl.catalogue.store import Catalogue
from kictl.errors import SourceError, UsageError
from kictl.render import imports
from kictl.sources.interface import DefinitionRef, Listing, Reading
from kictl.sources.leaderboard import SolExecBench
from kictl.sources.recorded import open_snapshot
from kictl.sources.snapshot import SnapshotWriter
from kictl.workflow import importing, naming

NAME = "001_norm"


class Catalog:
    """One catalogue, and imports into it of leaderboards that are written for the purpose."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "catalogue.sqlite"
        self._numbers = count()

    def load(self, *parts: tuple[Json, list[Json]], source: type[SolExecBench] = SolExecBench, **options: Any) -> Json:
        """Imports definitions with their rows; the report."""
        resume = options.pop("resume", False)
        folder = boards.write(self.folder / f"board {next(self._numbers)}", parts)
        with open_snapshot(folder) as fetcher, Catalogue.create(self.path) as catalogue:
            return importing.run(source(fetcher), catalogue, importing.Selection(**options), resume=resume)

    def one(self, *rows: Json, **options: Any) -> Json:
        """Imports one definition with these rows."""
        return self.load((detail(1, NAME), list(rows)), **options)

    def history(self, submission: str) -> list[tuple[int, str, bool, str | None]]:
        """Import, standing, unlisted and the start of the run's digest of each state that was written down."""
        with Catalogue.open(self.path) as catalogue:
            (found,) = dossiers.submissions(catalogue, submission)
            return [
                (o.import_id, o.standing, o.unlisted, o.run and o.run.short)
                for o in dossiers.observations(catalogue, found.id)
            ]

    def ranked(self, definition: str = NAME) -> list[tuple[str, float, bool]]:
        """Submission, latency in ns and whether it is unlisted, of all that ranks."""
        with Catalogue.open(self.path) as catalogue:
            return sorted(
                (entry.submission, entry.value, entry.unlisted)
                for known in queries.definitions(catalogue)
                if known.name == definition
                for cohort in queries.cohorts(catalogue, known.id)
                for entry in queries.entries(catalogue, cohort.id)
            )

    def digests(self) -> set[str]:
        with Catalogue.open(self.path) as catalogue:
            return {manifest.digest for manifest in catalogue.manifests()}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path)


def counts(report: Json) -> dict[str, int]:
    """The counts of a report that are not 0, but for quarantine."""
    found = report["runs"] | {name: report[name] for name in ("retracted", "unlisted", "relisted")} | report["skipped"]
    return {name: number for name, number in found.items() if number}


A, B = row(1, "ann", 0.005), row(2, "bob", 0.004)


# A submission over time


def test_a_second_import_of_the_same_changes_nothing(catalog: Catalog) -> None:
    first, second = catalog.one(A, B), catalog.one(A, B)
    assert counts(first) == {"new": 2}
    assert counts(second) == {"unchanged": 2}
    assert first["catalog_digest"] == second["catalog_digest"]
    assert [state[0] for state in catalog.history("1")] == [1]


def test_other_facts_supersede_the_run_and_undoing_them_is_one_more_state(catalog: Catalog) -> None:
    catalog.one(A)
    first = catalog.digests()
    assert counts(catalog.one(A | {"latency_ms": 0.003})) == {"changed": 1}
    assert catalog.ranked() == [("1", 3000, False)]
    second = catalog.digests()
    assert second > first, "nothing is deleted"
    assert counts(catalog.one(A)) == {"changed": 1}
    assert catalog.ranked() == [("1", 5000, False)]
    assert catalog.digests() == second
    states = catalog.history("1")
    assert [state[:3] for state in states] == [(1, "current", False), (2, "current", False), (3, "current", False)]
    assert states[0][3] == states[2][3] != states[1][3]


def test_facts_that_are_no_part_of_the_run_keep_it(catalog: Catalog) -> None:
    catalog.one(A)
    assert counts(catalog.one(A | {"review_status": "under review"})) == {"unchanged": 1}
    states = catalog.history("1")
    assert [state[0] for state in states] == [1, 2]
    assert states[0][3] == states[1][3]


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"is_disqualified": True, "disqualification_reason": "copied"}, "disqualified"),
        ({"is_correct": False}, "not-correct"),
        ({"is_correct": None}, "not-correct"),
        ({"status": "EVALUATING"}, "not-completed"),
        ({"latency_ms": None}, "no-latency"),
    ],
)
def test_retracted_and_restored(catalog: Catalog, members: Json, reason: str) -> None:
    catalog.one(A, B)
    before = catalog.digests()
    assert counts(catalog.one(A | members, B)) == {"retracted": 1, reason: 1, "unchanged": 1}
    assert catalog.ranked() == [("2", 4000, False)]
    assert counts(catalog.one(A | members, B)) == {reason: 1, "unchanged": 1}, "retracted once"
    with Catalogue.open(catalog.path) as catalogue:
        found = naming.submission(catalogue, "1")
        assert (found.standing, found.reasons[0]) == ("retracted", reason)
    assert counts(catalog.one(A, B)) == {"restored": 1, "unchanged": 1}
    assert catalog.ranked() == [("1", 5000, False), ("2", 4000, False)]
    assert catalog.digests() == before
    assert [state[:2] for state in catalog.history("1")] == [(1, "current"), (2, "retracted"), (4, "current")]


def test_restored_with_other_figures(catalog: Catalog) -> None:
    catalog.one(A)
    catalog.one(A | {"is_disqualified": True})
    assert counts(catalog.one(A | {"latency_ms": 0.002})) == {"restored": 1}
    assert catalog.ranked() == [("1", 2000, False)]


def test_a_result_that_comes_later_under_the_same_id(catalog: Catalog) -> None:
    pending = A | {"status": "PENDING_RESULT", "is_correct": None, "latency_ms": None}
    assert counts(catalog.one(pending)) == {"not-completed": 1}
    assert counts(catalog.one(A)) == {"new": 1}
    assert [state[:2] for state in catalog.history("1")] == [(1, "ineligible"), (2, "current")]


def test_what_never_was_a_run_is_not_retracted(catalog: Catalog) -> None:
    catalog.one(A | {"is_correct": False})
    assert counts(catalog.one(A | {"is_disqualified": True})) == {"disqualified": 1}


# Listed and not


def test_what_is_no_longer_listed_still_ranks(catalog: Catalog) -> None:
    catalog.one(A, B)
    assert counts(catalog.one(B)) == {"unchanged": 1, "unlisted": 1}
    assert catalog.ranked() == [("1", 5000, True), ("2", 4000, False)]
    assert counts(catalog.one(B)) == {"unchanged": 1}, "unlisted once"
    assert counts(catalog.one(A, B)) == {"unchanged": 2, "relisted": 1}
    assert catalog.ranked() == [("1", 5000, False), ("2", 4000, False)]
    assert [state[:3] for state in catalog.history("1")] == [
        (1, "current", False),
        (2, "current", True),
        (4, "current", False),
    ]


def test_listed_again_with_other_figures(catalog: Catalog) -> None:
    catalog.one(A, B)
    catalog.one(B)
    assert counts(catalog.one(A | {"latency_ms": 0.003}, B)) == {"changed": 1, "unchanged": 1, "relisted": 1}
    assert catalog.ranked() == [("1", 3000, False), ("2", 4000, False)]


def test_a_retracted_submission_can_be_unlisted(catalog: Catalog) -> None:
    catalog.one(A, B)
    catalog.one(A | {"is_disqualified": True}, B)
    assert counts(catalog.one(B)) == {"unchanged": 1, "unlisted": 1}
    assert catalog.history("1")[-1][:3] == (3, "retracted", True)


class NotToTheEnd(SolExecBench):
    """A leaderboard whose listings are never known to be read to their end."""

    def read(self, ref: DefinitionRef) -> Reading:
        return replace(super().read(ref), complete=False, problem="rows kept moving while it was read")


def test_absence_from_a_listing_with_a_gap_says_nothing(catalog: Catalog) -> None:
    catalog.one(A, B)
    report = catalog.one(B, source=NotToTheEnd)
    assert counts(report) == {"unchanged": 1}
    assert report["warnings"] == [
        "listing not known to be read to its end, so that absent rows are not marked unlisted:"
        " kernel 1: rows kept moving while it was read"
    ]
    assert not any(unlisted for *_, unlisted in catalog.ranked())


def test_a_row_that_is_malformed_now_is_listed_all_the_same(catalog: Catalog) -> None:
    catalog.one(A, B)
    report = catalog.one(A | {"latency_ms": "fast"}, B)
    assert counts(report) == {"unchanged": 1}
    assert report["quarantined_rows"] == 1
    assert [state[:3] for state in catalog.history("1")] == [(1, "current", False)]


def test_beside_a_row_whose_id_cannot_be_told_absence_says_nothing(catalog: Catalog) -> None:
    catalog.one(A, B)
    report = catalog.one(A | {"id": "1?"}, B)
    assert counts(report) == {"unchanged": 1}
    assert [item["submission"] for item in report["quarantined"]] == [None]
    assert not any(unlisted for *_, unlisted in catalog.ranked())
    assert counts(catalog.one(B)) == {"unchanged": 1, "unlisted": 1}


def test_a_definition_that_is_malformed_now_says_nothing_about_its_rows(catalog: Catalog) -> None:
    catalog.one(A, B)
    before = catalog.digests()
    report = catalog.load((detail(1, NAME) | {"axes": None}, [B]))
    assert counts(report) == {}
    assert report["quarantined_rows"] == 1
    assert [item["where"] for item in report["quarantined"]] == ["kernels/1 submission 2", "kernels/1"]
    assert catalog.digests() == before
    assert not any(unlisted for *_, unlisted in catalog.ranked())


# Parts of a leaderboard


def test_an_import_of_some_definitions_says_nothing_about_the_others(catalog: Catalog) -> None:
    one, two = detail(1, NAME), detail(2, "002_gemm")
    catalog.load((one, [A]), (two, [B]))
    report = catalog.load((one, []), (two, []), definitions=("002",))
    assert report["kernels"] == 1
    assert counts(report) == {"unlisted": 1}
    assert catalog.ranked() == [("1", 5000, False)]
    assert catalog.ranked("002_gemm") == [("2", 4000, True)]


def test_a_snapshot_of_some_definitions_says_nothing_about_the_others(catalog: Catalog, tmp_path: Path) -> None:
    whole = catalog.load((detail(1, NAME), [A]), (detail(2, "002_gemm"), [B]))
    board, part = tmp_path / "board 0", tmp_path / "part.tar.zst"
    with (
        SnapshotWriter(part) as record,
        open_snapshot(board, record=record) as fetcher,
        Catalogue.create(tmp_path / "other.sqlite") as catalogue,
    ):
        saved = importing.run(SolExecBench(fetcher), catalogue, importing.Selection(("002",)))
    for path, digest in ((catalog.path, whole["catalog_digest"]), (tmp_path / "new.sqlite", saved["catalog_digest"])):
        with open_snapshot(part) as fetcher, Catalogue.create(path) as catalogue:
            report = importing.run(SolExecBench(fetcher), catalogue, importing.Selection())
        assert (report["kernels"], report["received"], report["warnings"]) == (1, 1, [])
        assert report["catalog_digest"] == digest
    assert catalog.ranked() == [("1", 5000, False)]


def test_an_import_of_one_gpu_or_stack_says_nothing_about_the_others(catalog: Catalog) -> None:
    other = row(3, "cyd", 0.003, gpu_type="H200", evaluation_stack_version="v2")
    catalog.one(A, other)
    report = catalog.one(A | {"latency_ms": 0.001}, other | {"latency_ms": 0.001}, gpus=("H200",), stacks=("v2",))
    assert counts(report) == {"changed": 1, "not-selected": 1}
    assert catalog.ranked() == [("1", 5000, False), ("3", 1000, False)]


@pytest.mark.parametrize(("part", "code"), [("definitions", "unknown_definition"), ("tags", "unknown_tag")])
def test_a_selection_that_means_nothing_is_refused(catalog: Catalog, part: str, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        catalog.one(A, **{part: ("nothing like it",)})
    assert caught.value.code == code


def test_an_empty_leaderboard_is_told(catalog: Catalog) -> None:
    report = catalog.load()
    assert report["warnings"] == ["the source lists no definition that can be read"]
    assert "the source lists no definition" in imports.summary(report)


def test_a_definition_that_is_no_longer_listed_is_told_by_whole_imports(catalog: Catalog) -> None:
    one, two = (detail(1, NAME), [A]), (detail(2, "002_gemm"), [B])
    catalog.load(one, two)
    assert catalog.load(one)["warnings"] == ["definitions that the source no longer lists: 002_gemm"]
    assert catalog.load(one, definitions=("001",))["warnings"] == []
    assert catalog.ranked("002_gemm") == [("2", 4000, False)]


def test_a_submission_that_appears_under_another_definition_is_set_aside(catalog: Catalog) -> None:
    catalog.load((detail(1, NAME), [A]), (detail(2, "002_gemm"), [B]))
    report = catalog.load((detail(1, NAME), [A, B]), (detail(2, "002_gemm"), [B]))
    assert counts(report) == {"unchanged": 2}
    assert report["quarantined_rows"] == 1
    assert report["quarantined"][0]["reason"] == "it was listed under kernel 2 before"
    assert catalog.ranked() == [("1", 5000, False)]


# Definitions and bounds


def versions(catalog: Catalog) -> list[int]:
    """The imports that wrote a version of the definition."""
    with Catalogue.open(catalog.path) as catalogue:
        rows = catalogue.db.execute("SELECT import_id FROM definition_version ORDER BY id").fetchall()
    return [number for (number,) in rows]


def test_bounds_that_moved_are_a_new_version_under_the_same_manifests(catalog: Catalog) -> None:
    one = catalog.load((detail(1, NAME), [A]))
    two = catalog.load((detail(1, NAME, sol_ms=0.002), [A]))
    assert one["catalog_digest"] == two["catalog_digest"]
    assert counts(two) == {"unchanged": 1}
    assert versions(catalog) == [1, 2]
    with Catalogue.open(catalog.path) as catalogue:
        now, then = queries.bounds(catalogue, 1), queries.bounds(catalogue, 1, import_id=1)
    assert now is not None
    assert then is not None
    assert [case.sol_ms for case in now.cases] == [0.002, 0.002]
    assert [case.sol_ms for case in then.cases] == [0.001, 0.001]


def test_a_run_stays_with_the_definition_that_it_was_measured_under(catalog: Catalog) -> None:
    catalog.load((detail(1, NAME), [A]))
    report = catalog.load((detail(1, NAME, cases=3), [A, B]))
    assert counts(report) == {"unchanged": 1, "new": 1}
    with Catalogue.open(catalog.path) as catalogue:
        cohorts = queries.cohorts(catalogue, 1)
        runs = {cohort.cases: [e.submission for e in queries.entries(catalogue, cohort.id)] for cohort in cohorts}
    assert runs == {2: ["1"], 3: ["2"]}


def test_a_count_of_submissions_is_no_new_version(catalog: Catalog) -> None:
    catalog.load((detail(1, NAME) | {"submission_count": 1}, [A]))
    catalog.load((detail(1, NAME) | {"submission_count": 2}, [A]))
    catalog.load((detail(1, NAME) | {"submission_count": 2, "description": "other words"}, [A]))
    assert versions(catalog) == [1, 3]


def test_no_source_code_is_kept(catalog: Catalog) -> None:
    catalog.load((detail(1, NAME) | {"baseline": "def secret(): ...", "reference": "def secret(): ..."}, [A]))
    with Catalogue.open(catalog.path) as catalogue:
        manifests = [manifest.document for manifest in catalogue.manifests()]
        assert "secret" not in str([dossiers.definition_facts(catalogue, 1), manifests])


# Every row is accounted for

ROWS = st.builds(
    lambda number, changes: row(number, "ann", 0.005) | changes,
    st.integers(1, 12),
    st.dictionaries(
        st.sampled_from(["status", "is_correct", "is_disqualified", "latency_ms", "finished_at", "username", "id"]),
        st.sampled_from([None, True, False, "COMPLETED", "x", 0, 1.5, 2**60, 7]),
        max_size=3,
    ),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(ROWS, max_size=8), min_size=2, max_size=3))
def test_every_row_is_accounted_for(listings: list[list[Json]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        catalog = Catalog(Path(folder))
        for rows in listings:
            report = catalog.load((detail(1, NAME), rows), (detail(2, "002_gemm"), rows[:2]))
            accounted = sum(report["runs"].values()) + sum(report["skipped"].values()) + report["quarantined_rows"]
            assert report["received"] == accounted
            text = imports.summary(report)
            assert f"{report['received']} submissions received" in text
            assert all(f"{number} {reason}" in text for reason, number in report["skipped"].items())


# Interrupted and resumed


class Interrupted(SolExecBench):
    """A leaderboard that is gone after two definitions."""

    def read_all(self, refs: Iterable[DefinitionRef]) -> Iterator[Reading]:
        for number, ref in enumerate(refs):
            if number == 2:
                raise SourceError("gone", code="deadline")
            yield self.read(ref)


class Counting(SolExecBench):
    """A leaderboard that knows what was read of it."""

    asked: list[str]

    def listing(self) -> Listing:
        Counting.asked = []
        return super().listing()

    def read(self, ref: DefinitionRef) -> Reading:
        Counting.asked.append(ref.external_id)
        return super().read(ref)


FIVE = [(detail(n, f"00{n}_norm"), [row(n, "ann", 0.005)]) for n in range(1, 6)]


def load_same(catalog: Catalog, source: type[SolExecBench], **options: Any) -> Json:
    """Imports the same folder again, which a resumption needs."""
    folder = boards.write(catalog.folder / "same", FIVE)
    with open_snapshot(folder) as fetcher, Catalogue.create(catalog.path) as catalogue:
        resume = options.pop("resume", True)
        return importing.run(source(fetcher), catalogue, importing.Selection(**options), resume=resume)


def test_an_interrupted_import_is_taken_up_again(catalog: Catalog, tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        load_same(catalog, Interrupted)
    assert catalog.ranked("001_norm") == [("1", 5000, False)], "what was committed stays"
    report = load_same(catalog, Counting)
    assert Counting.asked == ["3", "4", "5"]
    assert (report["import"], report["kernels"], counts(report)) == (1, 5, {"new": 5})
    whole = Catalog(tmp_path / "other")
    direct = load_same(whole, SolExecBench)
    assert {**report, "origin": ""} == {**direct, "origin": ""}


def test_a_finished_import_is_not_taken_up(catalog: Catalog) -> None:
    load_same(catalog, SolExecBench)
    assert load_same(catalog, Counting)["import"] == 2
    assert Counting.asked == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("options", [{"resume": False}, {"definitions": ("norm",)}])
def test_another_import_does_not_take_it_up(catalog: Catalog, options: Json) -> None:
    with pytest.raises(SourceError):
        load_same(catalog, Interrupted)
    assert load_same(catalog, Counting, **options)["import"] == 2
    assert Counting.asked == ["1", "2", "3", "4", "5"]


def test_what_others_have_followed_is_not_taken_up(catalog: Catalog) -> None:
    with pytest.raises(SourceError):
        load_same(catalog, Interrupted)
    load_same(catalog, SolExecBench, definitions=("001",))
    assert load_same(catalog, Counting)["import"] == 3, "events are states in the order of their numbers"
