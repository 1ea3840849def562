"""KernelIndex' catalogue export, what `kictl export` writes, and single bundles and manifests; nothing is believed.

Each row is judged with the rules of verification, as soon as what it refers to is known, at the latest at the end. One
that breaks a rule is quarantined, and so is each that refers to it.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, NamedTuple

from kictl import canonical, cohort
from kictl.canonical import Digest
from kictl.documents import Document, Lines, folder_files, from_stream
from kictl.errors import InputError
from kictl.model import Json, Manifest, Quarantined, Run
from kictl.normalize import exports
from kictl.normalize.exports import Implementation, Operation, Workload
from kictl.schemas import show
from kictl.sources.interface import AtHand, Claim, DefinitionRef, Reading, Records
from kictl.sources.names import KERNELINDEX
from kictl.strictjson import ParseError
from kictl.verify import claims as digests
from kictl.verify import parsing, rows, runs, shape
from kictl.verify.records import REFERENCES_OF
from kictl.verify.registry import RULES, Problem

FLUSH: Final = 2000
"""Manifests or claims that are handed over together."""
RUNS: Final = 6000
"""Runs that are handed over together: so many that each definition is written seldom."""
SPOOLED: Final = 4 << 20
"""Bytes of rows that wait in memory for what they refer to; more wait in a file."""

_RANKS: Final = {
    **dict.fromkeys(("operation_aliases", "workloads", "implementations", "serving_configurations"), 1),
    **dict.fromkeys(("benchmark_runs", "serving_runs"), 2),
    **dict.fromkeys(("measurements", "serving_measurements", "record_events"), 3),
}
"""What refers to rows of lower ranks, which are 0 for the other tables."""
_LAST: Final = 3
_PARTS: Final = {"protocol": "BenchmarkProtocol", "environment": "ExecutionEnvironment"}


class KernelIndex(Records):
    """The files, folders or streams of these names, `-` being `stdin`, read as one export."""

    name = KERNELINDEX

    def __init__(self, names: Sequence[str], stdin: IO[bytes]) -> None:
        self._names = names
        self._stdin = stdin
        self._read: list[tuple[str, Digest]] = []
        self.origin = " ".join(name if name == "-" else os.path.abspath(name) for name in names)

    def readings(self, at_hand: AtHand) -> Iterator[Reading]:
        reader = _Reader(at_hand)
        for batch in self._batches():
            for place, value in _values(batch):
                reader.take(place, value)
            if reader.is_full():
                yield from reader.flush()
        reader.settle()
        yield from reader.flush(at_end=True)
        if not reader.has_read:
            raise InputError(f"{' '.join(self._names)}: no row and no manifest in it", code="empty")
        yield reader.rest()

    def digest(self) -> Digest:
        if len(self._read) == 1:
            return self._read[0][1]
        return canonical.digest([[name, digest] for name, digest in sorted(self._read)])

    def _batches(self) -> Iterator[Document | Lines]:
        for name in self._names:
            if name == "-":
                yield from self._stream("-", self._stdin)
                continue
            root = Path(name)
            try:
                for path in folder_files(root) if root.is_dir() else (root,):
                    with open(path, "rb") as file:
                        yield from self._stream(str(path), file)
            except OSError as error:
                raise InputError(f"{name}: {error.strerror or error}", code="unreadable") from error

    def _stream(self, name: str, file: IO[bytes]) -> Iterator[Document | Lines]:
        hashed = _Hashed(file)
        yield from from_stream(name, hashed)  # type: ignore[arg-type]
        self._read.append((os.path.basename(name), hashed.digest()))


class _Hashed:
    """A stream whose bytes are hashed as they are read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        return data

    def digest(self) -> Digest:
        """That of the whole stream: what an error left unread is read as well."""
        while self.read(1 << 18):
            pass
        return Digest.from_raw(self._hash.digest())


_BROKEN_STREAM = ("parse/compression", "parse/expansion")


