"""YAML 1.2 in its core schema, as JSON values or refused with rule and place."""

from __future__ import annotations

from typing import Any

import pytest

from kictl import strictyaml
from kictl.strictjson import ParseError


def read(text: str) -> Any:
    return strictyaml.parse(text, max_depth=200)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("+5", 5),
        ("-0", 0),
        ("-007", -7),
        ("0x00", 0),
        pytest.param("+" + "0" * 5000 + "7", 7, id="leading zeros"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2026-07-10", "2026-07-10"),
        ("2026-07-10T06:07:05Z", "2026-07-10T06:07:05Z"),
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("OFF", "OFF"),
        ("y", "y"),
        ("true", True),
        ("TRUE", True),
        ("False", False),
        ("tRUE", "tRUE"),
        ("null", None),
        ("~", None),
        ("", None),
        ("nULL", "nULL"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("1e", "1e"),
        ("0b11", "0b11"),
        ("0o8", "0o8"),
        ("=", "="),
        ("<<", "<<"),
        ("'5'", "5"),
        ('"true"', "true"),
        ("!!str 5", "5"),
        ("! 5", "5"),
        ("!!int 5", 5),
        ("!!float 5", 5.0),
        ("!!bool true", True),
        ("!!null ''", None),
        ('"\\u00fc\\x41"', "üA"),
        ("٣", "٣"),
        ("[1, [2], {a: 3}]", [1, [2], {"a": 3}]),
        ("&x {b: 1}", {"b": 1}),
        ("[&x 1, *x, &x 2, *x]", [1, 1, 2, 2]),
        ("|\n    two\n    lines\n", "two\nlines\n"),
        ("!!seq []", []),
        ("!!map {}", {}),
    ],
)
def test_core_schema(text: str, value: Any) -> None:
    found = read(f"a: {text}")["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "rule", "pointer", "line"),
    [
        ("a: .inf", "parse/nan", "/a", 1),
        ("a:\n  - -.INF", "parse/nan", "/a/0", 2),
        ("a: .NaN", "parse/nan", "/a", 1),
        ("a: 1e999", "parse/float-range", "/a", 1),
        ("a: 9007199254740992", "parse/integer-range", "/a", 1),
        ("a: -9007199254740992", "parse/integer-range", "/a", 1),
        ("a: 0xFFFFFFFFFFFFFF", "parse/integer-range", "/a", 1),
        ("a: 1\nb: 2\na: 3", "parse/duplicate-member", "/a", 3),
        ("a: {'b': 1, \"b\": 2}", "parse/duplicate-member", "/a/b", 1),
        ("a: !secret x", "parse/yaml-tag", "/a", 1),
        ("a: !!binary aGk=", "parse/yaml-tag", "/a", 1),
        ("a: !!timestamp 2026-01-01", "parse/yaml-tag", "/a", 1),
        ("a: !!python/object/apply:os.system [ls]", "parse/yaml-tag", "/a", 1),
        ("a: !!set {b}", "parse/yaml-tag", "/a", 1),
        ("a: !!int x", "parse/yaml-tag", "/a", 1),
        ("a: !!int 1.5", "parse/yaml-tag", "/a", 1),
        ("%TAG ! tag:x,2000:\n---\na: !b c", "parse/yaml-tag", "/a", 3),
        ("1: x", "parse/yaml-key", "", 1),
        ("true: x", "parse/yaml-key", "", 1),
        ("? [a]\n: b", "parse/yaml-key", "", 1),
        ("? {a: 1}\n: b", "parse/yaml-key", "", 1),
        ("a: 1\n---\nb: 2", "parse/yaml-documents", "", 2),
        ("a: *x", "parse/yaml-aliases", "/a", 1),
        ("a: &x [*x]", "parse/yaml-aliases", "/a/0", 1),
        ("a: &x {b: {c: *x}}", "parse/yaml-aliases", "/a/b/c", 1),
        ("a: [1", "parse/syntax", "/a/1", 2),
        ("a:\n\t- b", "parse/syntax", "/a", 2),
        ('a: 1\nb: "x \x85 y"', "parse/syntax", "", 2),
        ("a: x\u2028y", "parse/syntax", "", 1),
        ("a: 'x\u2029y'", "parse/syntax", "", 1),
        ("", "parse/syntax", "", 1),
        ("# nothing", "parse/syntax", "", 1),
    ],
)
def test_refusals(text: str, rule: str, pointer: str, line: int) -> None:
    with pytest.raises(ParseError) as caught:
        read(text)
    error = caught.value
    assert (error.rule, error.pointer, error.line) == (rule, pointer, line)


def test_a_hundred_aliases_and_no_more() -> None:
    text = "a: &x 1\nb: [" + ", ".join(["*x"] * 100)
    assert read(text + "]")["b"] == [1] * 100
    with pytest.raises(ParseError) as caught:
        read(text + ", *x]")
    assert (caught.value.rule, caught.value.pointer) == ("parse/yaml-aliases", "/b/100")


def test_few_aliases_can_expand_to_much() -> None:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 11))
    with pytest.raises(ParseError) as caught:
        read("a0: &a0 [xxxxxxxxxxxxxxxx]\n" + levels)
    assert caught.value.rule == "parse/yaml-aliases"
    with pytest.raises(ParseError) as caught:
        read("a: &x " + "y" * 500_000 + "\nb: [*x, *x, *x]")
    assert caught.value.rule == "parse/yaml-aliases"


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "[{a: "])
def test_depth_is_limited(opening: str) -> None:
    per = 2 if opening == "[{a: " else 1
    close = {"[": "]", "{a: ": "}", "- ": "", "[{a: ": "}]"}[opening]
    assert read(opening * (200 // per) + "x" + close * (200 // per))
    with pytest.raises(ParseError) as caught:
        read(opening * (200 // per + 1) + "x" + close * (200 // per + 1))
    assert caught.value.rule == "parse/depth"


def test_aliases_do_not_nest_beyond_the_limit() -> None:
    half = "[" * 120 + "x" + "]" * 120
    assert read(f"- &a {half}\n- *a")
    with pytest.raises(ParseError) as caught:
        read(f"- &a {half}\n- " + "[" * 100 + "*a" + "]" * 100)
    assert caught.value.rule == "parse/depth"
