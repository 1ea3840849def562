"""The static site: what is in it, that it is safe, the same every time, and published whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from boards import HOSTILE, detail, imported, row
from kictl.catalogue.store import Catalogue
from kictl.errors import CatalogueError
from kictl.publishing import INDEX, Folder
from kictl.render import html, svg
from kictl.render.html import element
from kictl.render.site.files import files
from kictl.render.site.layout import slug
from kictl.text import printable
from kictl.workflow.reporting import Report, Wanted
from leaderboards import FIXTURE, import_folder
from processes import kictl, on_terminal

LIMIT = 200_000
VOID = {"meta", "link", "br", "hr", "wbr"}
NAMES = (
    "042_same",
    "042-same",
    "042 SAME",
    "<img src=x onerror=alert(1)>",
    "算子",
    "\u202e",
    "con",
    "../../etc/passwd",
)


class Page(HTMLParser):
    """A page taken apart; raises AssertionError where an element is not closed where it must be."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name == "id":
                self.ids.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text.append(data)

    @property
    def shown(self) -> str:
        return "".join(self.text)


def site(path: Path, wanted: Wanted | None = None) -> dict[str, bytes]:
    """All files of a report."""
    with Catalogue.open(path) as catalogue:
        found = list(files(Report(catalogue, wanted or Wanted())))
    assert len(dict(found)) == len(found)
    return dict(found)


def pages(found: dict[str, bytes]) -> Iterator[tuple[str, Page]]:
    for path, data in found.items():
        if path.endswith(".html"):
            yield path, Page(data.decode())


@pytest.fixture(scope="module")
def fixture_catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "c.sqlite"
    import_folder(FIXTURE, path)
    return path


