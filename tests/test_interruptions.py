"""Imports that are hindered: faults, kills, full disks, each other. What was committed stays, the next run ends it."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import boards
from boards import Json, detail, row
from kictl.catalogue.store import Catalogue
from kictl.pace import Limits
from kictl.sources.leaderboard import SolExecBench
from kictl.transport import HttpFetcher
from kictl.workflow import importing
from loopback import Loopback, Reply, serving
from processes import KICTL, TIMEOUT, Done, kictl, on_terminal, shell
from replicas import part, replica

KILLS = int(os.environ.get("KILLS", "8"))
"""How often an import is killed; more in a thorough run."""

KERNELS = range(1, 25)
BOARDS = [
    (detail(n, f"{n:03}_norm"), [row(100 * n + m, f"author {m}", round(0.009 - m / 1e4, 6)) for m in range(40)])
    for n in KERNELS
]


def serve(server: Loopback, *, wait: float = 0.0, faults: tuple[Reply, ...] = ()) -> None:
    """Puts the boards on the server; each request meets the faults before its answer, which takes so long."""
    listed = [{name: d[name] for name in ("id", "name", "gpu_types", "tags")} for d, _ in BOARDS]
    answers: dict[str, Json] = {"kernels": {"kernels": listed}}
    for definition, rows in BOARDS:
        number = definition["id"]
        page = [r | {"kernel_id": number, "kernel_name": definition["name"]} for r in rows]
        answers[f"kernels/{number}"] = definition
        answers[f"submissions?kernel_id={number}&limit=50&offset=0"] = {
            "submissions": page,
            "total": len(page),
            "offset": 0,
            "limit": 50,
        }
    for path, data in answers.items():
        server.script(path, *faults, Reply(body=json.dumps({"data": data}).encode(), etag=f'"{path}"', wait=wait))


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serving() as loopback:
        serve(loopback)
        yield loopback


def test_one_definition_that_cannot_be_had_keeps_no_other_away(server: Loopback, tmp_path: Path) -> None:
    serve(server)
    server.script("kernels/3", Reply(status=403))
    command = ("import", "sol-execbench", "--base-url", server.url, "--rate", "1000", "--json")
    catalog = tmp_path / "c.sqlite"
    first = kictl(*command, KICTL_CATALOG=str(catalog))
    assert first.code == 4
    assert "kernels/3: answered 403; every other definition was imported" in first.err
    with Catalogue.open(catalog) as catalogue:
        assert catalogue.db.execute("SELECT count(*) FROM reading").fetchone() == (len(BOARDS) - 1,)
    serve(server)
    before = len(server.seen)
    second = kictl(*command, KICTL_CATALOG=str(catalog))
    assert second.code == 0, second
    asked = {seen.path for seen in server.seen[before:]}
    assert {path for path in asked if path.startswith("kernels/")} == {"kernels/3"}
    assert json.loads(second.out)["kernels"] == len(BOARDS)


def test_two_definitions_in_a_row_that_cannot_be_had_end_an_import(server: Loopback, tmp_path: Path) -> None:
    serve(server)
    for number in (3, 4):
        server.script(f"kernels/{number}", Reply(status=403))
    done = kictl(
        *("import", "sol-execbench", "--base-url", server.url, "--rate", "1000", "--concurrency", "1"),
        KICTL_CATALOG=str(tmp_path / "c.sqlite"),
    )
    assert done.code == 4
    assert "kernels/4: answered 403" in done.err
    assert not [seen for seen in server.seen if seen.path == "kernels/5"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of a catalogue that holds all of the boards."""
    folder = tmp_path_factory.mktemp("whole")
    path = boards.imported(folder / "boards", folder / "catalogue.sqlite", BOARDS)
    with Catalogue.open(path) as catalogue:
        return catalogue.digest()


def arguments(url: str, path: Path, *options: str) -> list[str | Path]:
    return ["import", "sol-execbench", "--base-url", url, "--rate", "1000", "--catalog", path, *options]


