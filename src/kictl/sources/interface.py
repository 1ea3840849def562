"""What a source of results is to the rest of kictl."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from kictl.canonical import Digest
from kictl.model import Definition, Json, Manifest, Quarantined, Submission


@dataclass(frozen=True, slots=True)
class DefinitionRef:
    """A definition as the source's list names it; `announced` is the number of submissions the list claims."""

    external_id: str
    name: str
    gpus: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    announced: int | None = None


@dataclass(frozen=True, slots=True)
class Drift:
    """An upstream member or value that kictl does not know: what it is, how often it was seen, one example."""

    what: str
    count: int
    example: str

    UNKNOWN_GPU: ClassVar = "gpu_type"
    """How `what` begins for a GPU whose architecture is not known."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The definitions a source lists, with the rows of the list that could not be read.

    `is_part` says that the source lists more than it has, as a snapshot of some definitions does: `definitions` are
    those that it has, and nothing is known of the others.
    """

    definitions: tuple[DefinitionRef, ...]
    quarantined: tuple[Quarantined, ...] = ()
    drift: tuple[Drift, ...] = ()
    bodies: Mapping[str, str] = field(default_factory=dict)
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """All that one definition's part of a source said at one time, normalised.

    `expected` is the largest number of rows that the source claimed, `received` the distinct rows read.
    `complete` says that the listing was read to its end without a gap: only then does the absence of a row mean that
    it is unlisted; `problem` says why it is not. `bodies` maps the name of each body read to the digest of its bytes.
    Each row received is one of `submissions` or of `quarantined`. `definition` is None where the detail itself was
    `refused`, or where the rows are about no one definition.

    `of` is the slug of the source whose results these are, where another one tells of them; `table` is where it has
    the rows of its runs. `manifests` are to be kept beside those of the runs, `superseded` are runs that others have
    replaced. `claims` are rows that say something beside manifests; `counts` are of what else was read.
    """

    ref: DefinitionRef
    definition: Definition | None
    refused: Quarantined | None = None
    submissions: tuple[Submission, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()
    expected: int | None = None
    received: int = 0
    complete: bool = False
    problem: str | None = None
    bodies: Mapping[str, str] = field(default_factory=dict)
    drift: tuple[Drift, ...] = ()
    of: str | None = None
    table: str = ""
    manifests: tuple[Manifest, ...] = ()
    superseded: tuple[Digest, ...] = ()
    claims: tuple[Claim, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claim:
    """A row of a source, less its manifest. It is about a manifest where `about` is a Digest, else about a name."""

    table: str
    about: str
    row: Json


class AtHand(ABC):
    """What is known already, beside what a source brings: it may refer to manifests that came earlier."""

    @abstractmethod
    def find(self, digest: Digest) -> Manifest | None:
        """The manifest of a digest, if it is known."""


class Source(ABC):
    """One origin of results. Implementations raise SourceError, or InputError for local files; nothing else."""

    name: str
    """Slug of the source, as in a run's sourceNative.source."""
    origin: str
    """Where it is read from: a base URL, a folder or a file."""


class Board(Source):
    """A source that lists its definitions and is read one definition at a time: what was read stays read, whatever
    happens to the rest."""

    @abstractmethod
    def listing(self) -> Listing:
        """Every definition that the source lists, in its own order."""

    @abstractmethod
    def read(self, ref: DefinitionRef) -> Reading:
        """Everything about one definition."""

    def read_all(self, refs: Iterable[DefinitionRef]) -> Iterator[Reading]:
        """Readings in the order of `refs`; a source that gains from overlap overrides this."""
        return (self.read(ref) for ref in refs)


class Records(Source):
    """A source that is files of records, read once from beginning to end: all of it is imported, or nothing."""

    @abstractmethod
    def readings(self, at_hand: AtHand) -> Iterator[Reading]:
        """What the files hold, in parts; a definition may come in several."""

    @abstractmethod
    def digest(self) -> Digest:
        """That of all that was read; to be asked for once it has been."""
