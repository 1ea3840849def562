"""The page of one definition: its cohorts, why they are apart, and why the rest is not ranked."""

from __future__ import annotations

from typing import Any, Final

from kictl.comparability import EXCLUDED, WHY
from kictl.rank import POLICY
from kictl.render import comparison, history, html, measure, numbers
from kictl.render.html import Child, Markup, element
from kictl.render.site import cohort, layout
from kictl.render.site.cohort import Link
from kictl.render.site.layout import Crumb, number
from kictl.text import counted, cut
from kictl.workflow.reporting import CohortReport, DefinitionReport

ROWS: Final = (200, 100, 50, 25)
"""The most rows that the rankings of one page share, and fewer where that page would be too large."""
COHORTS: Final = (30, 20, 15, 10, 5, 2)
"""The most cohorts that have a section, where even the fewest rows of all make a page that is too large."""
FEWEST: Final = 3
"""Rows that a ranking has at least."""
LINES: Final = 100
"""The most cohorts, versions of bounds or tags that are listed."""
TITLE_LENGTH: Final = 400
"""The most characters of a title."""
WITHDRAWN: Final = 100
"""The most runs that are named as no longer counting."""


def to_json(report: DefinitionReport, catalogue: str) -> dict[str, Any]:
    """The numbers of the page: as `compare --json` and `history --json`, with every run and where all is from."""
    return {
        **comparison.to_json(report.comparison),
        "runs": [
            {
                "comparison_key": found.table.cohort.key,
                "rows": [comparison.row_json(found.table, r) for r in found.runs],
            }
            for found in report.cohorts
        ],
        "history": history.to_json(report.history),
        "imports": [
            {"import": o.import_id, "source": o.source, "at": o.at, "snapshot_digest": o.snapshot_digest}
            for o in report.origins
        ],
        "catalog_digest": catalogue,
    }


def page(report: DefinitionReport, link: Link, *, data: str) -> str:
    """The page as HTML; what it has no room for is left to the JSON, and it says so."""
    whole = [(rows, len(report.cohorts)) for rows in ROWS]
    forms = [*whole, *((ROWS[-1], most) for most in COHORTS if most < len(report.cohorts))]
    return layout.fitting(_page(report, link, data, rows, most) for rows, most in forms)


