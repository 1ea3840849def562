"""The root command: which commands there are, loaded only when used, and the one error boundary."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from kictl import __version__
from kictl.cli import boundary

COMMANDS: dict[str, tuple[str, str]] = {
    "import": ("kictl.cli.importing", "Import a leaderboard, an export, or manifests."),
    "imports": ("kictl.cli.imports", "List the imports, or show one of them."),
    "diff": ("kictl.cli.diff", "Show what changed between two imports or two snapshots."),
    "verify": ("kictl.cli.verify", "Check manifests, bundles, exports or the catalogue."),
    "rules": ("kictl.cli.rules", "List what verification checks, or explain a rule."),
    "compare": ("kictl.cli.compare", "Rank what may be ranked, and say why the rest may not."),
    "find": ("kictl.cli.find", "Find the best result for an operation, data type, GPU and shape."),
    "show": ("kictl.cli.show", "Show a run's dossier, a definition, cohort, author or import."),
    "history": ("kictl.cli.history", "Show how the records of a definition moved over time."),
    "leaders": ("kictl.cli.leaders", "Show who is first in every cohort, and by how much."),
    "authors": ("kictl.cli.authors", "Show who leads how many cohorts."),
    "note": ("kictl.cli.note", "Attach a note to a run, in this catalogue alone."),
    "digest": ("kictl.cli.digest", "Print the digest and kind of manifests."),
    "schema": ("kictl.cli.schema", "Print the JSON Schema of a kind."),
    "report": ("kictl.cli.report", "Write the catalogue as a static site."),
    "export": ("kictl.cli.export", "Write everything that the catalogue holds."),
}
"""Name of each command: the module that has it as `app`, and its line in the help of `kictl`."""


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(import_module(COMMANDS[cmd_name][0]).app)
        command.name = cmd_name
        return command  # type: ignore[return-value]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


app = typer.Typer(
    cls=LazyGroup,
    name="kictl",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kictl {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show a traceback with an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Import GPU-kernel leaderboard results, verify what they claim, compare only what may be compared.

    Example: kictl import sol-execbench --from fixtures/leaderboard
    """


def run(arguments: Sequence[str]) -> int:
    """Runs the command line and returns its exit code; what goes wrong is told once, on stderr."""
    command = typer.main.get_command(app)

    def call() -> object:
        return command.main(list(arguments) or ["--help"], prog_name="kictl", standalone_mode=False)

    return boundary.run(call, arguments, sys.stdout, sys.stderr)
