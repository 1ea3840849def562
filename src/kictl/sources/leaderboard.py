"""The SOL-ExecBench leaderboard: its list, details and pages of submissions, whatever they are fetched from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any

from kictl import canonical, schemas, units
from kictl.canonical import ParseError
from kictl.errors import InputError, SourceError
from kictl.model import Body, Definition, Json, Quarantined, Submission
from kictl.normalize import definitions, leaderboard
from kictl.normalize.build import NormalizeError
from kictl.sources import names, paging
from kictl.sources.drift import DriftLog
from kictl.sources.fetch import Fetcher
from kictl.sources.interface import Board, DefinitionRef, Drift, Listing, Reading
from kictl.sources.paging import Page, Row

WAKE_SECONDS = 0.2

_STATUSES = frozenset({
    "RUNNING", "PENDING_RESULT", "COMPLETED",
    "QUEUED", "PENDING", "EVALUATING", "DEFERRED_RESULT", "FAILED", "ERROR", "REJECTED", "CANCELLED",
})  # fmt: skip
_MODES = frozenset({"release", "private", "public", None})


class SolExecBench(Board):
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
        body, rows = self.fetcher.fetch("kernels", {}, _kernels)
        drift = DriftLog()
        refs: dict[str, DefinitionRef] = {}
        bad = []
        for position, row in enumerate(rows):
            try:
                _add_ref(refs, _ref(row, drift))
            except NormalizeError as error:
                bad.append(_quarantined(f"kernels[{position}]", error, row))
        held = tuple(ref for ref in refs.values() if self.fetcher.holds(_detail_path(ref)))
        bodies = {body.name: body.digest}
        return Listing(held, tuple(bad), drift.result(), bodies, is_part=len(held) < len(refs))

    def read(self, ref: DefinitionRef) -> Reading:
        drift = DriftLog()
        definition, refused, bodies = self._definition(ref, drift)
        listing = self._submissions(ref)
        quarantined: list[Quarantined] = []
        submissions = _normalised(ref, listing.rows.values(), definition, drift, quarantined)
        return Reading(
            ref=ref,
            definition=definition,
            refused=refused,
            submissions=tuple(submissions),
            quarantined=tuple(quarantined),
            expected=listing.expected,
            received=len(listing.rows),
            complete=listing.problem is None,
            problem=listing.problem,
            bodies={**bodies, **listing.bodies},
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
                yield _awaited(ahead.pop(0))
                ahead.extend(pool.submit(self.read, r) for r in islice(waiting, 1))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _definition(
        self, ref: DefinitionRef, drift: DriftLog
    ) -> tuple[Definition | None, Quarantined | None, dict[str, str]]:
        """The definition, or why there is none; and the body that was read."""
        where = _detail_path(ref)
        try:
            body, (detail, strict) = self.fetcher.fetch(where, {}, _detail)
        except SourceError as error:
            if error.code != "not_found":
                raise
            return None, Quarantined(where, str(error)), {}
        bodies: dict[str, str] = {body.name: body.digest}
        try:
            return _checked_definition(ref, detail, drift, strict=strict), None, bodies
        except NormalizeError as error:
            return None, Quarantined(where, str(error), error.pointer), bodies

    def _submissions(self, ref: DefinitionRef) -> paging.Listing:
        def page(offset: int) -> tuple[Body, Page]:
            params = {"kernel_id": ref.external_id, "offset": str(offset), "limit": str(paging.PAGE)}
            return self.fetcher.fetch("submissions", params, _page)

        try:
            return paging.read(page)
        except SourceError as error:
            if error.code != "not_found":
                raise
            return paging.Listing(problem="it was not found")


def _awaited(reading: Future[Reading]) -> Reading:
    """The reading. A signal that comes just before a wait without end would not be seen until the end of it."""
    while not wait([reading], timeout=WAKE_SECONDS).done:
        pass
    return reading.result()


def _detail_path(ref: DefinitionRef) -> str:
    return f"kernels/{ref.external_id}"


def _data(document: Any, schema: str, listed: str) -> tuple[Json, list[Any]]:
    """The envelope's object without its list, and the list, each row of which is judged by itself, later.

    Raises InputError for what the schema does not allow.
    """
    data = document.get("data") if isinstance(document, dict) else None
    rows = data.get(listed) if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(rows, list):
        raise InputError(f"not an object with data.{listed}, a list, in it", code="shape")
    rest = {**data, listed: []}
    canonical.check(rest)
    if not schemas.is_valid(schema, {"data": rest}):
        first = schemas.violations(schema, {"data": rest})[0]
        raise InputError(f"{first.pointer or '/'}: {first.message}", code="shape")
    return rest, rows


def _kernels(document: Any, strict: bool) -> list[Row]:
    _, rows = _data(document, "upstream/kernels", "kernels")
    return paging.rows(rows, strict=strict)


def _page(document: Any, strict: bool) -> Page:
    data, rows = _data(document, "upstream/submissions", "submissions")
    return Page(paging.rows(rows, strict=strict), _count(data.get("total")), _count(data.get("limit")))


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _detail(document: Any, strict: bool) -> tuple[Json, bool]:
    """The object inside the envelope of a definition's detail, whose own shape is judged later."""
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, dict):
        raise InputError("not an object with a data object in it", code="shape")
    return data, strict


