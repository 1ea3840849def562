"""The section of one cohort: its ranking drawn and tabled, its record over time, all of its runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kictl import rank
from kictl.rank import Entry, Ranked
from kictl.render import comparison, leaders, measure, numbers, svg
from kictl.render.html import Child, Markup, element
from kictl.render.site import layout
from kictl.render.site.layout import number
from kictl.text import counted, named
from kictl.workflow.history import Step
from kictl.workflow.reporting import CohortReport

BARS: Final = 20
"""The most bars of one chart."""
DOTS: Final = 200
"""The most runs beside the record, the newest ones; at most ten for each row of the ranking."""

Link = Callable[[str, str], str | None]
"""From a run's submission and digest to the place of its page, if it has one."""


def anchor(key: str) -> str:
    """The id of a cohort's section, by its comparison key."""
    return f"cohort-{key[7:23]}"


@dataclass(frozen=True)
class Section:
    """What the parts of a section share. `name` is the prefix of its ids, `rows` the most rows of its ranking and
    of its records, of which the last are shown."""

    report: CohortReport
    name: str
    link: Link
    rows: int

    @property
    def unit(self) -> measure.Scale:
        return measure.Scale.of(self.report.table.cohort.metric, self.report.table.best)

    @property
    def title(self) -> str:
        cohort = self.report.table.cohort
        return f"{cohort.definition}, {comparison.cohort_title(cohort)}"

    @property
    def measured(self) -> str:
        """What the values are, as it begins a sentence."""
        metric = self.report.table.cohort.metric
        return "Result" if metric is None else metric.name.replace("_", " ").capitalize()

    @property
    def is_lower_better(self) -> bool:
        metric = self.report.table.cohort.metric
        return metric is None or metric.better == "lower"

    def markup(self) -> Markup:
        """The whole section."""
        table, cohort = self.report.table, self.report.table.cohort
        mark = anchor(cohort.key)
        runs, authors = counted(table.population, "run"), counted(table.authors, "author")
        body: list[Child] = [
            element("h2", comparison.cohort_title(cohort), id=mark),
            element("p", f"{runs} by {authors}; {comparison.table_order(table)}.", class_="lead"),
        ]
        if table.rows:
            body += [self._bars(), self._ranking(), self._notes(), self._record(), self._all()]
        digests = [
            ("cohort key" if cohort.serving else "comparison key", cohort.key),
            ("bounds", table.bounds and table.bounds.digest),
            ("model" if cohort.serving else "operation", cohort.subject),
            ("suite" if cohort.is_suite else "workload", cohort.workload),
            ("protocol", cohort.kernel and cohort.kernel.protocol),
            ("environment", cohort.kernel and cohort.kernel.environment),
        ]
        body.append(layout.facts([(name, layout.digest(digest)) for name, digest in digests if digest]))
        return element("section", body, aria_labelledby=mark)

    def _bars(self) -> Markup:
        rows = self.report.table.rows[: min(BARS, self.rows)]
        items = [
            svg.Bar(
                named(ranked.entry.author),
                ranked.entry.value,
                self.unit.show(ranked.entry.value),
                place=_place(ranked),
                first=ranked.rank == 1,
            )
            for ranked in rows
        ]
        marks = layout.marks(self.report.table.bounds, self.unit)
        leads = f"{items[0].label} leads with {items[0].note} {self.unit.name}"
        authors = counted(self.report.table.authors, "author")
        chart = svg.bars(
            f"{self.name}-bars",
            f"{self.measured} of the first {len(rows)} of {authors} in {self.title}",
            "; ".join([leads, *(mark.label for mark in marks), "the table below has the same numbers"]),
            items,
            marks,
            layout.ticks(self.unit),
        )
        competitor = leaders.competitor(self.report.table.cohort)
        better = "shorter" if self.is_lower_better else "longer"
        caption = f"{self.measured} in {self.unit.name}, best run of each {competitor}; {better} is better."
        return layout.figure(caption, chart, "bars")

    def _ranking(self) -> Markup:
        table = self.report.table
        scored = ("SOL score", "speedup", "faster") if table.cohort.has_scores else ()
        names = ("run", self.unit.name, "ratio", *scored)
        columns = [("#", "n"), ("author", None), *((name, "n") for name in names), ("date", None), ("digest", None)]
        rows = [
            self._reference("SOL bound", table.bounds and table.bounds.sol_bound_ns, len(columns)),
            *(self._row(ranked) for ranked in table.rows[: self.rows]),
            self._reference("scoring baseline", table.bounds and table.bounds.scoring_baseline_ns, len(columns)),
        ]
        hidden = len(table.rows) - self.rows
        more = f"; {hidden} more are in the JSON beside this page" if hidden > 0 else ""
        competitor = leaders.competitor(table.cohort)
        caption = f"Ranked by {self.measured.lower()}, the best run of each {competitor}{more}"
        return layout.table(caption, columns, [row for row in rows if row is not None], name=f"{self.name}-ranking")

    def _row(self, ranked: Ranked) -> Markup:
        entry, table = ranked.entry, self.report.table
        order = rank.order_of(table.cohort.metric) if table.cohort.metric else None
        times = numbers.ratio(order and rank.behind(entry.value, table.rows[0].entry.value, order))
        return layout.row(
            [
                number(_place(ranked)),
                ("name", layout.author(entry.author)),
                number(self._run(entry)),
                number(self.unit.show(entry.value)),
                number(f"{comparison.NEAR * ranked.near}{times}"),
                *(number(cell) for cell in (comparison.score_cells(entry) if table.cohort.has_scores else ())),
                ("date", numbers.day(entry.observed_at)),
                layout.digest(entry.run_digest, 8),
            ],
            head=1,
            kind="first" if ranked.rank == 1 else None,
        )

    def _reference(self, name: str, ns: float | None, width: int) -> Markup | None:
        if ns is None:
            return None
        shown = numbers.ratio(rank.ratio(ns, self.report.table.rows[0].entry.value))
        cells = ["", name, "", number(self.unit.show(ns)), number(shown), *[""] * (width - 5)]
        return layout.row(cells, head=1, kind="reference")

    def _run(self, entry: Entry) -> Child:
        mark = comparison.UNLISTED if entry.unlisted else None
        return [layout.link(entry.submission, self.link(entry.submission, entry.run_digest)), mark]

    def _notes(self) -> Markup | None:
        notes = comparison.notes(self.report.table)
        return element("p", " · ".join(notes), class_="muted") if notes else None

    def _record(self) -> list[Markup]:
        every = self.report.history.steps
        steps = every[-self.rows :]
        columns = [("#", "n"), ("author", None), *((name, "n") for name in ("run", self.unit.name, "gain"))]
        rows = [
            layout.row(
                [
                    number(str(place)),
                    ("name", layout.author(step.entry.author)),
                    number(self._run(step.entry)),
                    number(self.unit.show(step.entry.value)),
                    number(f"{comparison.NEAR * step.near}{numbers.percent(step.gain)}"),
                    ("date", numbers.day(step.entry.observed_at)),
                    number(str(step.held_days)),
                ],
                head=1,
            )
            for place, step in enumerate(steps, len(every) - len(steps) + 1)
        ]
        caption = "Every run that was the best when it was observed"
        if len(steps) < len(every):
            caption = f"The last {len(steps)} of {len(every)} runs that were the best; all are in the JSON"
        return [
            element("h3", "Record history", id=f"{self.name}-history"),
            *([self._steps(steps, len(every))] if len(steps) > 1 else []),
            layout.table(caption, [*columns, ("date", None), ("days held", "n")], rows, name=f"{self.name}-records"),
        ]

    def _steps(self, steps: Sequence[Step], count: int) -> Markup:
        held = {step.entry.run_digest for step in self.report.history.steps}
        since = steps[0].entry.observed_at if len(steps) < count else ""
        others = sorted(
            (r.entry for r in self.report.runs if r.entry.run_digest not in held and r.entry.observed_at >= since),
            key=lambda entry: entry.observed_at,
        )
        dots = others[-min(DOTS, 10 * self.rows) :]
        last = steps[-1].entry
        chart = svg.steps(
            f"{self.name}-steps",
            f"The record of {self.title}, over time",
            f"{counted(count, 'record')}, the last {self.unit.show(last.value)} {self.unit.name}"
            f" by {named(last.author)}; the table below has the same numbers",
            [_point(step.entry) for step in steps],
            [_point(entry) for entry in dots],
            layout.marks(self.report.table.bounds, self.unit),
            self.report.until,
            layout.ticks(self.unit),
            first=count - len(steps) + 1,
        )
        which = f"one of the {len(dots)} newest others" if len(dots) < len(others) else "another run"
        caption = (
            f"{self.measured} in {self.unit.name} on a logarithmic scale, by date of observation;"
            f" each number is a new record, each dot {which}."
        )
        return layout.figure(caption, chart, "steps")

    def _all(self) -> Markup | None:
        runs = self.report.runs[: 2 * self.rows]
        if len(self.report.runs) == len(self.report.table.rows):
            return None
        rows = [
            layout.row(
                [
                    number(_place(ranked)),
                    ("name", layout.author(ranked.entry.author)),
                    number(self._run(ranked.entry)),
                    number(self.unit.show(ranked.entry.value)),
                    ("date", numbers.day(ranked.entry.observed_at)),
                ],
                head=1,
            )
            for ranked in runs
        ]
        whole = len(runs) == len(self.report.runs)
        shown = f"All {len(runs)} runs" if whole else f"The first {len(runs)} of {len(self.report.runs)} runs"
        more = "" if whole else "; all are in the JSON beside this page"
        columns = [("#", "n"), ("author", None), ("run", "n"), (self.unit.name, "n"), ("date", None)]
        return element(
            "details",
            element("summary", f"{shown}, not only the best of each {leaders.competitor(self.report.table.cohort)}"),
            layout.table(f"{shown}, ranked by {self.measured.lower()}{more}", columns, rows, name=f"{self.name}-all"),
        )


def markup(report: CohortReport, *, name: str, link: Link, rows: int) -> Markup:
    """The section of one cohort; see Section."""
    return Section(report, name, link, rows).markup()


def _point(entry: Entry) -> svg.Point:
    return svg.Point(entry.observed_at, entry.value or numbers.SHORTEST)


def _place(ranked: Ranked) -> str:
    return f"{ranked.rank}{'=' * ranked.tied}"
