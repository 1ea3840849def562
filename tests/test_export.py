"""Exports: every manifest once, in an order of its own, under the digest that it has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kictl import canonical
from leaderboards import EXPECTED, FIXTURE, import_folder, manifest_digests, read_lines
from processes import kictl

PUBLISHED = "sha256:deb0ae259fd84c5e3321ed2b634493bcfbbe08ba88b3646967d236453e2c8bc6"


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture, imported."""
    path = tmp_path_factory.mktemp("export") / "c.sqlite"
    import_folder(FIXTURE, path)
    return path


def test_every_manifest_under_its_digest(catalogue: Path) -> None:
    done = kictl("export", "--format", "jsonl", "--catalog", catalogue)
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert (done.code, done.err) == (0, "")
    assert [list(line) for line in lines] == [["digest", "kind", "manifest"]] * len(lines)
    for line in lines:
        assert canonical.identity(line["manifest"]) == line["digest"]
        assert line["manifest"]["kind"] == line["kind"]
    projects = {line["digest"] for line in lines if line["kind"] == "SoftwareProject"}
    assert {line["digest"] for line in lines} - projects == manifest_digests(read_lines(EXPECTED).values())


def test_the_order_does_not_depend_on_the_order_of_importing(catalogue: Path, tmp_path: Path) -> None:
    parts = tmp_path / "parts.sqlite"
    for pattern in ("301", "230", "016", "115", "042", "0"):
        import_folder(FIXTURE, parts, definitions=(pattern,))
    import_folder(FIXTURE, parts)
    export = kictl("export", "--catalog", catalogue)
    assert kictl("export", "--catalog", parts) == export
    digests = [json.loads(line)["digest"] for line in export.out.splitlines()]
    assert digests == sorted(set(digests))


def test_a_run_as_it_was_published(catalogue: Path, shared: Path) -> None:
    found = json.loads(kictl("show", "19969", "--manifest", "--catalog", catalogue).out)
    published = json.loads((shared / "vectors/published/run-19969.json").read_bytes())
    assert canonical.identity(found["run"]) == PUBLISHED
    for part in ("run", "protocol", "environment"):
        assert canonical.identity(found[part]) == canonical.identity(published[part])
