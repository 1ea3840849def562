"""Single changes to a JSON document, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]
STRANGE_NAME = "!" * 201
"""A member name that no closed object and no map of ours takes."""
_OTHER_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 1.0, 2**53, 10**30, "", "x", "X y", "2026-02-30T00:00:00Z", [], [None], {}
)  # fmt: skip


def places(document: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value in the document with its path, the document itself first."""
    yield path, document
    if isinstance(document, dict | list):
        for key, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from places(value, (*path, key))


def replaced(document: Any, path: Path, change: Any) -> Any:
    """A copy of the document in which `change(value)` stands at `path`; what is not on the path is shared."""
    if not path:
        return change(document)
    copy = document.copy()
    copy[path[0]] = replaced(document[path[0]], path[1:], change)
    return copy


def mutations(document: Any) -> Iterator[tuple[str, Path, Any]]:
    """(what was done, path of the member it was done to, changed document)"""
    for path, value in places(document):
        if isinstance(value, dict):
            yield from _of_object(document, path, value)
        if isinstance(value, str):
            for what, text in _spellings(value):
                yield what, path, replaced(document, path, lambda _, text=text: text)
        for other in _OTHER_VALUES:
            # 1 == True == 1.0, yet they are different documents.
            if other is not value and repr(other) != repr(value):
                yield f"became {other!r}", path, replaced(document, path, lambda _, other=other: other)


def _of_object(document: Any, path: Path, value: dict[str, Any]) -> Iterator[tuple[str, Path, Any]]:
    for member in value:
        less = {name: kept for name, kept in value.items() if name != member}
        yield "removed", (*path, member), replaced(document, path, lambda _, less=less: less)
    yield "added", (*path, STRANGE_NAME), replaced(document, path, lambda v: v | {STRANGE_NAME: 1})


def _spellings(text: str) -> Iterator[tuple[str, str]]:
    yield "newline at the end", text + "\n"
    yield "foreign digit", text.translate({ord("0") + n: ord("٠") + n for n in range(10)}) + "٣"
    yield "too long", text + "é" * 2001
    yield "upper case", text.upper()
