"""Verify: the documents that are named, a snapshot, or the whole catalogue, with what is at hand beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from kictl.documents import Document, Lines, from_inputs
from kictl.errors import UsageError
from kictl.model import Finding
from kictl.verify import Context, Nothing, Options, Report, verify

if TYPE_CHECKING:
    from kictl.catalogue.beside import CatalogueContext
    from kictl.workflow.against import SourceContext


class Request(NamedTuple):
    """What is to be verified. Without names it is the catalogue; `catalogue` is opened only where it is asked for.

    `against` is None, `catalog`, `live`, a URL, or the path of a snapshot. `proxy` is the URL of the proxy that a live
    source is read through.
    """

    names: Sequence[str]
    stdin: IO[bytes]
    catalogue: Path | None = None
    against: str | None = None
    proxy: str | None = None


def run(request: Request, options: Options) -> Report:
    """Verifies. Raises UsageError, InputError, SourceError or CatalogueError where something cannot be opened."""
    if request.names.count("-") > 1:
        raise UsageError("stdin can be read only once")
    with ExitStack() as stack:
        beside = _catalogue_context(request, stack)
        documents, extra = _documents(request, beside)
        context: Context = beside or Nothing()
        if (snapshot := _snapshot(request)) is not None:
            own = _source_context(snapshot, None, beside, stack, compare=False)
            context, documents, extra = own, own.documents(), own.findings
        if request.against == "catalog" and beside is not None:
            context = beside
        elif request.against is not None:
            context = _source_context(request.against, request.proxy, beside, stack, compare=True)
        return verify(documents, options, context, extra)


def _documents(
    request: Request, beside: CatalogueContext | None
) -> tuple[Iterable[Document | Lines], Iterable[Finding]]:
    if request.names or beside is None:
        return from_inputs(request.names, request.stdin), ()
    from kictl.catalogue.audit import Audit

    audit = Audit(beside.catalogue)
    return audit.documents(), audit.findings()


def _snapshot(request: Request) -> str | None:
    """The one name, if it is that of a recorded source rather than of manifests."""
    if len(request.names) != 1:
        return None
    name = request.names[0]
    if name.endswith(".tar.zst"):
        return name
    folder = Path(name)
    if not folder.is_dir():
        return None
    from kictl.sources.recording import INDEX

    return name if any((folder / known).is_file() for known in (INDEX, "kernels.json")) else None


def _catalogue_context(request: Request, stack: ExitStack) -> CatalogueContext | None:
    if request.names and request.catalogue is None and request.against != "catalog":
        return None
    from kictl import paths
    from kictl.catalogue.beside import CatalogueContext
    from kictl.catalogue.store import Catalogue

    catalogue = stack.enter_context(Catalogue.open(request.catalogue or paths.catalogue_path()))
    return CatalogueContext(catalogue, against=request.against == "catalog", whole=not request.names)


def _source_context(
    name: str, proxy: str | None, beside: CatalogueContext | None, stack: ExitStack, *, compare: bool
) -> SourceContext:
    from kictl.pace import Limits
    from kictl.sources.names import SOL_EXECBENCH_URL
    from kictl.workflow import opening
    from kictl.workflow.against import SourceContext

    live = name == "live" or name.startswith(("https://", "http://"))
    source = opening.leaderboard(
        base_url=SOL_EXECBENCH_URL if name == "live" else name,
        recorded=None if live else Path(name),
        save=None,
        limits=Limits(),
        proxy=proxy,
    )
    return SourceContext(stack.enter_context(source), beside, compare=compare)
