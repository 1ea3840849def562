from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from kictl import paths
from kictl.canonical import Digest, digest
from kictl.errors import InputError, SourceError, UsageError
from kictl.sources.cache import Cache
from kictl.sources.recorded import open_snapshot
from kictl.sources.recording import Exchange, body_file, request_target, snapshot_digest
from kictl.sources.snapshot import SnapshotWriter
from loopback import in_threads

BODIES = {
    "kernels": b'{"data": {"kernels": []}}\n',
    "kernels/42": b'{"data":{"id":42}}',
    "submissions?kernel_id=42&limit=50&offset=0": b'{"data":{"submissions":[1]}}',
    "submissions?kernel_id=42&limit=50&offset=50": b'{"data":{"submissions":[]}}',
    "submissions?kernel_id=42&limit=20&offset=0": b'{"data":{"submissions":[2]}}',
}
PAGE = {"kernel_id": "42", "offset": "0", "limit": "50"}
SHARED = Path(__file__).parents[1].parent / "shared"


def exchange(target: str, data: bytes, **headers: str) -> Exchange:
    return Exchange.of(target, data, url=f"https://example.invalid/api/{target}", headers=headers)


def save(target: Path) -> Path:
    with SnapshotWriter(target) as writer:
        for name, data in BODIES.items():
            writer.add(exchange(name, data, etag='"x"'), data)
    return target


@pytest.fixture(params=["saved", "saved.tar.zst"])
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return save(tmp_path / request.param)


def fetch(path: Path, target: str) -> bytes:
    where, _, query = target.partition("?")
    params = dict(pair.split("=") for pair in query.split("&")) if query else {}
    with open_snapshot(path) as fetcher:
        body, _ = fetcher.fetch(where, params, value)
        assert body.digest == Digest.of(body.data)
        return body.data


def value(read: Any, _strict: bool) -> Any:
    return read


def refused(path: Path, target: str = "kernels") -> InputError:
    with pytest.raises(InputError) as caught:
        fetch(path, target)
    assert "\n" not in str(caught.value)
    return caught.value


