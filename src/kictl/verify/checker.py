"""One document after another: its shape, its digest, its own rules; what rules about many need goes to the facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from kictl import canonical, schemas
from kictl.documents import Document, Lines
from kictl.model import Finding, Json
from kictl.schemas import show
from kictl.strictjson import ParseError
from kictl.verify import parsing, runs, shape, source, stored  # noqa: F401 - each declares its rules
from kictl.verify.context import Context, RunBounds
from kictl.verify.facts import PARTS, Facts
from kictl.verify.registry import RULES, Problem, declare

EXPECTED = declare(
    "digest/expected", "error", "The manifest is not the one that was asked for.", "--expect with another digest"
)
COLUMN = declare(
    "digest/column", "error", "What a line claims as digest is recomputed.", "a catalogue row whose runDigest differs"
)
LINE_KIND = declare("schema/line-kind", "error", "A line must not call a manifest another kind.", 'kind "BenchmarkRun"')
BUNDLE = declare(
    "reference/bundle",
    "error",
    "In a bundle the run must refer to the very protocol and environment beside it.",
    "run.spec.protocolDigest of another protocol",
)

BUNDLED: dict[str, str] = {
    "run": "BenchmarkRun",
    "protocol": "BenchmarkProtocol",
    "environment": "ExecutionEnvironment",
}
_OWN_COLUMN = {
    "OperationSpec": "semanticDigest",
    "WorkloadCase": "workloadDigest",
    "WorkloadSuite": "workloadDigest",
    "ImplementationRevision": "implementationDigest",
    "BenchmarkProtocol": "protocolDigest",
    "ExecutionEnvironment": "environmentDigest",
    "BenchmarkRun": "runDigest",
    "ModelRevision": "modelDigest",
    "ServingStackRevision": "stackDigest",
    "ServingConfiguration": "configurationDigest",
    "ServingWorkload": "workloadDigest",
    "ServingRun": "runDigest",
}
"""The column of a catalogue row that claims the digest of the row's own manifest."""

_WORKLOADS = ("WorkloadSuite", "WorkloadCase")
REFERENCES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("WorkloadCase", ("operationSpecDigest",), ("OperationSpec",)),
    ("WorkloadSuite", ("operationSpecDigest",), ("OperationSpec",)),
    ("ImplementationRevision", ("operation", "specDigest"), ("OperationSpec",)),
    ("BenchmarkRun", ("implementationDigest",), ("ImplementationRevision",)),
    ("BenchmarkRun", ("workloadDigest",), _WORKLOADS),
    ("BenchmarkRun", ("protocolDigest",), ("BenchmarkProtocol",)),
    ("BenchmarkRun", ("environmentDigest",), ("ExecutionEnvironment",)),
    ("ServingConfiguration", ("stackDigest",), ("ServingStackRevision",)),
    ("ServingRun", ("modelDigest",), ("ModelRevision",)),
    ("ServingRun", ("configurationDigest",), ("ServingConfiguration",)),
    ("ServingRun", ("workloadDigest",), ("ServingWorkload",)),
)
"""Every member that refers to a manifest: kind that has it, its path in the spec, kinds it may lead to."""

_REFERENCES_OF = {
    kind: [(number, path) for number, (owner, path, _) in enumerate(REFERENCES) if owner == kind]
    for kind in {owner for owner, _, _ in REFERENCES}
}
_REMEMBERED = 512


class Made(NamedTuple):
    """A manifest of these documents. `editorial` is a hash of its metadata."""

    raw: bytes
    kind: str
    editorial: int
    subject: str
    line: int | None
    base: str


class Wanted(NamedTuple):
    """A reference to a manifest; `reference` is its number in REFERENCES."""

    raw: bytes
    reference: int
    subject: str
    line: int | None
    base: str


class Workload(NamedTuple):
    """What a run's keys need of its workload. `cases` is None for what is no suite."""

    raw: bytes
    operation: str
    correctness: bytes
    cases: int | None


class Result(NamedTuple):
    """A run that claims something about its workload. `prefix` leads to the row's columns."""

    workload: bytes
    digest: str
    protocol: str
    environment: str
    metric: str | None
    comparison_key: Any
    correctness_key: Any
    total: Any
    subject: str
    line: int | None
    base: str
    prefix: str


class Named(NamedTuple):
    """A manifest under the id that its source gives it."""

    name: str
    digest: str
    subject: str
    line: int | None
    base: str


