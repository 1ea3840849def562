"""`kictl import`: one command per source."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kictl.cli.options import (
    CATALOGUE,
    DEFINITIONS,
    JSON,
    PROXY,
    STACKS,
    TAGS,
    catalogue_path,
    command_app,
    write_json,
    write_text,
)
from kictl.pace import MAX_CONCURRENCY, MAX_RATE, Limits
from kictl.sources.names import SOL_EXECBENCH_URL

app = command_app()

WAIT_SECONDS = 600.0


@app.callback()
def sources() -> None:
    """Import the results of a source into the catalogue.

    Example: kictl import sol-execbench --from fixtures/leaderboard
    """


@app.command("sol-execbench")
def sol_execbench(
    *,
    base_url: Annotated[str, typer.Option("--base-url", metavar="URL", help="Another instance.")] = SOL_EXECBENCH_URL,
    recorded: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", help="A snapshot (folder or .tar.zst) instead of the network."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="PATH", help="Keep a snapshot of what is read: a folder or .tar.zst."),
    ] = None,
    definition: DEFINITIONS = None,
    gpu: Annotated[list[str] | None, typer.Option("--gpu", help="Only runs on this GPU; repeatable.")] = None,
    stack: STACKS = None,
    tag: TAGS = None,
    proxy: PROXY = None,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Requests at once.")] = MAX_CONCURRENCY,
    rate: Annotated[float, typer.Option("--rate", min=0.01, help="Starts of requests per second.")] = MAX_RATE,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not resume an interrupted import.")] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Download also what has not changed.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> None:
    """Import the SOL-ExecBench leaderboard: live, or from a snapshot.

    Example: kictl import sol-execbench --from fixtures/leaderboard --definition 042
    """
    from kictl.catalogue.lock import import_lock
    from kictl.catalogue.store import Catalogue
    from kictl.render import imports, progress
    from kictl.workflow import importing, opening

    selection = importing.Selection(tuple(definition or ()), tuple(gpu or ()), tuple(stack or ()), tuple(tag or ()))
    limits = Limits(concurrency=concurrency, rate=rate)
    path = catalogue_path(catalog)

    def waiting() -> None:
        typer.echo(f"kictl: waiting for another import into {path}", err=True)

    with (
        opening.leaderboard(
            base_url=base_url, recorded=recorded, save=save, limits=limits, cached=not no_cache, proxy=proxy
        ) as source,
        import_lock(path, wait_seconds=WAIT_SECONDS, waiting=waiting),
        Catalogue.create(path) as catalogue,
        progress.shown(source.notes, quiet=quiet) as report_progress,
    ):
        # A snapshot has to hold everything that is read, so an import that saves one starts anew.
        report = importing.run(
            source, catalogue, selection, resume=not fresh and save is None, progress=report_progress
        )
    if as_json:
        write_json(report)
    elif not quiet:
        write_text(imports.summary(report))
        sys.stdout.flush()


@app.command("kernelindex")
def kernelindex(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Exports, bundles, manifests, or folders of them; - for stdin."),
    ],
    *,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a row was quarantined; the others are kept.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
    as_json: JSON = False,
    catalog: CATALOGUE = None,
) -> int:
    """Import KernelIndex' catalogue export, what 'kictl export' writes, or bundles and manifests.

    Every digest, key and reference is recomputed. A row that does not hold is quarantined, with the reason and its
    place, and so are those that refer to it; the rest is imported, all of it or nothing.

    Example: kictl import kernelindex fixtures/manifests/good
    """
    from kictl.catalogue.lock import import_lock
    from kictl.catalogue.store import Catalogue
    from kictl.render import imports, progress
    from kictl.sources.kernelindex import KernelIndex
    from kictl.workflow import importing

    source, path = KernelIndex(paths, sys.stdin.buffer), catalogue_path(catalog)

    def waiting() -> None:
        typer.echo(f"kictl: waiting for another import into {path}", err=True)

    with (
        import_lock(path, wait_seconds=WAIT_SECONDS, waiting=waiting),
        Catalogue.create(path) as catalogue,
        progress.shown(lambda: "", quiet=quiet) as report_progress,
    ):
        report = importing.run_records(source, catalogue, progress=report_progress)
    if as_json:
        write_json(report)
    elif not quiet:
        write_text(imports.records_summary(report))
        sys.stdout.flush()
    return 1 if strict and report["quarantined"] else 0
