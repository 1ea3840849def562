"""That no question about one definition, cohort or run reads a whole table of those that grow with the catalogue."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kictl.canonical import Digest
from kictl.catalogue.store import Catalogue
from kictl.workflow import comparing, history, pairing, showing
from leaderboards import FIXTURE, import_folder

GROWING = {
    "submission",
    "run",
    "score",
    "claim",
    "observation",
    "manifest",
    "evidence",
    "bounds_case",
    "quarantine",
    "drift",
    "body",
    "note",
}
OPTIONS = comparing.Options(explain=True)

QUESTIONS: dict[str, Callable[[Catalogue], object]] = {
    "compare": lambda catalogue: comparing.compare(catalogue, "042_moe", OPTIONS),
    "compare with another GPU": lambda catalogue: comparing.compare(
        catalogue, "042_moe", comparing.Options(gpus=("B200",))
    ),
    "compare two runs": lambda catalogue: pairing.pair(catalogue, runs(catalogue)[:2], io.BytesIO(), with_best=True),
    "history": lambda catalogue: history.history(catalogue, "042_moe"),
    "show a submission": lambda catalogue: showing.show(catalogue, runs(catalogue)[0]),
    "show a definition": lambda catalogue: showing.show(catalogue, "042_moe"),
    "show a cohort": lambda catalogue: showing.show(catalogue, cohort(catalogue)),
    "look for a manifest": lambda catalogue: catalogue.find(Digest(cohort(catalogue))),
}


def runs(catalogue: Catalogue) -> list[str]:
    rows = catalogue.db.execute(
        "SELECT external_id FROM submission s JOIN run r ON r.submission_id = s.id"
        " WHERE cohort_id = 1 AND r.standing = 'current'"
    )
    return [row[0] for row in rows]


def cohort(catalogue: Catalogue) -> str:
    return Digest.from_raw(catalogue.db.execute("SELECT key FROM cohort").fetchone()[0])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans") / "catalogue.sqlite"
    import_folder(FIXTURE, path)
    return path


def scanned(catalogue: Catalogue, statements: list[str]) -> set[tuple[str, str]]:
    """The growing tables that the statements read from end to end, each with its statement."""
    found = set()
    for statement in statements:
        names = {
            alias or table: table
            for table, alias in re.findall(
                r"(?:FROM|JOIN) (\w+)(?: (?!ON|WHERE|JOIN|ORDER|GROUP|LEFT|LIMIT)(\w+))?", statement
            )
        }
        for *_, detail in catalogue.db.execute(f"EXPLAIN QUERY PLAN {statement}"):
            if match := re.match(r"SCAN (\w+)", detail):
                table = names.get(match[1], match[1])
                if table in GROWING:
                    found.add((table, statement))
    return found


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_table_is_scanned(path: Path, question: str) -> None:
    statements: list[str] = []
    with Catalogue.open(path) as catalogue:
        catalogue.db.set_trace_callback(statements.append)
        QUESTIONS[question](catalogue)
        catalogue.db.set_trace_callback(None)
        asked = [statement for statement in dict.fromkeys(statements) if statement.lstrip().startswith("SELECT")]
        assert asked
        assert scanned(catalogue, asked) == set()


def test_a_scan_is_noticed(path: Path) -> None:
    statement = "SELECT s.id FROM submission s JOIN manifest ON manifest.id = s.project_id WHERE s.gpu = 'B200'"
    with Catalogue.open(path) as catalogue:
        assert scanned(catalogue, [statement]) == {("submission", statement)}
        assert scanned(catalogue, ["SELECT id FROM submission WHERE id = 1"]) == set()
