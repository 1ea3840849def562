"""Runs as they are published: each with its protocol and environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kictl.canonical import Digest
from kictl.catalogue.store import Catalogue
from kictl.errors import UsageError
from kictl.model import Json, Manifest


def bundles(catalogue: Catalogue, submissions: Iterable[str]) -> Iterator[Json]:
    """The bundle of each submission's last run, given the submissions' ids at their source.

    Raises UsageError for an id that the catalogue has no run of.
    """
    for submission in submissions:
        found = _last_runs(catalogue, submission)
        if not found:
            raise UsageError(f"the catalogue has no run of submission {submission!r}", code="unknown_run")
        for run in found:
            yield {
                "run": run.document,
                "protocol": _referenced(catalogue, run, "protocolDigest"),
                "environment": _referenced(catalogue, run, "environmentDigest"),
            }


def _last_runs(catalogue: Catalogue, submission: str) -> list[Manifest]:
    """One for each source that has a submission of that id."""
    rows = catalogue.db.execute(
        "SELECT run_id FROM submission WHERE external_id = ? AND run_id IS NOT NULL ORDER BY source", (submission,)
    )
    return [catalogue.manifest(row[0]) for row in rows]


def _referenced(catalogue: Catalogue, run: Manifest, member: str) -> Json | None:
    found = catalogue.find(Digest(run.spec[member]))
    return None if found is None else found.document
