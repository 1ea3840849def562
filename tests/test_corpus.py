"""The published record, reproduced: from its folder, in any order, twice, and over HTTP."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kictl.catalogue.store import Catalogue
from kictl.pace import Limits
from kictl.sources.leaderboard import SolExecBench
from kictl.transport import HttpFetcher
from kictl.workflow import importing
from leaderboards import Json, digests, held, import_folder, manifest_digests, read_lines


@pytest.fixture(scope="module")
def corpus(shared: Path) -> Path:
    return shared / "corpus"


@pytest.fixture(scope="module")
def expected(corpus: Path) -> dict[int, Json]:
    return read_lines(corpus / "expected.jsonl")


@pytest.fixture(scope="module")
def catalogue(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus, imported from its folder."""
    path = tmp_path_factory.mktemp("corpus") / "c.sqlite"
    report = import_folder(corpus, path)
    assert (report["kernels"], report["received"], report["runs"]["new"]) == (133, 400, 400)
    assert report["quarantined"] == report["warnings"] == report["drift"] == []
    return path


def catalog_digest(path: Path) -> str:
    with Catalogue.open(path) as catalogue:
        return catalogue.digest()


def test_every_published_digest(corpus: Path, expected: dict[int, Json]) -> None:
    assert digests(corpus) == expected


def test_the_catalogue_holds_every_manifest_and_cohort(catalogue: Path, expected: dict[int, Json]) -> None:
    with Catalogue.open(catalogue) as opened:
        manifests = {str(manifest.digest) for manifest in opened.manifests() if manifest.kind != "SoftwareProject"}
    assert manifests == manifest_digests(expected.values())
    found = {name: {(row[0], row[3], row[4]) for row in rows} for name, rows in held(catalogue).items()}
    assert found == {
        line["definition"]: {(name, run["comparison_key"], run["primary_ns"]) for name, run in line["runs"].items()}
        for line in expected.values()
    }


def test_importing_twice_changes_nothing(catalogue: Path, corpus: Path) -> None:
    before = catalog_digest(catalogue)
    report = import_folder(corpus, catalogue)
    assert report["runs"] == {"new": 0, "unchanged": 400, "changed": 0, "restored": 0}
    assert report["catalog_digest"] == before == catalog_digest(catalogue)


def test_the_order_of_importing_does_not_matter(catalogue: Path, corpus: Path, tmp_path: Path) -> None:
    turned = tmp_path / "turned"
    shutil.copytree(corpus, turned)
    listing = json.loads((turned / "kernels.json").read_bytes())
    listing["data"]["kernels"].reverse()
    (turned / "kernels.json").write_text(json.dumps(listing), "utf-8")
    for path in (turned / "submissions").iterdir():
        path.write_text(json.dumps(json.loads(path.read_bytes())[::-1]), "utf-8")
    report = import_folder(turned, tmp_path / "c.sqlite")
    assert report["catalog_digest"] == catalog_digest(catalogue)


def test_parts_add_up_to_the_whole(catalogue: Path, corpus: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    for pattern in ("9", "_", "attention"):
        import_folder(corpus, path, definitions=(pattern,))
    assert catalog_digest(path) == catalog_digest(catalogue)


@contextmanager
def replica(shared: Path) -> Iterator[str]:
    """The base URL of a server over the corpus; it ends with its standard input."""
    command = [sys.executable, str(shared / "tools/replica.py"), str(shared / "corpus")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate("")


def test_over_http(catalogue: Path, shared: Path, tmp_path: Path) -> None:
    with (
        replica(shared) as url,
        HttpFetcher(url, limits=Limits(rate=1000)) as fetcher,
        Catalogue.create(tmp_path / "c.sqlite") as opened,
    ):
        report = importing.run(SolExecBench(fetcher, workers=2), opened, importing.Selection())
    assert (report["kernels"], report["received"], report["warnings"]) == (133, 400, [])
    assert report["catalog_digest"] == catalog_digest(catalogue)
