"""The first page: every cohort by GPU and stack, with its leader and the gap to the bound."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Final

from kictl.render import html, numbers, svg
from kictl.render.html import Markup, element
from kictl.render.site import cohort, layout
from kictl.render.site.cohort import Link
from kictl.render.site.layout import Crumb, number, plural
from kictl.workflow.leaders import Leader, Leaders

BINS: Final = (
    (0.0, 1.0, "below it"),
    (1.0, 1.5, "1–1.5×"),
    (1.5, 2.0, "1.5–2×"),
    (2.0, 4.0, "2–4×"),
    (4.0, 8.0, "4–8×"),
    (8.0, 16.0, "8–16×"),
    (16.0, float("inf"), "16× and more"),
)
"""Ranges of the latency of a leader over the bound: from, below, name."""

Group = tuple[str, list[Leader]]


def groups(leaders: Leaders) -> list[Group]:
    """The cohorts of each GPU and stack, under its name."""
    return [
        (cohort.title(*key), list(rows))
        for key, rows in groupby(leaders.rows, lambda r: (r.cohort.gpu, r.cohort.stack))
    ]


def page(
    leaders: Leaders,
    without: list[str],
    place: Callable[[str], str],
    run: Link,
    *,
    data: str,
    catalogue: str,
) -> str:
    """The page as HTML; `without` are definitions that no run ranks in, `place` and `run` lead to pages."""
    found = groups(leaders)
    runs = sum(row.runs for row in leaders.rows)
    definitions = {row.cohort.definition for row in leaders.rows} | set(without)
    counts = (
        f"{plural(runs, 'ranked run')} of {plural(len(definitions), 'definition')}"
        f" in {plural(len(leaders.rows), 'cohort')}. "
    )
    body = [
        element("h1", "Who is fastest, and how far from the bound"),
        element(
            "p",
            counts,
            "A cohort is one definition on one GPU under one evaluation stack: only runs within it are compared.",
            class_="lead",
        ),
        _contents(found),
        [_group(rows, name, place, run) for name, rows in found],
        _without(without, place),
    ]
    about = (
        f"As imported until {numbers.minute(leaders.as_of)} UTC; catalogue {catalogue}. Ranked by {leaders.ranked_by}."
    )
    return layout.page("Leaders · kictl", [Crumb("All definitions")], body, data=data, about=about)


def _id(name: str) -> str:
    return f"g-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _contents(found: list[Group]) -> Markup | None:
    if len(found) < 2:
        return None
    items = [
        element("li", element("a", name, href=f"#{_id(name)}"), f" ({plural(len(rows), 'definition')})")
        for name, rows in found
    ]
    return element("nav", element("ul", items, class_="plain"), aria_label="GPUs and stacks")


def _group(rows: list[Leader], name: str, place: Callable[[str], str], run: Link) -> Markup:
    mark = _id(name)
    names = ("µs", "gap to bound", "near-ties", "authors", "runs")
    columns = [("definition", None), ("leader", None), ("run", "n"), *((name, "n") for name in names), ("since", None)]
    return element(
        "section",
        element("h2", name, id=mark),
        _gaps(rows, name, mark),
        layout.table(
            "Leaders by definition; the gap is the leader's latency over the bound, near-ties are within 5 % of it",
            columns,
            [_row(row, place, run) for row in rows],
            name=f"{mark}-leaders",
        ),
        aria_labelledby=mark,
    )


def _row(row: Leader, place: Callable[[str], str], run: Link) -> Markup:
    first = row.first
    href = run(first.submission, first.run_digest)
    link = element(
        "a",
        html.breakable(row.cohort.definition),
        href=f"{place(row.cohort.definition)}#{cohort.anchor(row.cohort.comparison_key)}",
    )
    return layout.row(
        [
            ("name", [link, " (an earlier version)"] if row.outdated else link),
            ("name", [layout.author(first.author), f" and {plural(row.shared, 'other')}" if row.shared else None]),
            number(layout.link(first.submission, href)),
            number(numbers.significant(first.latency_ns / 1e3)),
            number(numbers.ratio(row.gap)),
            number(str(row.near_ties)),
            number(str(row.authors)),
            number(str(row.runs)),
            ("date", numbers.day(first.observed_at)),
        ]
    )


def _gaps(rows: list[Leader], name: str, mark: str) -> Markup | None:
    counted = list(_binned([row.gap for row in rows if row.gap is not None]))
    if sum(count for _, count in counted) < 10:
        return None
    chart = svg.bars(
        f"{mark}-gaps",
        f"How far the leaders of {name} are from the SOL bound",
        "; ".join(f"{label}: {count}" for label, count in counted),
        [svg.Bar(label, count, str(count)) for label, count in counted],
        [],
        lambda count: f"{count:.0f}",
    )
    caption = "Number of definitions by the leader's latency over the SOL bound."
    return layout.figure(caption, chart, "bars")


def _binned(gaps: list[float]) -> Iterator[tuple[str, int]]:
    for low, high, label in BINS:
        count = sum(low <= gap < high for gap in gaps)
        if count or low:
            yield label, count


def _without(names: list[str], place: Callable[[str], str]) -> Markup | None:
    if not names:
        return None
    items = [element("li", element("a", html.breakable(name), href=place(name))) for name in names]
    return element(
        "section",
        element("h2", "Without a ranked run", id="without"),
        element("ul", items),
        aria_labelledby="without",
    )
