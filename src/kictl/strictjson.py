"""JSON text to values, refusing what RFC 8259 or I-JSON (RFC 7493) leaves open, and saying exactly where."""

from __future__ import annotations

import json
import math
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from kictl.errors import InputError

INTEGER_LIMIT = 2**53 - 1

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_LITERALS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_NOT_NUMBERS = ("NaN", "Infinity", "-Infinity")


class ParseError(InputError):
    """A document or value that is not I-JSON.

    `rule` is a stable id (`parse/duplicate-member`, `parse/integer-range`, …). `line` and `column` count from
    1, in characters, and are None where a value rather than a text is at fault. `pointer` is the JSON Pointer
    of the member at fault, "" for the whole document.
    """

    def __init__(
        self,
        rule: str,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        pointer: str = "",
    ) -> None:
        place = f" at line {line}, column {column}" if line is not None else ""
        if pointer:
            place += f" in {pointer if len(pointer) <= 200 else pointer[:200] + '…'!r}"
        super().__init__(message + place, code=rule)
        self.rule = rule
        self.detail = message
        self.line = line
        self.column = column
        self.pointer = pointer


def pointer_to(path: list[str | int]) -> str:
    """The JSON Pointer (RFC 6901) of a path of member names and indexes."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def decode(data: bytes) -> str:
    """UTF-8 to text; refuses a byte order mark and broken sequences with ParseError."""
    if data.startswith(b"\xef\xbb\xbf"):
        raise ParseError("parse/bom", "a byte order mark is not allowed", line=1, column=1)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = place(before, len(before))
        message = f"byte 0x{data[error.start]:02x} is not valid UTF-8"
        raise ParseError("parse/utf-8", message, line=line, column=column) from error


def parse(text: str, *, max_depth: int) -> Any:
    """The value of one JSON text. Iterative: time and memory are linear in the text. Raises ParseError."""
    return _Parser(text, max_depth).document()


def parse_leniently(text: str, *, max_depth: int) -> Any:
    """As `parse`, but numbers out of range, NaN and halves of surrogate pairs pass; several times as fast.

    A float out of range and what is no number stand as the Unusable that was received.
    """
    try:
        value = _LENIENT.decode(text)
    except (ValueError, RecursionError):
        return parse(text, max_depth=max_depth)  # it says where, or reads what was too deep for the stack
    if is_deeper(value, max_depth):
        return parse(text, max_depth=max_depth)
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member occurs twice")
    return members


def _any_integer(literal: str) -> int:
    # int() of a long run of digits takes quadratic time; what is cut is out of range all the same.
    return int(literal[:400])


class Unusable(str):
    """The text of a number that no JSON value can be: NaN, an infinity, or one beyond the range of a double."""

    __slots__ = ()

    @property
    def fault(self) -> tuple[str, str]:
        """The rule that it breaks, and what to say."""
        if self in _NOT_NUMBERS:
            return "parse/nan", f"{self} is not a JSON number"
        return "parse/float-range", f"the number {self[:80]} is beyond the range of a double"


def _any_float(literal: str) -> float | Unusable:
    real = float(literal)
    return Unusable(literal) if math.isinf(real) else real


_LENIENT = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_int=_any_integer, parse_float=_any_float, parse_constant=Unusable
)


def is_deeper(value: Any, limit: int) -> bool:
    """Whether dicts and lists are nested more than `limit` deep."""
    level = _containers([value])
    for _ in range(limit):
        if not level:
            return False
        level = [inner for outer in level for inner in _containers(outer)]
    return bool(level)


def _containers(container: Any) -> list[Any]:
    members = container.values() if isinstance(container, dict) else container
    return [member for member in members if isinstance(member, (dict, list))]


def place(text: str, index: int) -> tuple[int, int]:
    """Line and column of a character, both from 1."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