class _Place(NamedTuple):
    """Where a row stands: file, line (None where it is the whole file), and the pointer to it in its document."""

    subject: str
    line: int | None
    pointer: str = ""

    def __str__(self) -> str:
        return self.subject if self.line is None else f"{self.subject}:{self.line}"


def _values(batch: Document | Lines) -> Iterator[tuple[_Place, Any]]:
    """Each value with its place; a ParseError in place of one that cannot be read.

    InputError for a compressed stream that is cut short or broken: how many rows are lost nobody can tell.
    """
    if batch.error is not None and batch.error.rule in _BROKEN_STREAM:
        raise InputError(f"{batch.subject}: {batch.error}", code="unreadable") from batch.error
    if isinstance(batch, Lines):
        for line, value in batch.values():
            yield _Place(batch.subject, line), value
        if batch.error is not None:
            yield _Place(batch.subject, batch.first), batch.error
        return
    place = _Place(batch.subject, batch.line)
    try:
        value = batch.read()
    except ParseError as error:
        if batch.data or batch.error:
            yield place, error
        return
    if isinstance(value, list):
        yield from ((place._replace(pointer=f"/{number}"), item) for number, item in enumerate(value))
    else:
        yield place, value


class _Row(NamedTuple):
    """One row: its table, its columns, and its manifest or bundle; `base` is the pointer to that."""

    place: _Place
    table: str
    columns: Json
    manifest: Any
    base: str


class _RefusedError(Exception):
    """A row that breaks a rule."""

    def __init__(self, problem: Problem, base: str = "") -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.pointer = base + problem.pointer


class _WaitsError(Exception):
    """A row that refers to what has not come yet; `problem` is what is to be said if it never comes."""

    def __init__(self, problem: Problem, base: str = "") -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.pointer = base + problem.pointer