def _page(report: DefinitionReport, link: Link, data: str, rows: int, most: int) -> str:
    share = max(FEWEST, rows // max(1, most))
    sections = [
        cohort.markup(found, name=f"c{place}", link=link, rows=share)
        for place, found in enumerate(report.cohorts[:most])
    ]
    tags = [element("li", tag, class_="tag") for tag in report.tags[:LINES]]
    body = [
        element("h1", html.breakable(report.name)),
        element("p", cut(report.title, TITLE_LENGTH), class_="lead") if report.title else None,
        element("ul", tags, class_="plain") if tags else None,
        _contents(report, most),
        _apart(report),
        sections or element("p", "No run of this definition is ranked."),
        _rest(report, link, most),
        _unranked(report, link),
        _bounds(report),
    ]
    crumbs = [Crumb("All definitions", "../index.html"), Crumb(report.name)]
    return layout.page(f"{report.name} · kictl", crumbs, body, data=data, about=_about(report))


def _about(report: DefinitionReport) -> str:
    read = "; ".join(
        f"{origin.source}, import {origin.import_id} of {numbers.minute(origin.at)} UTC,"
        f" snapshot {origin.snapshot_digest or 'not complete'}"
        for origin in report.origins
    )
    return f"From {read or 'no import'}. Ranked by policy {POLICY}, each comparison key by itself."


def _contents(report: DefinitionReport, most: int) -> Markup | None:
    if len(report.cohorts) < 2:
        return None
    items = []
    for found in report.cohorts[:most]:
        table, key = found.table, found.table.cohort.key
        name = comparison.cohort_title(table.cohort)
        link = element("a", name, href=f"#{cohort.anchor(key)}")
        items.append(element("li", link, f" ({counted(table.population, 'run')})"))
    if most < len(report.cohorts):
        items.append(element("li", element("a", f"{len(report.cohorts) - most} more", href="#more")))
    return element("nav", element("ul", items, class_="plain"), aria_label="Cohorts")


def _rest(report: DefinitionReport, link: Link, most: int) -> Markup | None:
    """The cohorts that there is no room for, in one line each."""
    rest = report.cohorts[most:]
    if not rest:
        return None
    items = [_line(found, link) for found in rest[:LINES]]
    if len(rest) > LINES:
        items.append(element("li", f"{len(rest) - LINES} more"))
    return element(
        "section",
        element("h2", "More cohorts", id="more"),
        element(
            "p", f"{counted(len(rest), 'cohort')} more than this page has room for: the JSON beside it has them whole."
        ),
        element("ul", items),
        aria_labelledby="more",
    )


def _line(found: CohortReport, link: Link) -> Markup:
    table = found.table
    name = f"{comparison.cohort_title(table.cohort)}: {counted(table.population, 'run')}"
    leads: list[Child] = []
    if table.rows:
        first, scale = table.rows[0].entry, measure.Scale.of(table.cohort.metric, table.best)
        run = layout.link(first.submission, link(first.submission, first.run_digest))
        leads = [f", first {scale.with_unit(first.value)} by ", layout.author(first.author), " with ", run]
    return element("li", name, leads, id=cohort.anchor(table.cohort.key))


def _apart(report: DefinitionReport) -> Markup | None:
    if not report.comparison.apart:
        return None
    first, *others = (table.cohort for table in report.comparison.tables)
    items = [
        element("li", f"{comparison.cohort_title(other)}: ", "; ".join(WHY[r.code] for r in verdict.reasons))
        for other, verdict in zip(others[:LINES], report.comparison.apart[:LINES], strict=True)
    ]
    return element(
        "details",
        element("summary", "Why these are not one ranking"),
        element("p", f"Beside {comparison.cohort_title(first)}:"),
        element("ul", items),
    )


def _unranked(report: DefinitionReport, link: Link) -> Markup | None:
    excluded = report.comparison.excluded
    if not excluded and not report.withdrawn:
        return None
    rows = [
        layout.row([reason, number(str(count)), EXCLUDED.get(reason.partition(":")[0], "as the source says")])
        for reason, count in excluded.items()
    ]
    columns = [("reason", None), ("submissions", "n"), ("meaning", None)]
    table = layout.table("Submissions that are in no ranking, by reason", columns, rows, name="reasons")
    return element(
        "section",
        element("h2", "Not ranked", id="not-ranked"),
        table if rows else None,
        _withdrawn(report, link),
        aria_labelledby="not-ranked",
    )


def _withdrawn(report: DefinitionReport, link: Link) -> list[Markup]:
    items = []
    for row in report.withdrawn[:WITHDRAWN]:
        why = row.status if row.standing == "failed" else row.standing
        why = ", ".join((why, *row.reasons)) if row.standing == "retracted" else why
        name = layout.link(row.submission, link(row.submission, row.run))
        items.append(element("li", name, " by ", layout.author(row.author), f": {why}"))
    if len(report.withdrawn) > WITHDRAWN:
        items.append(element("li", f"{len(report.withdrawn) - WITHDRAWN} more"))
    return [element("h3", "Runs that no longer count"), element("ul", items)] if items else []


def _bounds(report: DefinitionReport) -> Markup | None:
    versions = report.history.bounds_versions
    if len(versions) < 2:
        return None
    items = [
        element("li", f"since {numbers.minute(v.at)} UTC (import {v.import_id}): ", layout.digest(v.digest))
        for v in versions[-LINES:]
    ]
    older = f" The last {LINES} of {len(versions)}:" if len(versions) > LINES else ""
    return element(
        "section",
        element("h2", "Bounds over time", id="bounds"),
        element("p", f"Scores and gaps made with different bounds do not compare; latencies still do.{older}"),
        element("ol", items),
        aria_labelledby="bounds",
    )
