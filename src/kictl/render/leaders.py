"""Leaders and authors, as tables for people and as records for programs."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from kictl.catalogue.queries import Cohort
from kictl.cohort import NS_PER, Metric
from kictl.rank import POLICY, Entry
from kictl.render import comparison, csv, measure, numbers
from kictl.render.grid import Grid, Row, columns
from kictl.text import counted, named
from kictl.workflow.leaders import PLACES, Author, Authors, Leader, Leaders

_OUTDATED = "‡"

CSV_HEADER = (
    *("definition", "source", "gpu", "stack", "shape", "metric", "statistic", "unit", "better", "comparison_key"),
    *("bounds_digest", "outdated", "ranked_by", "as_of", "runs", "authors", "submission", "author", "value"),
    *("latency_ns", "sol_score", "observed_at", "age_days", "shared", "near_ties", "sol_bound_ns", "gap"),
    *("fifth_value", "fifth_latency_ns", "fifth_sol_score", "tenth_value", "tenth_latency_ns", "tenth_sol_score"),
    *("tags", "run_digest"),
)
_ENDINGS = ("shape", "bounds_digest", "latency_ns", "sol_score", "sol_bound_ns", "gap")
"""How the names of columns end that are left out where no cohort has them."""
AUTHORS_HEADER = ("author", "led", "alone", "shared", "near", "top_five", "entered", "runs")


def to_json(leaders: Leaders) -> dict[str, Any]:
    """The stable form for programs. `places` are the first, fifth and tenth author, null where there are fewer."""
    return {
        "policy": POLICY,
        "ranked_by": leaders.ranked_by,
        "as_of": leaders.as_of,
        "rows": [_leader_json(row) for row in leaders.rows],
    }


def _leader_json(row: Leader) -> dict[str, Any]:
    cohort, bounds = row.cohort, row.bounds
    return {
        "definition": cohort.definition,
        **comparison.about_json(cohort, None),
        **({} if bounds is None else {"bounds_digest": bounds.digest}),
        "outdated": row.outdated,
        "tags": list(row.tags),
        "runs": row.runs,
        "authors": row.authors,
        "places": {str(place): _entry_json(cohort, entry) for place, entry in zip(PLACES, row.places, strict=True)},
        "shared": row.shared,
        "near_ties": row.near_ties,
        "age_days": row.age_days,
        **({} if bounds is None else {"sol_bound_ns": bounds.sol_bound_ns, "gap": row.gap}),
    }


def _entry_json(cohort: Cohort, entry: Entry | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    found = measure.entry_json(cohort.metric, entry, scored=False)
    return {**found, "sol_score": entry.sol_score} if cohort.has_scores else found


def to_csv(leaders: Leaders) -> str:
    """One line per cohort."""
    records = []
    for row in leaders.rows:
        record = _leader_json(row) | {"ranked_by": leaders.ranked_by, "as_of": leaders.as_of}
        record |= _entry_json(row.cohort, row.first) or {}
        record["tags"] = " ".join(row.tags)
        for name, entry in zip(("fifth", "tenth"), row.places[1:], strict=True):
            place = _entry_json(row.cohort, entry) or {}
            record |= {f"{name}_{key}": place[key] for key in ("value", "latency_ns", "sol_score") if key in place}
        records.append(record)
    header = [name for name in CSV_HEADER if not name.endswith(_ENDINGS) or any(name in r for r in records)]
    return csv.render(header, [[record.get(name) for name in header] for record in records])


def to_grids(leaders: Leaders) -> list[Grid]:
    """A table per GPU and stack."""
    if not leaders.rows:
        return [Grid(("no cohort with runs is as asked for",), (), ())]
    groups = groupby(leaders.rows, key=lambda row: (row.cohort.gpu, row.cohort.stack, row.cohort.source))
    grids = []
    for (gpu, stack, _), found in groups:
        of_metric: dict[Metric | None, list[Leader]] = {}
        for row in found:
            of_metric.setdefault(row.cohort.metric, []).append(row)
        grids += [_grid(leaders, gpu, stack, metric, rows) for metric, rows in of_metric.items()]
    return grids


def _grid(leaders: Leaders, gpu: str, stack: str | None, metric: Metric | None, rows: list[Leader]) -> Grid:
    by_score = leaders.ranked_by == "sol-score"
    unit = "SOL" if by_score else unit_of(metric)
    scored, bounded = rows[0].cohort.has_scores, any(row.bounds for row in rows)
    has_cases = any(row.cohort.shape is not None for row in rows)
    stated = f" · stack {stack or 'not stated'}" if stack is not None or scored else ""
    order = leaders.ranked_by if by_score or metric is None else measure.described(metric)
    cohorts = "cohort" if has_cases else "definition"
    head = (
        f"{gpu}{stated} · {rows[0].cohort.source}",
        f"{counted(len(rows), cohorts)} · by {order}",
        f"each {competitor(rows[0].cohort)} by the best run · ages until {numbers.day(leaders.as_of)}",
    )
    facets = [*(["gap"] if bounded else []), *(["SOL"] if scored else [])]
    names = ("definition", *(["case"] if has_cases else []), f"1st {unit}", "by", "close", "5th", "10th", "authors")
    foot = ["close: shares the first place (=), within 5 % of it (≈)"]
    if bounded:
        foot = ["gap: the first's latency over the SOL bound; close: shares the first place (=), within 5 % of it (≈)"]
    foot += [f"{_OUTDATED} an earlier version of the definition"] if any(row.outdated for row in rows) else []
    return Grid(
        head,
        columns(
            *names,
            *("runs", "days", *facets, "id", "date"),
            left=["date", "close"],
            flexible=["definition", "by", *(["case"] if has_cases else []), *([] if scored else ["id"])],
            least=["date", "id", "SOL", "runs", "10th", "days", "5th"],
            narrowest={"definition": 28 if scored else 16, "by": 12},
        ),
        tuple(_row(row, by_score=by_score, has_cases=has_cases, facets=facets) for row in rows),
        tuple(foot),
    )


def competitor(cohort: Cohort) -> str:
    """Who is ranked by the best of several runs."""
    return "author" if cohort.by_author else "submission"


def unit_of(metric: Metric | None) -> str:
    """The unit of a column that spans many magnitudes: times are in µs."""
    return "µs" if metric is None or metric.unit in NS_PER else metric.unit.replace("_s", "/s").replace("_", " ")


def shown(metric: Metric | None, value: float) -> str:
    """A value in such a column."""
    ns = NS_PER.get(metric.unit) if metric else None
    return numbers.significant(value, measure.SIGNIFICANT) if ns is None else numbers.micros(value * ns)


def _row(row: Leader, *, by_score: bool, has_cases: bool, facets: list[str]) -> Row:
    def value(entry: Entry | None) -> str:
        if entry is None:
            return "–"
        return numbers.score(entry.sol_score) if by_score else shown(row.cohort.metric, entry.value)

    first, fifth, tenth = row.places
    close = [f"{count}{sign}" for count, sign in ((row.shared, "="), (row.near_ties, "≈")) if count]
    of_facets = {"gap": numbers.ratio(row.gap), "SOL": numbers.score(row.first.sol_score)}
    return Row(
        (
            f"{row.cohort.definition}{_OUTDATED * row.outdated}",
            *([row.cohort.shape or "suite"] if has_cases else []),
            value(first),
            named(row.first.author),
            " ".join(close),
            value(fifth),
            value(tenth),
            str(row.authors),
            str(row.runs),
            str(row.age_days),
            *(of_facets[name] for name in facets),
            row.first.submission,
            numbers.day(row.first.observed_at),
        )
    )


def authors_json(authors: Authors) -> dict[str, Any]:
    """The stable form for programs: counts of cohorts."""
    return {
        "policy": POLICY,
        "ranked_by": authors.ranked_by,
        "as_of": authors.as_of,
        "cohorts": authors.cohorts,
        "rows": [_author_json(row) | {"leads": list(row.leads)} for row in authors.rows],
    }


def _author_json(row: Author) -> dict[str, Any]:
    return {
        "author": row.name,
        "led": row.led,
        "alone": row.alone,
        "shared": row.shared,
        "near": row.near,
        "top_five": row.top_five,
        "entered": row.entered,
        "runs": row.runs,
    }


def authors_csv(authors: Authors) -> str:
    """One line per author."""
    return csv.render(AUTHORS_HEADER, [[_author_json(row)[name] for name in AUTHORS_HEADER] for row in authors.rows])


def authors_grids(authors: Authors) -> list[Grid]:
    """One table; its rows have counts, since figures of different cohorts have no mean."""
    head = (
        "Authors",
        f"{counted(authors.cohorts, 'cohort')} with runs · by {authors.ranked_by}, each author by the best run",
    )
    rows = tuple(_author_row(authors, row) for row in authors.rows)
    names = ("#", "author", "led", "alone", "shared", "≈", "top 5", "entered", "runs")
    foot = ("led, alone or shared: cohorts in first place; ≈: within 5 % of it; nothing is averaged over cohorts",)
    return [Grid(head, columns(*names, flexible=["author"]), rows, foot)]


def _author_row(authors: Authors, row: Author) -> Row:
    _, *counts = _author_json(row).values()
    return Row((_place(authors, row), named(row.name), *map(str, counts)))


def _place(authors: Authors, row: Author) -> str:
    """Dense, by the number of cohorts led."""
    counts = sorted({other.led for other in authors.rows}, reverse=True)
    tied = sum(other.led == row.led for other in authors.rows) > 1
    return f"{counts.index(row.led) + 1}{'=' * tied}"
