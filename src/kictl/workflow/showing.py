"""Show: the dossier of whatever a name means."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kictl import rank, units
from kictl.bounds import BoundsFacts
from kictl.catalogue import dossiers, queries
from kictl.catalogue import leaders as catalogued
from kictl.catalogue.dossiers import BoundsVersion, ImportRow, RunRow, SubmissionRow
from kictl.catalogue.queries import Cohort
from kictl.catalogue.store import Catalogue
from kictl.errors import UsageError
from kictl.model import Bounds, Json, Manifest
from kictl.workflow import comparing, dossier, naming
from kictl.workflow.comparing import Comparison
from kictl.workflow.dossier import Dossier, Ineligible

MAX_NOTE = 4000


@dataclass(frozen=True, slots=True)
class CohortLine:
    """A cohort of a definition in one line; `first` is None where it has no current run."""

    cohort: Cohort
    runs: int
    authors: int
    first: rank.Entry | None


@dataclass(frozen=True, slots=True)
class DefinitionSheet:
    """A definition as its source last stated it, its bounds and its cohorts. `facts` is the source's own detail."""

    name: str
    source: str
    kernel: str | None
    facts: Json
    subject: Manifest
    suite: str | None
    bounds: Bounds | None
    means: BoundsFacts | None
    bounds_versions: tuple[BoundsVersion, ...]
    cohorts: tuple[CohortLine, ...]
    excluded: dict[str, int]


@dataclass(frozen=True, slots=True)
class Entered:
    """A cohort that an author has current runs in, with the place of the best one among the authors. `ratio_to_first`
    says how many times worse that is than the first, whichever direction is better."""

    cohort: Cohort
    best: rank.Entry
    rank: int
    tied: bool
    authors: int
    runs: int
    ratio_to_first: float | None


@dataclass(frozen=True, slots=True)
class AuthorSheet:
    """All that an author has in the catalogue. `excluded` counts the submissions that do not rank, by reason."""

    name: str
    entered: tuple[Entered, ...]
    excluded: dict[str, int]


@dataclass(frozen=True, slots=True)
class SubmissionSheet:
    """A submission with several runs, one of each workload for example."""

    row: SubmissionRow
    runs: tuple[tuple[RunRow, Cohort, rank.Entry | None], ...]


Sheet = Dossier | Ineligible | SubmissionSheet | tuple[DefinitionSheet, ...] | Comparison | AuthorSheet | ImportRow


def show(catalogue: Catalogue, name: str) -> Sheet:
    """What the catalogue knows about the one thing that a name means; see `naming.subject`.

    A definition's name can belong to several definitions of a source, hence the tuple.
    """
    subject = naming.subject(catalogue, name)
    if subject.kind in ("submission", "run"):
        row = naming.row_of(catalogue, subject)
        if isinstance(row, RunRow):
            return dossier.of_run(catalogue, row)
        return _submission(catalogue, row) if row.runs else dossier.ineligible(catalogue, row)
    if subject.kind == "definition":
        known = [known for known in queries.definitions(catalogue) if known.name == subject.key]
        return tuple(_definition(catalogue, definition) for definition in known)
    if subject.kind == "cohort":
        return _cohort(catalogue, subject.key)
    if subject.kind == "author":
        return _author(catalogue, subject.key)
    event = dossiers.import_event(catalogue, int(subject.key))
    if event is None:
        raise UsageError(f"there is no import {subject.key}", code="unknown_name")
    return event


def annotate(catalogue: Catalogue, name: str, *, kind: str, text: str) -> RunRow:
    """Attaches a note to the run that a name means, and returns that run. Evidence and rank stay as they are.

    UsageError for an empty text, one beyond MAX_NOTE characters, and one that no UTF-8 can hold.
    """
    if not text.strip():
        raise UsageError("a note needs a text")
    if len(text) > MAX_NOTE:
        raise UsageError(f"a note has at most {MAX_NOTE} characters, this one has {len(text)}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("a note is text in UTF-8") from error
    run = naming.run(catalogue, name)
    dossiers.add_note(catalogue, run.run, kind=kind, text=text, at=units.now())
    return run


def _submission(catalogue: Catalogue, row: SubmissionRow) -> SubmissionSheet:
    runs = []
    for run in dossiers.runs_of_submission(catalogue, row.id):
        (cohort,) = queries.cohorts_where(catalogue, "c.id = ?", run.cohort_id)
        runs.append((run, cohort, dossier.entry_of(run, catalogue.held(run.run).spec)))
    return SubmissionSheet(row, tuple(runs))


def _definition(catalogue: Catalogue, known: queries.Known) -> DefinitionSheet:
    bounds = queries.bounds(catalogue, known.id)
    subject, suite = dossiers.current_manifests(catalogue, known.id)
    excluded: Counter[str] = Counter()
    for _, _, reason, count in queries.excluded(catalogue, known.id):
        excluded[reason] += count
    return DefinitionSheet(
        name=known.name,
        source=known.source,
        kernel=known.external_id,
        facts=dossiers.definition_facts(catalogue, known.id),
        subject=catalogue.held(subject),
        suite=suite,
        bounds=bounds,
        means=bounds and BoundsFacts.of(bounds),
        bounds_versions=tuple(dossiers.bounds_versions(catalogue, known.id)),
        cohorts=tuple(_line(catalogue, cohort) for cohort in queries.cohorts(catalogue, known.id)),
        excluded=dict(sorted(excluded.items())),
    )


def _line(catalogue: Catalogue, cohort: Cohort) -> CohortLine:
    entries = queries.entries(catalogue, cohort.id)
    order = cohort.metric and rank.order_of(cohort.metric)
    ranked = rank.rank(entries, order) if order else []
    authors = {entry.author for entry in entries if entry.author is not None}
    return CohortLine(cohort, len(entries), len(authors), ranked[0].entry if ranked else None)


def _cohort(catalogue: Catalogue, key: str) -> Comparison:
    """The ranking of one cohort: every run of it."""
    options = comparing.Options(all_submissions=True)
    found = dossiers.cohorts(catalogue, key.removeprefix("sha256:"))
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} definitions of the same signature share this key",
            code="ambiguous_name",
            hint="'kictl compare --definition NAME' shows one of them",
            details=tuple(cohort.definition for cohort in found),
        )
    tables = [
        comparing.table(catalogue, cohort, queries.bounds(catalogue, cohort.definition_id), options) for cohort in found
    ]
    return Comparison(found[0].definition, tuple(tables), {})


def _author(catalogue: Catalogue, name: str) -> AuthorSheet:
    entered = []
    for group in catalogued.groups(catalogue):
        mine = [entry for entry in group.entries if entry.author == name]
        order = group.cohort.metric and rank.order_of(group.cohort.metric)
        if mine and order:
            ranked = rank.rank(rank.best_of_each(group.entries, order, by_author=True), order)
            item = next(item for item in ranked if item.entry.author == name)
            ratio = rank.behind(item.entry.value, ranked[0].entry.value, order)
            entered.append(Entered(group.cohort, item.entry, item.rank, item.tied, len(ranked), len(mine), ratio))
    excluded = Counter(
        f"retracted: {row.reasons[0]}" if row.standing == "retracted" else row.reasons[0]
        for row in dossiers.submissions_of(catalogue, name)
        if row.standing != "current" and row.reasons
    )
    return AuthorSheet(name, tuple(entered), dict(sorted(excluded.items())))
