"""Options and output that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kictl.render.grid import Grid


class Format(StrEnum):
    """How what was found is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class Order(StrEnum):
    """What is ranked by."""

    METRIC = "metric"
    SOL_SCORE = "sol-score"


ONE_DEFINITION = typer.Option(
    "--definition", "-d", metavar="PATTERN", help="Full name, number prefix or part of a name."
)
DEFINITIONS = Annotated[
    list[str] | None,
    typer.Option("--definition", "-d", metavar="PATTERN", help="Only these; takes all that match."),
]
GPUS = Annotated[list[str] | None, typer.Option("--gpu", help="Only this GPU; repeatable.")]
STACKS = Annotated[list[str] | None, typer.Option("--stack", help="Only this stack version; repeatable.")]
SOURCES = Annotated[list[str] | None, typer.Option("--source", help="Only results of this source; repeatable.")]
TAGS = Annotated[list[str] | None, typer.Option("--tag", help="Only definitions with this tag; repeatable.")]
CASE = Annotated[
    str | None, typer.Option("--case", metavar="SHAPE", help="Only this case, by sizes of axes: m=4096,n=2048.")
]
ORDER = Annotated[Order, typer.Option("--by", help="The metric of each cohort, or the SOL score.")]
FORMAT = Annotated[Format, typer.Option("--format", help="Form of the output.")]
PROXY = Annotated[
    str | None,
    typer.Option("--proxy", metavar="URL", envvar="KICTL_PROXY", help="Reach the network through this HTTP proxy."),
]
JSON = Annotated[bool, typer.Option("--json", help="Print JSON, also on failure.")]
CATALOGUE = Annotated[
    Path | None,
    typer.Option("--catalog", metavar="FILE", help="The catalogue [default: $KICTL_CATALOG, else in the data folder]."),
]


def command_app() -> typer.Typer:
    """The application of one command; its module names it `app`."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def catalogue_path(option: Path | None) -> Path:
    """The catalogue that a command uses."""
    from kictl import paths

    return option or paths.catalogue_path()


def write_as(
    form: Format, *, record: Callable[[], Any], csv: Callable[[], str], grids: Callable[[bool], Sequence[Grid]]
) -> None:
    """What was found on stdout, in the form that was asked for; only that one is made."""
    if form is Format.JSON:
        write_json(record())
    elif form is Format.CSV:
        write_text(csv())
    else:
        write_grids(grids, markdown=form is Format.MARKDOWN)


def write_json(value: Any) -> None:
    """One JSON document on stdout, indented, numbers unrounded; what could steer a terminal stands as an escape."""
    from kictl import canonical
    from kictl.text import printable_json

    write_text(printable_json(canonical.to_json(value, indent=True).decode()) + "\n")


def write_bytes(data: bytes) -> None:
    """Bytes on stdout, exactly."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def write_text(text: str) -> None:
    """A finished document on stdout."""
    write_bytes(text.encode("utf-8", "backslashreplace"))


def write_grids(grids: Callable[[bool], Sequence[Grid]], *, markdown: bool = False) -> None:
    """Tables on stdout, as wide as the terminal; `grids` is told whether there is room for whole digests."""
    if markdown:
        from kictl.render import markdown as format_markdown

        write_text(format_markdown.render(grids(True)))
        return
    from kictl.render import table

    roomy = table.is_roomy()
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    write_text(table.render(grids(roomy), columns=table.width(), roomy=roomy, colour=colour))
