"""What a catalogue has to say about a run that is being verified."""

from __future__ import annotations

from functools import lru_cache

from kictl.canonical import Digest
from kictl.catalogue.dossiers import IS_OWN
from kictl.catalogue.store import Catalogue
from kictl.model import Json, Manifest
from kictl.verify.context import RunBounds, SourceState


class CatalogueContext:
    """A verification context over one catalogue. `against` holds runs against its submissions, `whole` says that the
    catalogue itself is what is verified."""

    def __init__(self, catalogue: Catalogue, *, against: bool = False, whole: bool = False) -> None:
        self.catalogue = catalogue
        self._db = catalogue.db
        self._evidence = lru_cache(maxsize=4)(catalogue.evidence)
        offered = {"bounds": True, "manifests": True, "rows": against, "source": against, "catalogue": whole}
        self.offers = frozenset(name for name, has in offered.items() if has)

    def bounds(self, workload: str, benchmark: str | None = None) -> RunBounds | None:
        row = self._latest_bounds(workload)
        if row is None:
            return None
        cases = self._db.execute(
            "SELECT baseline_ms, sol_ms FROM bounds_case WHERE bounds_id = ? ORDER BY position", (row[0],)
        ).fetchall()
        return RunBounds(tuple(case[0] for case in cases), tuple(case[1] for case in cases), bool(row[2]))

    def bounds_digest(self, workload: str) -> str | None:
        """The digest of the bounds that a suite has now."""
        row = self._latest_bounds(workload)
        return None if row is None else Digest.from_raw(row[1])

    def _latest_bounds(self, workload: str) -> tuple[int, bytes, int] | None:
        found: tuple[int, bytes, int] | None = self._db.execute(
            "SELECT b.id, b.digest, b.is_dummy FROM definition_suite u JOIN bounds b ON b.id = u.bounds_id"
            " WHERE u.suite_id = ? ORDER BY u.version_id DESC LIMIT 1",
            (self.catalogue.id_of(Digest(workload).raw),),
        ).fetchone()
        return found

    def kind_of(self, digest: str) -> str | None:
        row = self._db.execute(
            "SELECT name FROM kind WHERE id = (SELECT kind_id FROM manifest WHERE id = ?)",
            (self.catalogue.id_of(Digest(digest).raw),),
        ).fetchone()
        return None if row is None else str(row[0])

    def state_of(self, run: Json, digest: str) -> SourceState | None:
        native = run["spec"]["sourceNative"]
        rows = self._db.execute(
            "SELECT s.id, definition_id, standing, unlisted, reasons FROM submission s"
            " CROSS JOIN definition d ON d.id = s.definition_id WHERE s.external_id = ? AND d.source = ?",
            (native.get("externalId"), native["source"]),
        ).fetchall()
        held = self._db.execute(
            "SELECT s.id, definition_id, s.standing, unlisted, reasons FROM run r"
            " JOIN submission s ON s.id = r.submission_id WHERE r.manifest_id = ?",
            (self.catalogue.id_of(Digest(digest).raw),),
        ).fetchone()
        # An id may stand for records of several definitions: the one that has this very run is meant.
        found = held or (rows[0] if len(rows) == 1 else None)
        if found is None:
            return None
        submission, definition, standing, unlisted, reasons = found
        facts = self._facts(submission)
        first = self._first_import(submission, digest)
        derived = self._derived(submission, digest)
        return SourceState(
            where="the catalogue",
            derived=None if derived is None else derived.document,
            reasons=tuple(reasons.split()) or (() if standing == "current" else (standing,)),
            unlisted=bool(unlisted),
            superseded=derived is not None and first is not None and derived.digest != digest,
            submitted_at=facts.get("submitted_at"),
            finished_at=facts.get("finished_at"),
            bounds_moved=None if first is None else self._bounds_moved(definition, first),
        )

    def _derived(self, submission: int, digest: str) -> Manifest | None:
        """What a submission makes now: this very run where it still does, else the run that replaced it."""
        rows = self._db.execute(
            "SELECT r.manifest_id, m.digest FROM run r JOIN manifest m ON m.id = r.manifest_id"
            " WHERE r.submission_id = ? AND r.standing IN ('current', 'failed') ORDER BY m.digest <> ?, m.digest",
            (submission, Digest(digest).raw),
        ).fetchone()
        return None if rows is None else self.catalogue.manifest(rows[0])

    def _facts(self, submission: int) -> Json:
        """The source's row as it was seen last."""
        row = self._db.execute(
            "SELECT evidence_id, place FROM observation o WHERE submission_id = ?"
            f" ORDER BY {IS_OWN} DESC, id DESC LIMIT 1",
            (submission,),
        ).fetchone()
        if row is None or row[0] is None:
            return {}
        facts: Json = self._evidence(row[0])[row[1]]
        return facts

    def _first_import(self, submission: int, digest: str) -> int | None:
        """The import that saw the submission make this run for the first time."""
        row = self._db.execute(
            "SELECT min(o.import_id) FROM observation o JOIN manifest m ON m.id = o.run_id"
            " WHERE o.submission_id = ? AND m.digest = ?",
            (submission, Digest(digest).raw),
        ).fetchone()
        return None if row[0] is None else int(row[0])

    def _bounds_moved(self, definition: int, imported: int) -> str | None:
        """What became of the bounds that a definition had in an import."""
        select = (
            "SELECT b.digest FROM definition_version v JOIN definition_suite u ON u.version_id = v.id"
            " JOIN bounds b ON b.id = u.bounds_id WHERE v.definition_id = ?"
        )
        now = self._db.execute(f"{select} ORDER BY v.id DESC LIMIT 1", (definition,)).fetchone()
        then = self._db.execute(
            f"{select} AND v.import_id <= ? ORDER BY v.id DESC LIMIT 1", (definition, imported)
        ).fetchone()
        if then is None or then == now:
            return None
        return f"bounds {Digest.from_raw(then[0])} when it was imported, {Digest.from_raw(now[0])} now"
