"""What a name on the command line means: a submission, a run, a cohort, a definition, an author or an import."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kictl import patterns
from kictl.canonical import Digest
from kictl.catalogue import dossiers, queries
from kictl.catalogue.dossiers import RunRow, SubmissionRow
from kictl.catalogue.store import Catalogue
from kictl.errors import UsageError
from kictl.text import cut, named

KINDS = ("submission", "run", "cohort", "definition", "author", "import")
SHOWN = 20

_PREFIX = re.compile(r"(?:sha256:)?([0-9a-f]{6,64})")


@dataclass(frozen=True, slots=True)
class Subject:
    """What a name means. `key` is the submission's id at its source, the digest of a run or of a cohort's comparison
    key, the definition's name, the author's name or the import's number."""

    kind: str
    key: str
    source: str | None = None

    @property
    def name(self) -> str:
        """The unambiguous way to say it."""
        return f"{self.kind}/{self.key}" if self.source is None else f"{self.kind}/{self.source}/{self.key}"


def subject(catalogue: Catalogue, name: str) -> Subject:
    """The one thing that a name means. UsageError where there is none, or several: then with all of them.

    Exact names go before abbreviations: first submission ids, definitions (full name or number), authors and whole
    digests; then the first 6 or more digits of a digest; then parts of a definition's name. `kind/name` asks for
    one kind only, and is the only way to name an import.
    """
    _refuse_bytes(name)
    kind, slash, rest = name.partition("/")
    if slash and kind in KINDS:
        found = [s for tier in _TIERS for s in tier(catalogue, rest) if s.kind == kind] or _others(
            catalogue, kind, rest
        )
    else:
        found = next((found for tier in _TIERS if (found := list(tier(catalogue, name)))), [])
    return _only(name, list(dict.fromkeys(found)), lambda: _near(catalogue, name))


def run(catalogue: Catalogue, name: str) -> RunRow:
    """The one run that a name means, as `subject` would take it if there were nothing but submissions and runs.
    UsageError, with the reasons, for a submission that is not a run."""
    row = submission(catalogue, name)
    if isinstance(row, RunRow):
        return row
    raise UsageError(
        f"submission {row.submission} {_not_one_run(row)}",
        code="not_a_run",
        hint=f"'kictl show submission/{row.submission}' shows what is known of it",
    )


def _not_one_run(row: SubmissionRow) -> str:
    if row.runs:
        return f"has {len(row.runs)} runs, name one of them by its digest"
    return f"by {named(row.author)} is not a run: {', '.join(row.reasons)}"


def submission(catalogue: Catalogue, name: str) -> RunRow | SubmissionRow:
    """As `run`, but a submission that never was a run, or that has several, is answered too."""
    _refuse_bytes(name)
    kind, slash, rest = name.partition("/")
    wanted = (kind,) if slash and kind in ("submission", "run") else ("submission", "run")
    text = rest if slash and kind in wanted else name
    tiers = ([s for s in tier(catalogue, text) if s.kind in wanted] for tier in _TIERS)
    found = next((found for found in tiers if found), [])
    return row_of(catalogue, _only(name, found, lambda: None, "run"))


def known_run(catalogue: Catalogue, digest: Digest) -> RunRow | None:
    """The run of a digest, if the catalogue has it."""
    return next(iter(dossiers.runs(catalogue, digest.removeprefix("sha256:"))), None)


def row_of(catalogue: Catalogue, found: Subject) -> RunRow | SubmissionRow:
    """The row of a subject that is a run or a submission."""
    if found.kind == "run":
        return dossiers.runs(catalogue, found.key.removeprefix("sha256:"))[0]
    rows = [r for r in dossiers.submissions(catalogue, found.key) if found.source in (None, r.source, _owner(r))]
    row = rows[0]
    return row if row.run is None else dossiers.runs(catalogue, row.run.removeprefix("sha256:"))[0]


def _owner(row: SubmissionRow) -> str:
    """What tells a submission from others with the same id: source and definition."""
    return f"{row.source}/{row.definition}"


