"""The dossier: all that the catalogue knows about one run, in the order a reader asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kictl import canonical, comparability, rank
from kictl.bounds import BoundsFacts
from kictl.canonical import Digest
from kictl.catalogue import dossiers, queries
from kictl.catalogue.beside import CatalogueContext
from kictl.catalogue.dossiers import BoundsVersion, NoteRow, ObservationRow, RunRow, SubmissionRow
from kictl.catalogue.queries import Cohort
from kictl.catalogue.store import Catalogue
from kictl.comparability import Facts
from kictl.documents import Document
from kictl.model import Finding, Json, Manifest
from kictl.normalize import leaderboard
from kictl.rank import Entry
from kictl.verify import verify
from kictl.workflow import naming


@dataclass(frozen=True, slots=True)
class Placing:
    """Where a run stands in its cohort: among all its runs, and its author among all authors (each by the best run).

    `best` is None where the run is its author's best, else the entry that is. `to_next` is the relative difference to
    the next faster run, None for the first and beside a latency of 0; `near` says that it is within the portal's noise.
    """

    rank: int
    runs: int
    tied: bool
    near: bool
    author_rank: int
    authors: int
    best: Entry | None
    first: Entry
    ratio_to_first: float | None
    to_next: float | None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that an import found out about a submission.

    `what` is one of first-seen, became-run, superseded (`run` is the newer one), retracted, restored, changed,
    unlisted, relisted.
    """

    import_id: int
    at: str
    what: str
    run: Digest | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """What happened to a submission, and the imports that saw it; `unsure` are those that could have missed it."""

    events: tuple[Event, ...]
    seen_in: tuple[int, ...]
    unsure: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dossier:
    """One run. `standing` is current, superseded or retracted; only a current run has a `placing`.

    `decides` is what decides whether it may be compared. `observed_bounds` are those in force when the run was first
    seen, `bounds` the present ones. Manifests that the catalogue does not hold are None. `facts` is the source's own
    row. `as_of` is the time of the last import.
    """

    name: str
    submission: str
    source: str
    author: str
    definition: str
    kernel: str
    gpu: str
    stack: str | None
    standing: str
    reasons: tuple[str, ...]
    unlisted: bool
    latest: Digest
    entry: Entry
    run: Manifest
    implementation: Manifest | None
    project: Manifest | None
    operation: Manifest | None
    workload: Manifest | None
    protocol: Manifest | None
    environment: Manifest | None
    decides: Facts
    comparison_key: Digest | None
    cohort: Cohort | None
    placing: Placing | None
    observed_bounds: BoundsFacts
    bounds: BoundsFacts
    bounds_versions: tuple[BoundsVersion, ...]
    findings: tuple[Finding, ...]
    history: History
    notes: tuple[NoteRow, ...]
    facts: Json
    as_of: str | None


@dataclass(frozen=True, slots=True)
class Ineligible:
    """A submission that never was a run: the reasons in its row are the codes of what it lacks."""

    row: SubmissionRow
    history: History
    facts: Json
    as_of: str | None


def dossier(catalogue: Catalogue, name: str) -> Dossier:
    """The dossier of the one run that a submission id, a digest or its first digits mean.

    UsageError where there is none or several, and for a submission that is not a run.
    """
    return of_run(catalogue, naming.run(catalogue, name))


def of_run(catalogue: Catalogue, row: RunRow) -> Dossier:
    """The dossier of a run that was found already."""
    run = catalogue.held(row.run)
    spec = run.spec
    workload = catalogue.find(Digest(spec["workloadDigest"]))
    protocol = catalogue.find(Digest(spec["protocolDigest"]))
    environment = catalogue.find(Digest(spec["environmentDigest"]))
    observations = dossiers.observations(catalogue, row.submission_id)
    first_import = next(o.import_id for o in observations if o.run == row.run)
    observed_bounds = BoundsFacts.of(queries.bounds(catalogue, row.definition_id, import_id=first_import))
    decides = comparability.facts(
        spec,
        workload=workload,
        protocol=protocol,
        environment=environment,
        definition=row.definition,
        bounds=observed_bounds.digest,
    )
    cohort = cohort_of(catalogue, decides, row.definition_id)
    return Dossier(
        name=str(run.document["metadata"]["name"]),
        submission=row.submission,
        source=row.source,
        author=row.author,
        definition=row.definition,
        kernel=row.kernel,
        gpu=row.gpu,
        stack=row.stack,
        standing="superseded" if row.run != row.latest else row.standing,
        reasons=row.reasons,
        unlisted=row.unlisted,
        latest=row.latest,
        entry=entry_of(row, spec),
        run=run,
        implementation=catalogue.find(Digest(spec["implementationDigest"])),
        project=catalogue.find(leaderboard.project_manifest(row.author).digest),
        operation=None if workload is None else catalogue.find(Digest(workload.spec["operationSpecDigest"])),
        workload=workload,
        protocol=protocol,
        environment=environment,
        decides=decides,
        comparison_key=decides.key,
        cohort=cohort,
        placing=placing(queries.entries(catalogue, cohort.id), row.run) if cohort else None,
        observed_bounds=observed_bounds,
        bounds=BoundsFacts.of(queries.bounds(catalogue, row.definition_id)),
        bounds_versions=tuple(dossiers.bounds_versions(catalogue, row.definition_id)),
        findings=_findings(catalogue, row.submission, run, protocol, environment),
        history=_history(catalogue, row.submission_id, observations),
        notes=tuple(dossiers.notes(catalogue, row.run)),
        facts=dossiers.facts(catalogue, row.submission_id, row.run),
        as_of=dossiers.last_import_at(catalogue),
    )