class _Reader:
    """Judges rows and gathers what is to be kept of them."""

    def __init__(self, at_hand: AtHand) -> None:
        self._at_hand = at_hand
        self._known: dict[str, Any] = {}
        """By digest: Operation, Workload, Implementation, Manifest (protocols, environments, models, serving
        workloads), or the kind alone."""
        self._tokenizers: dict[str, Any] = {}
        """By digest of a model."""
        self._ids: dict[str, dict[Any, str]] = {}
        """By table, what the id of a row leads to: a digest, or the slug of a source."""
        self._seen: dict[tuple[str, Any], _Place] = {}
        self._parts: dict[bytes, Manifest] = {}
        self._waiting: dict[int, IO[bytes]] = {}
        self._stated: dict[str, list[rows.Stated]] = {}
        self._attempts: dict[str, list[rows.Attempt]] = {}
        self._follows: dict[str, dict[str, tuple[str | None, str]]] = {}
        self._names: dict[tuple[str, str, str], Digest | None] = {}
        self._runs: dict[tuple[str, str], tuple[Any, list[tuple[str, Implementation, Run]]]] = {}
        self._of_runs = 0
        self._manifests: list[Manifest] = []
        self._claims: list[Claim] = []
        self._quarantined: list[Quarantined] = []
        self._superseded: list[Digest] = []
        self._counts: Counter[str] = Counter()
        self._is_settling = False
        self._judged = 0

    @property
    def has_read(self) -> bool:
        """Whether there was a row at all."""
        return self._judged > 0

    def is_full(self) -> bool:
        return self._of_runs >= RUNS or len(self._manifests) >= FLUSH or len(self._claims) >= FLUSH

    def take(self, place: _Place, value: Any) -> None:
        """One value of the files: a row of a table, a line of `kictl export`, a bundle or a manifest."""
        if isinstance(value, ParseError):
            self._refuse(place, "unreadable", parsing.problem(value), "", None, value.line)
            return
        try:
            row = _row(place, value)
        except _RefusedError as error:
            self._refuse(place, "unknown", error.problem, error.pointer, value)
            return
        self._try(row, value)

    def settle(self) -> None:
        """Judges for good what has waited, in the order in which it is referred to."""
        for rank in range(1, _LAST + 1):
            while self._again(rank):
                pass
            self._is_settling = True
            self._again(rank)
            self._is_settling = False

    def _again(self, rank: int) -> bool:
        """Rows of a rank that waited, each once more; whether one of them waits no longer."""
        file = self._waiting.pop(rank, None)
        if file is None:
            return False
        judged = self._judged
        with file:
            file.seek(0)
            for line in file:
                place, value = canonical.read(line, max_bytes=1 << 26)
                self._try(_row(_Place(*place), value), value)
        return self._judged > judged

    def _try(self, row: _Row, value: Any) -> None:
        try:
            self._judge(row)
        except _RefusedError as error:
            self._refuse(row.place, row.table, error.problem, error.pointer, value)
        except _WaitsError as error:
            if self._is_settling:
                self._refuse(row.place, row.table, error.problem, error.pointer, value)
                return
            rank = _RANKS.get(row.table, 1)
            if rank not in self._waiting:
                self._waiting[rank] = SpooledTemporaryFile(SPOOLED)  # noqa: SIM115 - closed when it has been read
            self._waiting[rank].write(canonical.to_json([[*row.place], value]) + b"\n")
        else:
            self._judged += 1
            self._counts[f"{row.table}/kept"] += 1

    def _refuse(
        self, place: _Place, table: str, problem: Problem, pointer: str, value: Any, line: int | None = None
    ) -> None:
        self._judged += 1
        where = str(place if line is None or place.line is not None else place._replace(line=line))
        self._counts[f"{table}/quarantined"] += 1
        reason = f"{problem.rule}: {problem.message}"
        self._quarantined.append(Quarantined(where, reason, place.pointer + pointer, value))

    def _judge(self, row: _Row) -> None:
        """Keeps a row that breaks no rule. Raises _RefusedError or _WaitsError, and then has changed nothing."""
        name = row.columns.get("id")
        if name is not None and (first := self._seen.get((row.table, name))) is not None:
            raise _RefusedError(rows.repeated(row.table, name, f"at {first}"), "/row")
        if row.table == "benchmark_runs":
            leads_to = self._benchmark_run(row)
        elif row.table in rows.KINDS:
            leads_to = self._manifest(row)
        else:
            leads_to = self._other(row)
        if name is not None:
            self._seen[row.table, name] = row.place
            self._ids.setdefault(row.table, {})[name] = leads_to

    # Rows of manifests

    def _checked(self, manifest: Any, base: str, kind: str | None = None) -> Manifest:
        """A manifest of sound shape, with its digest."""
        normal, problems = shape.of_manifest(manifest, kind)
        for problem in problems:
            if RULES[problem.rule].severity == "error":
                raise _RefusedError(problem, base)
        return Manifest(Digest.from_raw(canonical.raw_identity(normal, True)), normal)

    def _manifest(self, row: _Row) -> str:
        made = self._checked(row.manifest, row.base)
        kinds = rows.KINDS[row.table]
        if made.kind not in kinds:
            expected, got = " or ".join(kinds), show(made.kind)
            message = f"expected {expected}, got {got}"
            raise _RefusedError(Problem(shape.KIND, "/kind", message, expected, got), row.base)
        _hold(digests.columns(made.document, made.digest, row.columns), "/row")
        _hold(rows.columns(made.kind, row.columns, made.spec), "/row")
        ids = self._lead(row, made.spec)
        self._refer(made, row.base)
        if row.table == "serving_runs":
            self._serving_run(row, made)
        else:
            self._remember(row, made, ids)
            self._manifests.append(made)
            self._claim(row, made.digest, ids)
        return made.digest

    def _remember(self, row: _Row, made: Manifest, ids: dict[str, str]) -> None:
        """What later rows ask of this one."""
        kind = made.kind
        if kind == "OperationSpec":
            self._known[made.digest] = Operation(made, {n: row.columns.get(n) for n in ("name", "tags")})
        elif kind in ("WorkloadCase", "WorkloadSuite"):
            self._known[made.digest] = Workload.of(made)
        elif kind == "ImplementationRevision":
            self._known[made.digest] = self._implementation(made, ids.get("projectId"))
        elif kind == "ServingConfiguration":
            stack = self._find(made.spec["stackDigest"])
            author = stack.spec["project"]["name"] if isinstance(stack, Manifest) else None
            self._known[made.digest] = Implementation(made.document["metadata"]["name"], None, None, author)
        else:
            self._known[made.digest] = made
        if kind == "ModelRevision":
            self._tokenizers[made.digest] = cohort.tokenizer_of(made.spec, row.columns)

    def _implementation(self, made: Manifest, project: str | None) -> Implementation:
        author = self._find(project) if project is not None else None
        return Implementation(
            name=made.document["metadata"]["name"],
            operation=Digest(made.spec["operation"]["specDigest"]),
            project=author.digest if isinstance(author, Manifest) else None,
            author=author.spec["name"] if isinstance(author, Manifest) else None,
        )

    def _claim(self, row: _Row, digest: Digest, ids: dict[str, str]) -> None:
        said = exports.claim(row.table, row.columns, str(digest), **ids)
        if said:
            self._claims.append(Claim(row.table, digest, said))

    # Runs

    def _benchmark_run(self, row: _Row) -> str:
        parts = row.manifest if _is_bundle(row.manifest) else {"run": row.manifest}
        _hold(shape.of_bundle(parts, ("run", *_PARTS)) if len(parts) != 1 else (), row.base)
        at = f"{row.base}/run" if _is_bundle(row.manifest) else row.base
        made = self._checked(parts["run"], at, "BenchmarkRun")
        spec = made.spec
        others = {
            name: self._part(parts[name], f"{row.base}/{name}", kind) for name, kind in _PARTS.items() if name in parts
        }
        _hold(digests.columns(made.document, made.digest, row.columns), "/row")
        _hold(digests.bundled(made.document, {f"{name}Digest": part.digest for name, part in others.items()}), at)
        protocol, environment = (others.get(name) or self._refer_to(spec, name, at) for name in _PARTS)
        _hold(rows.columns("BenchmarkRun", row.columns, spec, environment.spec), "/row")
        metrics = spec.get("sourceNative", {}).get("metrics", {})
        _hold(runs.problems(spec, metrics, None), at)
        ids = self._lead(row, spec)
        self._refer(made, at, ("implementationDigest", "workloadDigest"))
        workload, implementation = self._find(spec["workloadDigest"]), self._find(spec["implementationDigest"])
        total = metrics.get("fast_1_total")
        if total is not None and workload.cases is not None and total != workload.cases:
            pointer, message = (
                f"{runs.METRICS}/fast_1_total",
                f"fast_1_total is {total}, the suite has {workload.cases} cases",
            )
            raise _RefusedError(Problem("arithmetic/case-count", pointer, message, str(workload.cases), str(total)), at)
        operation = self._find(workload.operation)
        of = exports.kernel_cohort(spec, workload, protocol.spec, environment.spec)
        _hold(rows.keys(row.columns, {"comparisonKey": of.key, "correctnessKey": workload.correctness}), "/row")
        name = exports.definition_name(spec, workload, operation)
        self._add_run(row, made, implementation, of, name, operation, tuple(others.values()), ids)
        return made.digest

    def _part(self, manifest: Any, base: str, kind: str) -> Manifest:
        """A protocol or environment of a bundle: of the many that are alike one is judged."""
        text = canonical.to_json(manifest)
        known = self._parts.get(text)
        if known is None:
            if len(self._parts) >= FLUSH:
                self._parts.clear()
            known = self._parts[text] = self._checked(manifest, base, kind)
            self._known[known.digest] = known
        return known

    def _refer_to(self, spec: Json, name: str, base: str) -> Manifest:
        """The protocol or environment of a run that does not bring it along."""
        found = self._find(spec[f"{name}Digest"])
        if not isinstance(found, Manifest) or found.kind != _PARTS[name]:
            raise _WaitsError(_unresolved(f"{name}Digest", spec[f"{name}Digest"], _PARTS[name]), base)
        return found

    def _serving_run(self, row: _Row, made: Manifest) -> None:
        spec = made.spec
        model, workload = self._find(spec["modelDigest"]), self._find(spec["workloadDigest"])
        keys = cohort.serving_keys(spec, workload.spec)
        tokenizer = self._tokenizers.get(model.digest, cohort.tokenizer_of(model.spec))
        of = exports.serving_cohort(spec, keys, tokenizer)
        expected = {"cohortKey": of.key, "protocolKey": keys.protocol}
        _hold(rows.keys(row.columns, expected), "/row")
        native = spec.get("sourceNative", {})
        name = str(native.get("benchmark") or model.document["metadata"]["name"])
        configuration = self._find(spec["configurationDigest"])
        self._add_run(row, made, configuration, of, name, model, (), self._lead(row, spec))

    def _add_run(
        self,
        row: _Row,
        made: Manifest,
        implementation: Implementation,
        of: Any,
        name: str,
        subject: Operation | Manifest,
        others: tuple[Manifest, ...],
        ids: dict[str, str],
    ) -> None:
        spec, measured = made.spec, cohort.primary(made.spec)
        source = str(spec.get("sourceNative", {}).get("source") or self._source_of(ids))
        retraction = None
        if row.columns.get("retractedAt") is not None:
            retraction = str(row.columns.get("retractionReason") or "no reason given")
        facts = exports.claim(row.table, row.columns, str(made.digest), **ids)
        run = Run(made, Digest(spec.get("implementationDigest") or spec["configurationDigest"]), of,
                  None if measured is None else measured.value, others, facts, retraction)  # fmt: skip
        submission = self._submission(source, name, spec, implementation)
        _, found = self._runs.setdefault((source, name), (subject, []))
        found.append((submission, implementation, run))
        self._of_runs += 1
        if "supersedesId" in ids:
            self._superseded.append(Digest(ids["supersedesId"]))
        self._stated[made.digest] = rows.measurements(spec)
        self._known[made.digest] = made.kind
        if measured is not None and run.has_passed and (value := rows.smaller_is_better(measured)) is not None:
            self._attempts.setdefault(of.key, []).append(rows.Attempt(spec["observedAt"], value, made.digest))

    def _source_of(self, ids: dict[str, str]) -> str:
        return ids.get("sourceId", KERNELINDEX)

    def _submission(self, source: str, definition: str, spec: Json, implementation: Implementation) -> str:
        """The id of the run's record; two authors who call what they run alike have two."""
        name = exports.submission_name(spec, implementation)
        if spec.get("sourceNative", {}).get("externalId"):
            return name
        if self._names.setdefault((source, definition, name), implementation.project) != implementation.project:
            return f"{name} by {implementation.author}"
        return name

    # Rows without manifests

    def _other(self, row: _Row) -> str:
        columns, ids = row.columns, self._lead(row, None)
        if row.table in ("measurements", "serving_measurements"):
            _hold([problem] if (problem := rows.measured(columns, self._stated.get(ids["runId"], []))) else (), "/row")
            return ""
        if row.table == "record_events":
            self._event(row, ids)
            return ""
        about = {
            "sources": columns.get("slug"),
            "operation_aliases": f"{columns.get('alias')} {ids.get('operationId')}",
            "artifacts": f"{columns.get('kind')} {columns.get('contentDigest')}",
        }.get(row.table)
        if not isinstance(about, str):
            message = f"a row of sources has a slug, got {show(about)}"
            raise _RefusedError(Problem(rows.COLUMN, "/slug", message, "a text", show(about)), "/row")
        said = exports.claim(row.table, columns, about, **ids)
        self._claims.append(Claim(row.table, about, said))
        return about

    def _event(self, row: _Row, ids: dict[str, str]) -> None:
        if not self._is_settling:  # the runs of its key may not all have come
            raise _WaitsError(Problem(rows.EVENT, "", "never judged"))
        columns, key = row.columns, row.columns.get("comparisonKey")
        if key not in self._follows:
            self._follows[str(key)] = rows.records(self._attempts.get(str(key), []))
        stated = {**columns, "runId": ids["runId"], "previousRunId": ids.get("previousRunId")}
        _hold([problem] if (problem := rows.event(stated, self._follows[str(key)])) else (), "/row")
        said = exports.claim(row.table, columns, None, **ids)
        self._claims.append(Claim(row.table, f"{key} {ids['runId']}", said))

    # References

    def _lead(self, row: _Row, spec: Json | None) -> dict[str, str]:
        """What the ids of other rows in a row lead to, by column."""
        found: dict[str, str] = {}
        for column in rows.IDS.get(row.table, ()):
            value = row.columns.get(column.name)
            if value is None:
                if column.name in row.columns and not column.optional:
                    raise _RefusedError(rows.id_missing(column, value), "/row")
                continue
            target = self._ids.get(column.table, {}).get(value)
            if target is None:
                raise _WaitsError(rows.id_missing(column, value), "/row")
            found[column.name] = target
            wanted = _at(spec, column.path)
            if wanted is not None and (problem := rows.id_mismatch(column, row.columns, wanted, target)) is not None:
                raise _RefusedError(problem, "/row")
        return found

    def _refer(self, made: Manifest, base: str, members: Iterable[str] | None = None) -> None:
        """Waits until the manifests are known that this one refers to, and have the right kind."""
        for _, path, kinds in REFERENCES_OF.get(made.kind, ()):
            if members is not None and path[0] not in members:
                continue
            digest = _at(made.spec, path)
            found = self._find(digest)
            if found is None:
                raise _WaitsError(_unresolved("/".join(path), digest, " or ".join(kinds)), base)
            if (kind := _kind(found)) not in kinds:
                expected = " or ".join(kinds)
                message = f"{digest} is a {kind}, not a {expected}"
                raise _RefusedError(Problem("digest/kind", f"/spec/{'/'.join(path)}", message, expected, kind), base)

    def _find(self, digest: Any) -> Any:
        """What is known of a manifest, in this export or beforehand; None where nothing is."""
        known = self._known.get(digest)
        if known is None and (found := self._at_hand.find(Digest(digest))) is not None:
            if found.kind == "ImplementationRevision":
                known = self._implementation(found, None)
            elif found.kind == "OperationSpec":
                known = Operation(found, {})
            elif found.kind in ("WorkloadCase", "WorkloadSuite"):
                known = Workload.of(found)
            elif found.kind == "ServingConfiguration":
                known = Implementation(found.document["metadata"]["name"], None, None, None)
            else:
                known = found
            self._known[digest] = known
        return known

    # Handing over

    def flush(self, *, at_end: bool = False) -> Iterator[Reading]:
        """What has been kept since the last time: manifests first, then runs by definition, then claims."""
        manifests, self._manifests = tuple(self._manifests), []
        yield self._reading(manifests=manifests)
        yield from self._flush_runs() if self._of_runs >= RUNS or at_end else ()
        claims, self._claims = tuple(self._claims), []
        counts, self._counts = self._counts, Counter()
        quarantined, self._quarantined = tuple(self._quarantined), []
        yield self._reading(claims=claims, quarantined=quarantined, counts=counts, received=sum(counts.values()))

    def _flush_runs(self) -> Iterator[Reading]:
        found, self._runs, self._of_runs = self._runs, {}, 0
        for (source, name), (subject, parts) in found.items():
            serving = isinstance(subject, Manifest)
            definition = (
                exports.served(name, subject) if isinstance(subject, Manifest) else exports.definition(name, subject)
            )
            yield Reading(
                ref=DefinitionRef(f"{source}/{name}", name),
                definition=definition,
                submissions=exports.submissions(parts),
                of=source,
                table="serving_runs" if serving else "benchmark_runs",
            )

    def rest(self) -> Reading:
        """What can be said only when all has been kept."""
        return self._reading(superseded=tuple(self._superseded))

    def _reading(self, **parts: Any) -> Reading:
        return Reading(ref=DefinitionRef("", ""), definition=None, **parts)