RECORDS: tuple[Callable[..., Any], ...] = (Made, Wanted, Workload, Result, Named)
"""The kinds of record; each is stored as a plain tuple behind its number here."""


@dataclass(slots=True)
class Outcome:
    """What a batch of documents came to."""

    findings: list[Finding] = field(default_factory=list)
    checked: int = 0
    manifests: int = 0
    unreadable: int = 0
    digests: list[str] = field(default_factory=list)
    missed: Counter[str] = field(default_factory=Counter)
    """Runs that a rule could not judge, by rule."""


class Checker:
    """Checks documents one by one. `wanted` are the ids of the rules to apply."""

    def __init__(self, wanted: frozenset[str], context: Context, expect: str | None = None) -> None:
        self.wanted = wanted
        self.context = context
        self.expect = expect
        self.facts = Facts()
        self.outcome = Outcome()
        self._latest = (datetime.now(UTC) + timedelta(hours=24)).strftime("%Y-%m-%dT%H:%M:%S")
        self._checks = [check for rule, check in runs.CHECKS.items() if rule in wanted]
        self._bounds: dict[str, RunBounds | None] = {}
        self._known: dict[bytes, str] = {}

    def take(self) -> Outcome:
        """What came of the documents since the last call."""
        outcome, self.outcome = self.outcome, Outcome()
        return outcome

    def check(self, documents: Document | Lines) -> None:
        for document in [documents] if isinstance(documents, Document) else documents:
            try:
                value = document.read()
            except ParseError as error:
                self.outcome.checked += 1
                self.outcome.unreadable += 1
                self._tell(parsing.problem(error), document, "")
                continue
            if isinstance(value, list) and document.line is None:
                for position, member in enumerate(value):
                    self._value(document, member, f"/{position}")
            else:
                self._value(document, value, "")

    def _value(self, document: Document, value: Any, base: str) -> None:
        """A manifest, a bundle, or a line that has one of them in it."""
        self.outcome.checked += 1
        if not isinstance(value, dict) or "apiVersion" in value:
            digest = self._manifest(document, value, base)
            if document.claim is not None and digest != document.claim:
                self._tell(_mismatch(COLUMN, "", digest, document.claim), document, base, digest)
        elif "table" in value or "row" in value:
            self._row(document, value, base)
        elif "manifest" in value:
            self._export_line(document, value, base)
        elif "kind" not in value and ("run" in value or "protocol" in value or "environment" in value):
            self._bundle(document, value, base)
        else:
            self._manifest(document, value, base)

    def _row(self, document: Document, value: Json, base: str) -> None:
        row = value.get("row")
        if not isinstance(row, dict) or not isinstance(value.get("table"), str):
            got = show(value)
            message = f"a catalogue line has the name of a table and an object as row, got {got}"
            self._tell(Problem(shape.DOCUMENT, "", message, '{"table", "row"}', got), document, base)
            return
        manifest = row.get("manifest")
        if manifest is None:
            return
        base += "/row/manifest"
        if isinstance(manifest, dict) and "kind" not in manifest and "run" in manifest:
            self._bundle(document, manifest, base, row)
        else:
            self._manifest(document, manifest, base, row=row)

    def _export_line(self, document: Document, value: Json, base: str) -> None:
        if set(value) != {"digest", "kind", "manifest"}:
            got = show(", ".join(value))
            message = f"an export line has a digest, a kind and a manifest, got {got}"
            self._tell(Problem(shape.DOCUMENT, "", message, "digest, kind, manifest", got), document, base)
        manifest = value["manifest"]
        digest = self._manifest(document, manifest, f"{base}/manifest")
        if digest is not None and "digest" in value and value["digest"] != digest:
            self._tell(_mismatch(COLUMN, "/digest", digest, value["digest"]), document, base, digest)
        kind = manifest.get("kind") if isinstance(manifest, dict) else None
        if "kind" in value and value["kind"] != kind:
            got = show(value["kind"])
            message = f"the line says {got}, the manifest {show(kind)}"
            self._tell(Problem(LINE_KIND, "/kind", message, show(kind), got), document, base, digest)

    def _bundle(self, document: Document, bundle: Json, base: str, row: Json | None = None) -> None:
        for problem in _bundle_shape(bundle):
            self._tell(problem, document, base)
        digests: dict[str, str | None] = {
            member: self._repeated(document, bundle[member], f"{base}/{member}", BUNDLED[member])
            for member in ("protocol", "environment")
            if member in bundle
        }
        if "run" in bundle:
            self._manifest(document, bundle["run"], f"{base}/run", "BenchmarkRun", row, digests)

    def _repeated(self, document: Document, manifest: Any, base: str, kind: str) -> str | None:
        """As _manifest, for what occurs in bundle after bundle: the same text is judged once."""
        text = canonical.to_json(manifest)
        digest = self._known.get(text)
        if digest is not None:
            self.outcome.manifests += 1
            return digest
        told = len(self.outcome.findings)
        digest = self._manifest(document, manifest, base, kind)
        if digest is not None and told == len(self.outcome.findings):
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[text] = digest
        return digest

    def _manifest(
        self,
        document: Document,
        manifest: Any,
        base: str,
        kind: str | None = None,
        row: Json | None = None,
        bundled: dict[str, str | None] | None = None,
    ) -> str | None:
        """Checks a manifest, which may only be of `kind`; its digest, None where it has none."""
        self.outcome.manifests += 1
        bad = False
        manifest, problems = shape.shape_of(manifest, kind)
        for problem in problems:
            bad = bad or RULES[problem.rule].severity == "error"
            self._tell(problem, document, base)
        if not isinstance(manifest, dict) or not {"apiVersion", "kind", "spec"} <= manifest.keys():
            return None
        digest = str(canonical.identity(manifest))
        if self.expect is not None and kind in (None, "BenchmarkRun"):
            self._expected(document, base, digest)
        self._claims(document, manifest, base, digest, row, bundled)
        if not bad:
            self._good(document, manifest, base, digest, row, bundled)
        return digest

    def _expected(self, document: Document, base: str, digest: str) -> None:
        self.outcome.digests.append(digest)
        if digest != self.expect:
            message = f"expected {self.expect}, got {digest}"
            self._tell(Problem(EXPECTED, "", message, self.expect, digest), document, base, digest)

    def _claims(
        self,
        document: Document,
        manifest: Json,
        base: str,
        digest: str,
        row: Json | None,
        bundled: dict[str, str | None] | None,
    ) -> None:
        """What its row claims of a manifest's digest, and what its run claims of those beside it."""
        kind, spec = manifest["kind"], manifest["spec"]
        if row is not None:
            for problem in _columns(kind, spec, digest, row):
                self._tell(problem, document, _row_of(base), digest)
        for member, own in (bundled or {}).items():
            name = f"{member}Digest"
            if own is not None and isinstance(spec, dict) and name in spec and spec[name] != own:
                self._tell(_mismatch(BUNDLE, f"/spec/{name}", own, spec[name]), document, base, digest)

    def _good(
        self,
        document: Document,
        manifest: Json,
        base: str,
        digest: str,
        row: Json | None,
        bundled: dict[str, str | None] | None,
    ) -> None:
        """Rules and facts of a manifest whose shape is right."""
        kind, spec = manifest["kind"], manifest["spec"]
        raw = bytes.fromhex(digest[7:])
        add = self.facts.add
        place = (document.subject, document.line, base)
        editorial = hash(canonical.to_json(manifest["metadata"], sort=True))
        add(raw[0] % PARTS, (0, raw, kind, editorial, *place))
        for number, path in _REFERENCES_OF.get(kind, ()):
            if bundled and path[0] in _BUNDLED_REFERENCES and bundled.get(path[0][:-6]):
                continue
            target = spec[path[0]] if len(path) == 1 else spec[path[0]][path[1]]
            wanted = bytes.fromhex(target[7:])
            add(wanted[0] % PARTS, (1, wanted, number, *place))
        if kind in _WORKLOADS:
            correctness = canonical.to_json(spec["correctness"])
            cases = len(spec["cases"]) if "cases" in spec else None
            add(raw[0] % PARTS, (2, raw, spec["operationSpecDigest"], correctness, cases))
        elif kind in ("BenchmarkRun", "ServingRun"):
            native = spec.get("sourceNative")
            if native is not None and "externalId" in native:
                name = _source_name(kind, native)
                add(hash(name) % PARTS, (4, name, digest, *place))
            if kind == "BenchmarkRun":
                self._run(document, manifest, base, digest, row)

    def _run(self, document: Document, manifest: Json, base: str, digest: str, row: Json | None) -> None:
        spec = manifest["spec"]
        metrics = spec.get("sourceNative", {}).get("metrics", {})
        workload = spec["workloadDigest"]
        bounds = None
        if "bounds" in self.context.offers:
            bounds = self._bounds_of(workload, spec.get("sourceNative", {}).get("benchmark"))
            if bounds is None and metrics:
                self.outcome.missed["bound/below-mean"] += 1
        run = runs.Run(spec, metrics, bounds, self._latest)
        for check in self._checks:
            problem = check(run)
            if problem is not None:
                self._tell(problem, document, base, digest)
        total = metrics.get("fast_1_total")
        claims = (row.get("comparisonKey"), row.get("correctnessKey")) if row else (None, None)
        if total is not None or claims != (None, None):
            raw = bytes.fromhex(workload[7:])
            timing = spec.get("timing")
            metric = f"latency:{timing['primaryStatistic']}:ns" if timing else None
            beside = (spec["protocolDigest"], spec["environmentDigest"], metric)
            place = (document.subject, document.line, base, _row_of(base))
            self.facts.add(raw[0] % PARTS, (3, raw, digest, *beside, *claims, total, *place))
        if "source" in self.context.offers and "sourceNative" in spec:
            for problem in self._against_source(manifest, digest):
                self._tell(problem, document, base, digest)

    def _against_source(self, manifest: Json, digest: str) -> Iterator[Problem]:
        try:
            state = self.context.state_of(manifest, digest)
        except LookupError:
            self.outcome.missed[source.DIFFERS] += 1
            return
        yield from source.problems(manifest, state)

    def _bounds_of(self, workload: str, benchmark: str | None) -> RunBounds | None:
        if workload not in self._bounds:
            if len(self._bounds) >= _REMEMBERED:
                self._bounds.clear()
            self._bounds[workload] = self.context.bounds(workload, benchmark)
        return self._bounds[workload]

    def _tell(self, problem: Problem, document: Document, base: str, digest: str | None = None) -> None:
        if problem.rule in self.wanted:
            self.outcome.findings.append(
                Finding(
                    rule=problem.rule,
                    severity=problem.severity or RULES[problem.rule].severity,
                    subject=document.subject,
                    message=problem.message,
                    pointer=base + problem.pointer,
                    expected=problem.expected,
                    got=problem.got,
                    line=document.line,
                    digest=digest,
                )
            )


