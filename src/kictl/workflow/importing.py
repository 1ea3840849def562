"""Import: from a source, through a selection, into the catalogue, one definition at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from kictl import __version__, patterns, units
from kictl.canonical import Digest
from kictl.catalogue.reports import import_report, records_report
from kictl.catalogue.store import Catalogue
from kictl.catalogue.writer import ImportWriter
from kictl.errors import SourceError, UsageError
from kictl.model import Manifest, Submission
from kictl.sources.interface import AtHand, Board, DefinitionRef, Listing, Reading, Records

GIVE_UP = 2
"""Definitions in a row that cannot be had: one must not keep the others away, more are the source itself."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a source is wanted. Empty means all; a definition pattern takes all that match it."""

    definitions: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def refs(self, listed: tuple[DefinitionRef, ...]) -> list[DefinitionRef]:
        """The definitions to read. Raises UsageError for a pattern or tag that means nothing."""
        for tag in self.tags:
            if not any(tag in ref.tags for ref in listed):
                raise UsageError(f"no definition has the tag {tag!r}", code="unknown_tag")
        names = [ref.name for ref in listed]
        wanted = {name for pattern in self.definitions for name in patterns.all_matching(pattern, names)}
        return [
            ref
            for ref in listed
            if (not self.definitions or ref.name in wanted) and (not self.tags or set(self.tags) & set(ref.tags))
        ]

    def within(self, listing: Listing) -> Selection:
        """The same of a source that has a part of what it lists: that part is then what is wanted."""
        if self.definitions or not listing.is_part:
            return self
        return replace(self, definitions=tuple(ref.name for ref in listing.definitions))

    def takes(self, submission: Submission) -> bool:
        gpus = {units.gpu(name).name for name in self.gpus}
        return (not gpus or submission.gpu in gpus) and (not self.stacks or submission.stack in self.stacks)

    def words(self) -> dict[str, Any]:
        return {
            "definitions": sorted(self.definitions),
            "gpus": sorted(self.gpus),
            "stacks": sorted(self.stacks),
            "tags": sorted(self.tags),
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import is: definitions committed of those wanted, and rows of them."""

    done: int
    total: int
    rows: int


def run(
    source: Board,
    catalogue: Catalogue,
    selection: Selection,
    *,
    resume: bool = True,
    progress: Callable[[Progress], None] = lambda _: None,
) -> dict[str, Any]:
    """Imports a board, and returns the report of the whole event. What was committed stays, whatever happens.

    Raises SourceError where definitions could not be read, after all others were; the event waits for the next run.
    """
    listing = source.listing()
    selection = selection.within(listing)
    refs = selection.refs(listing.definitions)
    writer = ImportWriter.begin(
        catalogue,
        source=source.name,
        origin=source.origin,
        selection=selection.words(),
        version=__version__,
        resume=resume,
    )
    writer.add_listing(listing)
    done = writer.done()
    waiting = deque(ref for ref in refs if ref.external_id not in done)
    failed: list[SourceError] = []
    rows, in_a_row = 0, 0
    progress(Progress(len(refs) - len(waiting), len(refs), rows))
    while waiting:
        try:
            for reading in source.read_all(tuple(waiting)):
                waiting.popleft()
                in_a_row = 0
                _commit(writer, reading, selection)
                rows += reading.received
                del reading  # before the next one is made: two of them are most of the memory that an import needs
                progress(Progress(len(refs) - len(waiting) - len(failed), len(refs), rows))
        except SourceError as error:
            in_a_row += 1
            if error.code in _OF_THE_SOURCE or in_a_row == GIVE_UP:
                raise
            failed.append(error)
            waiting.popleft()
    if failed:
        raise _unread(failed)
    report = import_report(catalogue, writer.id)
    writer.finish(report)
    return report


def run_records(
    source: Records, catalogue: Catalogue, *, progress: Callable[[Progress], None] = lambda _: None
) -> dict[str, Any]:
    """Imports files of records, all of it or nothing, and returns the report of the event."""
    readings = source.readings(_InCatalogue(catalogue))
    first = next(readings)  # files that cannot be read make no event
    writer = ImportWriter.begin(
        catalogue, source=source.name, origin=source.origin, selection={}, version=__version__, resume=True
    )
    rows = 0

    def read() -> Iterator[Reading]:
        nonlocal rows
        for reading in chain((first,), readings):
            yield reading
            rows += reading.received
            progress(Progress(0, 0, rows))

    writer.add_all(read())
    report = records_report(catalogue, writer.id, source.digest(), writer.other_editions)
    writer.finish(report)
    return report


class _InCatalogue(AtHand):
    """What the catalogue held before an import."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def find(self, digest: Digest) -> Manifest | None:
        return self._catalogue.find(digest)


_OF_THE_SOURCE = frozenset({"closed", "deadline", "retry_after", "tls"})
"""Codes of failures that the next definition would meet as well."""


def _unread(failed: list[SourceError]) -> SourceError:
    first = failed[0]
    if len(failed) == 1:
        return SourceError(f"{first}; every other definition was imported", code=first.code, hint=first.hint)
    message = f"{first}; {len(failed)} definitions could not be read, every other one was imported"
    return SourceError(message, code=first.code, hint=first.hint, details=tuple(map(str, failed)))


def _commit(writer: ImportWriter, reading: Reading, selection: Selection) -> None:
    selected = [submission for submission in reading.submissions if selection.takes(submission)]
    writer.add(reading, selected, len(reading.submissions) - len(selected))
