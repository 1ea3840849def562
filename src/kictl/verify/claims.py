"""Rules of the digest group, and of bundles: what is claimed of a manifest's digest by what stands around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kictl.model import Json
from kictl.schemas import show
from kictl.verify.records import REFERENCES_OF
from kictl.verify.registry import Problem, declare

EXPECTED = declare(
    "digest/expected", "error", "The manifest is not the one that was asked for.", "--expect with another digest"
)
COLUMN = declare(
    "digest/column", "error", "What a line claims as digest is recomputed.", "a catalogue row whose runDigest differs"
)
LINE_KIND = declare("schema/line-kind", "error", "A line must not call a manifest another kind.", 'kind "BenchmarkRun"')
BUNDLE = declare(
    "reference/bundle",
    "error",
    "In a bundle the run must refer to the very protocol and environment beside it.",
    "run.spec.protocolDigest of another protocol",
)

OWN_COLUMN = {
    "OperationSpec": "semanticDigest",
    "WorkloadCase": "workloadDigest",
    "WorkloadSuite": "workloadDigest",
    "ImplementationRevision": "implementationDigest",
    "BenchmarkProtocol": "protocolDigest",
    "ExecutionEnvironment": "environmentDigest",
    "BenchmarkRun": "runDigest",
    "ModelRevision": "modelDigest",
    "ServingStackRevision": "stackDigest",
    "ServingConfiguration": "configurationDigest",
    "ServingWorkload": "workloadDigest",
    "ServingRun": "runDigest",
}
"""The column of a catalogue row that claims the digest of the row's own manifest."""


def expected(digest: str, claim: str) -> Problem:
    """A manifest with another digest than `--expect` says."""
    return Problem(EXPECTED, "", f"expected {claim}, got {digest}", claim, digest)


def column(pointer: str, digest: str | None, claimed: Any) -> Problem:
    """A place beside a manifest that should hold its digest and holds something else."""
    return _mismatch(COLUMN, pointer, digest, claimed)


_REFERENCE_COLUMNS = {
    kind: tuple(path[0] for _, path, _ in REFERENCES_OF.get(kind, ()) if len(path) == 1 and path[0] != own)
    for kind, own in OWN_COLUMN.items()
}
"""Columns that say again what a manifest's spec says under the same name."""


def columns(manifest: Json, digest: str, row: Json) -> list[Problem]:
    """Digests beside a manifest in its row: its own, and those that it refers to under the same name."""
    kind, spec = manifest["kind"], manifest["spec"]
    own = OWN_COLUMN.get(kind) if isinstance(kind, str) else None
    if own is None:
        return []
    problems = []
    claimed = row.get(own)
    if claimed is not None and claimed != digest:
        problems.append(_mismatch(COLUMN, f"/{own}", digest, claimed))
    for name in _REFERENCE_COLUMNS[kind] if isinstance(spec, dict) else ():
        claimed = row.get(name)
        if claimed is not None and claimed != spec.get(name, claimed):
            problems.append(_mismatch(COLUMN, f"/{name}", spec[name], claimed))
    return problems


def bundled(run: Json, beside: Mapping[str, str | None]) -> Iterator[Problem]:
    """References of a run that are not the digests of what stands beside it; by name, None where that has none."""
    spec = run["spec"]
    for name, digest in beside.items():
        if digest is not None and isinstance(spec, dict) and name in spec and spec[name] != digest:
            yield _mismatch(BUNDLE, f"/spec/{name}", digest, spec[name])


def line_kind(kind: Any, claimed: Any) -> Problem:
    """A line that calls its manifest another kind."""
    message = f"the line says {show(claimed)}, the manifest {show(kind)}"
    return Problem(LINE_KIND, "/kind", message, show(kind), show(claimed))


def _mismatch(rule: str, pointer: str, digest: Any, claimed: Any) -> Problem:
    expected, got = (str(value) if isinstance(value, str) else show(value) for value in (digest, claimed))
    return Problem(rule, pointer, f"expected {expected}, got {got}", expected, got)
