"""The dossier: all that the catalogue knows about one run, in the order a reader asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kictl import canonical, comparability, rank
from kictl import cohort as cohorts
from kictl.bounds import BoundsFacts
from kictl.canonical import Digest
from kictl.catalogue import dossiers, queries
from kictl.catalogue.beside import CatalogueContext
from kictl.catalogue.claims import Claims
from kictl.catalogue.dossiers import BoundsVersion, NoteRow, ObservationRow, RunRow, SubmissionRow, Telling
from kictl.catalogue.queries import Cohort
from kictl.catalogue.store import Catalogue
from kictl.cohort import Metric
from kictl.comparability import Facts
from kictl.documents import Document
from kictl.model import Bounds, Finding, Json, Manifest, Score
from kictl.rank import Entry, Order
from kictl.verify import verify
from kictl.workflow import naming


@dataclass(frozen=True, slots=True)
class Placing:
    """Where a run stands in its cohort: among all its runs, and its author among all authors (each by the best run).

    `best` is None where the run is its author's best, else the entry that is. `ratio_to_first` says how many times
    worse the run is than the first, whichever direction is better. `to_next` is the relative difference to the next
    better run, None for the first and beside a value of 0; `near` says that it is within the noise.
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
    """One run. Only a current run has a `placing`; `entry` is None where it has no primary measurement.

    `decides` is what decides whether it may be compared. `observed_bounds` are those in force when the run was first
    seen, `bounds` the present ones, None where its definition has none. Manifests that the catalogue does not hold are
    None; `subject` is the operation, or the model of a serving run, and `implementation` its configuration. `siblings`
    are the other runs of its submission. `told_by` are the first imports of each source that told of it, `claims` what
    they say of it, its implementation and its source beside manifests. `facts` is the source's own row. `as_of` is the
    time of the last import.
    """

    row: RunRow
    entry: Entry | None
    run: Manifest
    implementation: Manifest | None
    project: Manifest | None
    subject: Manifest | None
    workload: Manifest | None
    protocol: Manifest | None
    environment: Manifest | None
    decides: Facts
    cohort: Cohort
    placing: Placing | None
    observed_bounds: BoundsFacts | None
    bounds: BoundsFacts | None
    bounds_versions: tuple[BoundsVersion, ...]
    findings: tuple[Finding, ...]
    history: History
    siblings: tuple[RunRow, ...]
    told_by: tuple[Telling, ...]
    claims: Claimed
    notes: tuple[NoteRow, ...]
    facts: Json
    as_of: str | None

    @property
    def metric(self) -> Metric | None:
        return self.cohort.metric

    @property
    def is_serving(self) -> bool:
        return self.cohort.serving is not None


@dataclass(frozen=True, slots=True)
class Claimed:
    """What exports say beside manifests: of the run, of its implementation and of its source; empty where none does."""

    run: Json
    implementation: Json
    source: Json


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
    (cohort,) = queries.cohorts_where(catalogue, "c.id = ?", row.cohort_id)
    workload = catalogue.find(cohort.workload)
    subject = catalogue.find(cohort.subject)
    protocol, environment = (catalogue.find(part) for part in cohort.kernel) if cohort.kernel else (None, None)
    observations = dossiers.observations(catalogue, row.submission_id, row.run)
    first_import = next((o.import_id for o in observations if o.run == row.run), None)
    observed, bounds = (
        queries.bounds(catalogue, row.definition_id, import_id=number) if cohort.is_suite else None
        for number in (first_import, None)
    )
    entry = entry_of(row, spec)
    return Dossier(
        row=row,
        entry=entry,
        run=run,
        implementation=catalogue.find(Digest(spec.get("implementationDigest") or spec["configurationDigest"])),
        project=None if row.project_id is None else catalogue.manifest(row.project_id),
        subject=subject,
        workload=workload,
        protocol=protocol,
        environment=environment,
        decides=_decides(row, spec, cohort, subject, workload, protocol, environment, observed),
        cohort=cohort,
        placing=_placing(catalogue, cohort, row),
        observed_bounds=observed and BoundsFacts.of(observed),
        bounds=bounds and BoundsFacts.of(bounds),
        bounds_versions=tuple(dossiers.bounds_versions(catalogue, row.definition_id)) if bounds else (),
        findings=_findings(catalogue, row.submission, run, protocol, environment),
        history=_history(catalogue, row.submission_id, row.source, observations),
        siblings=tuple(o for o in dossiers.runs_of_submission(catalogue, row.submission_id) if o.run != row.run),
        told_by=tuple(dossiers.told_by(catalogue, row.submission_id, row.run)),
        claims=_claimed(catalogue, row, spec),
        notes=tuple(dossiers.notes(catalogue, row.run)),
        facts=dossiers.facts(catalogue, row.submission_id, row.run),
        as_of=dossiers.last_import_at(catalogue),
    )


