"""What an import came to, added up from what it committed: resumed or not, the sum is the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from kictl.canonical import Digest
from kictl.catalogue.store import Catalogue, decoded
from kictl.sources.interface import Drift
from kictl.sources.recording import snapshot_digest

RUNS = ("new", "unchanged", "changed", "restored")
CHANGES = ("retracted", "unlisted", "relisted")
SHOWN = 5


def import_report(catalogue: Catalogue, import_id: int) -> dict[str, Any]:
    """The report of an import, as `import --json` prints it.

    `received` is the number of distinct rows read: the sum of `runs`, `skipped` and `quarantined_rows`, which are those
    of `quarantined` that came in a listing of submissions. `expected` is the sum of what the listings claimed.
    """
    db = catalogue.db
    source, origin, words = db.execute(
        "SELECT source, origin, selection FROM import WHERE id = ?", (import_id,)
    ).fetchone()
    selection = decoded(words)
    is_whole = bool(selection) and not (selection.get("definitions") or selection.get("tags"))
    readings = db.execute(
        "SELECT definition_external_id, expected, announced, received, problem, counts FROM reading"
        " WHERE import_id = ?",
        (import_id,),
    ).fetchall()
    counts: Counter[str] = Counter()
    for reading in readings:
        counts.update(decoded(reading[5]))
    drift = [
        {"what": row[0], "count": row[1], "example": row[2]}
        for row in db.execute("SELECT what, count, example FROM drift WHERE import_id = ?", (import_id,))
    ]
    bodies = db.execute("SELECT name, digest FROM body WHERE import_id = ?", (import_id,))
    return {
        "import": import_id,
        "source": source,
        "origin": origin,
        "kernels": len(readings),
        "expected": sum(reading[1] or 0 for reading in readings),
        "received": sum(reading[3] for reading in readings),
        "runs": {name: counts[name] for name in RUNS},
        **{name: counts[name] for name in CHANGES},
        "skipped": {
            name.removeprefix("skipped:"): count
            for name, count in sorted(counts.items())
            if name.startswith("skipped:")
        },
        "quarantined_rows": counts["quarantined"],
        "quarantined": _quarantined(catalogue, import_id),
        "drift": drift,
        "warnings": [
            *_warnings(readings),
            *_unknown_gpus(drift),
            *(_missing(catalogue, import_id, source) if is_whole else []),
        ],
        "snapshot_digest": snapshot_digest((name, Digest.from_raw(raw)) for name, raw in bodies),
        "catalog_digest": catalogue.digest(),
    }


def records_report(
    catalogue: Catalogue, import_id: int, digest: Digest, other_editions: Sequence[Digest]
) -> dict[str, Any]:
    """The report of an import of files of records: as `import_report`, and `tables`, which counts the rows of each.

    `received` is the number of rows read: the sum of all counts in `tables`. `snapshot_digest` is that of the bytes
    that were read.
    """
    report = import_report(catalogue, import_id)
    rows = catalogue.db.execute("SELECT counts FROM reading WHERE import_id = ?", (import_id,))
    tables: dict[str, dict[str, int]] = {}
    for (counts,) in rows:
        for name, count in decoded(counts).items():
            table, slash, what = name.partition("/")
            if slash:
                kept = tables.setdefault(table, {"kept": 0, "quarantined": 0})
                kept[what] += count
    notes = [f"{len(other_editions)} manifests have other metadata here than in the catalogue, which keeps its own"]
    report["warnings"] += notes if other_editions else []
    defined = "SELECT count(*) FROM reading WHERE import_id = ? AND definition_id IS NOT NULL"
    return {
        **report,
        "kernels": catalogue.db.execute(defined, (import_id,)).fetchone()[0],
        "expected": report["received"],
        "tables": dict(sorted(tables.items())),
        "other_editions": [str(digest) for digest in other_editions[:SHOWN]],
        "snapshot_digest": str(digest),
    }


def _quarantined(catalogue: Catalogue, import_id: int) -> list[dict[str, Any]]:
    rows = catalogue.db.execute(
        "SELECT place, external_id, pointer, reason FROM quarantine WHERE import_id = ? ORDER BY id",
        (import_id,),
    )
    return [{"where": r[0], "submission": r[1], "pointer": r[2], "reason": r[3]} for r in rows]


def _warnings(readings: list[tuple[Any, ...]]) -> list[str]:
    """Nothing to read, fewer rows than were claimed, and listings that could not be read to their end without a gap."""
    claims = [
        (name, max(expected or 0, announced or 0), received) for name, expected, announced, received, *_ in readings
    ]
    short = [f"kernel {name}: {received} of {claimed}" for name, claimed, received in claims if received < claimed]
    gaps = [f"kernel {name}: {problem}" for name, *_, problem, _ in readings if problem is not None]
    return [
        *([] if readings else ["the source lists no definition that can be read"]),
        *_warning(short, "fewer submissions received than the source claims"),
        *_warning(gaps, "listing not known to be read to its end, so that absent rows are not marked unlisted"),
    ]


def _unknown_gpus(drift: list[dict[str, Any]]) -> list[str]:
    names = [d["what"].partition(" ")[2] for d in drift if d["what"].startswith(f"{Drift.UNKNOWN_GPU} ")]
    return _warning(names, 'GPUs that are not known, recorded with the architecture "unknown"')


def _missing(catalogue: Catalogue, import_id: int, source: str) -> list[str]:
    rows = catalogue.db.execute(
        "SELECT name FROM definition WHERE source = ? AND id NOT IN"
        " (SELECT definition_id FROM reading WHERE import_id = ? AND definition_id IS NOT NULL) ORDER BY name",
        (source, import_id),
    )
    return _warning([name for (name,) in rows], "definitions that the source no longer lists")


def _warning(items: list[str], what: str) -> list[str]:
    if not items:
        return []
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return [f"{what}: {', '.join(items[:SHOWN])}{more}"]