def _row(place: _Place, value: Any) -> _Row:
    """The row that a value is. Raises _RefusedError for one that is none."""
    if not isinstance(value, dict):
        got = show(value)
        raise _RefusedError(Problem(shape.DOCUMENT, "", f"expected a row or a manifest, got {got}", "a row", got))
    if "table" in value or "row" in value:
        return _row_of_table(place, value)
    if "manifest" in value and "apiVersion" not in value:
        return _row_of_line(place, value)
    if _is_bundle(value):
        return _Row(place, "benchmark_runs", {}, value, "")
    return _Row(place, _table_of(value), {}, value, "")


def _row_of_table(place: _Place, value: Json) -> _Row:
    columns, table = value.get("row"), value.get("table")
    if not isinstance(columns, dict) or not isinstance(table, str) or not isinstance(columns.get("id", ""), str):
        raise _RefusedError(shape.not_a_row(value))
    if table not in rows.KINDS and table not in rows.OTHER_TABLES:
        message = f"no table is called {show(table)}"
        raise _RefusedError(Problem(shape.DOCUMENT, "/table", message, ", ".join(rows.KINDS), show(table)))
    return _Row(place, table, columns, columns.get("manifest"), "/row/manifest")


def _row_of_line(place: _Place, value: Json) -> _Row:
    """A line of `kictl export`: a manifest with its digest and kind."""
    if value.keys() != {"digest", "kind", "manifest"}:
        raise _RefusedError(shape.not_an_export_line(value))
    manifest = value["manifest"]
    kind = manifest.get("kind") if isinstance(manifest, dict) else None
    if value["kind"] != kind:
        raise _RefusedError(digests.line_kind(kind, value["kind"]))
    own = digests.OWN_COLUMN.get(kind) if isinstance(kind, str) else None
    return _Row(place, _table_of(manifest), {own: value["digest"]} if own else {}, manifest, "/manifest")


