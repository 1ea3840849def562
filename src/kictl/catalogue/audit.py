"""A catalogue checked against itself: its manifests as documents, and its own columns recomputed."""

from __future__ import annotations

from collections.abc import Iterator

from kictl import canonical, cohort
from kictl.canonical import Digest
from kictl.catalogue.store import BY_DIGEST, Catalogue, decoded, wrapped
from kictl.documents import Document
from kictl.model import Finding
from kictl.strictjson import ParseError
from kictl.verify.registry import RULES
from kictl.verify.stored import BOUNDS, ROW
from kictl.verify.together import COMPARISON


class Audit:
    """One catalogue's manifests, and what the tables beside them say that does not follow from them."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._subject = str(catalogue.path)
        self._kinds: list[Finding] = []

    def documents(self) -> Iterator[Document]:
        """Every manifest under the digest of its column, the file and that digest being its subject."""
        db, codec = self._catalogue.db, self._catalogue.codec
        with wrapped(self._catalogue.path):
            for raw, kind, body in db.execute(
                f"SELECT digest, k.name, body FROM manifest m JOIN kind k ON k.id = m.kind_id ORDER BY {BY_DIGEST}"
            ):
                digest = str(Digest.from_raw(raw))
                subject = f"{self._subject} {digest}"
                try:
                    manifest = codec.unpack(body)
                except Exception as error:  # noqa: BLE001 - whatever a damaged body leads to is a finding
                    broken = ParseError("parse/compression", str(error))
                    yield Document(subject, b"", error=broken, claim=digest)
                    continue
                yield Document(subject, canonical.to_json(manifest), claim=digest)
                stated = manifest.get("kind") if isinstance(manifest, dict) else None
                if stated != kind:
                    self._kinds.append(self._mismatch(ROW, f"manifest {digest} kind", stated, kind, digest))

    def findings(self) -> Iterator[Finding]:
        """To be asked for once all documents have been read."""
        yield from self._kinds
        with wrapped(self._catalogue.path):
            yield from self._repeated()
            yield from self._references()
            yield from self._bounds()
            yield from self._cohorts()
            yield from self._submissions()

    def _repeated(self) -> Iterator[Finding]:
        for raw, count in self._catalogue.db.execute(
            "SELECT digest, count(*) FROM manifest GROUP BY digest HAVING count(*) > 1"
        ):
            digest = Digest.from_raw(raw)
            yield self._mismatch(ROW, f"rows of manifest {digest}", 1, count, digest)

    def _references(self) -> Iterator[Finding]:
        for table, row, referred, _ in self._catalogue.db.execute("PRAGMA foreign_key_check"):
            yield self._mismatch(ROW, f"{table} {row}", f"a row of {referred} that it refers to", "none")

    def _bounds(self) -> Iterator[Finding]:
        for bounds_id, raw in self._catalogue.db.execute("SELECT id, digest FROM bounds ORDER BY id"):
            cases = self._catalogue.db.execute(
                "SELECT axes, baseline_ms, sol_ms FROM bounds_case WHERE bounds_id = ? ORDER BY position", (bounds_id,)
            )
            listed = [{"axes": decoded(a), "baseline_latency_ms": b, "sol_ms": s} for a, b, s in cases]
            found = canonical.digest(listed)
            if found.raw != raw:
                yield self._mismatch(BOUNDS, f"bounds {bounds_id}", found, Digest.from_raw(raw))

    def _cohorts(self) -> Iterator[Finding]:
        rows = self._catalogue.db.execute(
            "SELECT c.id, c.comparison_key, c.suite_id, o.digest, p.digest, e.digest FROM cohort c"
            " JOIN manifest o ON o.id = c.operation_id JOIN manifest p ON p.id = c.protocol_id"
            " JOIN manifest e ON e.id = c.environment_id ORDER BY c.id"
        )
        for cohort_id, raw, suite_id, operation, protocol, environment in rows:
            suite = self._catalogue.manifest(suite_id)
            found = cohort.comparison_key(
                operation=Digest.from_raw(operation),
                workload=suite.digest,
                protocol=Digest.from_raw(protocol),
                environment=Digest.from_raw(environment),
                correctness=suite.spec["correctness"],
                metric="latency:mean:ns",
            )
            if found.raw != raw:
                yield self._mismatch(COMPARISON, f"cohort {cohort_id}", found, Digest.from_raw(raw))

    def _submissions(self) -> Iterator[Finding]:
        rows = self._catalogue.db.execute(
            "SELECT s.external_id, s.run_id, s.latency_ns, s.observed_at, s.sol_score FROM submission s"
            " WHERE s.run_id IS NOT NULL ORDER BY s.id"
        )
        for external_id, run_id, *columns in rows:
            try:
                run = self._catalogue.manifest(run_id)
                metrics = run.spec["sourceNative"]["metrics"]
                stated = [run.spec["timing"]["latencyNs"]["mean"], run.spec["observedAt"], metrics.get("sol_score")]
            except Exception:  # noqa: BLE001, S112 - a damaged body has been reported with its document
                continue
            for name, column, value in zip(("latency_ns", "observed_at", "sol_score"), columns, stated, strict=True):
                if column != value:
                    yield self._mismatch(ROW, f"submission {external_id} {name}", value, column, run.digest)

    def _mismatch(self, rule: str, where: str, expected: object, got: object, digest: str | None = None) -> Finding:
        message = f"{where}: expected {expected}, got {got}"
        severity = RULES[rule].severity
        return Finding(rule, severity, self._subject, message, "", str(expected), str(got), digest=digest)
