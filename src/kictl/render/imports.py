"""What an import came to, in words."""

from __future__ import annotations

from typing import Any

from kictl.text import cut, printable

SHOWN = 10


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


def _listed(name: str, items: list[str]) -> list[str]:
    if not items:
        return []
    more = [f"    … and {len(items) - SHOWN} more"] if len(items) > SHOWN else []
    return [f"  {name:12} {len(items)}", *(f"    {cut(printable(item), 200)}" for item in items[:SHOWN]), *more]
