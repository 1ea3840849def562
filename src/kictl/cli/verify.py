"""`kictl verify`: what holds, what does not, and what could not be checked."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from kictl.cli.options import JSON, PROXY, command_app, write_json, write_text

if TYPE_CHECKING:
    from kictl.verify import Report

app = command_app()


class Format(StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"
    JUNIT = "junit"


class _CatalogueMayBeBare(TyperCommand):
    """A command whose --catalog needs no file: it then means the catalogue that every command uses."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for position, following in reversed([*enumerate([*args[1:], "-"][: len(args)])]):
            if args[position] == "--catalog" and following.startswith("-"):
                from kictl import paths

                args.insert(position + 1, str(paths.catalogue_path()))
        return super().parse_args(ctx, args)


@app.command(cls=_CatalogueMayBeBare)
def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Files, folders or a snapshot; - for stdin. None: the catalogue."),
    ] = None,
    *,
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="DIGEST", help="The digest that the manifest must have.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="SOURCE", help="Compare runs with 'catalog', 'live', a URL or a snapshot."),
    ] = None,
    proxy: PROXY = None,
    select: Annotated[
        list[str] | None, typer.Option("--select", metavar="RULE", help="Only this rule or group; repeatable.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="RULE", help="Not this rule or group; repeatable.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings decide the exit code, too.")] = False,
    closed: Annotated[
        bool, typer.Option("--closed", help="What is left unchecked for want of a document is an error.")
    ] = False,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="It is fine where there is nothing to check.")
    ] = False,
    output: Annotated[Format, typer.Option("--format", help="Form of the report.")] = Format.TEXT,
    as_json: JSON = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only errors and warnings.")] = False,
    notes: Annotated[bool, typer.Option("--notes", help="Each note, rather than a line for each rule.")] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=0, help="Processes for a large input; 0 for the number of cores.")
    ] = 0,
    catalog: Annotated[
        Path | None,
        typer.Option(
            "--catalog",
            metavar="[FILE]",
            help="The catalogue to check, or to resolve references and bounds with [default file: $KICTL_CATALOG, "
            "else in the data folder].",
        ),
    ] = None,
) -> int:
    """Check manifests, bundles, exports, folders of them, a snapshot, or the catalogue.

    Example: kictl verify fixtures/manifests/good
    """
    from kictl.verify import Options
    from kictl.workflow import verifying

    options = Options(
        tuple(select or ()),
        tuple(ignore or ()),
        closed=closed,
        expect=expect,
        allow_empty=allow_empty,
        jobs=jobs or _cores(),
    )
    request = verifying.Request(names or (), sys.stdin.buffer, catalog, against, proxy)
    report = verifying.run(request, options)
    _write(report, Format.JSON if as_json else output, quiet=quiet, notes=notes)
    return report.exit_code(strict=strict)


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _write(report: Report, output: Format, *, quiet: bool, notes: bool) -> None:
    if output is Format.JSON:
        write_json(report.to_json())
    elif output is Format.TEXT:
        from kictl.render import findings

        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        write_text(findings.render(report, quiet=quiet, notes=notes, colour=colour))
    elif output is Format.GITHUB:
        from kictl.render import github
        from kictl.workflow.placing import placed

        write_text(github.render(placed(report)))
    elif output is Format.SARIF:
        from kictl.render import sarif
        from kictl.workflow.placing import placed

        write_text(sarif.render(placed(report)))
    else:
        from kictl.render import junit

        write_text(junit.render(report))
