"""The files of the site, one after another: nothing of it depends on the clock or on what was there before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kictl import canonical
from kictl.render import dossier as sheets
from kictl.render import leaders
from kictl.render.site import definition, run
from kictl.render.site.index import Index
from kictl.render.site.layout import slug
from kictl.units import kebab
from kictl.workflow.reporting import Report


def files(report: Report) -> Iterator[tuple[str, bytes]]:
    """Path and content of every page and of the JSON beside it. CatalogueError if the catalogue changes meanwhile."""
    catalogue = str(report.digest)

    def link(submission: str, digest: str) -> str | None:
        return f"../{_run(submission, digest)}.html" if report.has_page(digest) else None

    for found in report.definitions():
        path = _definition(found.name)
        yield _json(path, definition.to_json(found, catalogue))
        yield _html(path, definition.page(found, link, data=_beside(path)))
    for dossier in report.runs():
        path = _run(dossier.row.submission, dossier.run.digest)
        yield _json(path, sheets.to_json(dossier))
        place = f"../{_definition(dossier.row.definition)}.html"
        yield _html(path, run.page(dossier, place, link, data=_beside(path), catalogue=catalogue))
    yield from _index(report, catalogue)
    report.settle()


def _index(report: Report, catalogue: str) -> Iterator[tuple[str, bytes]]:
    ranked = {row.cohort.definition for row in report.leaders.rows}
    without = [name for name in report.names if name not in ranked]
    index = Index(
        report.leaders,
        without,
        lambda name: f"{_definition(name)}.html",
        lambda submission, digest: f"{_run(submission, digest)}.html" if report.has_page(digest) else None,
        catalogue,
    )
    for path, found, page in index.pages():
        rest = {"without": without} if path == "index" else {}
        yield _json(path, {**leaders.to_json(found), **rest, "catalog_digest": catalogue})
        yield _html(path, page)


def _definition(name: str) -> str:
    return f"definitions/{slug(name)}"


def _run(submission: str, digest: str) -> str:
    name = kebab(submission)[:40].strip("-")
    return f"runs/{name}-{digest[7:23]}" if name else f"runs/{digest[7:23]}"


def _beside(path: str) -> str:
    return f"{path.rpartition('/')[2]}.json"


def _html(path: str, page: str) -> tuple[str, bytes]:
    return f"{path}.html", page.encode()


def _json(path: str, value: Any) -> tuple[str, bytes]:
    return f"{path}.json", canonical.to_json(value, indent=True) + b"\n"
