"""`kictl verify`: what holds, what does not, and what could not be checked."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kictl.cli.options import JSON, command_app, write_json, write_text

app = command_app()


@app.command()
def verify(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Files and folders; - for stdin.")
    ] = None,
    *,
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="DIGEST", help="The digest that the manifest must have.")
    ] = None,
    select: Annotated[list[str] | None, typer.Option("--select", metavar="RULE", help="Only these rules.")] = None,
    ignore: Annotated[list[str] | None, typer.Option("--ignore", metavar="RULE", help="Not these rules.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings decide the exit code, too.")] = False,
    closed: Annotated[bool, typer.Option("--closed", help="Every reference must be resolved.")] = False,
    as_json: JSON = False,
) -> int:
    """Check manifests, bundles, exports or folders of them.

    Example: kictl verify fixtures/manifests/good
    """
    from kictl.render import findings
    from kictl.verify import Options
    from kictl.workflow import verifying

    options = Options(select=tuple(select or ()), ignore=tuple(ignore or ()), closed=closed, expect=expect)
    report = verifying.documents(paths or [], sys.stdin.buffer, options)
    if as_json:
        write_json(report.to_json())
    else:
        write_text(findings.render(report))
    return report.exit_code(strict=strict)
