"""Compare runs, wherever they come from: what differs, whether they may be compared, and then by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from kictl import canonical, comparability, rank, schemas
from kictl import cohort as cohorts
from kictl.bounds import BoundsFacts
from kictl.canonical import Digest
from kictl.catalogue import queries
from kictl.catalogue.queries import Cohort
from kictl.catalogue.store import Catalogue
from kictl.cohort import Metric
from kictl.comparability import Facts, Reason, Verdict
from kictl.errors import InputError, UsageError
from kictl.files import read_bytes
from kictl.model import Json, Manifest
from kictl.workflow import dossier, naming
from kictl.workflow.dossier import Dossier

AT_LEAST, AT_MOST = 2, 8

_SUFFIXES = (".json", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run to compare, as it was named. `dossier` is None for one that came from a file and is not in the catalogue.

    `value` is the primary measurement in the unit of `metric`, None where there is none. `added` says that it was not
    named: it is the first of the others' cohort.
    """

    name: str
    digest: Digest
    run: Json
    decides: Facts
    cohort: Cohort | None
    dossier: Dossier | None
    author: str | None
    metric: Metric | None
    value: float | None
    added: bool = False

    @property
    def metrics(self) -> dict[str, Any]:
        """What the source says of the run, beside its latency."""
        metrics: dict[str, Any] = self.run.get("sourceNative", {}).get("metrics", {})
        return metrics


@dataclass(frozen=True, slots=True)
class Measured:
    """How one run compares with the best of them. `ratio` says how many times worse it is, in either direction.

    `closed` is the share of the way from the scoring baseline to the bound that its latency has gone: 0 at the
    baseline, 1 at the bound; None without bounds. `rank` is its place in its cohort; None where it takes none.
    """

    value: float
    ratio: float | None
    difference: float
    closed: float | None
    rank: int | None
    tied: bool


@dataclass(frozen=True, slots=True)
class Pairing:
    """Runs side by side. `measured` has an item per run where they may be compared, else none.

    `bounds` are the present ones of the definition, by which gaps are measured.
    """

    runs: tuple[Candidate, ...]
    verdict: Verdict
    measured: tuple[Measured, ...]
    bounds: BoundsFacts | None


def pair(catalogue: Catalogue | None, names: Sequence[str], stdin: IO[bytes], *, with_best: bool = False) -> Pairing:
    """The runs of these names compared with each other. `with_best` adds the first of the first run's cohort.

    A name is a file if it has a path's or a manifest's form and exists, or is `-`; else what `naming.run` says.
    Raises UsageError for a name without meaning, or too few or too many; InputError for a file that is no run.
    """
    runs = [candidate(catalogue, name, stdin) for name in names]
    if with_best and catalogue is not None and (best := _best(catalogue, runs)) is not None:
        runs.append(best)
    if not AT_LEAST - with_best <= len(names) <= AT_MOST or len(runs) > AT_MOST:
        raise UsageError(f"{len(names)} runs are given; {AT_LEAST} to {AT_MOST} can be compared", code="run_count")
    verdict = comparability.verdict([run.decides for run in runs])
    caveats = (*_remarks(runs), *verdict.caveats)
    bounds = _bounds(catalogue, runs)
    measured = _measured(runs, bounds) if verdict.comparable else ()
    return Pairing(tuple(runs), Verdict(verdict.reasons, caveats), measured, bounds)


def is_file(name: str) -> bool:
    """Whether a name on the command line is meant as a file."""
    if name == "-":
        return True
    return (name.lower().endswith(_SUFFIXES) or name.startswith(("/", "./", "../"))) and not name.startswith(
        tuple(f"{kind}/" for kind in naming.KINDS)
    )


def candidate(catalogue: Catalogue | None, name: str, stdin: IO[bytes]) -> Candidate:
    """The run that a name means, in a file or in the catalogue."""
    if is_file(name):
        return _from_file(catalogue, name, read_bytes(name, stdin))
    if catalogue is None:
        raise UsageError(f"{name!r} is no file, and there is no catalogue to look it up in", code="no_catalogue")
    return _from_dossier(name, dossier.dossier(catalogue, name))


def _from_dossier(name: str, found: Dossier, *, added: bool = False) -> Candidate:
    return Candidate(
        name,
        found.run.digest,
        found.run.spec,
        found.decides,
        found.cohort,
        found,
        found.row.author,
        found.metric,
        found.entry and found.entry.value,
        added,
    )


def _from_file(catalogue: Catalogue | None, name: str, data: bytes) -> Candidate:
    try:
        manifests = _manifests(_read(name, data))
    except InputError as error:
        raise InputError(f"{name}: {error}", code=error.code) from error
    run = manifests["run"]
    if catalogue is not None and (row := naming.known_run(catalogue, run.digest)) is not None:
        return _from_dossier(name, dossier.of_run(catalogue, row))
    spec = run.spec
    measured = cohorts.primary(spec)
    decides = comparability.facts(
        spec,
        workload=_referred(catalogue, spec["workloadDigest"]),
        protocol=manifests.get("protocol") or _referred(catalogue, spec["protocolDigest"]),
        environment=manifests.get("environment") or _referred(catalogue, spec["environmentDigest"]),
    )
    cohort = dossier.cohort_of(catalogue, decides) if catalogue is not None else None
    return Candidate(
        name, run.digest, spec, decides, cohort, None, None, measured and measured.metric, measured and measured.value
    )


