"""What a source, live or recorded, says about a run that is being verified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kictl import canonical
from kictl.catalogue.beside import CatalogueContext
from kictl.documents import Document
from kictl.model import Definition, Finding, Json, Quarantined, Submission
from kictl.schemas import show
from kictl.sources.interface import Board, DefinitionRef, Reading
from kictl.verify.context import RunBounds, SourceState
from kictl.verify.registry import RULES
from kictl.verify.source import MALFORMED, order


@dataclass(frozen=True, slots=True)
class _Read:
    definition: Definition | None
    submissions: dict[str, Submission]
    malformed: dict[str, str]


class SourceContext:
    """A verification context over a source; each definition is read once, when a run names it.

    A catalogue beside it says which bounds a run was imported under, and knows other manifests. Where the runs are
    the source's own, `compare` is False.
    """

    def __init__(self, source: Board, beside: CatalogueContext | None = None, *, compare: bool = True) -> None:
        self._source = source
        self._beside = beside
        self._refs: dict[str, DefinitionRef] | None = None
        self._read: dict[str, _Read | None] = {}
        self._bounds: dict[str, RunBounds] = {}
        self.findings: list[Finding] = []
        offered = {"bounds": True, "rows": True, "source": compare, "manifests": beside is not None}
        self.offers = frozenset(name for name, has in offered.items() if has)

    def bounds(self, workload: str, benchmark: str | None = None) -> RunBounds | None:
        if benchmark is not None and workload not in self._bounds:
            self._definition(benchmark)
        return self._bounds.get(workload) or (self._beside.bounds(workload) if self._beside else None)

    def documents(self) -> Iterator[Document]:
        """Everything that the source makes, definition by definition; what its rows are told for goes to `findings`."""
        listing = self._source.listing()
        self._quarantine(listing.quarantined)
        for reading in self._source.read_all(listing.definitions):
            self._quarantine(reading.quarantined if reading.refused is None else (reading.refused,))
            if reading.definition is not None:
                self._keep_bounds(reading.definition)
                self._check_times(reading)
                yield from _made(self._source.origin, reading)

    def _quarantine(self, rows: Iterable[Quarantined]) -> None:
        for row in rows:
            subject = f"{self._source.origin}/{row.where}"
            got = "nothing" if row.facts is None else show(row.facts)
            self.findings.append(
                Finding(MALFORMED, RULES[MALFORMED].severity, subject, row.reason, row.pointer, "a usable row", got)
            )

    def _check_times(self, reading: Reading) -> None:
        for row in reading.submissions:
            told = order(*_times(row), "/finished_at")
            if told is not None:
                subject = _subject(self._source.origin, reading, row)
                severity = RULES[told.rule].severity
                self.findings.append(
                    Finding(told.rule, severity, subject, told.message, told.pointer, told.expected, told.got)
                )

    def kind_of(self, digest: str) -> str | None:
        return self._beside.kind_of(digest) if self._beside else None

    def state_of(self, run: Json, digest: str) -> SourceState | None:
        native = run["spec"]["sourceNative"]
        if native["source"] != self._source.name:
            raise LookupError(f"{native['source']} is another source")
        read = self._definition(native.get("benchmark", ""))
        name = native.get("externalId", "")
        if read is not None and name in read.malformed:
            return SourceState(where=self._source.origin, derived=None, reasons=(f"malformed, {read.malformed[name]}",))
        if read is None or name not in read.submissions:
            return None
        submission = read.submissions[name]
        submitted_at, finished_at = _times(submission)
        return SourceState(
            where=self._source.origin,
            derived=submission.runs[0].manifest.document if submission.runs else None,
            reasons=submission.reasons,
            submitted_at=submitted_at,
            finished_at=finished_at,
            bounds_moved=self._bounds_moved(read.definition),
        )

    def _definition(self, name: str) -> _Read | None:
        if name not in self._read:
            self._read[name] = self._reading(name)
        return self._read[name]

    def _reading(self, name: str) -> _Read | None:
        if self._refs is None:
            self._refs = {ref.name: ref for ref in self._source.listing().definitions}
        if name not in self._refs:
            return None
        reading = self._source.read(self._refs[name])
        self._keep_bounds(reading.definition)
        return _Read(
            reading.definition,
            {row.external_id: row for row in reading.submissions},
            {row.external_id: row.reason for row in reading.quarantined if row.external_id is not None},
        )

    def _keep_bounds(self, definition: Definition | None) -> None:
        if definition is not None and definition.suite is not None:
            bounds = definition.suite.bounds
            baseline, sol = [case.baseline_ms for case in bounds.cases], [case.sol_ms for case in bounds.cases]
            self._bounds[definition.suite.manifest.digest] = RunBounds(baseline, sol, bounds.is_dummy)

    def _bounds_moved(self, definition: Definition | None) -> str | None:
        suite = definition and definition.suite
        if self._beside is None or suite is None:
            return None
        known = self._beside.bounds_digest(suite.manifest.digest)
        if known is None or known == suite.bounds.digest:
            return None
        return f"bounds {known} in the catalogue, {suite.bounds.digest} in {self._source.origin}"


def _made(origin: str, reading: Reading) -> Iterator[Document]:
    """The manifests of one reading; a run stands in its bundle."""
    definition = reading.definition
    assert definition is not None  # noqa: S101 - asked before
    suite = definition.suite
    for manifest in (definition.subject, *((suite.manifest, *suite.cases) if suite else ())):
        yield Document(_subject(origin, reading), canonical.to_json(manifest.document))
    for submission in reading.submissions:
        where = _subject(origin, reading, submission)
        for run in submission.runs:
            bundle = {"run": run.manifest.document}
            for manifest in run.others:
                if manifest.kind in _BUNDLED:
                    bundle[_BUNDLED[manifest.kind]] = manifest.document
                else:
                    yield Document(where, canonical.to_json(manifest.document))
            yield Document(where, canonical.to_json(bundle))


_BUNDLED = {"BenchmarkProtocol": "protocol", "ExecutionEnvironment": "environment"}


def _times(submission: Submission) -> tuple[str | None, str | None]:
    """When a row says that it was submitted and finished."""
    facts = submission.facts or {}
    return facts.get("submitted_at"), facts.get("finished_at")


def _subject(origin: str, reading: Reading, submission: Submission | None = None) -> str:
    row = "" if submission is None else f" submission {submission.external_id}"
    return f"{origin}/{reading.ref.name}{row}"