class _Parser:
    """One pass over one text; `path` leads to the value that is being read, `open` holds its containers."""

    def __init__(self, text: str, max_depth: int) -> None:
        self.text = text
        self.index = 0
        self.max_depth = max_depth
        self.open: list[Any] = []
        self.path: list[str | int] = []

    def document(self) -> Any:
        while True:
            value = self._value()
            if value is _OPENED:
                continue
            value = self._attach(value)
            if value is not _OPENED:
                return value

    def _value(self) -> Any:
        """A scalar or an empty container; _OPENED after the start of any other container."""
        char = self._next()
        if char in ("{", "["):
            return self._enter(char)
        if char == '"':
            return self._string()
        if char in _LITERALS:
            word, value = _LITERALS[char]
            if self.text.startswith(word, self.index):
                self.index += len(word)
                return value
        return self._number()

    def _enter(self, char: str) -> Any:
        if len(self.open) >= self.max_depth:
            self._fail("parse/depth", f"nested more than {self.max_depth} deep")
        self.index += 1
        container: Any = {} if char == "{" else []
        following = self._next()
        if following == ("}" if char == "{" else "]"):
            self.index += 1
            return container
        self.open.append(container)
        self.path.append(0)
        if char == "{":
            self._member(container)
        return _OPENED

    def _member(self, container: dict[str, Any]) -> None:
        """A member's name and colon; the path then ends in the name."""
        self.path.pop()
        if self._next() != '"':
            self._fail("parse/syntax", "expected a member name in double quotes")
        start = self.index
        name = self._string()
        self.path.append(name)
        if name in container:
            self._fail("parse/duplicate-member", "the member occurs twice", start)
        if self._next() != ":":
            self._fail("parse/syntax", "expected ':' after the member name")
        self.index += 1

    def _attach(self, value: Any) -> Any:
        """Put a complete value where it belongs, close what ends with it; the document, or _OPENED."""
        while self.open:
            container, is_object = self.open[-1], isinstance(self.open[-1], dict)
            if is_object:
                container[self.path[-1]] = value
            else:
                container.append(value)
            char = self._next()
            if char == ",":
                self.index += 1
                if is_object:
                    self._member(container)
                else:
                    self.path[-1] = len(container)
                return _OPENED
            closer = "}" if is_object else "]"
            if char != closer:
                self._fail("parse/syntax", f"expected ',' or '{closer}'")
            self.index += 1
            self.path.pop()
            value = self.open.pop()
        if self._next():
            self._fail("parse/syntax", "unexpected text after the document")
        return value

    def _string(self) -> str:
        start = self.index
        try:
            value, self.index = scanstring(self.text, start + 1, True)
        except ValueError as error:
            reason = getattr(error, "msg", str(error)).lower().removesuffix(" at").removesuffix(" starting")
            self._fail("parse/syntax", reason.strip(": "), getattr(error, "pos", start))
        string: str = value
        if not string.isascii():
            try:
                string.encode("utf-8")
            except UnicodeEncodeError:
                self._fail("parse/surrogate", "the string holds half of a surrogate pair", start)
        return string

    def _number(self) -> int | float:
        match = _NUMBER.match(self.text, self.index)
        if match is None:
            self._no_value()
        literal, end = match.group(), match.end()
        if match.group(1) is None and match.group(2) is None:
            # int() of a long run of digits takes quadratic time, so length decides first.
            number = int(literal) if len(literal) <= 17 else INTEGER_LIMIT + 1
            if abs(number) > INTEGER_LIMIT:
                self._fail("parse/integer-range", "the integer is beyond 2^53 - 1 and would lose digits")
            self.index = end
            return number
        real = float(literal)
        if real in (float("inf"), float("-inf")):
            self._fail("parse/float-range", "the number is beyond the range of a double")
        self.index = end
        return real

    def _no_value(self) -> NoReturn:
        for word in _NOT_NUMBERS:
            if self.text.startswith(word, self.index):
                self._fail("parse/nan", f"{word} is not a JSON number")
        self._fail("parse/syntax", "expected a value")

    def _next(self) -> str:
        """The next character that is not white space, not consumed; "" at the end."""
        match = _SPACE.match(self.text, self.index)
        self.index = match.end() if match else self.index
        return self.text[self.index : self.index + 1]

    def _fail(self, rule: str, message: str, index: int | None = None) -> NoReturn:
        index = self.index if index is None else index
        if index >= len(self.text):
            message += " (end of text)"
        line, column = place(self.text, index)
        raise ParseError(rule, message, line=line, column=column, pointer=pointer_to(self.path))


_OPENED = object()
