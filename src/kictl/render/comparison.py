"""A comparison as tables for people and as records for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kictl import rank
from kictl.bounds import BoundsFacts
from kictl.canonical import Digest
from kictl.catalogue.queries import Cohort
from kictl.comparability import EXCLUDED, WHY
from kictl.model import Score
from kictl.rank import POLICY, Ranked
from kictl.render import csv, measure, numbers
from kictl.render.grid import Grid, Row, columns
from kictl.text import counted, named
from kictl.workflow.comparing import Comparison, Table

UNLISTED = "†"
NEAR = "≈"

_HEADER = (
    *("definition", "source", "gpu", "stack", "shape", "metric", "statistic", "unit", "better", "comparison_key"),
    *("bounds_digest", "cases", "population", "ranked_by", "imported_at", "snapshot_digest", "rank", "submission"),
    *("author", "value", "latency_ns", "sol_score", "avg_speedup", "fast_1_count", "fast_1_total", "observed_at"),
    *("unlisted", "run_digest"),
)
_OPTIONAL = ("shape", "bounds_digest", "latency_ns", *Score._fields)
"""Columns that are left out where no table has them."""


def to_json(comparison: Comparison) -> dict[str, Any]:
    """The stable form for programs; numbers as the manifests and the source have them."""
    return {
        "definition": comparison.definition,
        "cohorts": [_cohort_json(table) for table in comparison.tables],
        "excluded": comparison.excluded,
        "apart": [[reason.code for reason in verdict.reasons] for verdict in comparison.apart],
    }


def _cohort_json(table: Table) -> dict[str, Any]:
    """What a source does not state, such as bounds, has no members."""
    return {
        **about_json(table.cohort, table.bounds),
        "population": table.population,
        "authors": table.authors,
        "ranked_by": table.order and table.order.name,
        "policy": POLICY,
        "rows": [row_json(table, ranked) for ranked in table.rows],
    }


def about_json(cohort: Cohort, bounds: BoundsFacts | None) -> dict[str, Any]:
    """What every record of a cohort says of it."""
    return {
        "source": cohort.source,
        "gpu": cohort.gpu,
        "stack": cohort.stack,
        "kernel": cohort.kernel_id,
        **(measure.metric_json(cohort.metric) or {}),
        "comparison_key": cohort.key,
        **({"cases": cohort.cases} if cohort.is_suite else {}),
        **({"shape": cohort.shape} if cohort.shape is not None else {}),
        **(cohort.serving._asdict() if cohort.serving else {}),
        **bounds_json(bounds),
    }


def bounds_json(bounds: BoundsFacts | None) -> dict[str, Any]:
    """The bounds of a cohort, nothing where it has none."""
    if bounds is None:
        return {}
    reference = {"sol_bound_ns": bounds.sol_bound_ns, "scoring_baseline_ns": bounds.scoring_baseline_ns}
    return {"bounds_digest": bounds.digest, "reference": reference}


def row_json(table: Table, ranked: Ranked) -> dict[str, Any]:
    """One ranked run for programs."""
    cohort = table.cohort
    return {"rank": ranked.rank, **measure.entry_json(cohort.metric, ranked.entry, scored=cohort.has_scores)}


def to_csv(comparison: Comparison) -> str:
    """One line per ranked row, with the facts of its cohort and of the import in front."""
    records = []
    for table in comparison.tables:
        cohort = _cohort_json(table) | {
            "definition": comparison.definition,
            "imported_at": table.origin and table.origin.at,
            "snapshot_digest": table.origin and table.origin.snapshot_digest,
        }
        records += [cohort | row_json(table, ranked) for ranked in table.rows]
    header = [name for name in _HEADER if name not in _OPTIONAL or any(name in record for record in records)]
    return csv.render(header, [[record.get(name) for name in header] for record in records])


def to_grids(comparison: Comparison, *, roomy: bool, dated: bool = False) -> list[Grid]:
    """A table per cohort; a `roomy` one has room for whole digests, a `dated` one says which import it is from."""
    excluded = excluded_lines(comparison.excluded, explain=comparison.explained)
    if not comparison.tables:
        return [Grid((comparison.definition, "no runs"), (), (), excluded)]
    grids = [_grid(comparison, table, roomy, dated) for table in comparison.tables]
    last = grids[-1]
    return [
        *grids[:-1],
        Grid(last.head, last.columns, last.rows, (*last.foot, *_apart(comparison), *excluded)),
    ]


def _grid(comparison: Comparison, table: Table, roomy: bool, dated: bool) -> Grid:
    scale = measure.Scale.of(table.cohort.metric, table.best)
    scored = ("SOL", "speedup", "faster") if table.cohort.has_scores else ()
    first = table.rows[0].entry.value if table.rows else None
    names = ("#", "author", "id", scale.name, "ratio", *scored, "date", "digest")
    bounds = table.bounds
    rows = [
        bounds and _reference("SOL bound", bounds.sol_bound_ns, first, scale, len(names)),
        *(_row(table, ranked, scale, 12 if roomy else 8) for ranked in table.rows),
        bounds and _reference("baseline", bounds.scoring_baseline_ns, first, scale, len(names)),
    ]
    return Grid(
        head=(*_head(comparison, table, roomy), *(_imported(table) if dated else ())),
        columns=columns(
            *names,
            flexible=["author", *(["id"] if not table.cohort.has_scores else [])],
            left=["date", "digest"],
            narrowest={"author": 14},
            least=["faster", "speedup", "digest", "date", "SOL"],
        ),
        rows=tuple(row for row in rows if row is not None),
        foot=notes(table),
    )


def _head(comparison: Comparison, table: Table, roomy: bool) -> tuple[str, ...]:
    cohort, bounds = table.cohort, table.bounds
    runs = f"{counted(table.population, 'run')} by {counted(table.authors, 'author')}"
    digests = [("cohort key" if cohort.serving else "comparison key", cohort.key)]
    digests += [("bounds", bounds.digest)] if bounds else []
    shown = [f"{name} {d if roomy else f'sha256:{Digest(d).short}…'}" for name, d in digests]
    return (
        comparison.definition,
        f"{cohort_title(cohort)} · {runs}",
        f"{cohort.source} · {table_order(table)}",
        *(shown if roomy else [" · ".join(shown)]),
    )


def cohort_title(cohort: Cohort) -> str:
    """A cohort for people: GPU, stack, what it was measured on. What its source does not state is not mentioned, but
    for the stack of SOL-ExecBench, without which its results may be from different ones."""
    parts = [cohort.gpu]
    if cohort.serving is not None:
        parts = [cohort.serving.topology, cohort.serving.quality, cohort.serving.protocol]
    elif cohort.stack is not None or cohort.has_scores:
        parts.append(f"stack {cohort.stack or 'not stated'}")
    if cohort.cases is not None:
        parts.append(counted(cohort.cases, "case"))
    elif cohort.shape is not None:
        parts.append(f"case {cohort.shape or 'without axes'}")
    return " · ".join(parts)


def table_order(table: Table) -> str:
    """What a table is ranked by, for its head."""
    if table.order is None:
        return f"not ranked: {measure.described(table.cohort.metric)}" if table.cohort.metric else "not ranked"
    return f"ranked by {measure.order_text(table.cohort.metric, table.order)}"


def _imported(table: Table) -> tuple[str, ...]:
    if (origin := table.origin) is None:
        return ()
    snapshot = f"snapshot {origin.snapshot_digest}" if origin.snapshot_digest else "an import that was not completed"
    return (f"imported from {origin.source} until {numbers.minute(origin.at)} UTC · {snapshot}",)


def _row(table: Table, ranked: Ranked, scale: measure.Scale, digest_length: int) -> Row:
    entry, order = ranked.entry, table.order
    ratio = order and rank.behind(
        entry.value, table.rows[0].entry.value, rank.order_of_value(table.cohort.metric, order)
    )
    return Row(
        (
            f"{ranked.rank}{'=' * ranked.tied}",
            named(entry.author),
            f"{entry.submission}{UNLISTED * entry.unlisted}",
            scale.show(entry.value),
            f"{NEAR * ranked.near}{numbers.ratio(ratio)}",
            *(score_cells(entry) if table.cohort.has_scores else ()),
            numbers.day(entry.observed_at),
            Digest(entry.run_digest).short[:digest_length],
        )
    )


def score_cells(entry: rank.Entry) -> tuple[str, str, str]:
    """What SOL-ExecBench alone says of a run: score, speedup, cases that are faster than the baseline."""
    score = entry.score or rank.NO_SCORE
    faster = "–" if score.fast_1_count is None else f"{score.fast_1_count}/{score.fast_1_total or '–'}"
    return numbers.score(score.sol_score), numbers.ratio(score.avg_speedup), faster


def _reference(name: str, ns: float | None, first: float | None, scale: measure.Scale, width: int) -> Row | None:
    if ns is None:
        return None
    ratio = numbers.ratio(None if first is None else rank.ratio(ns, first))
    return Row(("", name, "", scale.show(ns), ratio, *[""] * (width - 5)), reference=True)


def notes(table: Table) -> tuple[str, ...]:
    """What the signs in a table mean, and what is not in it."""
    lines = []
    if any(ranked.near for ranked in table.rows):
        lines.append(f"{NEAR} within 5 % of the rank above: inside the run-to-run noise")
    if any(ranked.entry.unlisted for ranked in table.rows):
        lines.append(f"{UNLISTED} no longer in the source's listing, which is capped")
    if table.cohort.stack is None and table.cohort.has_scores:
        lines.append("the source names no evaluation stack: these runs may come from different ones")
    if table.unscored:
        lines.append(f"{table.unscored} without the value that is ranked by")
    if table.unshown:
        lines.append(f"{table.unshown} more not shown")
    return tuple(lines)


def excluded_lines(excluded: Mapping[str, int], *, explain: bool = False) -> tuple[str, ...]:
    """What is not ranked, and what the reasons mean."""
    if not excluded:
        return ()
    line = "not ranked: " + ", ".join(f"{count} {reason}" for reason, count in excluded.items())
    meanings = (f"  {reason}: {EXCLUDED.get(reason.partition(':')[0], 'as the source says')}" for reason in excluded)
    return (line, *(meanings if explain else ()))


def _apart(comparison: Comparison) -> tuple[str, ...]:
    """Why the tables are not one."""
    lines = []
    for table, verdict in zip(comparison.tables[1:], comparison.apart, strict=False):
        cohort = table.cohort
        lines.append(f"{cohort_title(cohort)} is separate from the first table (A):")
        lines += [f"  {reason.message}; {WHY[reason.code]}" for reason in verdict.reasons]
    return tuple(lines)
