"""The site in a headless Chromium: it renders, complains about nothing, asks nobody, and axe finds no violation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from boards import HOSTILE, detail, imported, row
from browser import Browser, installed
from leaderboards import FIXTURE, import_folder
from processes import ROOT, kictl

AXE = ROOT / ".ci/node_modules/axe-core/axe.min.js"
MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    command = installed()
    if command is None:
        pytest.skip("no Chromium here: .ci/chromium installs one where it can")
    opened = Browser(command, tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of the fixture and of a definition that is called, and full of, harm."""
    folder = tmp_path_factory.mktemp("browser")
    import_folder(FIXTURE, folder / "c.sqlite")
    rows = [row(90000 + n, author, 0.004 + n / 1000) for n, author in enumerate(HOSTILE)]
    imported(folder / "board", folder / "c.sqlite", [(detail(900, MARKUP), rows)])
    done = kictl("report", "--out", folder / "site", "--catalog", folder / "c.sqlite")
    assert done.code == 0, done.err
    return folder / "site"


def pages(site: Path) -> dict[str, Path]:
    """One page of each kind, and those that hold what is hostile."""
    patterns = {
        "index": "index.html",
        "definition": "definitions/042-moe*.html",
        "several cohorts": "definitions/042-rms*.html",
        "no run": "definitions/301*.html",
        "hostile": "definitions/img-src*.html",
        "run": "runs/19969-*.html",
        "hostile run": "runs/90003-*.html",
    }
    found = {name: list(site.glob(pattern)) for name, pattern in patterns.items()}
    assert all(len(paths) == 1 for paths in found.values()), found
    return {name: paths[0] for name, paths in found.items()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_pages_render_and_ask_nobody(browser: Browser, site: Path, width: int, scheme: str) -> None:
    browser.view(width=width, height=900, scheme=scheme)
    backgrounds = set()
    for name, page in pages(site).items():
        browser.open(page)
        assert browser.complaints() == [], name
        assert browser.requests() == [page.as_uri()], name
        assert browser.evaluate("document.documentElement.scrollWidth") == width, name
        assert browser.evaluate("document.querySelector('h1').getBoundingClientRect().height > 20"), name
        assert browser.evaluate("[...document.querySelectorAll('svg[role=img]')].every(s => s.clientWidth > 200)"), name
        assert browser.evaluate("document.querySelectorAll('script, img, iframe, [onerror]').length") == 0, name
        backgrounds.add(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert backgrounds == {"rgb(255, 255, 255)" if scheme == "light" else "rgb(16, 20, 24)"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(browser: Browser, site: Path, scheme: str) -> None:
    if not AXE.is_file():
        pytest.skip("axe is not here: .ci/chromium installs it where there is npm")
    source = AXE.read_text("utf-8")
    browser.view(width=1280, height=900, scheme=scheme)
    for name, page in pages(site).items():
        browser.open(page)
        browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        browser.evaluate(f"{source}; null")
        ran, found = browser.evaluate(
            "axe.run().then(r => [r.passes.length, r.violations.map(v => [v.id, v.nodes.map(n => n.html)])])"
        )
        assert ran > 10, name
        assert found == [], name


def test_text_in_charts_can_be_read(browser: Browser, site: Path) -> None:
    """axe does not judge SVG: every text of a chart has a contrast of 4.5 with the page, in both schemes."""
    script = """(() => {
      const light = c => { const v = c.match(/[0-9.]+/g).slice(0, 3).map(x => x / 255)
        .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2] };
      const page = light(getComputedStyle(document.body).backgroundColor);
      const disc = getComputedStyle(document.querySelector('circle.holder')).fill;
      return [...document.querySelectorAll('svg text')].map(t => {
        const behind = t.classList.contains('holder') ? light(disc) : page, own = light(getComputedStyle(t).fill);
        return (Math.max(behind, own) + 0.05) / (Math.min(behind, own) + 0.05) }) })()"""
    for scheme in ("light", "dark"):
        browser.view(width=1280, height=900, scheme=scheme)
        browser.open(pages(site)["several cohorts"])
        contrasts = browser.evaluate(script)
        assert len(contrasts) > 50
        assert min(contrasts) >= 4.5


def test_the_keyboard_reaches_the_content(browser: Browser, site: Path) -> None:
    browser.view(width=1280, height=900, scheme="light")
    browser.open(pages(site)["definition"])
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert browser.evaluate("document.activeElement.getBoundingClientRect().left >= 0")
    seen = []
    for _ in range(6):
        browser.press("Tab")
        seen.append(browser.evaluate("document.activeElement.tagName"))
    assert seen[0] == "A"
    assert "SUMMARY" in seen
    outline = browser.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_bars_stand_beside_each_other_as_their_numbers_do(browser: Browser, site: Path) -> None:
    browser.view(width=1280, height=900, scheme="light")
    browser.open(pages(site)["definition"])
    widths = browser.evaluate(
        "[...document.getElementById('c0-bars-title').parentNode.querySelectorAll('rect')]"
        ".map(r => r.getBoundingClientRect().width)"
    )
    assert widths[1] / widths[0] == pytest.approx(7699 / 7229, abs=0.01)
