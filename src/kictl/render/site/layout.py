"""What every page of the site has in common: names of files, the frame, tables, lists of facts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from kictl import units
from kictl.bounds import BoundsFacts
from kictl.render import html, measure, svg
from kictl.render.html import Child, Markup, element, text
from kictl.text import cut, named, printable

NAME_LENGTH: Final = 80
"""The most characters of an author's name in a cell."""


LIMIT: Final = 190_000
"""Bytes that a page has at most."""


@dataclass(frozen=True, slots=True)
class Crumb:
    """A step of the way to a page; the last one has no place to go to."""

    name: str
    href: str | None = None


def slug(name: str, length: int = 60) -> str:
    """A file name of lower-case ASCII for any name: readable, and distinct by the hash at its end."""
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return "-".join(part for part in (units.kebab(name)[:length].strip("-"), mark) if part)


def page(title: str, crumbs: Sequence[Crumb], body: Child, *, data: str, about: str) -> str:
    """A whole page; `data` is the place of the same numbers as JSON, `about` says where they are from."""
    sheet, policy = _style()
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content="kictl"),
        element("title", title),
        element("link", rel="icon", href="data:,"),
        element("link", rel="alternate", type="application/json", href=data),
        sheet,
    ]
    steps = [
        element("li", element("a", _short(crumb.name), href=crumb.href) if crumb.href else _here(crumb.name))
        for crumb in crumbs
    ]
    return html.document(
        head,
        [
            element("a", "Skip to the content", class_="skip", href="#content"),
            element("header", element("nav", element("ol", steps), aria_label="Breadcrumb")),
            element("main", body, id="content", tabindex=-1),
            element(
                "footer",
                element("p", about),
                element("p", element("a", "The numbers of this page as JSON", href=data, type="application/json")),
            ),
        ],
    )


def _here(name: str) -> Markup:
    return element("span", _short(name), aria_current="page")


def _short(name: str) -> Markup:
    return html.breakable(cut(name, NAME_LENGTH))


@cache
def _style() -> tuple[Markup, str]:
    """The style element, and the policy that allows it and nothing else."""
    sheet = files("kictl.render.site").joinpath("style.css").read_text("utf-8")
    mark = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{mark}'; img-src data:; base-uri 'none'; form-action 'none'"
    return html.style(sheet), policy


def fitting(forms: Iterable[str]) -> str:
    """The first of the forms of a page that is small enough, else the last; they go from the fullest to the barest."""
    page = ""
    for page in forms:
        if len(page.encode()) <= LIMIT:
            break
    return page


Cell = Child | tuple[str, Child]
"""What stands in a cell; with a class, if it is a pair."""


def table(caption: Child, columns: Sequence[tuple[str, str | None]], rows: Sequence[Markup], *, name: str) -> Markup:
    """A table that scrolls by itself where it is too wide; `columns` are names with the class of each."""
    head = [element("th", column, scope="col", class_=kind) for column, kind in columns]
    return element(
        "div",
        element(
            "table",
            element("caption", caption, id=name),
            element("thead", element("tr", head)),
            element("tbody", join_rows(rows)),
        ),
        class_="scroll",
        role="group",
        tabindex=0,
        aria_labelledby=name,
    )


def join_rows(rows: Sequence[Markup]) -> Markup:
    """Rows, each on a line of its own."""
    return html.join(["", *rows, ""], "\n")


def row(cells: Sequence[Cell], *, head: int = 0, kind: str | None = None) -> Markup:
    """A row; the cell at `head` names it."""
    return element(
        "tr", [_cell(cell, "th" if place == head else "td") for place, cell in enumerate(cells)], class_=kind
    )


def _cell(cell: Cell, tag: str) -> Markup:
    kind, content = cell if isinstance(cell, tuple) else (None, cell)
    return element(tag, content, class_=kind, scope="row" if tag == "th" else None)


def number(value: Child) -> Cell:
    """A cell aligned as numbers are."""
    return "n", value


def author(name: str | None) -> Markup:
    """A name that somebody chose: cut, and kept from reordering what is around it."""
    return element("bdi", cut(printable(named(name)), NAME_LENGTH))


def digest(value: str | None, length: int | None = None) -> Markup:
    """A digest, whole or its first digits."""
    if value is None:
        return text("–")
    return element("span", value if length is None else f"{value[7 : 7 + length]}…", class_="digest")


def facts(pairs: Sequence[tuple[str, Child]]) -> Markup:
    """A list of names and what each is; those that are None are left out."""
    known = [(name, value) for name, value in pairs if value is not None]
    return element("dl", [(element("dt", html.breakable(name)), element("dd", value)) for name, value in known])


def ticks(scale: measure.Scale) -> Callable[[float], str]:
    """How an axis writes a value."""
    return lambda value: f"{value if scale.ns is None else value * scale.ns / scale.unit.ns:g}"


def marks(bounds: BoundsFacts | None, scale: measure.Scale) -> list[svg.Mark]:
    """The bound and the baseline as lines of a chart, where they are known."""
    if bounds is None:
        return []
    found = (("SOL bound", bounds.sol_bound_ns, "bound"), ("baseline", bounds.scoring_baseline_ns, "baseline"))
    return [svg.Mark(f"{name} {scale.with_unit(ns)}", ns, kind) for name, ns, kind in found if ns is not None]


def figure(caption: str, chart: Markup, kind: str) -> Markup:
    """A chart under its caption."""
    return element("figure", element("figcaption", caption), chart, class_=kind)


def link(name: str, href: str | None) -> Markup:
    """A link, or the name alone where there is nowhere to go."""
    return element("a", name, href=href) if href else text(name)
