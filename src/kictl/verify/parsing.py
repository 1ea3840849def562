"""Rules of the parse group: what is not one strict JSON or YAML text."""

from __future__ import annotations

from kictl.strictjson import ParseError
from kictl.verify.registry import Problem, declare

# Id, what is expected instead, why, example.
_RULES = (
    ("syntax", "JSON or YAML", "Readers guess differently at what is not well-formed.", '{"kind": }'),
    ("duplicate-member", "each member once", "Readers differ on which of two counts.", '{"a": 1, "a": 2}'),
    ("nan", "a finite number", "JSON has no NaN and no infinity.", '{"value": NaN}'),
    ("integer-range", "an integer within ±(2^53 - 1)", "Beyond it, readers lose digits.", '{"mean": 9007199254740993}'),
    ("float-range", "a number that a double can hold", "Beyond it, readers turn to infinity.", '{"value": 1e400}'),
    ("surrogate", "whole characters", "Half a character has no UTF-8, so no digest.", '{"name": "\\ud800"}'),
    ("utf-8", "UTF-8", "Other encodings have other bytes for the same text.", "a file in Latin-1"),
    ("bom", "no byte order mark", "The mark is no part of JSON.", "a file that begins with EF BB BF"),
    ("depth", "at most 200 levels", "Deep nesting exhausts readers.", "[[[[…]]]]"),
    ("size", "at most 1 MiB", "A manifest is small; a stream of them has one on each line.", "a manifest of 2 MiB"),
    ("type", "a JSON type", "Only what JSON can say has canonical bytes.", "a YAML value of another type"),
    ("yaml-tag", "no tags of one's own", "A tag can mean anything to another reader.", "name: !secret x"),
    ("yaml-aliases", "at most 100 aliases, none inside itself", "Aliases can expand without end.", "a: [*b, *b, …]"),
    ("yaml-documents", "one document", "A manifest file holds one manifest.", "a second '---'"),
    ("yaml-key", "a text as member name", "JSON has no other names.", "1: x"),
    ("compression", "whole gzip or zstd data", "What is cut short was not checked.", "half a .zst file"),
    ("expansion", "an expansion within the limits", "A small file can expand without end.", "a zip bomb"),
)  # fmt: skip

_EXPECTED = {declare(f"parse/{name}", "error", why, example): expected for name, expected, why, example in _RULES}


def problem(error: ParseError) -> Problem:
    """A parse error as a finding's content, but for the line."""
    rule = error.rule if error.rule in _EXPECTED else "parse/syntax"
    column = "" if error.column is None else f" (column {error.column})"
    return Problem(rule, error.pointer, error.detail + column, _EXPECTED[rule], error.detail)
