"""The catalogue file: how it is made, migrated and refused; that it only ever gains manifests, a kernel at a time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kictl import canonical
from kictl.canonical import Digest
from kictl.catalogue import store
from kictl.catalogue.manifests import ManifestWriter
from kictl.catalogue.migrations import STEPS
from kictl.catalogue.store import APPLICATION_ID, Catalogue
from kictl.errors import CatalogueError
from kictl.model import Manifest
from leaderboards import FIXTURE, database, import_folder
from processes import kictl


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "catalogue #1.sqlite"


def schema(path: Path) -> list[tuple[str, str]]:
    with database(path) as db:
        return db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()


def pragma(path: Path, name: str) -> int:
    with database(path) as db:
        return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def code_of(path: Path) -> str:
    """The code with which opening fails; creating has to fail likewise."""
    codes = set()
    for opening in (Catalogue.open, Catalogue.create):
        with pytest.raises(CatalogueError) as caught:
            opening(path)
        assert str(path) in str(caught.value)
        codes.add(caught.value.code)
    assert len(codes) == 1, codes
    return codes.pop()


# Making, opening, refusing


def test_made_on_first_use(path: Path) -> None:
    Catalogue.create(path).close()
    assert pragma(path, "application_id") == APPLICATION_ID
    assert pragma(path, "user_version") == len(STEPS)
    with Catalogue.open(path) as catalogue:
        assert list(catalogue.manifests()) == []
        assert catalogue.digest() == canonical.digest([])


def test_making_it_again_keeps_it(path: Path) -> None:
    import_folder(FIXTURE, path)
    before = schema(path)
    with Catalogue.create(path) as catalogue:
        held = catalogue.digest()
    assert held != canonical.digest([])
    assert schema(path) == before


def test_tables_are_strict_and_foreign_keys_are_kept(path: Path) -> None:
    with Catalogue.create(path) as catalogue:
        tables = catalogue.db.execute("PRAGMA table_list").fetchall()
        assert [row[1] for row in tables if row[0] == "main" and not row[1].startswith("sqlite_") and not row[5]] == []
        with pytest.raises(CatalogueError, match="FOREIGN KEY"), catalogue.transaction() as db:
            db.execute("INSERT INTO body VALUES (999, 'name', x'00')")


def test_reading_cannot_write(path: Path) -> None:
    Catalogue.create(path).close()
    with (
        Catalogue.open(path) as catalogue,
        pytest.raises(CatalogueError, match="readonly"),
        catalogue.transaction() as db,
    ):
        db.execute("DELETE FROM dictionary")


def test_none_there(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError) as caught:
        Catalogue.open(tmp_path / "none.sqlite")
    assert caught.value.code == "no_catalogue"
    assert not (tmp_path / "none.sqlite").exists()


def test_another_programs_database(path: Path) -> None:
    path.parent.mkdir()
    with database(path) as db:
        db.execute("CREATE TABLE t (a)")
    before = path.read_bytes()
    assert code_of(path) == "not_a_catalogue"
    assert path.read_bytes() == before


def test_a_newer_schema(path: Path) -> None:
    Catalogue.create(path).close()
    with database(path) as db:
        db.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
    assert code_of(path) == "newer_catalogue"


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 4096])
def test_no_database(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    assert code_of(path) == "catalogue"
    assert path.read_bytes() == content


def test_a_torn_database(path: Path) -> None:
    import_folder(FIXTURE, path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(CatalogueError), Catalogue.open(path) as catalogue:
        list(catalogue.manifests())


@pytest.mark.parametrize(
    ("damage", "command"),
    [
        ("UPDATE import SET report = CAST(x'ff' AS TEXT)", ("imports",)),
        ("UPDATE import SET report = '{'", ("imports",)),
        ("UPDATE manifest SET body = x'00'", ("export",)),
        ("UPDATE manifest SET body = CAST('{\"a\":' AS BLOB)", ("export",)),
        (
            "PRAGMA foreign_keys = OFF;"
            " DELETE FROM manifest WHERE kind_id = (SELECT id FROM kind WHERE name = 'WorkloadSuite')",
            ("show", "042_moe"),
        ),
    ],
)
def test_damage_is_the_files_fault(path: Path, damage: str, command: tuple[str, ...]) -> None:
    import_folder(FIXTURE, path)
    with database(path) as db:
        db.executescript(damage)
    done = kictl(*command, "--catalog", path)
    assert (done.code, done.out, done.err.count("\n")) == (5, "", 1), done
    assert "damaged" in done.err or "decode" in done.err


def test_a_mistake_of_the_program_is_none_of_the_files(path: Path) -> None:
    import_folder(FIXTURE, path)
    with pytest.raises(TypeError, match="ours"), Catalogue.open(path):
        raise TypeError("ours")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CatalogueError, match="cannot make"):
        Catalogue.create(tmp_path / "file" / "c.sqlite")


# Migrations


def test_every_older_schema_leads_to_the_present_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Catalogue.create(tmp_path / "new.sqlite").close()
    for number in range(1, len(STEPS)):
        old = tmp_path / f"{number}.sqlite"
        with monkeypatch.context() as patch:
            patch.setattr(store, "STEPS", STEPS[:number])
            Catalogue.create(old).close()
        Catalogue.open(old).close()
        assert schema(old) == schema(tmp_path / "new.sqlite")


def test_manifests_whose_digests_begin_alike_are_told_apart(path: Path) -> None:
    import_folder(FIXTURE, path)
    with Catalogue.open(path, writable=True) as catalogue:
        manifest = next(catalogue.manifests())
        alike = Digest.from_raw(manifest.digest.raw[:-1] + bytes([manifest.digest.raw[-1] ^ 1]))
        assert catalogue.find(alike) is None
        other = Manifest(alike, {**manifest.document, "metadata": {"name": "other"}})
        with catalogue.transaction() as db:
            writer = ManifestWriter(catalogue)
            writer.put(db, [other, manifest])
        assert writer.id_of(other.digest) != writer.id_of(manifest.digest)
        assert catalogue.find(alike) == other
        assert catalogue.find(manifest.digest) == manifest
        digests = [each.digest for each in catalogue.manifests()]
        assert digests == sorted(digests)
        assert {alike, manifest.digest} < set(digests)


def test_a_later_step_is_taken_on_opening(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_folder(FIXTURE, path)
    monkeypatch.setattr(store, "STEPS", (*STEPS, ("CREATE TABLE later (a TEXT DEFAULT ';') STRICT;",)))
    with Catalogue.open(path) as catalogue:
        assert list(catalogue.db.execute("SELECT * FROM later")) == []
        assert len(list(catalogue.manifests())) > 100
    assert pragma(path, "user_version") == len(STEPS) + 1


def test_a_step_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_folder(FIXTURE, path)
    before = schema(path)
    monkeypatch.setattr(
        store, "STEPS", (*STEPS, ("CREATE TABLE later (a TEXT) STRICT; INSERT INTO nowhere VALUES (1);",))
    )
    with pytest.raises(CatalogueError, match="nowhere"):
        Catalogue.open(path)
    assert schema(path) == before
    assert pragma(path, "user_version") == len(STEPS)


# What it holds


def test_every_manifest_is_under_its_own_digest(path: Path) -> None:
    import_folder(FIXTURE, path)
    with Catalogue.open(path) as catalogue:
        manifests = list(catalogue.manifests())
        assert catalogue.digest() == canonical.digest(sorted(manifest.digest for manifest in manifests))
        assert catalogue.find(manifests[0].digest) == manifests[0]
        assert catalogue.find(Digest.of(b"none of them")) is None
    for manifest in manifests:
        assert canonical.identity(manifest.document) == manifest.digest


def changed(folder: Path, name: str, submission: int, **members: object) -> Path:
    """A copy of the fixture in which one row of kernel `name` says something else."""
    shutil.copytree(FIXTURE, folder)
    file = folder / f"submissions/{name}.json"
    rows = json.loads(file.read_text("utf-8"))
    next(row for row in rows if row["id"] == submission).update(members)
    file.write_text(json.dumps(rows), "utf-8")
    return folder


def test_manifests_are_only_ever_added(path: Path, tmp_path: Path) -> None:
    def manifests() -> dict[str, object]:
        with Catalogue.open(path) as catalogue:
            return {manifest.digest: manifest.spec for manifest in catalogue.manifests()}

    import_folder(FIXTURE, path)
    first = manifests()
    import_folder(changed(tmp_path / "faster", "42", 19969, latency_ms=0.0071), path)
    second = manifests()
    import_folder(changed(tmp_path / "out", "42", 19900, is_disqualified=True), path)
    assert len(second) == len(first) + 1
    assert first.items() <= second.items()
    assert manifests() == second


def test_of_two_editorial_parts_the_first_stays(path: Path, tmp_path: Path) -> None:
    def manifests() -> list[Manifest]:
        with Catalogue.open(path) as catalogue:
            return list(catalogue.manifests())

    import_folder(FIXTURE, path)
    before = manifests()
    import_folder(changed(tmp_path / "other", "42", 19969, worker_id="another worker"), path)
    assert manifests() == before


OF_A_KERNEL = (
    *("definition", "definition_version", "definition_suite", "bounds", "bounds_case", "manifest", "cohort"),
    *("kernel_cohort", "submission", "run", "score", "evidence", "observation", "reading"),
)


@pytest.mark.parametrize("table", OF_A_KERNEL)
def test_everything_of_a_kernel_is_committed_at_once(path: Path, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table in turn refuses a row of the second kernel; nothing of that kernel may be left behind."""

    def rows() -> list[list[tuple[object, ...]]]:
        with Catalogue.open(path) as catalogue:
            return [catalogue.db.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in OF_A_KERNEL]

    import_folder(FIXTURE, path, definitions=("011",))
    before = rows()
    monkeypatch.setattr(Catalogue, "strange_objects", lambda _: [])  # the trigger below would be refused
    with database(path) as db:
        db.execute(f"CREATE TRIGGER refuse BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'refused'); END")
    with pytest.raises(CatalogueError, match="refused"):
        import_folder(FIXTURE, path, definitions=("230",))
    assert rows() == before
    with database(path) as db:
        db.execute("DROP TRIGGER refuse")
    import_folder(FIXTURE, path, definitions=("230",))
    assert all(len(now) > len(then) for now, then in zip(rows(), before, strict=True))