def _ref(row: Row, drift: DriftLog) -> DefinitionRef:
    kernel = _checked("upstream/kernel-row", row)
    drift.members("upstream/kernel-row", kernel)
    for gpu in kernel["gpu_types"]:
        _note_gpu(gpu, kernel["id"], drift)
    return DefinitionRef(
        external_id=str(kernel["id"]),
        name=kernel["name"],
        gpus=tuple(kernel["gpu_types"]),
        tags=tuple(kernel.get("tags") or ()),
        announced=_count(kernel.get("submission_count")),
    )


def _add_ref(refs: dict[str, DefinitionRef], ref: DefinitionRef) -> None:
    if refs.setdefault(ref.external_id, ref) != ref:
        raise NormalizeError(f"an earlier row has the id {ref.external_id}, too", "/id")


def _checked(schema: str, row: Row) -> Json:
    """The row's value, which has the shape of the schema and an id that is written as an integer."""
    if row.fault is not None:
        raise NormalizeError(row.fault.detail, row.fault.pointer)
    _check(schema, row.value)
    if type(row.value["id"]) is not int:
        raise NormalizeError(f"the id {row.value['id']} is not written as an integer", "/id")
    value: Json = row.value
    return value


def _check(schema: str, document: Any) -> None:
    if not schemas.is_valid(schema, document):
        first = schemas.violations(schema, document)[0]
        raise NormalizeError(f"{first.pointer or '/'}: {first.message}", first.pointer)


def _quarantined(where: str, error: NormalizeError, row: Row, external_id: str | None = None) -> Quarantined:
    facts = row.value if row.fault is None else row.text
    return Quarantined(where, str(error), error.pointer, facts, external_id)


def _checked_definition(ref: DefinitionRef, detail: Json, drift: DriftLog, *, strict: bool) -> Definition:
    try:
        if not strict:
            canonical.check(detail)
        _check("upstream/kernel", {"data": detail})
        if str(detail["id"]) != ref.external_id:
            raise NormalizeError(f"asked for kernel {ref.external_id}, got {detail['id']}", "/id")
        drift.members("upstream/kernel", detail)
        return definitions.definition(detail)
    except ParseError as error:
        raise NormalizeError(error.detail, error.pointer) from error


def _normalised(
    ref: DefinitionRef,
    rows: Iterable[Row],
    definition: Definition | None,
    drift: DriftLog,
    quarantined: list[Quarantined],
) -> Iterator[Submission]:
    for row in rows:
        try:
            yield _submission(ref, row, definition, drift)
        except NormalizeError as error:
            number = row.value.get("id") if isinstance(row.value, dict) else None
            name = str(number) if type(number) is int else None
            where = f"kernels/{ref.external_id} submission {name or 'without an id'}"
            quarantined.append(_quarantined(where, error, row, name))


def _submission(ref: DefinitionRef, row: Row, definition: Definition | None, drift: DriftLog) -> Submission:
    submission = _checked("upstream/submission", row)
    drift.members("upstream/submission", submission)
    _note_values(submission, drift)
    if str(submission["kernel_id"]) != ref.external_id:
        raise NormalizeError(
            f"a row of kernel {submission['kernel_id']} in the listing of {ref.external_id}", "/kernel_id"
        )
    if definition is None:
        raise NormalizeError("its definition is quarantined")
    return leaderboard.submission(submission, definition)


def _note_values(row: Json, drift: DriftLog) -> None:
    if row["status"] not in _STATUSES:
        drift.add(f"status {row['status']!r}", row["id"])
    if row.get("submission_mode") not in _MODES:
        drift.add(f"submission_mode {row['submission_mode']!r}", row["id"])
    _note_gpu(row["gpu_type"], row["id"], drift)


def _note_gpu(name: str, example: int, drift: DriftLog) -> None:
    if not units.gpu(name).known:
        drift.add(f"{Drift.UNKNOWN_GPU} {name!r}", example)
