"""HTML and SVG as nested elements: every text and attribute is escaped where it enters, nothing else is a string."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

from kictl.text import printable

VOID: Final = frozenset({"br", "hr", "link", "meta", "wbr"})

_BREAKS = re.compile(r"(?<=[_/:.-])(?=[^_/:.-])")


class Markup(str):
    """Text that is markup already; only this module makes it."""

    __slots__ = ()


Child = str | None | Iterable["Child"]


def element(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Markup:
    """One element. Children that are None are left out; other iterables than text are taken apart.

    In an attribute's name a trailing `_` is dropped and another one is a hyphen; None and False leave it out, True
    gives it no value.
    """
    start = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{name}{start}>")
    return Markup(f"<{name}{start}>{join(children)}</{name}>")


def join(children: Child, separator: str = "") -> Markup:
    """Children one after another, without an element around them; the separator is ours and stands as it is."""
    if children is None:
        return Markup("")
    if isinstance(children, str):
        return text(children)
    return Markup(separator.join(join(child) for child in children if child is not None))


def text(value: str) -> Markup:
    """Text as it may stand in an element or a quoted attribute: hidden characters shown as escapes."""
    return value if isinstance(value, Markup) else Markup(html.escape(printable(value)))


def lines(value: str) -> Markup:
    """Text of several lines, for an element that keeps white space."""
    return Markup("\n".join(map(text, value.split("\n"))))


def breakable(value: str) -> Markup:
    """A long name that may be broken behind its separators."""
    return Markup("<wbr>".join(map(text, _BREAKS.split(printable(value)))))


def style(sheet: str) -> Markup:
    """A style element. The sheet is our own and has no end tag in it."""
    return Markup(f"<style>{sheet}</style>")


def document(head: Child, body: Child) -> str:
    """A whole page."""
    return f'<!doctype html>\n<html lang="en">\n<head>{join(head)}</head>\n{element("body", body)}\n</html>\n'


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'
