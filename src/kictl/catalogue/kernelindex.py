"""The catalogue as KernelIndex exports one: a line per row of a table, with the row's digests and keys beside it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from kictl import cohort, comparability
from kictl.canonical import Digest
from kictl.catalogue.store import BY_DIGEST, Catalogue, wrapped
from kictl.model import Json, Manifest

TABLES: Final = (
    ("operations", "OperationSpec", "semanticDigest"),
    ("workloads", "WorkloadSuite", "workloadDigest"),
    ("workloads", "WorkloadCase", "workloadDigest"),
    ("projects", "SoftwareProject", None),
    ("implementations", "ImplementationRevision", "implementationDigest"),
    ("runs", "BenchmarkRun", "runDigest"),
)
"""Each table, the kind in it, and the column of its digest. Protocols and environments stand in the rows of runs."""

_REMEMBERED = 1024


def rows(catalogue: Catalogue) -> Iterator[Json]:
    """`{"table", "row"}`, table by table, by digest; what is referred to comes first.

    The row of a run holds a bundle, and `standing`: current, retracted or superseded.
    """
    with wrapped(catalogue.path):
        for table, kind, column in TABLES:
            if kind == "BenchmarkRun":
                yield from _runs(catalogue, table)
                continue
            for digest, body in catalogue.db.execute(
                "SELECT digest, body FROM manifest"
                f" WHERE kind_id = (SELECT id FROM kind WHERE name = ?) ORDER BY {BY_DIGEST}",
                (kind,),
            ):
                row = {} if column is None else {column: str(Digest.from_raw(digest))}
                yield {"table": table, "row": {**row, "manifest": catalogue.codec.unpack(body)}}


def _runs(catalogue: Catalogue, table: str) -> Iterator[Json]:
    find = lru_cache(maxsize=_REMEMBERED)(catalogue.find)
    for raw, body, standing in catalogue.db.execute(
        "SELECT m.digest, m.body, coalesce((SELECT s.standing FROM observation o JOIN submission s"
        " ON s.id = o.submission_id WHERE o.run_id = m.id AND s.run_id = m.id LIMIT 1), 'superseded')"
        " FROM manifest m WHERE m.kind_id = (SELECT id FROM kind WHERE name = 'BenchmarkRun')"
        f" ORDER BY {BY_DIGEST}"
    ):
        run = Manifest(Digest.from_raw(raw), catalogue.codec.unpack(body))
        beside = {name: find(Digest(run.spec[f"{name}Digest"])) for name in ("protocol", "environment")}
        bundle = {"run": run.document, **{name: found.document for name, found in beside.items() if found}}
        references = ("implementation", "workload", "protocol", "environment")
        row = {
            "runDigest": str(run.digest),
            **{f"{name}Digest": run.spec[f"{name}Digest"] for name in references},
            **_keys(run.spec, find(Digest(run.spec["workloadDigest"]))),
            "standing": standing,
            "manifest": bundle,
        }
        yield {"table": table, "row": row}


def _keys(run: Json, workload: Manifest | None) -> Json:
    if workload is None:
        return {}
    correctness = {"correctnessKey": cohort.correctness_key(workload.spec["correctness"])}
    if "timing" not in run:
        return correctness
    metric = f"latency:{run['timing']['primaryStatistic']}:ns"
    return {"comparisonKey": comparability.run_key(run, workload, metric), **correctness}