def _refuse_bytes(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{cut(name, 200)!r} is no text in UTF-8, so nothing is called that", code="unknown_name"
        ) from error


def _exact(catalogue: Catalogue, name: str) -> Iterator[Subject]:
    yield from _submissions(catalogue, name)
    names = list(dict.fromkeys(known.name for known in queries.definitions(catalogue)))
    is_number = name.isdigit()
    yield from (
        Subject("definition", known) for known in names if known == name or (is_number and _number(known) == name)
    )
    if dossiers.submissions_of(catalogue, name):
        yield Subject("author", name)
    if (prefix := _PREFIX.fullmatch(name)) and len(prefix[1]) == 64:
        yield from _digests(catalogue, prefix[1])


def _abbreviated(catalogue: Catalogue, name: str) -> Iterator[Subject]:
    if prefix := _PREFIX.fullmatch(name):
        yield from _digests(catalogue, prefix[1])


def _partial(catalogue: Catalogue, name: str) -> Iterator[Subject]:
    names = [known.name for known in queries.definitions(catalogue)]
    yield from (Subject("definition", known) for known in patterns.matching(name, names) if name)


_TIERS = (_exact, _abbreviated, _partial)


def _submissions(catalogue: Catalogue, name: str) -> Iterator[Subject]:
    # Of ids that begin with this word themselves it may be left out.
    rows = dossiers.submissions(catalogue, name) or dossiers.submissions(catalogue, f"submission/{name}")
    for row in rows:
        yield _subject(row, rows)
    # An id may have slashes in it itself: SOURCE/ID and SOURCE/DEFINITION/ID say which of several is meant.
    parts = name.split("/")
    for start in range(1, len(parts)):
        owner, external_id = "/".join(parts[:start]), "/".join(parts[start:])
        rows = dossiers.submissions(catalogue, external_id)
        yield from (_subject(row, rows) for row in rows if owner in (row.source, _owner(row)))


def _subject(row: SubmissionRow, rows: list[SubmissionRow]) -> Subject:
    """A submission, with its source where others have the same id, and its definition where that does not tell."""
    if len(rows) == 1:
        return Subject("submission", row.submission)
    alone = sum(other.source == row.source for other in rows) == 1
    return Subject("submission", row.submission, row.source if alone else _owner(row))


def _digests(catalogue: Catalogue, prefix: str) -> Iterator[Subject]:
    yield from (Subject("run", row.run) for row in dossiers.runs(catalogue, prefix, limit=SHOWN + 1))
    yield from (Subject("cohort", cohort.key) for cohort in dossiers.cohorts(catalogue, prefix))


def _others(catalogue: Catalogue, kind: str, rest: str) -> list[Subject]:
    if kind == "import" and rest.isascii() and rest.isdigit() and len(rest) < 10:
        return [Subject("import", rest)] if dossiers.import_event(catalogue, int(rest)) else []
    return []


def _number(definition: str) -> str:
    return definition.partition("_")[0]


def _only(name: str, found: list[Subject], near: Callable[[], str | None], what: str = "thing") -> Subject:
    if not found:
        missing = f"nothing in the catalogue is called {cut(name, 200)!r}"
        if what == "run":
            missing = f"no run in the catalogue is called {cut(name, 200)!r}"
        raise UsageError(missing, code="unknown_name", hint=near())
    if len(found) > 1:
        more = (f"… and {len(found) - SHOWN} more",) if len(found) > SHOWN else ()
        raise UsageError(
            f"{cut(name, 200)!r} could be {len(found)} {what}s",
            code="ambiguous_name",
            hint="give one of these, or more digits",
            details=(*(subject.name for subject in found[:SHOWN]), *more),
        )
    return found[0]


def _near(catalogue: Catalogue, name: str) -> str | None:
    known = [definition.name for definition in queries.definitions(catalogue)]
    close = difflib.get_close_matches(name, [*known, *queries.authors(catalogue)], n=3, cutoff=0.5)
    return f"did you mean {', '.join(close)}?" if close else None
