"""The SOL-ExecBench leaderboard: its list, details and pages of submissions, whatever they are fetched from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from kictl import canonical, schemas
from kictl.errors import InputError, SourceError
from kictl.model import Definition, Json, Quarantined, Submission
from kictl.normalize import definitions, leaderboard
from kictl.normalize.build import NormalizeError
from kictl.sources import names
from kictl.sources.fetch import Fetcher
from kictl.sources.interface import DefinitionRef, Drift, Listing, Reading, Source

PAGE = 50
"""The most rows that the service gives at once."""
MAX_PAGES = 4000
MAX_BODY = 32 * 2**20
STEPS_BACK = 3

_STATUSES = frozenset(
    "RUNNING PENDING_RESULT COMPLETED QUEUED PENDING EVALUATING DEFERRED_RESULT FAILED ERROR REJECTED CANCELLED".split()
)
_MODES = frozenset({"release", "private", "public", None})


def _data(schema: str) -> Callable[[bytes], Json]:
    """A decoder of bodies: the object inside the envelope. It raises InputError for what the schema does not allow."""

    def decode(body: bytes) -> Json:
        document = canonical.read(body, max_bytes=MAX_BODY)
        if not schemas.is_valid(schema, document):
            first = schemas.violations(schema, document)[0]
            raise InputError(f"{first.pointer or '/'}: {first.message}", code="shape")
        data: Json = document["data"]
        return data

    return decode


def _envelope(body: bytes) -> Json:
    """The object inside the envelope of a definition's detail, whose own shape is judged later."""
    document = canonical.read(body, max_bytes=MAX_BODY)
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, dict):
        raise InputError("not an object with a data object in it", code="shape")
    return data


