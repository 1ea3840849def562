"""Where a JSON Pointer leads in a text: the line of each member of a document in JSON or YAML."""

from __future__ import annotations

import json
import re
from typing import Final

from kictl.schemas import pointer

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


class Places:
    """The lines of one document. A member that is not there is told at the one that would hold it."""

    def __init__(self, text: str, *, is_yaml: bool = False) -> None:
        """Raises nothing: of a text that cannot be read, what comes before the error has its place."""
        self._lines: dict[str, int] = {"": 1}
        if is_yaml and text.lstrip()[:1] not in ("{", "["):
            from kictl import strictyaml

            self._lines |= {pointer(path): line for path, line in strictyaml.places(text)}
        else:
            try:
                _Scan(text, self._lines).value(_BLANK.match(text).end(), ())  # type: ignore[union-attr]
            except (ValueError, IndexError, RecursionError):
                return

    def line(self, where: str) -> int:
        """The line, from 1, of the member that a JSON Pointer names."""
        while where not in self._lines:
            where = where.rpartition("/")[0]
        return self._lines[where]


class _Scan:
    """One pass over a JSON text, noting the line at which each member begins."""

    def __init__(self, text: str, lines: dict[str, int]) -> None:
        self._text = text
        self._lines = lines
        self._at, self._line = 0, 1

    def _note(self, position: int, path: tuple[str | int, ...]) -> None:
        self._line += self._text.count("\n", self._at, position)
        self._at = position
        self._lines[pointer(path)] = self._line

    def _skip(self, position: int) -> int:
        return _BLANK.match(self._text, position).end()  # type: ignore[union-attr]

    def value(self, position: int, path: tuple[str | int, ...]) -> int:
        """Notes what is inside the value that begins here; the position after it."""
        opening = self._text[position]
        if not path:
            self._note(position, path)
        if opening not in "{[":
            return _DECODER.raw_decode(self._text, position)[1]
        position, number = self._skip(position + 1), 0
        while self._text[position] not in "}]":
            start, name = position, number
            if opening == "{":
                key, position = _DECODER.raw_decode(self._text, position)
                position = self._skip(self._skip(position) + 1)
                self._note(start, (*path, str(key)))
                position = self.value(position, (*path, str(key)))
            else:
                self._note(start, (*path, name))
                position = self.value(position, (*path, name))
            position, number = self._skip(position), number + 1
            if self._text[position] == ",":
                position = self._skip(position + 1)
        return position + 1
