"""Untrusted text made safe to print: every character that could steer a terminal or hide is shown as an escape."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK = re.compile(
    "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800"  # spaces that are none to look at
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"  # drawn as nothing
    "\U0001f3fb-\U0001f3ff]"  # skin tones, on whose width terminals differ
)
"""Characters of other categories that hide, or of which nobody can say how wide they are."""

_BEYOND_ASCII = re.compile("[^\\0-~]")


def printable(text: str) -> str:
    """The text on one line: control, format, private, unassigned, surrogate and blank ones as \\xNN, \\uNNNN,
    \\UNNNNNNNN."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if _is_hidden(char) else char for char in text)


def printable_json(text: str) -> str:
    """A JSON text of the same values, in which what `printable` escapes is written as \\u escapes."""
    import json

    return _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1] if _is_hidden(found[0]) else found[0], text)


def whole(text: str) -> str:
    """Text that UTF-8 can hold: bytes of a file's name that are no text are shown as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def named(name: str | None) -> str:
    """A name that somebody chose; one that would not be seen, in quotes; a dash where nobody is named."""
    if name is None:
        return "–"
    return name if name.strip() else f'"{name}"'


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN or _BLANK.match(char) is not None


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, the last one an ellipsis where something was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def counted(number: int, noun: str) -> str:
    """How many there are of something whose plural takes an s."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