class _DriftLog:
    """Counts what is unknown, with the first example of each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, str] = {}

    def add(self, what: str, example: object) -> None:
        self.counts[what] += 1
        self.examples.setdefault(what, canonical.to_json(example).decode()[:200])

    def members(self, schema: str, document: Json) -> None:
        for member in document.keys() - schemas.members(schema):
            self.add(f"{schema} member {member!r}", document[member])

    def result(self) -> tuple[Drift, ...]:
        return tuple(Drift(what, self.counts[what], self.examples[what]) for what in sorted(self.counts))


@dataclass(slots=True)
class _Rows:
    """The distinct rows of one listing, in order of first appearance, and how the reading went."""

    by_id: dict[str, Any] = field(default_factory=dict)
    bodies: dict[str, str] = field(default_factory=dict)
    total: int | None = None
    largest_total: int | None = None
    gap: bool = False

    def add(self, data: Json) -> int:
        """Takes a page in; returns how many of its rows are new. A repeated row counts as it was last seen."""
        before = len(self.by_id)
        for row in data["submissions"]:
            self.by_id[_row_key(row)] = row
        total = data.get("total")
        if isinstance(total, int):
            self.total = total
            self.largest_total = max(total, self.largest_total or 0)
        return len(self.by_id) - before

    @property
    def complete(self) -> bool:
        return not self.gap and len(self.by_id) >= (self.total or 0)


def _row_key(row: Any) -> str:
    if isinstance(row, dict) and isinstance(row.get("id"), int | str):
        return f"id {row['id']}"
    return "digest " + canonical.Digest.of(canonical.to_json(row))


class SolExecBench(Source):
    """The leaderboard over a Fetcher: live, a snapshot, or a plain folder; `workers` readings overlap."""

    name = names.SOL_EXECBENCH

    def __init__(self, fetcher: Fetcher, *, workers: int = 1) -> None:
        self.fetcher = fetcher
        self.origin = fetcher.origin
        self.workers = workers

    def notes(self) -> str:
        """What there is to say of the network while reading; "" if nothing."""
        return self.fetcher.notes()

    def listing(self) -> Listing:
        body, data = self.fetcher.fetch("kernels", {}, _data("upstream/kernels"))
        drift = _DriftLog()
        refs: dict[str, DefinitionRef] = {}
        bad = []
        for position, row in enumerate(data["kernels"]):
            ref = _ref(row, drift)
            if ref is None:
                bad.append(Quarantined(f"kernels[{position}]", "a kernel needs an integer id and a name", facts=row))
            else:
                refs.setdefault(ref.external_id, ref)
        return Listing(tuple(refs.values()), tuple(bad), drift.result(), {body.name: body.digest})

    def read(self, ref: DefinitionRef) -> Reading:
        drift = _DriftLog()
        bodies: dict[str, str] = {}
        quarantined: list[Quarantined] = []
        definition = self._definition(ref, drift, bodies, quarantined)
        rows = self._rows(ref)
        submissions = list(_submissions(ref, rows.by_id.values(), definition, drift, quarantined))
        return Reading(
            ref=ref,
            definition=definition,
            submissions=tuple(submissions),
            quarantined=tuple(quarantined),
            expected=rows.largest_total,
            received=len(rows.by_id),
            complete=rows.complete,
            bodies={**bodies, **rows.bodies},
            drift=drift.result(),
        )

    def read_all(self, refs: Iterable[DefinitionRef]) -> Iterator[Reading]:
        if self.workers == 1:
            yield from super().read_all(refs)
            return
        waiting = iter(refs)
        pool = ThreadPoolExecutor(self.workers)
        try:
            # One reading more than the workers hold, so that none waits for the reader, and no more than that.
            ahead: list[Future[Reading]] = [pool.submit(self.read, r) for r in islice(waiting, self.workers + 1)]
            while ahead:
                yield ahead.pop(0).result()
                ahead.extend(pool.submit(self.read, r) for r in islice(waiting, 1))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _definition(
        self, ref: DefinitionRef, drift: _DriftLog, bodies: dict[str, str], quarantined: list[Quarantined]
    ) -> Definition | None:
        where = f"kernels/{ref.external_id}"
        try:
            body, detail = self.fetcher.fetch(where, {}, _envelope)
        except SourceError as error:
            if error.code != "not_found":
                raise
            quarantined.append(Quarantined(where, str(error)))
            return None
        bodies[body.name] = body.digest
        drift.members("upstream/kernel", detail)
        try:
            return _checked_definition(ref, detail)
        except NormalizeError as error:
            quarantined.append(Quarantined(where, str(error), error.pointer))
            return None

    def _rows(self, ref: DefinitionRef) -> _Rows:
        """Every page. Each begins with the last row of the one before: if that row is not there, rows have moved up
        in the meantime, and the reading steps back; newer rows that push others down only make repeats."""
        rows = _Rows()
        offset, furthest, steps_back = 0, -1, 0
        for _ in range(MAX_PAGES):
            params = {"kernel_id": ref.external_id, "offset": str(offset), "limit": str(PAGE)}
            body, data = self.fetcher.fetch("submissions", params, _data("upstream/submissions"))
            rows.bodies[body.name] = body.digest
            page = data["submissions"]
            moved = offset > 0 and bool(page) and _row_key(page[0]) not in rows.by_id
            new = rows.add(data)
            if moved and steps_back < STEPS_BACK:
                steps_back += 1
                offset = max(0, offset - PAGE // 2)
                continue
            rows.gap = rows.gap or moved
            furthest = max(furthest, offset)
            offset += max(len(page) - 1, 1)
            if not page or not (new or steps_back) or offset <= furthest or _is_short(data, rows):
                return rows
            steps_back = 0
        rows.gap = True
        return rows


def _is_short(data: Json, rows: _Rows) -> bool:
    """A page that is not full ends a listing, unless a total says that there is more."""
    limit = data.get("limit")
    full = min(PAGE, limit) if isinstance(limit, int) and limit > 0 else PAGE
    return len(data["submissions"]) < full and len(rows.by_id) >= (rows.total or 0)


def _ref(row: Any, drift: _DriftLog) -> DefinitionRef | None:
    if not schemas.is_valid("upstream/kernel-row", row):
        return None
    drift.members("upstream/kernel-row", row)
    return DefinitionRef(
        external_id=str(row["id"]),
        name=row["name"],
        gpus=tuple(row.get("gpu_types") or ()),
        tags=tuple(row.get("tags") or ()),
        announced=row.get("submission_count"),
    )


def _checked_definition(ref: DefinitionRef, detail: Json) -> Definition:
    _check("upstream/kernel", {"data": detail})
    if str(detail["id"]) != ref.external_id:
        raise NormalizeError(f"asked for kernel {ref.external_id}, got {detail['id']}", "/id")
    return definitions.definition(detail)


def _check(schema: str, document: Any) -> None:
    if not schemas.is_valid(schema, document):
        first = schemas.violations(schema, document)[0]
        raise NormalizeError(f"{first.pointer or '/'}: {first.message}", first.pointer)


def _submissions(
    ref: DefinitionRef,
    rows: Iterable[Any],
    definition: Definition | None,
    drift: _DriftLog,
    quarantined: list[Quarantined],
) -> Iterator[Submission]:
    for row in rows:
        try:
            yield _submission(ref, row, definition, drift)
        except NormalizeError as error:
            number = row.get("id") if isinstance(row, dict) else None
            name = str(number) if type(number) is int else None
            where = f"kernels/{ref.external_id} submission {name or 'without an id'}"
            quarantined.append(Quarantined(where, str(error), error.pointer, row, name))


def _submission(ref: DefinitionRef, row: Any, definition: Definition | None, drift: _DriftLog) -> Submission:
    _check("upstream/submission", row)
    drift.members("upstream/submission", row)
    if row["status"] not in _STATUSES:
        drift.add(f"status {row['status']!r}", row["id"])
    if row.get("submission_mode") not in _MODES:
        drift.add(f"submission_mode {row['submission_mode']!r}", row["id"])
    if str(row["kernel_id"]) != ref.external_id:
        raise NormalizeError(f"a row of kernel {row['kernel_id']} in the listing of {ref.external_id}", "/kernel_id")
    if definition is None:
        raise NormalizeError("its definition is quarantined")
    return leaderboard.submission(row, definition)