def start(url: str, path: Path) -> subprocess.Popen[str]:
    command = [str(KICTL), *map(str, arguments(url, path))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def done(url: str, path: Path, *options: str) -> Json:
    """Runs an import to its end, which has to be a good one; its report."""
    result = kictl(*arguments(url, path, "--json", *options))
    assert (result.code, result.err) == (0, ""), result
    report: Json = json.loads(result.out)
    return report


def readings(path: Path) -> set[tuple[int, str, bool]]:
    """What imports have committed: number, definition, whether the import has finished. The file has to be sound."""
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
            return set()
        rows = db.execute(
            "SELECT id, definition_external_id, finished_at IS NOT NULL FROM reading JOIN import ON id = import_id"
        )
        return {(number, name, bool(finished)) for number, name, finished in rows}


def committed(path: Path) -> set[str]:
    """The definitions that an interrupted import has committed."""
    return {name for _, name, finished in readings(path) if not finished}


def asked_for(paths: list[str]) -> set[str]:
    """The definitions of which something was asked for."""
    return {path.partition("=")[2].partition("&")[0] or path.partition("/")[2] for path in paths if path != "kernels"}


# Faults


@pytest.mark.parametrize(
    "fault",
    [
        Reply(500, b"{}"),
        Reply(503, b"{}"),
        Reply(429, b"{}", {"Retry-After": "0"}),
        Reply(drop=True),
        Reply(cut=True),
        Reply(body=b"<html>", content_type="text/html"),
        Reply(302, b"{}", {"Location": "https://example.invalid/"}),
        Reply(body=b'{"data": {"kernels": ['),
        Reply(body=b'{"data": {}, "data": {"kernels": [], "submissions": []}}'),
        Reply(body=b'{"data": []}'),
    ],
    ids=["500", "503", "429", "drop", "cut", "html", "redirect", "garbage", "duplicate", "shape"],
)
def test_a_fault_before_every_answer_changes_nothing(
    server: Loopback, fault: Reply, whole: str, tmp_path: Path
) -> None:
    serve(server, faults=(fault,))
    limits = Limits(rate=2000, backoff=0.001, max_backoff=0.001)
    with (
        HttpFetcher(server.url, limits=limits) as fetcher,
        Catalogue.create(tmp_path / "catalogue.sqlite") as catalogue,
    ):
        report = importing.run(SolExecBench(fetcher, workers=2), catalogue, importing.Selection())
        assert fetcher.stats.retries == 2 * len(KERNELS) + 1
        assert fetcher.notes() == "49 retries"
    assert report["catalog_digest"] == whole


def test_a_service_that_stays_down_half_way_is_told_and_taken_up(server: Loopback, whole: str, tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    good = {path: server.scripted(path) for path in ("kernels/13", "kernels/14")}
    for path_down in good:
        server.script(path_down, Reply(410, b"{}"))
    failed = kictl(*arguments(server.url, path))
    assert (failed.code, failed.out) == (4, "")
    assert failed.err == f"kictl: {server.url}/kernels/14: answered 410\n"
    assert committed(path) >= {str(n) for n in range(1, 12)}
    before, seen = committed(path), len(server.seen)
    for path_down, replies in good.items():
        server.script(path_down, *replies)
    assert done(server.url, path)["catalog_digest"] == whole
    assert not asked_for(server.paths()[seen:]) & before


FAULTS = ("500", "503", "429", "drop", "truncate", "html", "slow", "redirect", "garbage", "dup")


@pytest.mark.parametrize("faults", [*([f"{fault}:3"] for fault in FAULTS), [f"{fault}:7" for fault in FAULTS]], ids=str)
def test_faults_of_the_published_stand_in(shared: Path, tmp_path: Path, faults: list[str]) -> None:
    corpus = part(shared / "corpus", (2, 10, 42), tmp_path / "corpus")
    options = [word for fault in faults for word in ("--fault", fault)]
    path = tmp_path / "catalogue.sqlite"
    with replica(shared, corpus, tmp_path / "log", *options) as server:
        result = kictl(*arguments(server.url, path, "--concurrency", "4", "--json"))
    assert result.code in {0, 4}, result
    if result.code == 4:
        assert result.err.startswith("kictl: http://127.0.0.1"), result
        assert "times in a row" in result.err
    expected = boards_of(corpus, tmp_path)
    with replica(shared, corpus, tmp_path / "log 2") as server:
        assert done(server.url, path)["catalog_digest"] == expected
    if result.code == 0:
        assert json.loads(result.out)["catalog_digest"] == expected


def boards_of(corpus: Path, tmp_path: Path) -> str:
    report: Json = json.loads(
        kictl("import", "sol-execbench", "--from", corpus, "--catalog", tmp_path / "offline.sqlite", "--json").out
    )
    return str(report["catalog_digest"])


# Unchanged


def test_a_second_import_transfers_no_body(server: Loopback, whole: str, tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    assert done(server.url, path)["catalog_digest"] == whole
    first = len(server.seen)
    report = done(server.url, path)
    assert report["catalog_digest"] == whole
    assert report["runs"] == {"new": 0, "unchanged": 960, "changed": 0, "restored": 0}
    second = server.seen[first:]
    assert len(second) == first
    assert all(seen.headers.get("if-none-match") == f'"{seen.path}"' for seen in second)
    other = done(server.url, tmp_path / "other.sqlite", "--no-cache")
    assert other["catalog_digest"] == whole
    assert not any("if-none-match" in seen.headers for seen in server.seen[2 * first :])


# Killed


def test_killed_at_any_moment(server: Loopback, whole: str, tmp_path: Path) -> None:
    serve(server, wait=0.01)
    moments = random.Random(7)
    kills = 0
    while kills < KILLS:
        path = tmp_path / str(kills) / "catalogue.sqlite"
        killed = True
        while killed and kills < KILLS:
            held, before, seen = readings(path), committed(path), len(server.seen)
            with start(server.url, path) as process:
                time.sleep(moments.uniform(0.2, 1.0))
                process.kill()
                killed = process.wait() != 0
            kills += killed
            assert {part[:2] for part in readings(path)} >= {part[:2] for part in held}
            assert not asked_for(server.paths()[seen:]) & before, "what was committed is not fetched again"
        before, seen = committed(path), len(server.seen)
        assert done(server.url, path)["catalog_digest"] == whole
        assert not asked_for(server.paths()[seen:]) & before


def test_interrupted_by_its_user(server: Loopback, whole: str, tmp_path: Path) -> None:
    path, before = tmp_path / "catalogue.sqlite", {str(n) for n in range(1, 8)}
    answers = server.scripted("submissions?kernel_id=9&limit=50&offset=0")
    server.script("submissions?kernel_id=9&limit=50&offset=0", Reply(wait=10 * TIMEOUT))
    with start(server.url, path) as process:
        # The request is sent ahead, while those before it are still being committed.
        while not any("kernel_id=9&" in seen for seen in server.paths()) or not committed(path) >= before:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out, err) == (130, "", "kictl: interrupted\n")
    assert committed(path) >= before
    server.script("submissions?kernel_id=9&limit=50&offset=0", *answers)
    assert done(server.url, path)["catalog_digest"] == whole


# No space, no right, no room for two


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 900 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("a small file system can only be mounted by root")
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=900k", "tmpfs", folder], check=False).returncode:
        pytest.skip("this system does not let a small file system be mounted")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("with_cache", [False, True])
def test_a_full_disk(server: Loopback, whole: str, small_disk: Path, tmp_path: Path, with_cache: bool) -> None:
    path = small_disk / "catalogue.sqlite"
    failed = kictl(*arguments(server.url, path), KICTL_CACHE=str((small_disk if with_cache else tmp_path) / "cache"))
    assert (failed.code, failed.out) == (5, "")
    assert failed.err == f"kictl: no space left for {path}\n"
    before, seen = committed(path), len(server.seen)
    assert before or with_cache
    subprocess.run(["mount", "-o", "remount,size=40m", small_disk], check=True)
    assert done(server.url, path)["catalog_digest"] == whole
    assert not asked_for(server.paths()[seen:]) & before


def test_a_limit_on_the_size_of_files(server: Loopback, whole: str, tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    words = " ".join(f"'{word}'" for word in arguments(server.url, path))
    failed = shell(f"ulimit -f 300; exec kictl {words}")
    assert failed.code == 5, failed
    assert str(path) in failed.err
    assert "Traceback" not in failed.err
    before, seen = committed(path), len(server.seen)
    assert done(server.url, path)["catalog_digest"] == whole
    assert not asked_for(server.paths()[seen:]) & before


def test_two_at_once(server: Loopback, whole: str, tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    serve(server, wait=0.02)
    with start(server.url, path) as first, start(server.url, path) as second:
        ended = [process.communicate(timeout=TIMEOUT) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), ended
    waited = [err for _, err in ended if err]
    assert waited == [f"kictl: waiting for another import into {path}\n"]
    with Catalogue.open(path) as catalogue:
        assert catalogue.digest() == whole
        assert catalogue.db.execute("SELECT count(*) FROM import WHERE finished_at IS NOT NULL").fetchone() == (2,)


def test_a_catalogue_that_is_held_by_another_program(server: Loopback, tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    done(server.url, path)
    script = "import kictl.catalogue.store as s, sys; s.BUSY_MS = 50; from kictl.__main__ import main; sys.exit(main())"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        held = subprocess.run(
            [KICTL.with_name("python"), "-c", script, *arguments(server.url, path)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    assert (held.returncode, held.stderr) == (5, f"kictl: {path} is in use by another process\n")


def test_what_is_no_catalogue_or_cannot_be_one(server: Loopback, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, and long enough to be taken for one" * 100)
    below = text / "catalogue.sqlite"
    for path in (text, below, tmp_path):
        result = kictl(*arguments(server.url, path))
        assert (result.code, result.out, result.err.count("\n")) == (5, "", 1), result
        assert str(path) in result.err or str(path.parent) in result.err
    assert text.read_text().startswith("not a database")


def test_what_cannot_be_read(tmp_path: Path) -> None:
    for place in (tmp_path / "none", tmp_path):
        result = kictl("import", "sol-execbench", "--from", place, "--catalog", tmp_path / "catalogue.sqlite")
        assert (result.code, result.out) == (3, ""), result


# What is told meanwhile


def test_progress_is_drawn_on_a_terminal_alone(server: Loopback, tmp_path: Path) -> None:
    serve(server, wait=0.01)
    server.script("kernels", Reply(503, b"{}"), *server.scripted("kernels"))
    shown = on_terminal(*arguments(server.url, tmp_path / "one.sqlite"))
    assert "/24 definitions · " in shown
    assert " rows/s · 1 retry · time left" in shown
    quiet = on_terminal(*arguments(server.url, tmp_path / "two.sqlite", "--quiet"))
    assert quiet == ""
    piped = kictl(*arguments(server.url, tmp_path / "three.sqlite"))
    assert (piped.code, piped.err) == (0, "")
    assert piped.out.splitlines()[1:3] == [
        "  24 definitions, 960 submissions received of 960 listed",
        "  runs         960 new",
    ]
    assert kictl(*arguments(server.url, tmp_path / "four.sqlite", "--quiet")) == Done(0, "", "")
