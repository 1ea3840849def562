"""The page of one run: its dossier in the order a reader asks, where it stands, how to cite it, its manifest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kictl import canonical
from kictl.render import citation, comparison, html, measure, numbers, svg
from kictl.render import dossier as sheets
from kictl.render.grid import Grid
from kictl.render.html import Child, Markup, element
from kictl.render.site import cohort, layout
from kictl.render.site.cohort import Link
from kictl.render.site.layout import Crumb
from kictl.text import cut, named
from kictl.workflow.dossier import Dossier


@dataclass(frozen=True, slots=True)
class _Room:
    """How much of a page there is for one value, in characters, and for one section, in values."""

    characters: int
    values: int


ROOM: Final = (_Room(2000, 400), _Room(400, 200), _Room(100, 100))
"""From the most to the least: the first with which a page is small enough; the JSON beside it has all."""


def page(dossier: Dossier, definition: str, link: Link, *, data: str, catalogue: str) -> str:
    """The page as HTML; `definition` is the place of its definition's page, `link` leads to other runs."""
    return layout.fitting(_page(dossier, definition, link, data, catalogue, room) for room in ROOM)


def _page(dossier: Dossier, definition: str, link: Link, data: str, catalogue: str, room: _Room) -> str:
    primary, *sections = sheets.to_grids(dossier)[:-1]
    title = f"Submission {dossier.row.submission} by {cut(named(dossier.row.author), layout.NAME_LENGTH)}"
    crumbs = [
        Crumb("All definitions", "../index.html"),
        Crumb(dossier.row.definition, definition),
        Crumb(f"submission {dossier.row.submission}"),
    ]
    body = [
        element("h1", "Submission ", html.breakable(dossier.row.submission), " by ", layout.author(dossier.row.author)),
        _subject(dossier, definition),
        _primary(dossier, primary, room),
        _standing(dossier, link),
        [_section(grid, place, room) for place, grid in enumerate(sections)],
        _manifest(dossier),
        _cite(dossier),
    ]
    about = f"From {dossier.row.source}, as imported until {numbers.minute(dossier.as_of)} UTC; catalogue {catalogue}."
    return layout.page(f"{title} · {dossier.row.definition} · kictl", crumbs, body, data=data, about=about)


def _subject(dossier: Dossier, definition: str) -> Markup:
    place = f"{definition}#{cohort.anchor(dossier.cohort.key)}"
    link = element("a", html.breakable(dossier.row.definition), href=place)
    return element("p", link, f" · {comparison.cohort_title(dossier.cohort)}", class_="lead")


def _primary(dossier: Dossier, grid: Grid, room: _Room) -> Markup:
    entry, metric = dossier.entry, dossier.metric
    value: Child = dossier.row.status
    if entry is not None and metric is not None:
        scale = measure.Scale.of(metric, entry.value)
        value = [scale.show(entry.value), element("small", f" {scale.name} {metric.statistic}")]
    return element(
        "section",
        element("h2", "Primary measurement", id="primary"),
        element("p", value, class_="primary"),
        element("p", f"This run is {dossier.row.standing} and has no rank.", class_="warn")
        if dossier.placing is None
        else None,
        _facts(grid, room, after=1),
        aria_labelledby="primary",
    )


def _standing(dossier: Dossier, link: Link) -> Markup | None:
    """The run beside the first of its cohort, the bound and the baseline."""
    placing, entry, bounds = dossier.placing, dossier.entry, dossier.bounds
    if placing is None or entry is None:
        return None
    first = placing.first
    unit = measure.Scale.of(dossier.metric, first.value)
    items = []
    if first.run_digest != entry.run_digest:
        items.append(svg.Bar(named(first.author), first.value, unit.show(first.value), place="1"))
    items.append(
        svg.Bar(named(dossier.row.author), entry.value, unit.show(entry.value), place=str(placing.rank), first=True)
    )
    marks = layout.marks(bounds, unit)
    chart = svg.bars(
        "standing",
        "This run beside the first of its cohort",
        "; ".join([f"{item.label}: {item.note} {unit.name}" for item in items] + [mark.label for mark in marks]),
        items,
        marks,
        layout.ticks(unit),
    )
    is_lower = dossier.metric is None or dossier.metric.better == "lower"
    better = "shorter" if is_lower else "longer"
    caption = f"In {unit.name}, beside the first of the cohort; {better} is better."
    href = link(placing.first.submission, placing.first.run_digest)
    return element(
        "figure",
        element("figcaption", caption),
        chart,
        element("p", element("a", f"The first: submission {placing.first.submission}", href=href))
        if href and len(items) > 1
        else None,
        class_="bars",
    )


def _section(grid: Grid, place: int, room: _Room) -> Markup:
    name = f"s{place}"
    lines = [element("p", line.strip()) for line in (*grid.head[1:], *grid.foot)]
    heading = element("h2", grid.head[0], id=name)
    return element("section", heading, _facts(grid, room) if grid.rows else None, lines, aria_labelledby=name)


def _facts(grid: Grid, room: _Room, after: int = 0) -> list[Markup]:
    rows = grid.rows[after:]
    shown = layout.facts([(row.cells[0].strip(), _value(row.cells[1], room)) for row in rows[: room.values]])
    hidden = len(rows) - room.values
    return [shown, element("p", f"{hidden} more are in the JSON beside this page.")] if hidden > 0 else [shown]


def _value(value: str, room: _Room) -> Markup:
    shown = cut(value, room.characters)
    return layout.digest(shown) if shown.startswith("sha256:") else element("bdi", shown)


def _cite(dossier: Dossier) -> Markup:
    # The date of access is that of the data: the clock would make every report another one.
    accessed = numbers.day(dossier.as_of)
    return element(
        "section",
        element("h2", "Cite", id="cite"),
        element("p", citation.text(dossier, accessed).strip()),
        element("pre", html.lines(citation.bibtex(dossier, accessed).rstrip()), tabindex=0),
        element(
            "details",
            element("summary", "CSL-JSON"),
            element("pre", html.lines(citation.csl_json(dossier, accessed).rstrip()), tabindex=0),
        ),
        aria_labelledby="cite",
    )


def _manifest(dossier: Dossier) -> Markup:
    text = canonical.to_json(sheets.bundle(dossier), indent=True).decode()
    return element(
        "section",
        element("h2", "Canonical manifest", id="manifest"),
        element("p", layout.digest(dossier.run.digest)),
        element(
            "details",
            element("summary", "The run with its protocol and environment"),
            element("pre", html.lines(text), tabindex=0),
        ),
        aria_labelledby="manifest",
    )