@pytest.fixture(scope="module")
def hostile_catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Names that mean harm, definitions whose slugs are the same, a retracted and a superseded run, moved bounds."""
    folder = tmp_path_factory.mktemp("hostile")
    boards = [
        (detail(number, name), [row(number * 100 + n, author, 0.004 + n / 1000) for n, author in enumerate(HOSTILE)])
        for number, name in enumerate(NAMES, 1)
    ]
    imported(folder / "first", folder / "c.sqlite", boards)
    definition, rows = boards[0]
    later = [
        {**rows[0], "is_disqualified": True, "error_log": "<b>" + "x" * 300_000},
        {**rows[1], "latency_ms": 0.0049},
        *rows[2:],
    ]
    moved = detail(1, definition["name"], sol_ms=0.002)
    return imported(folder / "second", folder / "c.sqlite", [(moved, later), *boards[1:]])


@pytest.fixture(scope="module", params=["fixture", "hostile"])
def found(request: pytest.FixtureRequest, fixture_catalogue: Path, hostile_catalogue: Path) -> dict[str, bytes]:
    return site(fixture_catalogue if request.param == "fixture" else hostile_catalogue)


# What every page is


def test_every_page_is_well_formed_and_has_its_landmarks(found: dict[str, bytes]) -> None:
    for path, page in pages(found):
        once = {tag: page.tags[tag] for tag in ("html", "title", "h1", "main", "header", "footer", "style")}
        assert once == dict.fromkeys(once, 1) | {"title": page.tags["title"]}, path
        assert len(page.ids) == len(set(page.ids)), path
        assert ("html", "lang", "en") in page.attributes
        assert page.tags["caption"] == page.tags["table"] == page.tags["thead"]
        assert page.tags["script"] == page.tags["img"] == page.tags["iframe"] == page.tags["form"] == 0


def test_every_link_and_reference_leads_somewhere(found: dict[str, bytes]) -> None:
    ids = {path: set(page.ids) for path, page in pages(found)}
    for path, page in pages(found):
        for tag, name, value in page.attributes:
            if name in ("aria-labelledby", "aria-describedby"):
                assert value in ids[path], (path, value)
            if name != "href" or value == "data:,":
                continue
            place, fragment = urldefrag(value)
            assert tag in ("a", "link")
            folder = path.rpartition("/")[0]
            target = _resolved(folder, unquote(place)) if place else path
            assert target in found, (path, value)
            assert not fragment or fragment in ids[target] | {"content"}, (path, value)


def _resolved(folder: str, href: str) -> str:
    parts = folder.split("/") if folder else []
    for part in href.split("/"):
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def test_pages_are_small_and_have_their_numbers_beside_them(found: dict[str, bytes]) -> None:
    for path, data in found.items():
        if path.endswith(".html"):
            assert len(data) < LIMIT, (path, len(data))
            assert isinstance(json.loads(found[path.removesuffix("html") + "json"]), dict)


def test_nothing_can_be_loaded_or_run(found: dict[str, bytes]) -> None:
    for path, page in pages(found):
        (policy,) = (v for t, n, v in page.attributes if (t, n) == ("meta", "content") and "default-src" in v)
        assert policy.startswith("default-src 'none'; style-src 'sha256-"), path
        assert "unsafe" not in policy
        names = {name for _, name, _ in page.attributes}
        assert not {name for name in names if name.startswith("on") or name in ("style", "src", "srcset")}, path
        (sheet,) = re.findall(r"<style>(.*?)</style>", found[path].decode(), re.DOTALL)
        assert "url(" not in sheet
        assert "@import" not in sheet


def test_hidden_characters_are_shown(found: dict[str, bytes]) -> None:
    for path, data in found.items():
        if path.endswith(".html"):
            text = data.decode().replace("\n", "")
            assert text == printable(text), path


def test_charts_are_images_with_a_name_and_a_description(found: dict[str, bytes]) -> None:
    drawn = 0
    for _, page in pages(found):
        images = [value for tag, name, value in page.attributes if tag == "svg" and name == "role"]
        assert set(images) <= {"img"}
        assert len(images) == page.tags["figure"] == page.tags["desc"] == page.tags["title"] - 1
        drawn += len(images)
    assert drawn


# What is in it


def test_hostile_names_are_all_there(hostile_catalogue: Path) -> None:
    found = site(hostile_catalogue)
    definitions = [page for path, page in pages(found) if path.startswith("definitions/")]
    assert len(definitions) == len(NAMES)
    for author in HOSTILE:
        shown = printable(author)[:79]
        assert all(shown in page.shown for page in definitions)
    headings = {re.sub("</?wbr>", "", h) for p in found if "definitions/" in p and p.endswith("html")
                for h in re.findall("<h1>(.*?)</h1>", found[p].decode())}  # fmt: skip
    assert headings == {html.text(name) for name in NAMES}


def test_file_names_are_safe_on_every_system(found: dict[str, bytes]) -> None:
    assert all(re.fullmatch(r"(?:(?:definitions|runs)/)?[a-z0-9-]{1,80}\.(?:html|json)", path) for path in found)
    assert len({slug(name) for name in NAMES}) == len(NAMES)


def test_the_first_the_gap_and_the_reasons(fixture_catalogue: Path) -> None:
    found = site(fixture_catalogue)
    (path,) = (path for path in found if path.startswith("definitions/042-moe") and path.endswith(".html"))
    page = Page(found[path].decode())
    assert "B200 · stack v1.1" in page.shown
    assert "B200 · stack v1.0" in page.shown
    for text in ("doubleAI", "7.229", "7.699", "1.065×", "SOL bound", "scoring baseline", "5c170b68"):
        assert text in page.shown, text
    (path,) = (path for path in found if path.startswith("definitions/042-rms") and path.endswith(".html"))
    page = Page(found[path].decode())
    for reason in ("disqualified", "not-completed", "no-latency", "not-correct", "no-time"):
        assert reason in page.shown, reason
    assert "versions of the evaluation stack time differently" in page.shown


def test_numbers_are_those_of_the_commands(fixture_catalogue: Path) -> None:
    found = site(fixture_catalogue)
    (path,) = (path for path in found if path.startswith("definitions/042-moe") and path.endswith(".json"))
    page = json.loads(found[path])
    where = ("--definition", "042_moe", "--json", "--catalog", fixture_catalogue)
    compared = json.loads(kictl("compare", "--explain", *where).out)
    assert {name: page[name] for name in compared} == compared
    assert page["history"] == json.loads(kictl("history", *where).out)
    (path,) = (path for path in found if path.startswith("runs/19969-") and path.endswith(".json"))
    shown = json.loads(kictl("show", "19969", "--json", "--catalog", fixture_catalogue).out)
    assert json.loads(found[path]) == {name: value for name, value in shown.items() if name != "kind"}


def test_the_dossier_is_in_the_order_in_which_readers_ask(fixture_catalogue: Path) -> None:
    found = site(fixture_catalogue)
    (path,) = (path for path in found if path.startswith("runs/19969-") and path.endswith(".html"))
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", found[path].decode())
    wanted = [
        *("Primary measurement", "Identity", "Correctness", "Workload", "Measurements", "Protocol", "Environment"),
        *("Artifacts", "Bounds", "Findings", "History", "Notes and replications", "Canonical manifest", "Cite"),
    ]
    assert [heading for heading in headings if heading in wanted] == wanted


def test_what_was_withdrawn_is_named_and_has_a_page(hostile_catalogue: Path) -> None:
    found = site(hostile_catalogue)
    page = Page(found[f"definitions/{slug(NAMES[0])}.html"].decode())
    assert "Runs that no longer count" in page.shown
    assert "retracted, disqualified" in page.shown
    assert "superseded" in page.shown
    assert "Bounds over time" in page.shown
    withdrawn = [Page(data.decode()) for path, data in found.items() if path.startswith("runs/") and b"no rank" in data]
    assert {re.sub(r".*is (\w+) and has no rank.*", r"\1", page.shown, flags=re.DOTALL) for page in withdrawn} == {
        "retracted",
        "superseded",
    }


def test_large_cohorts_are_cut_and_the_json_is_whole(tmp_path: Path) -> None:
    rows = [row(n, f"author {n} \u202e{'&' * 90}", 0.004 + n / 1e6, gpu_type=f"GPU{n % 3}") for n in range(1, 1500)]
    path = imported(tmp_path / "board", tmp_path / "c.sqlite", [(detail(1, "001_large"), rows)])
    found = site(path, Wanted(leaders_only=True))
    assert sum(path.startswith("runs/") and path.endswith(".html") for path in found) == 3
    name = f"definitions/{slug('001_large')}"
    assert len(found[f"{name}.html"]) < LIMIT
    assert [len(cohort["rows"]) for cohort in json.loads(found[f"{name}.json"])["cohorts"]] == [499, 500, 500]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """More of everything than a page has room for: definitions, cohorts, runs, records, and what is said of a run."""
    folder = tmp_path_factory.mktemp("large")
    name = "some_long_name_of_a_definition_such_as_the_published_ones_have_it"
    boards = [(detail(n, f"{n:03d}_{name}"), [row(n, f"author {n % 9}", 0.004)]) for n in range(1, 451)]
    cohorts = [
        row(1000 + n, f"{n % 60}{'<' * 150}", 0.009 - n / 1e6, day=1 + n % 28, gpu_type=f"GPU{n % 5}",
            evaluation_stack_version=f"v1.{n % 6}")
        for n in range(1200)
    ]  # fmt: skip
    alone = [row(3000 + n, f"{n}{'<' * 150}", 0.009 - n / 1e6, day=1 + n // 50) for n in range(1000)]
    said = row(5000, "a", 0.004, gpu_type="B300", **{f"member_{n}": "<" * 1500 for n in range(300)})
    boards += [
        (detail(900, "900_many_cohorts"), cohorts),
        (detail(901, "901_one_cohort"), alone),
        (detail(902, "902_much_said"), [said]),
    ]
    return site(imported(folder / "board", folder / "c.sqlite", boards), Wanted(leaders_only=True))


def test_no_page_is_too_large(large: dict[str, bytes]) -> None:
    sizes = {path: len(data) for path, data in large.items() if path.endswith(".html")}
    assert max(sizes.values()) < LIMIT, max(sizes, key=sizes.__getitem__)
    test_every_link_and_reference_leads_somewhere(large)
    test_pages_are_small_and_have_their_numbers_beside_them(large)


def test_many_leaders_are_divided_by_gpu_and_stack(large: dict[str, bytes]) -> None:
    rows = json.loads(large["index.json"])["rows"]
    parts = {path for path in large if path.startswith("leaders-")}
    shown = [row for path in parts if path.endswith(".json") for row in json.loads(large[path])["rows"]]
    assert sorted(map(json.dumps, shown)) == sorted(map(json.dumps, rows))
    assert len(rows) == 482
    index = Page(large["index.html"].decode())
    assert {value for tag, name, value in index.attributes if (tag, name) == ("a", "href")} >= {
        path for path in parts if path.endswith(".html")
    }
    assert "1 to " in index.shown
    assert "of 451 definitions" in index.shown


def test_what_has_no_room_is_counted_and_in_the_json(large: dict[str, bytes]) -> None:
    name = f"definitions/{slug('900_many_cohorts')}"
    page, data = Page(large[f"{name}.html"].decode()), json.loads(large[f"{name}.json"])
    assert len(data["cohorts"]) == len(data["runs"]) == 30
    assert sum(len(cohort["rows"]) for cohort in data["runs"]) == 1200
    shown = sum(mark.startswith("cohort-") for mark in page.ids)
    assert shown == 30
    left_out = re.search(r"(\d+) cohorts more than this page has room for", page.shown)
    assert left_out
    assert page.tags["h2"] == 30 - int(left_out[1]) + 1
    kept, every = re.findall(r"The last (\d+) of (\d+) runs that were", page.shown)[0]
    assert int(kept) < int(every)
    alone = Page(large[f"definitions/{slug('901_one_cohort')}.html"].decode()).shown
    assert re.search(r"\d+ more are in the JSON beside this page", alone)
    assert re.search(r"each dot one of the \d+ newest others|each dot another run", alone)
    (run,) = (path for path in large if path.startswith("runs/5000-") and path.endswith(".html"))
    assert "more are in the JSON beside this page" in Page(large[run].decode()).shown


def test_only_what_was_asked_for(fixture_catalogue: Path) -> None:
    found = site(fixture_catalogue, Wanted(definitions=("042",), gpus=("H100",)))
    assert [page for page in found if page.startswith("definitions/") and page.endswith(".html")] == [
        f"definitions/{slug('042_rms_norm_fp8_quant')}.html"
    ]
    assert sum(path.startswith("runs/") and path.endswith(".html") for path in found) == 2
    index = Page(found["index.html"].decode())
    assert "H100" in index.shown
    assert "B200" not in index.shown


def test_no_run_at_all(tmp_path: Path) -> None:
    path = imported(tmp_path / "b", tmp_path / "c.sqlite", [(detail(1, "001_nothing"), [row(1, "a", None)])])
    found = site(path)
    assert set(found) == {f"{p}.{e}" for p in ("index", f"definitions/{slug('001_nothing')}") for e in ("html", "json")}
    assert (
        "No run of this definition is ranked" in Page(found[f"definitions/{slug('001_nothing')}.html"].decode()).shown
    )


# The same every time


def test_the_same_catalogue_gives_the_same_bytes(fixture_catalogue: Path, tmp_path: Path) -> None:
    for name, seed in (("a", "1"), ("b", "2")):
        done = kictl(
            "report", "--out", tmp_path / name, "--catalog", fixture_catalogue, PYTHONHASHSEED=seed, TZ=f"UTC+{seed}"
        )
        assert (done.code, done.err) == (0, "")
    one, other = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in "ab"
    )
    assert one == other
    lines = one[Path(INDEX)].decode().splitlines()
    assert {
        (hashlib.sha256(data).hexdigest(), path.as_posix()) for path, data in one.items() if path.name != INDEX
    } == {tuple(line.split("  ")) for line in lines}


# Published whole or not at all


def test_an_earlier_report_is_replaced(fixture_catalogue: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    out.mkdir()
    assert kictl("report", "--out", out, "--catalog", fixture_catalogue).code == 0
    before = {path.name for path in out.rglob("*")}
    done = kictl("report", "--out", out, "--definition", "042_moe", "--json", "--catalog", fixture_catalogue)
    assert done.code == 0
    after = {path.name for path in out.rglob("*")}
    assert json.loads(done.out)["files"] == sum(path.is_file() for path in out.rglob("*")) - 1
    assert after < before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize("there", ["alone", "beside an earlier report", "in a folder of it", "a link"])
def test_what_is_not_of_a_report_is_never_touched(fixture_catalogue: Path, tmp_path: Path, there: str) -> None:
    out = tmp_path / "site"
    out.mkdir()
    if there != "alone":
        assert kictl("report", "--out", out, "-d", "042_moe", "--catalog", fixture_catalogue).code == 0
    mine = out / ("runs/mine.txt" if there == "in a folder of it" else "mine.txt")
    if there == "a link":
        mine.symlink_to(fixture_catalogue)
    else:
        mine.write_text("mine")
    before = sorted(path.name for path in out.rglob("*"))
    done = kictl("report", "--out", out, "-d", "042_moe", "--catalog", fixture_catalogue)
    assert done.code == 2
    assert "mine.txt" in done.err
    assert sorted(path.name for path in out.rglob("*")) == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_an_error_on_the_way_leaves_everything_as_it_was(tmp_path: Path) -> None:
    with Folder(tmp_path / "site") as folder:
        folder.add("a/b.html", b"first")
    with pytest.raises(ValueError, match="twice"):
        _write_twice(tmp_path / "site")
    assert (tmp_path / "site/a/b.html").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_what_a_killed_report_leaves_is_removed_by_the_next(fixture_catalogue: Path, tmp_path: Path) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from kictl import publishing
with publishing.Folder(Path(sys.argv[1])) as folder:
    folder.add("a/b.html", b"unfinished")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    out = tmp_path / "si*te"
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", script, out], check=False).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".si*te.partial-")
    running, foreign = tmp_path / f".si*te.partial-{os.getppid()}", tmp_path / ".si*te.partial-mine"
    running.mkdir()
    foreign.mkdir()
    for _ in range(2):
        assert kictl("report", "--out", out, "-d", "042_moe", "--catalog", fixture_catalogue).code == 0
    assert sorted(tmp_path.iterdir()) == sorted([running, foreign, out])


def test_a_report_that_was_moved_away_by_a_killed_one_comes_back(tmp_path: Path) -> None:
    with Folder(tmp_path / "site") as folder:
        folder.add("first", b"1")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / "site").rename(tmp_path / f".site.old-{ended.pid}")
    with pytest.raises(ValueError, match="twice"):
        _write_twice(tmp_path / "site")
    assert (tmp_path / "site/first").read_bytes() == b"1"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_catalogue_that_changes_meanwhile(tmp_path: Path) -> None:
    path = imported(tmp_path / "b", tmp_path / "c.sqlite", [(detail(1, "001_one"), [row(1, "a", 0.004)])])
    with Catalogue.open(path) as catalogue:
        found = files(Report(catalogue, Wanted()))
        next(found)
        assert kictl("note", "1", "--text", "new", "--catalog", path).code == 0
        with pytest.raises(CatalogueError, match="changed while"):
            list(found)


def _write_twice(out: Path) -> None:
    with Folder(out) as folder:
        folder.add("a/b.html", b"second")
        folder.add("a/b.html", b"third")


def test_progress_is_drawn_on_a_terminal_alone(fixture_catalogue: Path, tmp_path: Path) -> None:
    shown = on_terminal("report", "--out", tmp_path / "one", "--catalog", fixture_catalogue)
    pages = sum(path.suffix == ".html" for path in (tmp_path / "one").rglob("*"))
    assert f"{pages}/{pages} pages · time left" in shown
    piped = kictl("report", "--out", tmp_path / "two", "--catalog", fixture_catalogue)
    assert (piped.code, piped.err, piped.out.count("\n")) == (0, "", 1)


def test_places_that_cannot_be_written(fixture_catalogue: Path, tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("mine")
    assert kictl("report", "--out", taken, "--catalog", fixture_catalogue).code == 2
    assert kictl("report", "--out", taken / "below", "--catalog", fixture_catalogue).code == 3
    assert kictl("report", "--out", "/", "--catalog", fixture_catalogue).code == 2
    assert kictl("report", "--out", ".", "--catalog", fixture_catalogue).code == 2
    assert taken.read_text() == "mine"


def test_a_report_of_nothing(fixture_catalogue: Path, tmp_path: Path) -> None:
    done = kictl("report", "--out", tmp_path / "site", "--definition", "no such", "--catalog", fixture_catalogue)
    assert (done.code, done.out) == (2, "")
    assert not (tmp_path / "site").exists()


# The parts


def test_elements_escape_what_enters() -> None:
    made = element("p", "<b>&\u202e", None, [element("br"), "x"], title="\"'>", hidden=True, data_x=None, class_="a b")
    assert made == '<p title="&quot;&#x27;&gt;" hidden class="a b">&lt;b&gt;&amp;\\u202e<br>x</p>'
    assert html.breakable("a_b<c") == "a_<wbr>b&lt;c"
    assert html.lines("a\n<b>") == "a\n&lt;b&gt;"


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 9.1, [0, 2, 4, 6, 8]),
        (0, 52, [0, 20, 40]),
        (0, 0.00034, [0, 0.0001, 0.0002, 0.0003]),
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
    ],
)
def test_round_ticks(low: float, high: float, ticks: list[float]) -> None:
    assert svg.linear_ticks(low, high) == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(4, 60, [5, 10, 20, 50]), (0.9, 3000, [1, 10, 100, 1000]), (7.1, 7.4, [7.1, 7.2, 7.3, 7.4])],
)
def test_ticks_of_a_logarithmic_scale(low: float, high: float, ticks: list[float]) -> None:
    assert svg.logarithmic_ticks(low, high) == pytest.approx(ticks)


def test_bars_are_to_scale_and_far_lines_are_named_at_the_edge() -> None:
    items = [svg.Bar("a", 5, "5"), svg.Bar("b", 10, "10")]
    drawn = svg.bars(
        "n", "title", "text", items, [svg.Mark("near", 20, "bound"), svg.Mark("far", 900, "baseline")], str
    )
    widths = [float(width) for width in re.findall(r'<rect[^>]* width="([\d.]+)%"', drawn)]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.02)
    assert "far →" in drawn
    assert len(re.findall('<line class="mark', drawn)) == 1


def test_every_definition_of_the_published_data(shared: Path, tmp_path: Path) -> None:
    import_folder(shared / "corpus", tmp_path / "c.sqlite")
    found = site(tmp_path / "c.sqlite")
    sizes = {path: len(data) for path, data in found.items() if path.endswith(".html")}
    assert sum(path.startswith("definitions/") for path in sizes) == 133
    assert sum(path.startswith("runs/") for path in sizes) == 400
    assert max(sizes.values()) < LIMIT
    for path, page in pages(found):
        assert page.tags["h1"] == 1, path