_BUNDLED_REFERENCES = ("protocolDigest", "environmentDigest")


def _bundle_shape(bundle: Json) -> Iterator[Problem]:
    for member in BUNDLED:
        if member not in bundle:
            yield Problem(shape.MISSING, f"/{member}", f'missing member "{member}"', f'member "{member}"', "nothing")
    for member, value in bundle.items():
        if member not in BUNDLED:
            pointer = schemas.pointer([member])
            yield Problem(
                shape.UNKNOWN, pointer, f"unknown member {show(member)}", f"only {', '.join(BUNDLED)}", show(value)
            )


def _columns(kind: Any, spec: Any, digest: str, row: Json) -> Iterator[Problem]:
    """Digests beside a manifest in its row: its own, and those that it refers to under the same name."""
    own = _OWN_COLUMN.get(kind) if isinstance(kind, str) else None
    if own and row.get(own) is not None and row[own] != digest:
        yield _mismatch(COLUMN, f"/{own}", digest, row[own])
    if not isinstance(spec, dict):
        return
    for number, path in _REFERENCES_OF.get(kind, ()):
        name = REFERENCES[number][1][-1]
        if len(path) == 1 and name != own and row.get(name) is not None and name in spec and row[name] != spec[name]:
            yield _mismatch(COLUMN, f"/{name}", spec[name], row[name])


def _mismatch(rule: str, pointer: str, digest: Any, claimed: Any) -> Problem:
    """A place that should hold one digest and holds something else."""
    expected, got = (value if isinstance(value, str) else show(value) for value in (digest, claimed))
    return Problem(rule, pointer, f"expected {expected}, got {got}", expected, got)


def _row_of(base: str) -> str:
    """The pointer to the row that a manifest or its bundle stands in."""
    return base.removesuffix("/run").removesuffix("/manifest")


def _source_name(kind: str, native: Json) -> str:
    parts = ("source", "benchmark", "scenario", "division", "category", "externalId")
    return " · ".join([kind, *(str(native[part]) for part in parts if part in native)])
