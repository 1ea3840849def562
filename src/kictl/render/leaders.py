"""Leaders and authors, as tables for people and as records for programs."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from kictl.rank import POLICY, Entry
from kictl.render import csv, numbers
from kictl.render.grid import Grid, Row, columns
from kictl.text import counted, named
from kictl.workflow.leaders import PLACES, Author, Authors, Leader, Leaders

_OUTDATED = "‡"

CSV_HEADER = (
    *("definition", "gpu", "stack", "comparison_key", "bounds_digest", "outdated", "ranked_by", "as_of"),
    *("runs", "authors", "submission", "author", "latency_ns", "sol_score", "observed_at", "age_days"),
    *("shared", "near_ties", "sol_bound_ns", "gap", "fifth_latency_ns", "fifth_sol_score"),
    *("tenth_latency_ns", "tenth_sol_score", "tags", "run_digest"),
)
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
    cohort = row.cohort
    return {
        "definition": cohort.definition,
        "kernel": cohort.kernel,
        "gpu": cohort.gpu,
        "stack": cohort.stack,
        "comparison_key": cohort.comparison_key,
        "bounds_digest": row.bounds.digest,
        "outdated": row.outdated,
        "tags": list(row.tags),
        "runs": row.runs,
        "authors": row.authors,
        "places": {str(place): _entry_json(entry) for place, entry in zip(PLACES, row.places, strict=True)},
        "shared": row.shared,
        "near_ties": row.near_ties,
        "age_days": row.age_days,
        "sol_bound_ns": row.bounds.sol_bound_ns,
        "gap": row.gap,
    }


def _entry_json(entry: Entry | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    return {
        "submission": entry.submission,
        "author": entry.author,
        "latency_ns": entry.latency_ns,
        "sol_score": entry.sol_score,
        "observed_at": entry.observed_at,
        "run_digest": entry.run_digest,
    }


def to_csv(leaders: Leaders) -> str:
    """One line per cohort."""
    rows = []
    for row in leaders.rows:
        record = _leader_json(row) | {"ranked_by": leaders.ranked_by, "as_of": leaders.as_of}
        record |= _entry_json(row.first) or {}
        record["tags"] = " ".join(row.tags)
        for name, entry in zip(("fifth", "tenth"), row.places[1:], strict=True):
            record |= {f"{name}_latency_ns": entry and entry.latency_ns, f"{name}_sol_score": entry and entry.sol_score}
        rows.append([record[name] for name in CSV_HEADER])
    return csv.render(CSV_HEADER, rows)


def to_grids(leaders: Leaders) -> list[Grid]:
    """A table per GPU and stack."""
    if not leaders.rows:
        return [Grid(("no cohort with runs is as asked for",), (), ())]
    groups = groupby(leaders.rows, key=lambda row: (row.cohort.gpu, row.cohort.stack))
    return [_grid(leaders, gpu, stack, list(rows)) for (gpu, stack), rows in groups]


def _grid(leaders: Leaders, gpu: str, stack: str | None, rows: list[Leader]) -> Grid:
    by_score = leaders.ranked_by == "sol-score"
    unit = "SOL" if by_score else "µs"
    head = (
        f"{gpu} · stack {stack or 'not stated'}",
        f"{counted(len(rows), 'definition')} · by {leaders.ranked_by}, each author by the best run"
        f" · ages until {numbers.day(leaders.as_of)}",
    )
    names = (
        *("definition", f"1st {unit}", "by", "close", "5th", "10th", "authors", "runs", "days", "gap", "SOL"),
        *("id", "date"),
    )
    foot = ["gap: the first's latency over the SOL bound; close: shares the first place (=), within 5 % of it (≈)"]
    foot += [f"{_OUTDATED} an earlier version of the definition"] if any(row.outdated for row in rows) else []
    return Grid(
        head,
        columns(
            *names,
            left=["date", "close"],
            flexible=["definition", "by"],
            least=["date", "id", "SOL", "runs", "10th", "days", "5th"],
            narrowest={"definition": 28, "by": 12},
        ),
        tuple(_row(row, by_score=by_score) for row in rows),
        tuple(foot),
    )


def _row(row: Leader, *, by_score: bool) -> Row:
    def value(entry: Entry | None) -> str:
        if entry is None:
            return "–"
        return numbers.score(entry.sol_score) if by_score else numbers.micros(entry.latency_ns)

    first, fifth, tenth = row.places
    close = [f"{count}{sign}" for count, sign in ((row.shared, "="), (row.near_ties, "≈")) if count]
    return Row(
        (
            f"{row.cohort.definition}{_OUTDATED * row.outdated}",
            value(first),
            named(row.first.author),
            " ".join(close),
            value(fifth),
            value(tenth),
            str(row.authors),
            str(row.runs),
            str(row.age_days),
            numbers.ratio(row.gap),
            numbers.score(row.first.sol_score),
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