def _read(name: str, data: bytes) -> Any:
    if Path(name).suffix.lower() in (".yaml", ".yml"):
        from kictl import documents

        return documents.read_yaml(data)
    return canonical.read(data)


def _manifests(document: Any) -> dict[str, Manifest]:
    """A run, or the run, protocol and environment of a bundle, all of sound form and fitting each other."""
    is_bundle = isinstance(document, dict) and "run" in document and "kind" not in document
    kind = "Bundle" if is_bundle else "BenchmarkRun"
    if not schemas.is_valid(kind, document):
        first = schemas.violations(kind, document)[0]
        raise InputError(f"not a valid {kind}: {first.pointer or '/'}: {first.message}", code="not_a_run")
    parts = document if is_bundle else {"run": document}
    manifests = {part: Manifest(canonical.identity(body), body) for part, body in parts.items()}
    for part in ("protocol", "environment"):
        if is_bundle and manifests[part].digest != manifests["run"].spec[f"{part}Digest"]:
            raise InputError(f"the bundle's {part} is not the one that its run refers to", code="bundle_mismatch")
    return manifests


def _referred(catalogue: Catalogue | None, digest: str) -> Manifest | None:
    return None if catalogue is None else catalogue.find(Digest(digest))


def _best(catalogue: Catalogue, runs: Sequence[Candidate]) -> Candidate | None:
    """The first of the first run's cohort, unless it is among the runs already."""
    cohort = next((run.cohort for run in runs), None)
    if cohort is None:
        raise UsageError("the catalogue does not hold the cohort of the first run", code="unknown_cohort")
    order = cohort.metric and rank.order_of(cohort.metric)
    ranked = rank.rank(queries.entries(catalogue, cohort.id), order) if order else []
    first = ranked[0].entry if ranked else None
    if first is None or first.run_digest in {run.digest for run in runs}:
        return None
    return _from_dossier(first.submission, dossier.dossier(catalogue, f"run/{first.run_digest}"), added=True)


def _remarks(runs: Sequence[Candidate]) -> list[Reason]:
    """What is to be known of a comparison, though it does not forbid it."""
    digests = [str(run.digest) for run in runs]
    submissions = [run.run.get("sourceNative", {}).get("externalId") for run in runs]
    standings = [run.dossier.row.standing if run.dossier else None for run in runs]
    found = []
    if len(set(digests)) < len(digests):
        found.append(Reason("same-run", "the same run is given more than once", tuple(digests)))
    elif len(set(submissions) - {None}) < len([s for s in submissions if s is not None]):
        found.append(Reason("same-submission", "two runs are of one submission", tuple(submissions)))
    if any(standing not in ("current", None) for standing in standings):
        message = f"not every run is current: {comparability.spread([s or 'from a file' for s in standings])}"
        found.append(Reason("not-current", message, tuple(standings)))
    present = [run.dossier.bounds if run.dossier else None for run in runs]
    moved = [
        bounds.digest if bounds and bounds.digest != run.decides.bounds else None
        for run, bounds in zip(runs, present, strict=True)
    ]
    if any(moved):
        now = [f"now {digest[:19]}…" if digest else "as they were" for digest in moved]
        message = f"the bounds have moved since the source scored: {comparability.spread(now)}"
        found.append(Reason("moved-bounds", message, tuple(moved)))
    return found


def _bounds(catalogue: Catalogue | None, runs: Sequence[Candidate]) -> BoundsFacts | None:
    cohort = next((run.cohort for run in runs if run.cohort), None)
    if catalogue is None or cohort is None:
        return None
    bounds = queries.bounds(catalogue, cohort.definition_id) if cohort.is_suite else None
    return bounds and BoundsFacts.of(bounds)


def _measured(runs: Sequence[Candidate], bounds: BoundsFacts | None) -> tuple[Measured, ...]:
    values = [run.value for run in runs if run.value is not None]
    order = runs[0].metric and rank.order_of(runs[0].metric)
    if order is None or len(values) < len(runs):
        return ()
    best = min(values) if order.better == "lower" else max(values)
    return tuple(
        Measured(
            value,
            rank.behind(value, best, order),
            abs(value - best),
            _closed(value, bounds),
            run.dossier.placing.rank if run.dossier and run.dossier.placing else None,
            bool(run.dossier and run.dossier.placing and run.dossier.placing.tied),
        )
        for run, value in zip(runs, values, strict=True)
    )


def _closed(ns: float, bounds: BoundsFacts | None) -> float | None:
    if bounds is None or bounds.sol_bound_ns is None or bounds.scoring_baseline_ns is None:
        return None
    way = bounds.scoring_baseline_ns - bounds.sol_bound_ns
    return (bounds.scoring_baseline_ns - ns) / way if way > 0 else None
