"""What imports came to: the list of them, and one in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kictl.catalogue.dossiers import ImportRow
from kictl.render import numbers
from kictl.render.grid import Grid, Row, columns
from kictl.text import counted, cut, printable

SHOWN = 10

_COUNTS = ("new", "unchanged", "changed", "restored")
_CHANGES = ("retracted", "unlisted", "relisted")


def event_json(event: ImportRow) -> dict[str, Any]:
    """An import without its report, but for the counts."""
    names = ("source", "origin", "selection", "version", "started_at", "finished_at", "snapshot_digest")
    counts = None if event.report is None else {name: event.report[name] for name in ("kernels", "received", "runs")}
    return (
        {"import": event.id}
        | {name: getattr(event, name) for name in names}
        | {"catalog_digest": event.catalog_digest, "counts": counts}
        | {name: event.report and event.report[name] for name in _CHANGES}
    )


def events_grid(events: Sequence[ImportRow]) -> Grid:
    """One line per import, oldest first."""
    names = columns(
        *("import", "started", "from", "kernels", "rows", *_COUNTS, *_CHANGES, "catalogue"),
        flexible=["from"],
        left=["started", "catalogue"],
        least=["catalogue", "relisted", "restored", "kernels"],
    )
    head = counted(len(events), "import")
    return Grid((head,), names, tuple(map(_event_row, events)))


def _event_row(event: ImportRow) -> Row:
    report = event.report
    counts = ("–",) * (2 + len(_COUNTS) + len(_CHANGES))
    if report is not None:
        runs = [report["runs"][name] for name in _COUNTS]
        values = [report["kernels"], report["received"], *runs, *(report[name] for name in _CHANGES)]
        counts = tuple(map(str, values))
    digest = (event.catalog_digest or "").removeprefix("sha256:")[:12]
    return Row(
        (
            str(event.id),
            numbers.minute(event.started_at),
            event.origin,
            *counts,
            digest if event.finished_at else "interrupted or running",
        )
    )


def summary(report: dict[str, Any]) -> str:
    """Every row accounted for: runs, skipped by reason, quarantined; then what was noticed."""
    runs = ", ".join(f"{count} {name}" for name, count in report["runs"].items() if count or name == "new")
    lines = [
        f"import {report['import']} of {report['source']} from {printable(report['origin'])}",
        f"  {report['kernels']} definitions, {report['received']} submissions received of {report['expected']} listed",
        f"  runs         {runs}",
    ]
    changes = ", ".join(f"{report[name]} {name}" for name in ("retracted", "unlisted", "relisted") if report[name])
    skipped = ", ".join(f"{count} {reason}" for reason, count in report["skipped"].items())
    lines += [f"  changes      {changes}"] if changes else []
    lines += [f"  skipped      {skipped}"] if skipped else []
    lines += [f"  quarantined  {report['quarantined_rows']}"] if report["quarantined_rows"] else []
    lines += _listed("not readable", [f"{item['where']}: {item['reason']}" for item in report["quarantined"]])
    lines += _listed("drift", [f"{d['what']} ×{d['count']}, e.g. {d['example']}" for d in report["drift"]])
    lines += _listed("warnings", report["warnings"])
    lines.append(f"  catalogue    {report['catalog_digest']}")
    return "\n".join(lines) + "\n"


def records_summary(report: dict[str, Any]) -> str:
    """Every row of the files accounted for, table by table; then the runs, and what was noticed."""
    tables = report["tables"]
    quarantined = sum(counts["quarantined"] for counts in tables.values())
    runs = ", ".join(f"{count} {name}" for name, count in report["runs"].items() if count or name == "new")
    lines = [
        f"import {report['import']} of {report['source']} from {printable(report['origin'])}",
        f"  {report['received']} rows read, {quarantined} of them quarantined; {report['kernels']} definitions",
        f"  runs         {runs}",
        *_listed("rows", [f"{table}: {_told(counts)}" for table, counts in tables.items()], most=len(tables)),
        *_listed(
            "quarantined", [f"{item['where']} {item['pointer']}: {item['reason']}" for item in report["quarantined"]]
        ),
        *_listed("warnings", report["warnings"]),
        f"  read         {report['snapshot_digest']}",
        f"  catalogue    {report['catalog_digest']}",
    ]
    return "\n".join(lines) + "\n"


def _told(counts: dict[str, int]) -> str:
    return f"{counts['kept']} kept" + (f", {counts['quarantined']} quarantined" if counts["quarantined"] else "")


def _listed(name: str, items: list[str], most: int = SHOWN) -> list[str]:
    if not items:
        return []
    more = [f"    … and {len(items) - most} more"] if len(items) > most else []
    return [f"  {name:12} {len(items)}", *(f"    {cut(printable(item), 200)}" for item in items[:most]), *more]
