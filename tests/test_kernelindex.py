"""Import of catalogue exports: whole, in any order of lines, and out again; what does not hold is set aside."""

from __future__ import annotations

import json
import math
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import zstandard

from processes import ROOT, kictl

MIGRATED = ROOT / "fixtures" / "catalogues"
KEYS_OF_OUTPUTS = {"ranked_by", "gain_ns"}  # members whose meaning moved when other metrics than latency came in


@pytest.fixture(scope="module")
def slice_(shared: Path) -> Path:
    """A part of KernelIndex' export: kernels and serving, of several sources."""
    return shared / "export" / "slice.jsonl"


def imported(catalogue: Path, *paths: Path, code: int = 0, strict: bool = False) -> dict[str, Any]:
    options = ("--strict",) if strict else ()
    done = kictl("import", "kernelindex", *paths, *options, "--json", "--catalog", catalogue)
    assert done.code == code, done.err
    return json.loads(done.out)  # type: ignore[no-any-return]


def exported(catalogue: Path, target: Path) -> bytes:
    done = kictl("export", "--format", "kernelindex", "--output", target, "--catalog", catalogue)
    assert done.code == 0, done.err
    return target.read_bytes()


def test_an_export_is_taken_whole_and_written_again_as_it_was(slice_: Path, tmp_path: Path) -> None:
    report = imported(tmp_path / "a.sqlite", slice_, strict=True)
    lines = slice_.read_bytes().splitlines(keepends=True)
    assert report["received"] == len(lines) == sum(table["kept"] for table in report["tables"].values())
    assert report["quarantined"] == []

    again = tmp_path / "again.jsonl"
    first = exported(tmp_path / "a.sqlite", again)
    assert imported(tmp_path / "b.sqlite", again)["catalog_digest"] == report["catalog_digest"]
    assert exported(tmp_path / "b.sqlite", tmp_path / "b.jsonl") == first

    random.Random(7).shuffle(lines)
    packed = tmp_path / "shuffled.jsonl.zst"
    packed.write_bytes(zstandard.compress(b"".join(lines)))
    assert imported(tmp_path / "c.sqlite", packed)["catalog_digest"] == report["catalog_digest"]


def test_a_manifest_that_is_not_what_its_digest_says_is_set_aside_with_its_runs(slice_: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in slice_.read_bytes().splitlines()]
    changed = next(row for row in rows if row.get("table") == "implementations")
    changed["row"]["manifest"]["spec"]["language"] = "another"
    path = tmp_path / "changed.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = imported(tmp_path / "c.sqlite", path, strict=True, code=1)
    kept = sum(table["kept"] for table in report["tables"].values())
    quarantined = sum(table["quarantined"] for table in report["tables"].values())
    assert kept + quarantined == report["received"] == len(rows)
    assert report["tables"]["implementations"]["quarantined"] == 1
    assert report["quarantined_rows"] == quarantined == len(report["quarantined"]) > 1


def test_a_file_that_is_cut_short_changes_nothing(slice_: Path, tmp_path: Path) -> None:
    whole = zstandard.compress(slice_.read_bytes())
    cut = tmp_path / "cut.jsonl.zst"
    cut.write_bytes(whole[: len(whole) // 2])
    done = kictl("import", "kernelindex", cut, "--json", "--catalog", tmp_path / "c.sqlite")
    assert done.code == 3
    assert json.loads(done.out)["error"]["code"]
    if (tmp_path / "c.sqlite").exists():
        with sqlite3.connect(tmp_path / "c.sqlite") as connection:
            assert connection.execute("SELECT count(*) FROM run").fetchone() == (0,)


def test_a_folder_without_a_row_is_no_import(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = kictl("import", "kernelindex", tmp_path / "empty", "--json", "--catalog", tmp_path / "c.sqlite")
    assert (done.code, json.loads(done.out)["error"]["code"]) == (3, "empty")


def test_sources_are_united_in_either_order(slice_: Path, shared: Path, tmp_path: Path) -> None:
    corpus = ("import", "sol-execbench", "--from", shared / "corpus", "--json", "--catalog")
    assert kictl(*corpus, tmp_path / "a.sqlite").code == 0
    after = imported(tmp_path / "a.sqlite", slice_)
    imported(tmp_path / "b.sqlite", slice_)
    before = json.loads(kictl(*corpus, tmp_path / "b.sqlite").out)
    assert after["runs"]["unchanged"] > 0  # both sources hold some runs, which count once
    assert after["catalog_digest"] == before["catalog_digest"]


def test_a_catalogue_of_the_first_schema_says_the_same_after_its_migration(tmp_path: Path) -> None:
    catalogue = tmp_path / "c.sqlite"
    packed = (MIGRATED / "0.1.0.sqlite.zst").read_bytes()
    catalogue.write_bytes(zstandard.ZstdDecompressor().decompress(packed, max_output_size=1 << 28))
    for name, expected in json.loads((MIGRATED / "0.1.0.expected.json").read_text("utf-8")).items():
        done = kictl(*expected["arguments"], "--catalog", catalogue)
        assert done.code == 0, (name, done.err)
        assert list(differences(expected["output"], json.loads(done.out))) == [], name


def differences(before: Any, after: Any, pointer: str = "") -> Any:
    """The pointers of all members of `before` that `after` has not, or has with another value."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() - KEYS_OF_OUTPUTS:
            yield from differences(before[key], after.get(key), f"{pointer}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{pointer}/{index}")
    elif before != after and not (isinstance(before, float) and math.isclose(before, after, rel_tol=1e-13)):
        yield pointer  # a float may differ in its last digit: sums are rounded better than they were
