"""Axis expressions against Python's own arithmetic."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kictl.normalize.expressions import ExpressionError, bind, evaluate, names

AXES = {"a": 7, "b": 3, "rows": 1024, "n_2": 0, "_x": 5}

leaves = st.one_of(st.sampled_from(sorted(AXES)), st.integers(0, 300).map(str))


def _operations(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    spaces = st.sampled_from(["", " ", "  "])
    operators = st.sampled_from(["+", "-", "*", "//", "%"])
    binary = st.builds(lambda a, s, o, t, b: f"{a}{s}{o}{t}{b}", inner, spaces, operators, spaces, inner)
    return st.one_of(binary, inner.map(lambda text: f"({text})"), inner.map(lambda text: f"-({text})"))


expressions = st.recursive(leaves, _operations, max_leaves=12).filter(lambda text: len(text) <= 200)


def python(expression: str) -> Any:
    """Python's value, ZeroDivisionError included; the text holds nothing but arithmetic."""
    assert re.fullmatch(r"[a-z0-9_+\-*%/() ]*", expression)
    return eval(re.sub(r"\b0+(?=[0-9])", "", expression), {"__builtins__": {}}, dict(AXES))  # noqa: S307


@given(expressions)
def test_values_are_pythons(expression: str) -> None:
    try:
        expected = python(expression)
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="division by zero"):
            evaluate(expression, AXES)
        return
    if abs(expected) <= 2**53 - 1:
        assert evaluate(expression, AXES) == expected


@given(st.text("ab01 +-*/%()_", max_size=24))
def test_any_text_is_valued_as_python_does_or_refused(text: str) -> None:
    try:
        found = evaluate(text, AXES)
    except ExpressionError:
        return
    assert found == python(text.strip())


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("rows // 10", 102),
        ("0 - rows // 10", -102),
        ("(0 - rows) // 10", -103),
        ("(0 - 7) % 3", 2),
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("100 // 7 // 2", 7),
        ("10 - 3 - 2", 5),
        ("7 * 3 % 4", 1),
        ("--a", 7),
        ("2*-b", -6),
        ("9007199254740991", 2**53 - 1),
    ],
)
def test_order_of_operations(expression: str, value: int) -> None:
    assert evaluate(expression, AXES) == value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "unexpected end"),
        ("a +", "unexpected end"),
        ("a b", "unexpected 'b'"),
        ("(a", "missing '\\)'"),
        ("a)", "unexpected '\\)'"),
        ("a / b", "unexpected '/'"),
        ("a ** b", r"unexpected '\*'"),
        ("a.b", "unexpected '.'"),
        ("A", "unexpected 'A'"),
        ("1.5", "unexpected '.'"),
        ("__import__('os')", 'unexpected "\'"'),
        ("a if b else a", "unexpected 'if'"),
        ("unbound", "'unbound' of expression"),
        ("a // n_2", "division by zero"),
        ("a % (b - 3)", "division by zero"),
        ("9007199254740992", "beyond"),
        ("9007199254740991 + 1", "beyond"),
        ("9007199254740991 * rows - 9007199254740991 * rows", "beyond"),
        ("(" * 40 + "1" + ")" * 40, "nested"),
        ("1 +" * 70 + "1", "longer than 200"),
        ("٣ + 1", "unexpected"),
    ],
)
def test_refused(expression: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        evaluate(expression, AXES)


def test_the_axes_that_an_expression_uses() -> None:
    assert names("(rows + 1) * rows // b_2 - 3") == {"rows", "b_2"}


def test_binding_follows_dependencies_whatever_the_order() -> None:
    derived = {"last": "middle + first", "middle": "first * 2", "first": "n + 1"}
    expected = {"n": 4, "first": 5, "middle": 10, "last": 15}
    assert bind({"n": 4}, derived) == expected
    assert bind({"n": 4}, dict(reversed(derived.items()))) == expected


def test_a_known_axis_keeps_its_value() -> None:
    assert bind({"n": 4, "m": 9}, {"m": "n * 2", "k": "m + 1"}) == {"n": 4, "m": 9, "k": 10}


@pytest.mark.parametrize("derived", [{"a": "a"}, {"a": "b", "b": "c", "c": "a + 1"}, {"a": "b", "b": "a", "ok": "n"}])
def test_cycles_are_refused(derived: dict[str, str]) -> None:
    with pytest.raises(ExpressionError, match="cycle: a"):
        bind({"n": 1}, derived)