def ineligible(catalogue: Catalogue, row: SubmissionRow) -> Ineligible:
    """What is known of a submission that is not a run."""
    return Ineligible(
        row=row,
        history=_history(catalogue, row.id, dossiers.observations(catalogue, row.id)),
        facts=dossiers.facts(catalogue, row.id, None),
        as_of=dossiers.last_import_at(catalogue),
    )


def _findings(
    catalogue: Catalogue, submission: str, run: Manifest, protocol: Manifest | None, environment: Manifest | None
) -> tuple[Finding, ...]:
    """What verification says of the run as it is published, with the catalogue beside it."""
    document = run.document
    if protocol is not None and environment is not None:
        document = {"run": run.document, "protocol": protocol.document, "environment": environment.document}
    published = Document(f"submission/{submission}", canonical.to_json(document))
    return tuple(verify([published], context=CatalogueContext(catalogue, against=True)).findings)


def cohort_of(catalogue: Catalogue, decides: Facts, definition_id: int | None = None) -> Cohort | None:
    """The cohort that a run belongs to, if the catalogue has it; of the one definition, where that is known."""
    if decides.key is None:
        return None
    found = queries.cohorts_where(
        catalogue,
        "c.comparison_key = ? AND c.definition_id = coalesce(?, c.definition_id) AND d.name = coalesce(?, d.name)",
        decides.key.raw,
        definition_id,
        decides.definition,
    )
    return found[0] if found else None


def entry_of(row: RunRow, spec: Json) -> Entry:
    """The figures of a run, from its own manifest: those of a superseded run are not the submission's present ones."""
    metrics = spec.get("sourceNative", {}).get("metrics", {})
    return Entry(
        submission=row.submission,
        author=row.author,
        latency_ns=comparability.latency_ns(spec) or 0,
        observed_at=spec["observedAt"],
        run_digest=row.run,
        unlisted=row.unlisted,
        sol_score=metrics.get("sol_score"),
        avg_speedup=metrics.get("avg_speedup"),
        fast_1_count=metrics.get("fast_1_count"),
        fast_1_total=metrics.get("fast_1_total"),
    )


def placing(entries: Iterable[Entry], run: str) -> Placing | None:
    """The place of a run among the current runs of its cohort; None where it is not one of them."""
    ranked = rank.rank(entries)
    position = next((p for p, item in enumerate(ranked) if item.entry.run_digest == run), None)
    if position is None:
        return None
    mine, first = ranked[position], ranked[0].entry
    authors = rank.rank(rank.best_per_author(item.entry for item in ranked))
    best = next(item for item in authors if item.entry.author == mine.entry.author)
    faster = [item.entry.latency_ns for item in ranked if item.rank == mine.rank - 1]
    return Placing(
        rank=mine.rank,
        runs=len(ranked),
        tied=mine.tied,
        near=mine.near,
        author_rank=best.rank,
        authors=len(authors),
        best=None if best.entry == mine.entry else best.entry,
        first=first,
        ratio_to_first=rank.ratio(mine.entry.latency_ns, first.latency_ns),
        to_next=mine.entry.latency_ns / faster[0] - 1 if faster and faster[0] else None,
    )


def _history(catalogue: Catalogue, submission_id: int, observations: list[ObservationRow]) -> History:
    first = observations[0].import_id
    readings = [reading for reading in dossiers.readings(catalogue, submission_id) if reading[0] >= first]
    changed = {o.import_id: not o.unlisted for o in observations}
    seen: list[int] = []
    unsure: list[int] = []
    listed = True
    for import_id, could_miss in readings:
        listed = changed.get(import_id, listed)
        if import_id in changed or not could_miss:
            seen += [import_id] if listed else []
        else:
            unsure.append(import_id)
    return History(events(observations), tuple(seen), tuple(unsure))


def events(observations: Iterable[ObservationRow]) -> tuple[Event, ...]:
    """What changed from each state of a submission to the next."""
    found: list[Event] = []
    old: ObservationRow | None = None
    last_run: Digest | None = None
    for new in observations:
        what = _changes(old, new, last_run)
        found += [Event(new.import_id, new.at, word, new.run, new.reasons) for word in what]
        old, last_run = new, new.run or last_run
    return tuple(found)


def _changes(old: ObservationRow | None, new: ObservationRow, last_run: Digest | None) -> list[str]:
    if old is None:
        return ["first-seen"]
    words = []
    if old.unlisted != new.unlisted:
        words.append("unlisted" if new.unlisted else "relisted")
    if old.standing != new.standing:
        words.append({"retracted": "retracted", "ineligible": "changed"}.get(new.standing, "restored"))
        if words[-1] == "restored" and old.standing == "ineligible":
            words[-1] = "became-run"
    if new.run is not None and last_run is not None and new.run != last_run:
        words.append("superseded")
    return words or ["changed"]
