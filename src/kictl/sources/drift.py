"""What a source says beyond what kictl knows: each unknown member and value once, counted, with an example."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from kictl import canonical, schemas
from kictl.model import Json
from kictl.sources.interface import Drift
from kictl.text import cut

MAX_KINDS = 500
"""More different ones than this are counted together: someone is making them up."""
LONGEST = 200


class DriftLog:
    """Collects what is unknown in one reading."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def add(self, what: str, example: object) -> None:
        """One occurrence. `example` is a JSON value."""
        what = cut(what, LONGEST)
        if what not in self._counts and len(self._counts) >= MAX_KINDS:
            what, example = "more unknown members and values", what
        self._counts[what] += 1
        if what not in self._examples:
            self._examples[what] = cut(canonical.to_json(example).decode(), LONGEST)

    def members(self, schema: str, document: Json) -> None:
        """Every member of `document` that the schema does not name, however deep."""
        for path, value in _unknown(_shape(schema), document, ""):
            self.add(f"{schema} member {path}", value)

    def result(self) -> tuple[Drift, ...]:
        return tuple(Drift(what, self._counts[what], self._examples[what]) for what in sorted(self._counts))


@dataclass(frozen=True, slots=True)
class _Shape:
    """The objects of a schema: the members that one names, those of them with objects inside, and what each other
    member or item holds."""

    named: frozenset[str]
    inner: dict[str, _Shape]
    each: _Shape | None


@cache
def _shape(schema: str) -> _Shape:
    document = json.loads(schemas.text(schema))
    data = document["properties"].get("data")
    shape = _shape_of(data or document)
    assert shape is not None, "a schema of ours describes an object"  # noqa: S101
    return shape


def _shape_of(schema: Any) -> _Shape | None:
    if not isinstance(schema, dict):
        return None
    properties = schema.get("properties", {})
    inner = {name: shape for name, part in properties.items() if (shape := _shape_of(part))}
    each = _shape_of(schema.get("items")) or _shape_of(schema.get("additionalProperties"))
    return _Shape(frozenset(properties), inner, each) if properties or each else None


def _unknown(shape: _Shape, value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        if shape.named and not shape.named.issuperset(value):
            for name in value.keys() - shape.named:
                yield f"{path}{name!r}", value[name]
        for name, inner in shape.inner.items():
            yield from _unknown(inner, value.get(name), f"{path}{name}.")
    if shape.each is not None and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _unknown(shape.each, item, f"{path}*.")
