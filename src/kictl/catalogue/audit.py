"""A catalogue checked against itself: its manifests as documents, and its own columns recomputed."""

from __future__ import annotations

from collections.abc import Iterator

from kictl import canonical, cohort
from kictl.canonical import Digest
from kictl.catalogue import queries
from kictl.catalogue.claims import Claims
from kictl.catalogue.store import BY_DIGEST, Catalogue, decoded, wrapped
from kictl.documents import Document
from kictl.model import Finding, Score
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
            yield from self._runs()

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
        claims = Claims(self._catalogue)
        for stored in queries.cohorts_where(self._catalogue, "1"):
            subject_id = self._catalogue.id_of(stored.subject.raw)
            subject, workload = self._catalogue.held(stored.subject), self._catalogue.held(stored.workload)
            metric = str(stored.metric) if stored.metric else cohort.NO_METRIC
            if stored.kernel is not None:
                found = cohort.comparison_key(
                    operation=stored.subject,
                    workload=stored.workload,
                    protocol=stored.kernel.protocol,
                    environment=stored.kernel.environment,
                    correctness=workload.spec["correctness"],
                    metric=metric,
                )
            elif stored.serving is not None:
                found = cohort.serving_cohort_key(
                    model=stored.subject,
                    tokenizer=cohort.tokenizer_of(
                        subject.spec, claims.of("model_revisions", subject_id) if subject_id else None
                    ),
                    workload=stored.workload,
                    keys=stored.serving,
                )
            if found != stored.key:
                yield self._mismatch(COMPARISON, f"cohort {stored.id}", found, stored.key)

    def _runs(self) -> Iterator[Finding]:
        rows = self._catalogue.db.execute(
            "SELECT s.external_id, r.manifest_id, r.value, r.observed_at, r.status, f.sol_score FROM run r"
            " JOIN submission s ON s.id = r.submission_id LEFT JOIN score f ON f.run_id = r.manifest_id ORDER BY s.id"
        )
        for external_id, run_id, *columns in rows:
            try:
                run = self._catalogue.manifest(run_id)
                measured, score = cohort.primary(run.spec), Score.of(run.spec)
                stated = [measured and measured.value, run.spec["observedAt"], run.spec["status"]]
                stated.append(score and score.sol_score)
            except Exception:  # noqa: BLE001, S112 - a damaged body has been reported with its document
                continue
            for name, column, value in zip(
                ("value", "observed_at", "status", "sol_score"), columns, stated, strict=True
            ):
                if column != value:
                    yield self._mismatch(ROW, f"submission {external_id} {name}", value, column, run.digest)

    def _mismatch(self, rule: str, where: str, expected: object, got: object, digest: str | None = None) -> Finding:
        message = f"{where}: expected {expected}, got {got}"
        severity = RULES[rule].severity
        return Finding(rule, severity, self._subject, message, "", str(expected), str(got), digest=digest)
