"""A comparison as tables for people and as records for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kictl import rank
from kictl.canonical import Digest
from kictl.comparability import EXCLUDED, WHY
from kictl.rank import POLICY, Ranked
from kictl.render import csv, numbers
from kictl.render.grid import Grid, Row, columns
from kictl.text import counted, named
from kictl.workflow.comparing import Comparison, Table

UNLISTED = "†"
NEAR = "≈"

CSV_HEADER = (
    "definition",
    "gpu",
    "stack",
    "comparison_key",
    "bounds_digest",
    "cases",
    "population",
    "ranked_by",
    "imported_at",
    "snapshot_digest",
    "rank",
    "submission",
    "author",
    "latency_ns",
    "sol_score",
    "avg_speedup",
    "fast_1_count",
    "fast_1_total",
    "observed_at",
    "unlisted",
    "run_digest",
)


def to_json(comparison: Comparison) -> dict[str, Any]:
    """The stable form for programs; numbers as the manifests and the source have them."""
    return {
        "definition": comparison.definition,
        "cohorts": [_cohort_json(table, comparison.ranked_by) for table in comparison.tables],
        "excluded": comparison.excluded,
        "apart": [[reason.code for reason in verdict.reasons] for verdict in comparison.apart],
    }


def _cohort_json(table: Table, ranked_by: str) -> dict[str, Any]:
    cohort = table.cohort
    return {
        "gpu": cohort.gpu,
        "stack": cohort.stack,
        "kernel": cohort.kernel,
        "comparison_key": cohort.comparison_key,
        "bounds_digest": table.bounds.digest,
        "cases": cohort.cases,
        "population": table.population,
        "authors": table.authors,
        "ranked_by": ranked_by,
        "policy": POLICY,
        "reference": {
            "sol_bound_ns": table.bounds.sol_bound_ns,
            "scoring_baseline_ns": table.bounds.scoring_baseline_ns,
        },
        "rows": [row_json(ranked) for ranked in table.rows],
    }


def row_json(ranked: Ranked) -> dict[str, Any]:
    """One ranked run for programs."""
    entry = ranked.entry
    return {
        "rank": ranked.rank,
        "submission": entry.submission,
        "author": entry.author,
        "latency_ns": entry.latency_ns,
        "sol_score": entry.sol_score,
        "avg_speedup": entry.avg_speedup,
        "fast_1_count": entry.fast_1_count,
        "fast_1_total": entry.fast_1_total,
        "observed_at": entry.observed_at,
        "unlisted": entry.unlisted,
        "run_digest": entry.run_digest,
    }


def to_csv(comparison: Comparison) -> str:
    """One line per ranked row, with the facts of its cohort and of the import in front."""
    rows = []
    for table in comparison.tables:
        cohort = _cohort_json(table, comparison.ranked_by) | {
            "definition": comparison.definition,
            "imported_at": table.origin and table.origin.at,
            "snapshot_digest": table.origin and table.origin.snapshot_digest,
        }
        rows += [[(cohort | row_json(ranked))[name] for name in CSV_HEADER] for ranked in table.rows]
    return csv.render(CSV_HEADER, rows)


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
    unit = numbers.unit_for(table.best_ns)
    first = table.rows[0].entry.latency_ns if table.rows else None
    names = ("#", "author", "id", f"{unit.name}", "ratio", "SOL", "speedup", "faster", "date", "digest")
    rows = [
        _reference("SOL bound", table.bounds.sol_bound_ns, first, unit),
        *(_row(ranked, first, unit, 12 if roomy else 8) for ranked in table.rows),
        _reference("baseline", table.bounds.scoring_baseline_ns, first, unit),
    ]
    return Grid(
        head=(*_head(comparison, table, roomy), *(_imported(table) if dated else ())),
        columns=columns(
            *names,
            flexible=["author"],
            left=["date", "digest"],
            narrowest={"author": 14},
            least=["faster", "speedup", "digest", "date", "SOL"],
        ),
        rows=tuple(row for row in rows if row is not None),
        foot=notes(table),
    )


def _head(comparison: Comparison, table: Table, roomy: bool) -> tuple[str, ...]:
    cohort = table.cohort
    key, bounds = (
        str(d) if roomy else f"sha256:{Digest(d).short}…" for d in (cohort.comparison_key, table.bounds.digest)
    )
    runs = f"{counted(table.population, 'run')} by {counted(table.authors, 'author')}"
    joint = "\n" if roomy else " · "
    digests = f"comparison key {key}{joint}bounds {bounds}"
    stack = cohort.stack or "not stated"
    cases = counted(cohort.cases, "case")
    return (
        comparison.definition,
        f"{cohort.gpu} · stack {stack} · {cases} · {runs} · by {comparison.ranked_by}",
        *digests.split("\n"),
    )


def _imported(table: Table) -> tuple[str, ...]:
    if (origin := table.origin) is None:
        return ()
    snapshot = f"snapshot {origin.snapshot_digest}" if origin.snapshot_digest else "an import that was not completed"
    return (f"imported from {origin.source} until {numbers.minute(origin.at)} UTC · {snapshot}",)


def _row(ranked: Ranked, first: int | None, unit: numbers.Unit, digest_length: int) -> Row:
    entry = ranked.entry
    ratio = None if first is None else rank.ratio(entry.latency_ns, first)
    faster = "–" if entry.fast_1_count is None else f"{entry.fast_1_count}/{entry.fast_1_total or '–'}"
    return Row(
        (
            f"{ranked.rank}{'=' * ranked.tied}",
            named(entry.author),
            f"{entry.submission}{UNLISTED * entry.unlisted}",
            unit.show(entry.latency_ns),
            f"{NEAR * ranked.near}{numbers.ratio(ratio)}",
            numbers.score(entry.sol_score),
            numbers.ratio(entry.avg_speedup),
            faster,
            numbers.day(entry.observed_at),
            Digest(entry.run_digest).short[:digest_length],
        )
    )


def _reference(name: str, ns: float | None, first: int | None, unit: numbers.Unit) -> Row | None:
    if ns is None:
        return None
    ratio = numbers.ratio(None if first is None else rank.ratio(ns, first))
    return Row(("", name, "", unit.show(ns), ratio, "", "", "", "", ""), reference=True)


def notes(table: Table) -> tuple[str, ...]:
    """What the signs in a table mean, and what is not in it."""
    lines = []
    if any(ranked.near for ranked in table.rows):
        lines.append(f"{NEAR} within 5 % of the rank above: inside the portal's run-to-run noise")
    if any(ranked.entry.unlisted for ranked in table.rows):
        lines.append(f"{UNLISTED} no longer in the source's listing, which is capped")
    if table.cohort.stack is None:
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
        lines.append(f"{cohort.gpu} · stack {cohort.stack or 'not stated'} is apart from the first table (A):")
        lines += [f"  {reason.message}; {WHY[reason.code]}" for reason in verdict.reasons]
    return tuple(lines)
