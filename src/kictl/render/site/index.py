"""The first page, and those that it is divided into where there is too much for one: every cohort by GPU and stack,
with its leader and the gap to the bound."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from kictl.cohort import Metric
from kictl.model import SOL_EXECBENCH
from kictl.render import html, leaders, measure, numbers, svg
from kictl.render.html import Markup, element
from kictl.render.site import cohort, layout
from kictl.render.site.cohort import Link
from kictl.render.site.layout import Crumb, number
from kictl.text import counted, cut
from kictl.workflow.leaders import Leader, Leaders

HOME: Final = "All definitions"
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

PART: Final = 140_000
"""Bytes of the rows of one page of leaders: what else is on it is small."""
PARTS: Final = 200
"""The most parts that the first page lists."""
WITHOUT: Final = 100
"""The most definitions without a run that it lists."""


@dataclass(frozen=True)
class Index:
    """All leaders; `without` are definitions that no run ranks in, `place` and `run` lead to pages."""

    leaders: Leaders
    without: Sequence[str]
    place: Callable[[str], str]
    run: Link
    catalogue: str

    def pages(self) -> Iterator[tuple[str, Leaders, str]]:
        """Of each page its place, the leaders on it and its HTML, the first page last: where the leaders do not fit on
        it, each GPU and stack has pages of its own."""
        groups = [_Group(self, name, tuple(rows)) for name, rows in self._groups()]
        contents = [_contents(groups)] if len(groups) > 1 else []
        first = self._page([*contents, *(group.section() for group in groups)])
        if len(first.encode()) > layout.LIMIT:
            parts = [part for group in groups for part in group.parts()]
            yield from ((part.path, replace(self.leaders, rows=part.rows), part.page()) for part in parts)
            first = self._page([_overview(parts)])
        yield "index", self.leaders, first

    def _groups(self) -> Iterator[tuple[str, Iterator[Leader]]]:
        """By GPU, stack, source and metric: in a table of leaders all values have one unit."""
        groups = groupby(self.leaders.rows, lambda row: (row.cohort.gpu, row.cohort.stack, row.cohort.source))
        for (gpu, stack, source), rows in groups:
            of_metric: dict[Metric | None, list[Leader]] = {}
            for row in rows:
                of_metric.setdefault(row.cohort.metric, []).append(row)
            for metric, found in of_metric.items():
                stated = f" · stack {stack or 'not stated'}" if stack is not None or source == SOL_EXECBENCH else ""
                of_source = (
                    "" if source == SOL_EXECBENCH else f" · {source} · {measure.described(metric)}" if metric else ""
                )
                yield f"{gpu}{stated}{of_source}", iter(found)

    def _page(self, sections: Sequence[Markup]) -> str:
        rows = self.leaders.rows
        definitions = {row.cohort.definition for row in rows} | set(self.without)
        runs = sum(row.runs for row in rows)
        kinds = [(runs, "ranked run"), (len(definitions), "definition"), (len(rows), "cohort")]
        ranked, defined, grouped = (counted(count, word) for count, word in kinds)
        body = [
            element("h1", "Who is fastest, and how far from the bound"),
            element(
                "p",
                f"{ranked} of {defined} in {grouped}. ",
                "A cohort is one definition on one GPU under one evaluation stack: only runs within it are compared.",
                class_="lead",
            ),
            sections,
            _without(self.without, self.place),
        ]
        return layout.page("Leaders · kictl", [Crumb(HOME)], body, data="index.json", about=self.about)

    @property
    def about(self) -> str:
        """What the foot of each page says."""
        until = numbers.minute(self.leaders.as_of)
        return f"As imported until {until} UTC; catalogue {self.catalogue}. Ranked by {self.leaders.ranked_by}."


@dataclass(frozen=True)
class _Group:
    """The cohorts of one GPU and stack, or a part of them from the row at `start`; `of` is how many there are."""

    index: Index
    name: str
    rows: tuple[Leader, ...]
    start: int = 0
    of: int | None = None

    @property
    def mark(self) -> str:
        digest = hashlib.sha256(self.name.encode("utf-8", "surrogatepass")).hexdigest()
        return f"g-{digest[:12]}"

    @property
    def path(self) -> str:
        start = f"leaders-{layout.slug(self.name)}"
        return f"{start}-from-{self.start + 1}" if self.start else start

    @property
    def extent(self) -> str:
        """How many definitions there are, and which of them these are."""
        if self.of is None or len(self.rows) == self.of:
            return counted(len(self.rows), "definition")
        return f"{self.start + 1} to {self.start + len(self.rows)} of {counted(self.of, 'definition')}"

    def parts(self) -> list[_Group]:
        """The same in parts whose rows fit on a page each."""
        starts, size = [0], 0
        for position, row in enumerate(self.rows):
            size += (length := len(_row(row, self.index, bounded=row.bounds is not None).encode()))
            if size > PART and position > starts[-1]:
                starts.append(position)
                size = length
        ends = [*starts[1:], len(self.rows)]
        return [
            replace(self, rows=self.rows[start:end], start=start, of=len(self.rows))
            for start, end in zip(starts, ends, strict=True)
        ]

    def section(self) -> Markup:
        heading = element("h2", self.name, id=self.mark)
        return element("section", heading, *self._content(), aria_labelledby=self.mark)

    def page(self) -> str:
        body = [element("h1", self.name), element("p", f"{self.extent}.", class_="lead"), *self._content()]
        crumbs = [Crumb(HOME, "index.html"), Crumb(self.name)]
        title = f"Leaders · {self.name} · kictl"
        return layout.page(title, crumbs, body, data=f"{self.path}.json", about=self.index.about)

    def _content(self) -> list[Markup | None]:
        unit = leaders.unit_of(self.rows[0].cohort.metric)
        bounded = any(row.bounds for row in self.rows)
        names = (unit, *(["gap to bound"] if bounded else []), "near-ties", "authors", "runs")
        columns = [
            ("definition", None),
            ("leader", None),
            ("run", "n"),
            *((name, "n") for name in names),
            ("since", None),
        ]
        table = layout.table(
            "Leaders by definition; "
            + ("the gap is the leader's latency over the bound, " if bounded else "")
            + "near-ties are within 5 % of the leader",
            columns,
            [_row(row, self.index, bounded=bounded) for row in self.rows],
            name=f"{self.mark}-leaders",
        )
        return [_gaps(self.rows, self.name, self.mark), table]


def _overview(parts: Sequence[_Group]) -> Markup:
    """The GPUs and stacks that have pages of their own."""
    rows = [
        layout.row(
            [
                element("a", cut(part.name, layout.NAME_LENGTH), href=f"{part.path}.html"),
                part.extent,
                number(str(sum(row.runs for row in part.rows))),
            ]
        )
        for part in parts[:PARTS]
    ]
    more = f"; {len(parts) - PARTS} more are in the folder" if len(parts) > PARTS else ""
    columns = [("GPU and stack", None), ("definitions", None), ("runs", "n")]
    return layout.table(f"Leaders by GPU and stack{more}", columns, rows, name="parts")


def _contents(groups: Sequence[_Group]) -> Markup:
    items = [element("li", element("a", group.name, href=f"#{group.mark}"), f" ({group.extent})") for group in groups]
    return element("nav", element("ul", items, class_="plain"), aria_label="GPUs and stacks")


def _row(row: Leader, index: Index, *, bounded: bool) -> Markup:
    first = row.first
    href = index.run(first.submission, first.run_digest)
    link = element(
        "a",
        html.breakable(row.cohort.definition),
        href=f"{index.place(row.cohort.definition)}#{cohort.anchor(row.cohort.key)}",
    )
    return layout.row(
        [
            (
                "name",
                [link, f" {row.cohort.shape}" if row.cohort.shape else None, " (an earlier version)" * row.outdated],
            ),
            ("name", [layout.author(first.author), f" and {counted(row.shared, 'other')}" if row.shared else None]),
            number(layout.link(first.submission, href)),
            number(leaders.shown(row.cohort.metric, first.value)),
            *([number(numbers.ratio(row.gap))] if bounded else []),
            number(str(row.near_ties)),
            number(str(row.authors)),
            number(str(row.runs)),
            ("date", numbers.day(first.observed_at)),
        ]
    )


def _gaps(rows: Sequence[Leader], name: str, mark: str) -> Markup | None:
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


def _without(names: Sequence[str], place: Callable[[str], str]) -> Markup | None:
    if not names:
        return None
    items = [
        element("li", element("a", html.breakable(cut(name, layout.NAME_LENGTH)), href=place(name)))
        for name in names[:WITHOUT]
    ]
    if len(names) > WITHOUT:
        items.append(element("li", f"{len(names) - WITHOUT} more, which the JSON beside this page names"))
    return element(
        "section",
        element("h2", "Without a ranked run", id="without"),
        element("ul", items),
        aria_labelledby="without",
    )