def _decides(
    row: RunRow,
    spec: Json,
    cohort: Cohort,
    subject: Manifest | None,
    workload: Manifest | None,
    protocol: Manifest | None,
    environment: Manifest | None,
    bounds: Bounds | None,
) -> Facts:
    if cohort.serving is not None:
        return comparability.of_serving(
            spec, model=subject, workload=workload, definition=row.definition, gpu=cohort.gpu
        )
    return comparability.facts(
        spec,
        workload=workload,
        protocol=protocol,
        environment=environment,
        definition=row.definition,
        bounds=bounds and bounds.digest,
    )


def _placing(catalogue: Catalogue, cohort: Cohort, row: RunRow) -> Placing | None:
    order = cohort.metric and rank.order_of(cohort.metric)
    return (
        None
        if order is None
        else placing(queries.entries(catalogue, cohort.id), row.run, order, by_author=cohort.by_author)
    )


def _claimed(catalogue: Catalogue, row: RunRow, spec: Json) -> Claimed:
    claims = Claims(catalogue)
    run_id = catalogue.id_of(row.run.raw)
    implementation = catalogue.id_of(Digest(spec.get("implementationDigest") or spec["configurationDigest"]).raw)
    table = "serving_runs" if "modelDigest" in spec else "benchmark_runs"
    return Claimed(
        run=(run_id and claims.of(table, run_id)) or {},
        implementation=(implementation and claims.of("implementations", implementation)) or {},
        source=claims.of("sources", row.source) or {},
    )


def ineligible(catalogue: Catalogue, row: SubmissionRow) -> Ineligible:
    """What is known of a submission that is not a run."""
    return Ineligible(
        row=row,
        history=_history(catalogue, row.id, row.source, dossiers.observations(catalogue, row.id)),
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


def cohort_of(catalogue: Catalogue, decides: Facts) -> Cohort | None:
    """The cohort that a run belongs to, if the catalogue has it."""
    if decides.key is None or decides.metric is None:
        return None
    found = queries.cohorts_where(
        catalogue,
        "c.key = ? AND c.metric = ? AND d.name = coalesce(?, d.name)",
        *(decides.key.raw, decides.metric, decides.definition),
    )
    return found[0] if found else None


def entry_of(row: RunRow, spec: Json) -> Entry | None:
    """The figures of a run, from its own manifest; None where it has no primary measurement."""
    measured = cohorts.primary(spec)
    if measured is None:
        return None
    return Entry(
        submission=row.submission,
        author=row.author,
        value=measured.value,
        observed_at=spec["observedAt"],
        run_digest=row.run,
        unlisted=row.unlisted,
        score=Score.of(spec),
    )


def placing(entries: Iterable[Entry], run: str, order: Order, *, by_author: bool = True) -> Placing | None:
    """The place of a run among the current runs of its cohort; None where it is not one of them. Not `by_author`,
    submissions stand for authors."""
    ranked = rank.rank(entries, order)
    position = next((p for p, item in enumerate(ranked) if item.entry.run_digest == run), None)
    if position is None:
        return None
    mine, first = ranked[position], ranked[0].entry
    authors = rank.rank(rank.best_of_each((item.entry for item in ranked), order, by_author=by_author), order)
    best = next(item for item in authors if _stands_for(item.entry, mine.entry, by_author=by_author))
    better = [item.entry.value for item in ranked if item.rank == mine.rank - 1]
    to_next = rank.behind(mine.entry.value, better[0], order) if better else None
    return Placing(
        rank=mine.rank,
        runs=len(ranked),
        tied=mine.tied,
        near=mine.near,
        author_rank=best.rank,
        authors=len(authors),
        best=None if best.entry == mine.entry else best.entry,
        first=first,
        ratio_to_first=rank.behind(mine.entry.value, first.value, order),
        to_next=None if to_next is None else to_next - 1,
    )


def _stands_for(one: Entry, other: Entry, *, by_author: bool) -> bool:
    """Whether one entry is the best of those that another is one of."""
    is_same = one.author == other.author
    return is_same if by_author and one.author is not None else is_same and one.submission == other.submission


def _history(catalogue: Catalogue, submission_id: int, source: str, observations: list[ObservationRow]) -> History:
    own = [o for o in observations if o.source == source]
    if not own:
        return History(events(observations), tuple(sorted({o.import_id for o in observations})), ())
    observations, first = own, own[0].import_id
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
        words.append(
            {"retracted": "retracted", "ineligible": "changed", "superseded": "superseded", "failed": "changed"}.get(
                new.standing, "restored"
            )
        )
        if words[-1] == "restored" and old.standing == "ineligible":
            words[-1] = "became-run"
    if new.run is not None and last_run is not None and new.run != last_run:
        words.append("superseded")
    return words or ["changed"]