def files(place: Path) -> dict[str, bytes]:
    """The files of a folder or of an archive."""
    if place.is_dir():
        found = sorted(path for path in place.rglob("*") if path.is_file())
        return {path.relative_to(place).as_posix(): path.read_bytes() for path in found}
    with (
        place.open("rb") as packed,
        zstandard.ZstdDecompressor().stream_reader(packed) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        return {member.name: _content(tar, member) for member in tar}


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    body = tar.extractfile(member)
    assert body is not None
    return body.read()


def test_names_of_requests_and_files() -> None:
    assert request_target("submissions", {"offset": "50", "limit": "50", "kernel_id": "42"}) == (
        "submissions?kernel_id=42&limit=50&offset=50"
    )
    assert body_file("kernels") == "kernels.json"
    assert body_file("kernels/42") == "kernels/42.json"
    assert body_file("submissions?kernel_id=42&limit=50&offset=50") == "submissions/42/50.json"
    others = [
        "submissions?kernel_id=42&limit=20&offset=50",
        "submissions?kernel_id=../../x&limit=50&offset=0",
        "kernels/../../etc/passwd",
        "kernels/٤٢",
        "leaderboard/kernel/42/B200",
    ]
    assert all(body_file(target).startswith("other/") for target in others)
    assert len({body_file(target) for target in others}) == len(others)


def test_a_digest_identifies_what_was_read_whatever_the_order() -> None:
    pairs = [(name, str(Digest.of(data))) for name, data in BODIES.items()]
    assert snapshot_digest(pairs) == snapshot_digest(reversed(pairs)) == snapshot_digest([*pairs, pairs[0]])
    assert snapshot_digest(pairs) == digest(sorted(list(pair) for pair in pairs))
    assert snapshot_digest(pairs[1:]) != snapshot_digest(pairs)


def test_a_snapshot_holds_the_bodies_as_received_and_an_index(saved: Path) -> None:
    found = files(saved)
    *index, seal = found.pop("index.jsonl").splitlines(keepends=True)
    assert json.loads(seal) == {"index": Digest.of(b"".join(index))}
    rows = [json.loads(line) for line in index]
    assert [row["target"] for row in rows] == sorted(BODIES)
    assert {row["target"]: found[row["file"]] for row in rows} == BODIES
    assert set(rows[0]) == {
        *("target", "url", "fetched_at", "status", "digest", "file"),
        *("etag", "last_modified", "content_type"),
    }
    assert (rows[0]["url"], rows[0]["status"], rows[0]["etag"]) == (
        "https://example.invalid/api/kernels",
        200,
        '"x"',
    )
    assert {"kernels.json", "kernels/42.json", "submissions/42/0.json", "submissions/42/50.json"} < set(found)
    assert len(found) == 5


def test_a_snapshot_answers_what_was_recorded(saved: Path) -> None:
    assert {target: fetch(saved, target) for target in BODIES} == BODIES
    error = refused(saved, "kernels/7")
    assert (error.code, error.exit_code) == ("not_recorded", 3)
    assert str(saved) in str(error)
    with pytest.raises(InputError, match=r"kernels\.json: not today"), open_snapshot(saved) as fetcher:
        fetcher.fetch("kernels", {}, _refuse)


def _refuse(_value: Any, _strict: bool) -> None:
    raise InputError("not today")


def test_the_same_exchanges_give_the_same_archive(tmp_path: Path) -> None:
    exchanges = [(exchange(name, data), data) for name, data in BODIES.items()]
    for name, order in (("a", exchanges), ("b", exchanges[::-1])):
        with SnapshotWriter(tmp_path / f"{name}.tar.zst") as writer:
            for one in order:
                writer.add(*one)
    assert (tmp_path / "a.tar.zst").read_bytes() == (tmp_path / "b.tar.zst").read_bytes()


def test_answers_that_change_are_replayed_in_order(tmp_path: Path) -> None:
    with SnapshotWriter(tmp_path / "saved") as writer:
        for data in (b"1", b"2", b"1", b"3"):
            writer.add(exchange("kernels", data), data)
    with open_snapshot(tmp_path / "saved") as fetcher:
        assert [fetcher.fetch("kernels", {}, value)[1] for _ in range(5)] == [1, 2, 1, 3, 3]
    assert {"kernels.json", "kernels-2.json", "kernels-3.json"} < set(files(tmp_path / "saved"))


def test_what_was_not_found_is_not_found_again(tmp_path: Path) -> None:
    gone = Exchange.of("kernels/7", b"{}", url="https://example.invalid/api/kernels/7", status=404)
    with SnapshotWriter(tmp_path / "saved") as writer:
        writer.add(gone, b"{}")
    with open_snapshot(tmp_path / "saved") as fetcher, pytest.raises(SourceError) as caught:
        fetcher.fetch("kernels/7", {}, value)
    assert caught.value.code == "not_found"


def _repack(folder: Path, archive: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.add(folder, arcname=".")
    archive.write_bytes(zstandard.compress(buffer.getvalue(), 22))


def test_an_archive_that_other_programs_made_is_read(tmp_path: Path) -> None:
    save(tmp_path / "saved")
    _repack(tmp_path / "saved", tmp_path / "made.tar.zst")
    assert fetch(tmp_path / "made.tar.zst", "kernels/42") == BODIES["kernels/42"]


def _edit(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def _point_out(path: Path) -> None:
    outside = path.parents[2] / "outside.json"
    shutil.copy(path, outside)
    path.unlink()
    path.symlink_to(outside)


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


@pytest.mark.parametrize("damage", [_edit, Path.unlink, _point_out, _fifo, _to_itself])
def test_an_edited_file_is_refused_by_name(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    folder = save(tmp_path / "saved")
    damage(folder / "kernels" / "42.json")
    error = refused(folder)
    assert str(folder / "kernels" / "42.json") in str(error)
    assert error.exit_code == 3
    if damage is _edit:
        packed = tmp_path / "edited.tar.zst"
        _repack(folder, packed)
        assert f"{packed}/kernels/42.json" in str(refused(packed))


def test_an_added_body_is_refused_by_name(tmp_path: Path) -> None:
    folder = save(tmp_path / "saved")
    (folder / "notes.txt").write_text("mine")
    (folder / ".hidden.json").write_text("{}")
    assert fetch(folder, "kernels") == BODIES["kernels"]
    (folder / "kernels" / "43.json").write_text("{}")
    assert f"{folder}/kernels/43.json: was added" in str(refused(folder))


@pytest.mark.parametrize(
    "change",
    [
        lambda index: index.replace(b"200", b"404", 1),
        lambda index: b"".join(index.splitlines(keepends=True)[1:]),
        lambda index: b"".join(index.splitlines(keepends=True)[:-1]),
        lambda index: index[:-40],
        lambda index: index + b"\n",
        lambda index: b"",
    ],
    ids=["changed", "first line lost", "seal lost", "cut", "longer", "empty"],
)
def test_an_edited_index_is_refused_by_name(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    index = save(tmp_path / "saved") / "index.jsonl"
    index.write_bytes(change(index.read_bytes()))
    assert str(index) in str(refused(tmp_path / "saved"))


@pytest.mark.parametrize(
    "change",
    [
        {"file": "../../etc/passwd"},
        {"file": "/etc/passwd"},
        {"file": "kernels/../../x.json"},
        {"file": ".hidden"},
        {"file": 1},
        {"status": "200"},
        {"status": True},
        {"digest": "sha256:0"},
        {"etag": 1},
        {"more": 1},
    ],
    ids=repr,
)
def test_an_index_with_odd_members_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    index = save(tmp_path / "saved") / "index.jsonl"
    row = json.loads(index.read_bytes().splitlines()[0])
    line = json.dumps({**row, **change}).encode() + b"\n"
    index.write_bytes(line + json.dumps({"index": Digest.of(line)}).encode() + b"\n")
    assert f"{index}: line 1: " in str(refused(tmp_path / "saved"))


def _member(name: str, data: bytes = b"{}", **more: Any) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    for key, value in more.items():
        setattr(member, key, value)
    member.size = len(data)
    return member, data


@pytest.mark.parametrize(
    "member",
    [
        _member("../out.json"),
        _member("/srv/out.json"),
        _member("kernels/../../out.json"),
        _member("kernels.json", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        _member("kernels.json", b"", type=tarfile.LNKTYPE, linkname="index.jsonl"),
        _member("kernels.json", b"", type=tarfile.CHRTYPE),
        _member("kernels.json", b"", type=tarfile.FIFOTYPE),
        _member("a" * 200 + ".json"),
        _member("bad\u202e.json"),
        _member("big.json", bytes(65 << 20)),
    ],
    ids=lambda member: ascii(member[0].name[:30]) + member[0].type.decode(),
)
def test_archives_that_are_refused(tmp_path: Path, member: tuple[tarfile.TarInfo, bytes]) -> None:
    (tmp_path / "in").mkdir()
    target = tmp_path / "in" / "bad.tar.zst"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(member[0], io.BytesIO(member[1]))
    target.write_bytes(zstandard.compress(buffer.getvalue()))
    error = refused(target)
    assert str(target) in str(error)
    assert str(error).isascii()
    assert files(tmp_path) == {"in/bad.tar.zst": target.read_bytes()}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not zstd",
        zstandard.compress(b"not tar" * 200),
        zstandard.compress(bytes(1024)),
        zstandard.compress(b"x" * 100),
    ],
    ids=["empty", "not zstd", "not tar", "no members", "short"],
)
def test_files_that_are_no_archive(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "bad.tar.zst").write_bytes(data)
    assert "bad.tar.zst" in str(refused(tmp_path / "bad.tar.zst"))


def test_a_cut_archive_is_refused(tmp_path: Path) -> None:
    archive = save(tmp_path / "saved.tar.zst")
    archive.write_bytes(archive.read_bytes()[:-60])
    assert "saved.tar.zst" in str(refused(archive))


@pytest.mark.parametrize("more", [b"more", zstandard.compress(b"more"), zstandard.compress(bytes(32 << 20))])
def test_nothing_follows_an_archive(tmp_path: Path, more: bytes) -> None:
    archive = save(tmp_path / "saved.tar.zst")
    archive.write_bytes(archive.read_bytes() + more)
    assert "saved.tar.zst" in str(refused(archive))


def test_an_archive_whose_checksum_is_wrong_is_refused(tmp_path: Path) -> None:
    archive = save(tmp_path / "saved.tar.zst")
    data = archive.read_bytes()
    archive.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert "not a whole" in str(refused(archive))


def test_places_that_are_no_snapshot(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_bytes(b"")
    for name in ("missing", "missing.tar.zst", "empty", "file"):
        assert str(tmp_path / name) in str(refused(tmp_path / name))


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    root = tmp_path / "plain"
    for name, data in {
        "kernels.json": b'{"data": {"kernels": []}}',
        "kernels/42.json": b'{"data": {"id": 42}}',
        "submissions/42.json": b'\n[{"id": 2, "x": 1.50},\n {"id": 1}]\n',
        "kernels/43.json": b"{}",
        "kernels/44.json": b"{}",
        "submissions/44.json": b'{"data": []}',
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def test_a_plain_folder_answers_like_the_api(plain: Path) -> None:
    with open_snapshot(plain) as fetcher:
        assert fetcher.fetch("kernels/42", {}, value)[1] == {"data": {"id": 42}}
        body, page = fetcher.fetch("submissions", PAGE, value)
        assert body.digest == Digest.of((plain / "submissions" / "42.json").read_bytes())
        assert body.url is None
        assert page == {"data": {"submissions": [{"id": 2, "x": 1.5}, {"id": 1}], "total": 2, "offset": 0, "limit": 50}}
        _, after = fetcher.fetch("submissions", {**PAGE, "offset": "2"}, value)
        assert after == {"data": {"submissions": [], "total": 2, "offset": 2, "limit": 50}}


def test_a_plain_folder_says_what_is_missing(plain: Path) -> None:
    page = "submissions?kernel_id={}&limit=50&offset=0"
    assert str(plain / "submissions/43.json") in str(refused(plain, page.format(43)))
    assert str(plain / "kernels/7.json") in str(refused(plain, "kernels/7"))
    assert "not an array" in str(refused(plain, page.format(44)))
    assert str(plain) in str(refused(plain, page.format(42) + "&status=COMPLETED"))
    (plain / "submissions/42.json").write_bytes(b"[" * 100_000)
    assert "submissions/42.json" in str(refused(plain, page.format(42)))
    (plain / "submissions/42.json").write_bytes(b"\xff\xfe[\0]\0")
    assert "submissions/42.json" in str(refused(plain, page.format(42)))


@pytest.mark.parametrize("name", ["copy", "copy.tar.zst"])
def test_a_plain_folder_is_saved_as_it_is(plain: Path, tmp_path: Path, name: str) -> None:
    def reading(path: Path, record: SnapshotWriter | None = None) -> list[Any]:
        with open_snapshot(path, record=record) as fetcher:
            return [
                fetcher.fetch("kernels", {}, value),
                fetcher.fetch("kernels/42", {}, value),
                fetcher.fetch("submissions", PAGE, value),
                fetcher.fetch("submissions", {**PAGE, "offset": "2"}, value),
            ]

    with SnapshotWriter(tmp_path / name) as writer:
        original = reading(plain, writer)
    assert reading(tmp_path / name) == original
    found = files(tmp_path / name)
    assert len(found.pop("index.jsonl").splitlines()) == 4
    assert found == {file: (plain / file).read_bytes() for file in found}
    assert set(found) == {"kernels.json", "kernels/42.json", "submissions/42.json"}


@pytest.mark.skipif(not (SHARED / "corpus").is_dir(), reason="needs ../shared/corpus")
def test_the_corpus_is_answered_whole() -> None:
    with open_snapshot(SHARED / "corpus") as fetcher:
        _, listing = fetcher.fetch("kernels", {}, value)
        rows = 0
        for kernel in listing["data"]["kernels"]:
            params = {**PAGE, "kernel_id": str(kernel["id"])}
            _, page = fetcher.fetch("submissions", params, value)
            assert page["data"]["total"] == len(page["data"]["submissions"])
            rows += page["data"]["total"]
    assert (len(listing["data"]["kernels"]), rows) == (133, 400)


@pytest.mark.parametrize("name", ["taken", "taken.tar.zst"])
def test_a_place_that_is_taken_is_left_alone(tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    if name == "taken":
        target.mkdir()
        (target / "mine").write_text("precious")
    else:
        target.write_text("precious")
    before = files(tmp_path)
    with pytest.raises(UsageError, match="already there"):
        SnapshotWriter(target)
    assert files(tmp_path) == before


def test_files_are_as_open_as_the_user_wants(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        save(tmp_path / "saved")
        save(tmp_path / "saved.tar.zst")
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file()}
    assert modes == {0o640}


def test_an_empty_folder_is_a_place(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert fetch(save(tmp_path / "empty"), "kernels") == BODIES["kernels"]


@pytest.mark.parametrize("name", ["saved", "saved.tar.zst"])
def test_nothing_half_written_is_left(tmp_path: Path, name: str) -> None:
    writer = SnapshotWriter(tmp_path / name)

    def interrupted() -> None:
        with writer:
            writer.add(exchange("kernels", b"{}"), b"{}")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    writer.add(exchange("kernels/1", b"{}"), b"{}")
    assert list(tmp_path.iterdir()) == []


def test_what_killed_runs_left_is_removed_and_what_others_write_is_not(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        (tmp_path / f"saved.partial-{other.pid}").mkdir()
        (tmp_path / "saved.partial-x").mkdir()
        with subprocess.Popen(["true"]) as dead:
            pass
        (tmp_path / f"saved.partial-{dead.pid}").mkdir()
        save(tmp_path / "saved")
        left = {path.name for path in tmp_path.iterdir()}
        other.kill()
    assert left == {"saved", "saved.partial-x", f"saved.partial-{other.pid}"}


FULL = """
import resource, sys
from pathlib import Path
from kictl.errors import InputError
from kictl.sources.recording import Exchange
from kictl.sources.cache import Cache
from kictl.sources.snapshot import SnapshotWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
root, data = Path(sys.argv[1]), b"x" * 2000
cache = Cache(root / "cache")
cache.keep(Exchange.of("kernels", data, headers={"etag": "x"}), data)
assert cache.load("kernels") is None
try:
    with SnapshotWriter(root / sys.argv[2]) as writer:
        writer.add(Exchange.of("kernels", data), data)
except InputError as error:
    print(error.code, error)
"""


@pytest.mark.parametrize("name", ["saved", "saved.tar.zst"])
def test_a_full_disk_ends_a_snapshot_and_not_the_cache(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path), name]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.stderr == ""
    assert run.stdout.startswith(f"write {tmp_path / name}: cannot be written: ")
    assert files(tmp_path) == {}


def test_the_cache_remembers_the_last_answer(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.load("kernels") is None
    cache.keep(exchange("kernels", b"1", etag='"1"'), b"1")
    cache.keep(exchange("kernels", b"2", etag='"2"'), b"2")
    cache.keep(exchange("kernels/1", b"3"), b"3")
    for seen in (cache, Cache(tmp_path)):
        found = seen.load("kernels")
        assert found is not None
        assert (found[0].etag, found[1]) == ('"2"', b"2")
        assert seen.load("kernels/1") is None, "nothing to ask with"
    cache.forget("kernels")
    assert cache.load("kernels") is None


def test_odd_validators_are_not_kept() -> None:
    odd = Exchange.of("kernels", b"", headers={"etag": "a\u202eb", "last-modified": "x" * 300})
    assert (odd.etag, odd.last_modified) == (None, None)


def test_a_torn_index_costs_one_entry(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for name in ("kernels/1", "kernels/2"):
        cache.keep(exchange(name, b"{}", etag="x"), b"{}")
    index = tmp_path / "index.jsonl"
    index.write_bytes(index.read_bytes()[:-30])
    later = Cache(tmp_path)
    later.keep(exchange("kernels/3", b"{}", etag="x"), b"{}")
    there = [Cache(tmp_path).load(f"kernels/{n}") is not None for n in (1, 2, 3)]
    assert there == [True, False, True]


SHARING = """
import sys
from pathlib import Path
from kictl.sources.recording import Exchange
from kictl.sources.cache import Cache
cache = Cache(Path(sys.argv[1]))
for number in range(200):
    data = f"{sys.argv[2]} {number}".encode() * 50
    cache.keep(Exchange.of(f"kernels/{number % 20}", data, headers={"etag": sys.argv[2]}), data)
"""


def test_two_processes_may_share_a_cache(tmp_path: Path) -> None:
    runs = [subprocess.Popen([sys.executable, "-c", SHARING, tmp_path, name]) for name in ("a", "b")]
    assert [run.wait() for run in runs] == [0, 0]
    lines = (tmp_path / "index.jsonl").read_bytes().split(b"\n")
    assert len([Exchange.parse(line) for line in lines if line]) == 400
    cache = Cache(tmp_path)
    for number in range(20):
        found = cache.load(f"kernels/{number}")
        assert found is None or Digest.of(found[1]) == found[0].digest
    assert list(tmp_path.rglob("*.tmp")) == []


def test_threads_may_share_a_cache_and_a_writer(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    with SnapshotWriter(tmp_path / "saved") as writer:

        def keep(number: int) -> None:
            data = str(number).encode()
            writer.add(exchange(f"kernels/{number}", data), data)
            cache.keep(exchange(f"kernels/{number}", data, etag="x"), data)

        assert in_threads([lambda n=n: keep(n) for n in range(20)]) == [None] * 20  # type: ignore[misc]
    again = Cache(tmp_path / "cache")
    for number in range(20):
        assert fetch(tmp_path / "saved", f"kernels/{number}") == str(number).encode()
        assert again.load(f"kernels/{number}") is not None


def test_an_index_that_has_grown_is_shortened(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for number in range(600):
        data = str(number).encode()
        cache.keep(exchange("kernels", data, etag="x"), data)
    before = (tmp_path / "index.jsonl").stat().st_size
    found = Cache(tmp_path).load("kernels")
    assert found is not None
    assert found[1] == b"599"
    assert (tmp_path / "index.jsonl").stat().st_size < before / 100
    assert Cache(tmp_path).load("kernels") == found


def test_each_base_has_a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KICTL_CACHE", str(tmp_path))
    one, two = "https://example.invalid/api", "https://example.invalid/API"
    Cache.for_base(one + "/").keep(exchange("kernels", b"1", etag="x"), b"1")
    assert Cache.for_base(one).load("kernels") is not None
    assert Cache.for_base(two).load("kernels") is None
    assert [path.name.startswith("example-invalid-api-") for path in tmp_path.iterdir()] == [True]


def test_places_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KICTL_CACHE", "KICTL_CATALOG", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert paths.cache_dir().is_relative_to(tmp_path)
    assert paths.cache_dir().name == "kictl"
    assert paths.catalogue_path().is_relative_to(tmp_path)
    monkeypatch.setenv("KICTL_CACHE", "")
    assert paths.cache_dir().name == "kictl"
    monkeypatch.setenv("KICTL_CACHE", "~/mine")
    monkeypatch.setenv("KICTL_CATALOG", "/a/b.db")
    assert paths.cache_dir() == tmp_path / "mine"
    assert paths.catalogue_path() == Path("/a/b.db")
