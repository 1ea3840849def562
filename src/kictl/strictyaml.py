"""YAML 1.2 text in its core schema to JSON values, refusing what JSON cannot say, and saying exactly where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import yaml

from kictl.strictjson import INTEGER_LIMIT, ParseError, place, pointer_to

MAX_ALIASES: Final = 100
MAX_EXPANDED: Final = 1 << 20
"""What a document may come to once its aliases are written out, in characters."""

_TAG = "tag:yaml.org,2002:"
_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"(true|True|TRUE)|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?(\.inf|\.Inf|\.INF)|\.nan|\.NaN|\.NAN")
# The library breaks lines at these, as YAML 1.1 did, and so would change a text that holds one.
_BREAKS_OF_OLD = re.compile("[\x85\u2028\u2029]")
_BASES = {"0o": 8, "0x": 16}


def parse(text: str, *, max_depth: int) -> Any:
    """The value of the one document in the text. Time and memory are linear in the text. Raises ParseError."""
    return _Composer(max_depth).document(text)


class _Open:
    """A container that is being filled. `key` is the member name or index of what comes next."""

    __slots__ = ("anchor", "before", "height", "key", "value")

    def __init__(self, value: Any, anchor: str | None, before: int) -> None:
        self.value = value
        self.anchor = anchor
        self.before = before
        self.height = 1
        self.key: Any = _NO_KEY if isinstance(value, dict) else 0


_NO_KEY: Final = object()
_ABSENT: Final = object()


class _Composer:
    """Values from events. Of an anchor it knows the value, what it comes to in characters, and how deep it is."""

    def __init__(self, max_depth: int) -> None:
        self.max_depth = max_depth
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Any, int, int]] = {}
        self.aliases = 0
        self.size = 0
        self.root: Any = _ABSENT

    def document(self, text: str) -> Any:
        if found := _BREAKS_OF_OLD.search(text):
            line, column = place(text, found.start())
            message = f"U+{ord(found[0]):04X} is told as a line break by some readers; write it as an escape"
            raise ParseError("parse/syntax", message, line=line, column=column)
        documents = 0
        for event in self._events(text):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._fail("parse/yaml-documents", "a second document begins", event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._start(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end(event)
        if self.root is _ABSENT:
            raise ParseError("parse/syntax", "the text is empty", line=1, column=1)
        return self.root

    def _events(self, text: str) -> Iterator[yaml.Event]:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            yield from yaml.parse(text, Loader=loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = {} if mark is None else {"line": mark.line + 1, "column": mark.column + 1}
            problem = error.problem or "not YAML"
            rule = "parse/depth" if "nesting depth" in problem else "parse/syntax"
            raise ParseError(rule, problem, **place, pointer=self._pointer()) from error
        except yaml.YAMLError as error:
            reason = getattr(error, "reason", None) or "not YAML"
            raise ParseError("parse/syntax", str(reason), pointer=self._pointer()) from error

    def _start(self, event: Any) -> None:
        is_object = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", _TAG + ("map" if is_object else "seq")):
            self._fail("parse/yaml-tag", f"the tag {event.tag}", event)
        if self._wants_key():
            self._fail("parse/yaml-key", "a member name is no text", event)
        if len(self.open) >= self.max_depth:
            self._fail("parse/depth", f"nested more than {self.max_depth} deep", event)
        if event.anchor:
            self.anchors.pop(event.anchor, None)
        self.open.append(_Open({} if is_object else [], event.anchor, self.size))
        self.size += 1

    def _end(self, event: Any) -> None:
        done = self.open.pop()
        if done.anchor:
            self.anchors[done.anchor] = (done.value, self.size - done.before, done.height)
        self._attach(done.value, done.height, event)

    def _scalar(self, event: Any) -> None:
        value = self._resolved(event)
        size = len(event.value) + 1
        self.size += size
        if event.anchor:
            self.anchors[event.anchor] = (value, size, 0)
        self._attach(value, 0, event)

    def _alias(self, event: Any) -> None:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            self._fail("parse/yaml-aliases", f"more than {MAX_ALIASES} aliases", event)
        if event.anchor not in self.anchors:
            inside = any(container.anchor == event.anchor for container in self.open)
            problem = "is inside what it stands for" if inside else "stands for nothing"
            self._fail("parse/yaml-aliases", f"the alias {event.anchor} {problem}", event)
        value, size, height = self.anchors[event.anchor]
        self.size += size
        if self.size > MAX_EXPANDED:
            self._fail("parse/yaml-aliases", f"the aliases expand to more than {MAX_EXPANDED} characters", event)
        if len(self.open) + height > self.max_depth:
            self._fail("parse/depth", f"nested more than {self.max_depth} deep", event)
        self._attach(value, height, event)

    def _wants_key(self) -> bool:
        return bool(self.open) and self.open[-1].key is _NO_KEY

    def _attach(self, value: Any, height: int, event: Any) -> None:
        """Puts a complete value, or a member name, where it belongs."""
        if not self.open:
            self.root = value
            return
        parent = self.open[-1]
        parent.height = max(parent.height, height + 1)
        if isinstance(parent.value, list):
            parent.value.append(value)
            parent.key = len(parent.value)
        elif parent.key is not _NO_KEY:
            parent.value[parent.key] = value
            parent.key = _NO_KEY
        elif not isinstance(value, str):
            self._fail("parse/yaml-key", f"the member name {value!r} is no text; quote it", event)
        elif value in parent.value:
            parent.key = value
            self._fail("parse/duplicate-member", "the member occurs twice", event)
        else:
            parent.key = value

    def _resolved(self, event: Any) -> Any:
        """The value of a scalar: by its tag, else by its spelling where it is plain, else a text."""
        text, tag = event.value, event.tag
        if tag is None and event.implicit[0]:
            return self._plain(text, event)
        if tag in (None, "!", _TAG + "str"):
            return text
        value = self._plain(text, event)
        kinds = {"null": type(None), "bool": bool, "int": int, "float": float}
        kind = kinds.get(tag.removeprefix(_TAG)) if tag.startswith(_TAG) else None
        if kind is float and type(value) is int:
            return float(value)
        if kind is None or type(value) is not kind:
            self._fail("parse/yaml-tag", f"the tag {tag}", event)
        return value

    def _plain(self, text: str, event: Any) -> Any:
        if _NULL.fullmatch(text):
            return None
        if match := _BOOL.fullmatch(text):
            return match.group(1) is not None
        if _INT.fullmatch(text):
            return self._integer(text, event)
        if _FLOAT.fullmatch(text):
            return self._float(text, event)
        if _NOT_FINITE.fullmatch(text):
            self._fail("parse/nan", f"{text} is not a JSON number", event)
        return text

    def _integer(self, text: str, event: Any) -> int:
        digits = text.lstrip("+-0xo") or "0"
        # int() refuses a long run of digits, leading zeros included, so length decides first.
        number = int(digits, _BASES.get(text[:2], 10)) if len(digits) <= 20 else INTEGER_LIMIT + 1
        if number > INTEGER_LIMIT:
            self._fail("parse/integer-range", "the integer is beyond 2^53 - 1 and would lose digits", event)
        return -number if text.startswith("-") else number

    def _float(self, text: str, event: Any) -> float:
        number = float(text)
        if number - number != 0:
            self._fail("parse/float-range", "the number is beyond the range of a double", event)
        return number

    def _pointer(self) -> str:
        return pointer_to([container.key for container in self.open if container.key is not _NO_KEY])

    def _fail(self, rule: str, message: str, event: Any) -> NoReturn:
        mark = event.start_mark
        raise ParseError(rule, message, line=mark.line + 1, column=mark.column + 1, pointer=self._pointer())


def places(text: str) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """The path of each member of a document, and the line at which it begins, from 1; an aliased value has its first
    place only. Of a text that cannot be read there are none."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, RecursionError):
        return
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), root)]
    seen: set[int] = set()
    while waiting:
        path, node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                yield (*path, str(key.value)), key.start_mark.line + 1
                waiting.append(((*path, str(key.value)), value))
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value):
                yield (*path, number), value.start_mark.line + 1
                waiting.append(((*path, number), value))