def _table_of(manifest: Any) -> str:
    """The table of a manifest's kind; of one that has no known kind, any: its shape is refused there."""
    kind = manifest.get("kind") if isinstance(manifest, dict) else None
    return rows.TABLE_OF.get(kind, "operations") if isinstance(kind, str) else "operations"


def _is_bundle(value: Any) -> bool:
    return isinstance(value, dict) and "kind" not in value and "run" in value


def _hold(problems: Iterable[Problem], base: str) -> None:
    """Raises _RefusedError for the first problem that is an error."""
    for problem in problems:
        if (problem.severity or RULES[problem.rule].severity) == "error":
            raise _RefusedError(problem, base)


def _at(spec: Json | None, path: Sequence[str] | None) -> str | None:
    value: Any = spec if path is not None else None
    for name in path or ():
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def _unresolved(member: str, digest: Any, kind: str) -> Problem:
    message = f"refers to {kind} {digest}, which is neither in this export, as far as it holds, nor in the catalogue"
    return Problem("reference/unresolved", f"/spec/{member}", message, f"{kind} {digest}", "nothing")


def _kind(found: Any) -> str:
    if isinstance(found, Manifest):
        return found.kind
    if isinstance(found, Operation):
        return "OperationSpec"
    if isinstance(found, Workload):
        return "WorkloadSuite" if found.cases is not None else "WorkloadCase"
    if isinstance(found, Implementation):
        return "ServingConfiguration" if found.operation is None else "ImplementationRevision"
    return str(found)
