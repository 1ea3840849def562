"""Reading and importing leaderboard folders, for the tests that need one; and what is expected of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from kictl.catalogue import queries
from kictl.catalogue.store import Catalogue
from kictl.sources.leaderboard import SolExecBench
from kictl.sources.recorded import open_snapshot
from kictl.workflow import importing

ROOT = Path(__file__).parents[1]
FIXTURE = ROOT / "fixtures/leaderboard"
EXPECTED = ROOT / "fixtures/leaderboard.expected.jsonl"

Json = dict[str, Any]


@contextmanager
def database(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of the test's own, whose changes are kept."""
    with closing(sqlite3.connect(path)) as db, db:
        yield db


def read_lines(path: Path) -> dict[int, Json]:
    """The lines of a file of expected digests, by kernel id."""
    return {line["kernel_id"]: line for line in map(json.loads, path.read_text("utf-8").splitlines())}


def import_folder(folder: Path, into: Path, **selection: Any) -> Json:
    """Imports a folder into the catalogue at `into`; returns the report."""
    with open_snapshot(folder) as fetcher, Catalogue.create(into) as catalogue:
        return importing.run(SolExecBench(fetcher), catalogue, importing.Selection(**selection))


def digests(folder: Path) -> dict[int, Json]:
    """What kictl makes of a folder's definitions and runs, in the form of the expected digests."""
    out = {}
    with open_snapshot(folder) as fetcher:
        source = SolExecBench(fetcher)
        for reading in source.read_all(source.listing().definitions):
            if reading.definition is None:
                continue
            made = {row.external_id: row.runs[0] for row in reading.submissions if row.runs}
            suite = reading.definition.suite
            assert suite is not None
            out[int(reading.ref.external_id)] = {
                "kernel_id": int(reading.ref.external_id),
                "definition": reading.definition.name,
                "operation": reading.definition.subject.digest,
                "suite": suite.manifest.digest,
                "cases": sorted(case.digest for case in suite.cases),
                "runs": {
                    name: {
                        "run": run.manifest.digest,
                        "implementation": run.implementation,
                        "protocol": run.spec["protocolDigest"],
                        "environment": run.spec["environmentDigest"],
                        "comparison_key": run.cohort.key,
                        "primary_ns": run.value,
                    }
                    for name, run in made.items()
                },
            }
    return out


def manifest_digests(expected: Iterable[Json]) -> set[str]:
    """Every digest of operations, suites, cases, runs, implementations, protocols and environments."""
    found: set[str] = set()
    for line in expected:
        found |= {line["operation"], line["suite"], *line["cases"]}
        for run in line["runs"].values():
            found |= {run[part] for part in ("run", "implementation", "protocol", "environment")}
    return found


def held(path: Path) -> dict[str, list[tuple[str, str, str | None, str, int]]]:
    """Per definition of a catalogue, its cohorts' runs: (submission, gpu, stack, comparison key, latency in ns)."""
    out: dict[str, list[tuple[str, str, str | None, str, int]]] = {}
    with Catalogue.open(path) as catalogue:
        for definition in queries.definitions(catalogue):
            rows = out.setdefault(definition.name, [])
            for cohort in queries.cohorts(catalogue, definition.id):
                for entry in queries.entries(catalogue, cohort.id):
                    key = str(cohort.key)
                    rows.append((entry.submission, cohort.gpu, cohort.stack, key, int(entry.value)))
    return out
