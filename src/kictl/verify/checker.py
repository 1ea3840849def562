"""One document after another: its shape, its digest, its own rules; what rules about many need goes to the facts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zlib import crc32

from kictl import canonical, cohort
from kictl.documents import Document, Lines
from kictl.model import PASSED, Finding, Json
from kictl.strictjson import ParseError
from kictl.verify import claims, parsing, rows, runs, shape, source, stored  # noqa: F401 - each declares its rules
from kictl.verify.context import Context, RunBounds
from kictl.verify.facts import PARTS, Parts, new_parts
from kictl.verify.keys import Keys
from kictl.verify.records import (
    ATTEMPT,
    EVENT,
    MADE,
    MODEL,
    NAMED,
    REFERENCES_OF,
    REFERRED_TO,
    RESULT,
    SERVED,
    SERVING_WORKLOAD,
    WANTED,
    WORKLOAD,
    WORKLOADS,
    Claims,
    Workload,
    part_of_key,
    row_of,
)
from kictl.verify.registry import RULES, Problem
from kictl.verify.report import Tally

_REMEMBERED: Final = 1024
_RECENT: Final = 4096
_BUNDLED: Final = {"protocol": "BenchmarkProtocol", "environment": "ExecutionEnvironment"}
_BUNDLE: Final = {"run", *_BUNDLED}
_NATIVE: Json = {}
_NO_KEYS: Final = (None, None)
_NAMES: Final = ("source", "benchmark", "scenario", "division", "category", "externalId")
_APART: Final = {
    "BenchmarkRun": ("workloadDigest", "environmentDigest"),
    "ServingRun": ("modelDigest", "configurationDigest", "workloadDigest"),
}


class Checker:
    """Checks documents one by one. `wanted` are the ids of the rules to apply."""

    def __init__(self, wanted: frozenset[str], context: Context, expect: str | None = None) -> None:
        self._wanted = wanted
        self._context = context
        self._expect = expect
        self._tally = Tally()
        self._parts = new_parts()
        self._subject = ""
        self._line: int | None = None
        tomorrow = datetime.now(UTC) + timedelta(hours=24)
        self._latest = tomorrow.strftime("%Y-%m-%dT%H:%M:%S")
        self._bounds: dict[str, RunBounds | None] = {}
        self._known: dict[bytes, str] = {}
        self._recent: dict[tuple[str, ...], set[str]] = {kinds: set() for kinds in REFERRED_TO.values()}
        self._suites: dict[str, Workload] = {}
        self._keys = Keys()
        self._environment: Any = None

    def take(self) -> tuple[Tally, Parts]:
        """What came of the documents since the last call, and the records of them."""
        taken = self._tally, self._parts
        self._tally, self._parts = Tally(), new_parts()
        return taken

    def check(self, batch: Document | Lines) -> None:
        """Everything that can be said of these documents alone."""
        self._subject = batch.subject
        if isinstance(batch, Document):
            self._document(batch)
            return
        for self._line, value in batch.values():
            if isinstance(value, ParseError):
                self._unreadable(value)
            else:
                self._value(value, "")
        if batch.error is not None:
            self._line = batch.first
            self._unreadable(batch.error)

    def _document(self, document: Document) -> None:
        self._line = document.line
        if document.is_blank:
            return
        try:
            value = document.read()
        except ParseError as error:
            self._unreadable(error)
            return
        if isinstance(value, list) and document.line is None:
            for position, member in enumerate(value):
                self._value(member, f"/{position}")
        elif document.claim is None:
            self._value(value, "")
        else:
            self._tally.checked += 1
            digest = self._manifest(value, "")
            if digest != document.claim:
                self._tell(claims.column("", digest, document.claim), "", digest)

    def _unreadable(self, error: ParseError) -> None:
        self._tally.checked += 1
        self._tally.unreadable += 1
        if self._line is None:
            self._line = error.line
        self._tell(parsing.problem(error), "")

    def _value(self, value: Any, base: str) -> None:
        """A manifest, a bundle, or a line that has one of them in it."""
        self._tally.checked += 1
        if not isinstance(value, dict) or "apiVersion" in value:
            self._manifest(value, base)
        elif "table" in value or "row" in value:
            self._row(value, base)
        elif "manifest" in value:
            self._export_line(value, base)
        elif _is_bundle(value):
            self._bundle(value, base)
        else:
            self._manifest(value, base)

    def _row(self, value: Json, base: str) -> None:
        row = value.get("row")
        if not isinstance(row, dict) or not isinstance(value.get("table"), str):
            self._tell(shape.not_a_row(value), base)
            return
        manifest = row.get("manifest")
        if manifest is None:
            if value["table"] == "record_events":
                self._event(row, f"{base}/row")
            return
        base += "/row/manifest"
        if isinstance(manifest, dict) and _is_bundle(manifest):
            self._bundle(manifest, base, row)
        else:
            self._manifest(manifest, base, row=row)

    def _export_line(self, value: Json, base: str) -> None:
        if value.keys() != {"digest", "kind", "manifest"}:
            self._tell(shape.not_an_export_line(value), base)
        manifest = value["manifest"]
        digest = self._manifest(manifest, f"{base}/manifest")
        if digest is not None and "digest" in value and value["digest"] != digest:
            self._tell(claims.column("/digest", digest, value["digest"]), base, digest)
        kind = manifest.get("kind") if isinstance(manifest, dict) else None
        if "kind" in value and value["kind"] != kind:
            self._tell(claims.line_kind(kind, value["kind"]), base, digest)

    def _bundle(self, bundle: Json, base: str, row: Json | None = None) -> None:
        if bundle.keys() != _BUNDLE:
            for problem in shape.of_bundle(bundle, ("run", *_BUNDLED)):
                self._tell(problem, base)
        beside = {
            f"{member}Digest": self._repeated(bundle[member], f"{base}/{member}", kind)
            for member, kind in _BUNDLED.items()
            if member in bundle
        }
        if "run" in bundle:
            self._environment = bundle.get("environment")
            self._manifest(bundle["run"], f"{base}/run", "BenchmarkRun", row, beside)

    def _repeated(self, manifest: Any, base: str, kind: str) -> str | None:
        """As _manifest, for what occurs in bundle after bundle: the same text is judged once."""
        text = canonical.to_json(manifest)
        digest = self._known.get(text)
        if digest is not None:
            self._tally.manifests += 1
            return digest
        told = self._tally.rules.total()
        digest = self._manifest(manifest, base, kind)
        if digest is not None and told == self._tally.rules.total():
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[text] = digest
        return digest

    def _manifest(
        self,
        manifest: Any,
        base: str,
        kind: str | None = None,
        row: Json | None = None,
        beside: dict[str, str | None] | None = None,
    ) -> str | None:
        """Checks a manifest, which may only be of `kind`; its digest, None where it has none.

        `row` is the catalogue row around it, `beside` the digests of the other members of its bundle by the names
        under which the run refers to them.
        """
        self._tally.manifests += 1
        manifest, problems = shape.of_manifest(manifest, kind)
        for problem in problems:
            self._tell(problem, base)
        if problems and not shape.has_identity(manifest):
            return None
        raw = canonical.raw_identity(manifest, True)
        digest = "sha256:" + raw.hex()
        if self._expect is not None and kind in (None, "BenchmarkRun"):
            self._tally.matched += 1
            if digest != self._expect:
                self._tell(claims.expected(digest, self._expect), base, digest)
        if row is not None:
            for problem in claims.columns(manifest, digest, row):
                self._tell(problem, row_of(base), digest)
        if beside is not None:
            for problem in claims.bundled(manifest, beside):
                self._tell(problem, base, digest)
        if not problems or all(RULES[problem.rule].severity != "error" for problem in problems):
            self._good(manifest, base, digest, raw, row, beside or {})
        return digest

    def _good(
        self, manifest: Json, base: str, digest: str, raw: bytes, row: Json | None, beside: dict[str, str | None]
    ) -> None:
        """Rules and facts of a manifest whose shape is right."""
        kind, spec = manifest["kind"], manifest["spec"]
        place = (self._subject, self._line, base)
        parts = self._parts
        if row is not None:
            self._columns(kind, spec, digest, row, base, beside)
        editorial = hash(canonical.to_json(manifest["metadata"], sort=True))
        parts[raw[0] % PARTS].append((MADE, raw, kind, editorial, place))
        for number, path, kinds in REFERENCES_OF.get(kind, ()):
            target = spec[path[0]] if len(path) == 1 else spec[path[0]][path[1]]
            if beside.get(path[0]) != target and target not in self._recent[kinds]:
                wanted = bytes.fromhex(target[7:])
                parts[wanted[0] % PARTS].append((WANTED, wanted, number, place))
        if kind in REFERRED_TO:
            recent = self._recent[REFERRED_TO[kind]]
            if len(recent) >= _RECENT:
                recent.clear()
            recent.add(digest)
        if kind in WORKLOADS:
            self._workload(spec, digest, raw)
        elif kind in _APART:
            self._run(manifest, digest, raw, row, base)
        elif kind == "ServingWorkload":
            parts[0].append((SERVING_WORKLOAD, raw, spec["streaming"], spec["loadGeneration"]))
        elif kind == "ModelRevision":
            parts[0].append((MODEL, raw, cohort.tokenizer_of(spec, row)))

    def _columns(self, kind: str, spec: Json, digest: str, row: Json, base: str, beside: dict[str, str | None]) -> None:
        """What the row around a manifest repeats of it."""
        environment = None
        if beside.get("environmentDigest") is not None:
            environment = self._environment["spec"]
        for problem in rows.columns(kind, row, spec, environment):
            self._tell(problem, row_of(base), digest)

    def _event(self, row: Json, base: str) -> None:
        key = row.get("comparisonKey")
        if isinstance(key, str) and _is_digest(key):
            place = (self._subject, self._line, base)
            self._parts[part_of_key(key, PARTS)].append((EVENT, key, row, place))
        else:
            self._tell(rows.event(row, {}) or rows.no_key(row), base)

    def _workload(self, spec: Json, digest: str, raw: bytes) -> None:
        correctness = canonical.to_json(spec["correctness"])
        cases = len(spec["cases"]) if "cases" in spec else None
        workload = Workload(raw, spec["operationSpecDigest"], correctness, cases)
        self._parts[raw[0] % PARTS].append((WORKLOAD, *workload))
        if cases is not None:
            if len(self._suites) >= _REMEMBERED:
                self._suites.clear()
            self._suites[digest] = workload

    def _run(self, manifest: Json, digest: str, raw: bytes, row: Json | None, base: str) -> None:
        kind, spec = manifest["kind"], manifest["spec"]
        if (problem := runs.future(spec, self._latest)) is not None:
            self._tell(problem, base, digest)
        native = spec.get("sourceNative", _NATIVE)
        if "externalId" in native:
            name = _source_name(kind, spec, native)
            self._parts[crc32(name.encode()) % PARTS].append((NAMED, name, raw, (self._subject, self._line, base)))
        if kind == "BenchmarkRun":
            self._benchmark_run(manifest, native, digest, raw, row, base)
        elif row is not None:
            claimed = {name: row[name] for name in ("cohortKey", "protocolKey") if name in row}
            served = (raw, canonical.to_json(spec), claimed, (self._subject, self._line, base))
            self._parts[0].append((SERVED, *served))

    def _benchmark_run(
        self, manifest: Json, native: Json, digest: str, raw: bytes, row: Json | None, base: str
    ) -> None:
        spec = manifest["spec"]
        metrics = native.get("metrics", _NATIVE)
        workload = spec["workloadDigest"]
        bounds = None
        if metrics and "bounds" in self._context.offers:
            bounds = self._bounds_of(workload, native.get("benchmark"))
            if bounds is None:
                self._tally.missed.update(runs.NEED_BOUNDS)
        for problem in runs.problems(spec, metrics, bounds):
            self._tell(problem, base, digest)
        total = metrics.get("fast_1_total")
        keys = (row.get("comparisonKey"), row.get("correctnessKey")) if row else _NO_KEYS
        if total is not None or keys != _NO_KEYS:
            metric = cohort.metric_in_key(spec)
            made = Claims(spec["protocolDigest"], spec["environmentDigest"], metric, *keys, total)
            known = self._suites.get(workload)
            if known is None or not self._keys.hold(known, made):
                of = bytes.fromhex(workload[7:])
                place = (self._subject, self._line, base)
                self._parts[of[0] % PARTS].append((RESULT, of, raw, tuple(made), place))
        if row is not None:
            self._attempt(spec, row)
        if native and "source" in self._context.offers:
            self._against_source(manifest, digest, base)

    def _attempt(self, spec: Json, row: Json) -> None:
        """A run that may have set a record, under the key and the id that its row claims."""
        key, name = row.get("comparisonKey"), row.get("id")
        measured = cohort.primary(spec)
        if measured is None or spec["status"] not in PASSED or not isinstance(name, str):
            return
        value = rows.smaller_is_better(measured)
        if value is not None and isinstance(key, str) and _is_digest(key):
            self._parts[part_of_key(key, PARTS)].append((ATTEMPT, key, spec["observedAt"], value, name))

    def _against_source(self, manifest: Json, digest: str, base: str) -> None:
        try:
            state = self._context.state_of(manifest, digest)
        except LookupError:
            self._tally.missed[source.DIFFERS] += 1
            return
        for problem in source.problems(manifest, state):
            self._tell(problem, base, digest)

    def _bounds_of(self, workload: str, benchmark: str | None) -> RunBounds | None:
        if workload not in self._bounds:
            if len(self._bounds) >= _REMEMBERED:
                self._bounds.clear()
            self._bounds[workload] = self._context.bounds(workload, benchmark)
        return self._bounds[workload]

    def _tell(self, problem: Problem, base: str, digest: str | None = None) -> None:
        if problem.rule in self._wanted:
            self._tally.tell(
                Finding(
                    rule=problem.rule,
                    severity=problem.severity or RULES[problem.rule].severity,
                    subject=self._subject,
                    message=problem.message,
                    pointer=base + problem.pointer,
                    expected=problem.expected,
                    got=problem.got,
                    line=self._line,
                    digest=digest,
                )
            )


def _is_digest(text: str) -> bool:
    return len(text) == 71 and text.startswith("sha256:") and not text[7:].strip("0123456789abcdef")


def _is_bundle(value: Json) -> bool:
    return "kind" not in value and ("run" in value or "protocol" in value or "environment" in value)


def _source_name(kind: str, spec: Json, native: Json) -> str:
    """What a source means by an id: one of its results may stand under the same id on several workloads or machines."""
    names = [native[part] for part in _NAMES if part in native]
    return " · ".join([kind, *names, *[spec[member] for member in _APART[kind]]])
