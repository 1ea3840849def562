"""Axis expressions: a parser and evaluator for `+ - * % //`, parentheses, integers and axis names."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NoReturn

MAX_LENGTH = 200
MAX_DEPTH = 32
MAX_VALUE = 2**53 - 1

_TOKEN = re.compile(r"\s*(?:([0-9]+)|([a-z_][a-z0-9_]*)|(//|[-+*%()]))", re.ASCII)
_PRODUCTS: dict[str, Callable[[int, int], int]] = {
    "*": operator.mul,
    "%": operator.mod,
    "//": operator.floordiv,
}
_SUMS: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub}


class ExpressionError(ValueError):
    """An expression that cannot be read or evaluated; the message names it."""


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[str, ...]:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"expression longer than {MAX_LENGTH} characters")
    found, position = [], 0
    stripped = text.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if match is None:
            raise ExpressionError(f"unexpected {stripped[position:].lstrip()[:1]!r} in expression {text!r}")
        found.append(match[0].strip())
        position = match.end()
    return tuple(found)


class _Evaluator:
    """Recursive descent over one expression's tokens; recursion is bounded by the parentheses' depth."""

    def __init__(self, text: str, axis: Callable[[str], int]) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.position = 0
        self.depth = 0
        self.axis = axis

    def run(self) -> int:
        value = self.sum()
        if self.position < len(self.tokens):
            self.fail(f"unexpected {self.tokens[self.position]!r}")
        return value

    def fail(self, what: str) -> NoReturn:
        raise ExpressionError(f"{what} in expression {self.text!r}")

    def take(self, among: Mapping[str, object]) -> str | None:
        if self.position < len(self.tokens) and self.tokens[self.position] in among:
            self.position += 1
            return self.tokens[self.position - 1]
        return None

    def binary(self, operators: Mapping[str, Callable[[int, int], int]], operand: Callable[[], int]) -> int:
        value = operand()
        while (sign := self.take(operators)) is not None:
            right = operand()
            if right == 0 and sign in ("%", "//"):
                self.fail("division by zero")
            value = operators[sign](value, right)
            if abs(value) > MAX_VALUE:
                self.fail(f"a value beyond {MAX_VALUE}")
        return value

    def sum(self) -> int:
        return self.binary(_SUMS, self.product)

    def product(self) -> int:
        return self.binary(_PRODUCTS, self.atom)

    def atom(self) -> int:
        negative = False
        while self.take({"-": None}):
            negative = not negative
        value = self.primary()
        return -value if negative else value

    def primary(self) -> int:
        if self.position == len(self.tokens):
            self.fail("unexpected end")
        word = self.tokens[self.position]
        self.position += 1
        if word == "(":
            return self.parenthesis()
        if word[0].isdigit():
            value = int(word)
            return value if value <= MAX_VALUE else self.fail(f"a value beyond {MAX_VALUE}")
        if word[0].isalpha() or word[0] == "_":
            return self.axis(word)
        return self.fail(f"unexpected {word!r}")

    def parenthesis(self) -> int:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"more than {MAX_DEPTH} nested parentheses")
        value = self.sum()
        self.depth -= 1
        if not self.take({")": None}):
            self.fail("a missing ')'")
        return value


def names(expression: str) -> set[str]:
    """The axes that an expression uses. Raises ExpressionError where it cannot be read."""
    return {token for token in _tokens(expression) if token[0].isalpha() or token[0] == "_"}


def evaluate(expression: str, axes: Mapping[str, int]) -> int:
    """The value of an expression under bound axes.

    Raises ExpressionError for a syntax error, an axis without a value, a division by zero, or a value beyond 2^53 − 1.
    Division and remainder round towards minus infinity.
    """

    def axis(name: str) -> int:
        if name not in axes:
            raise ExpressionError(f"axis {name!r} of expression {expression!r} has no value")
        return axes[name]

    return _Evaluator(expression, axis).run()


def bind(known: Mapping[str, int], derived: Mapping[str, str]) -> dict[str, int]:
    """`known` axes and the values of the `derived` ones, each after those it depends on.

    An axis in `known` keeps its value even where an expression exists. One that depends on an axis without a value, at
    first or second hand, stays without one. Raises ExpressionError, also for a cycle.
    """
    bound = dict(known)
    waiting = {name: names(expression) for name, expression in derived.items() if name not in bound}
    while waiting:
        ready = [name for name, needs in waiting.items() if needs <= bound.keys()]
        free = [name for name, needs in waiting.items() if needs - bound.keys() - waiting.keys()]
        if not ready and not free:
            raise ExpressionError("axes depend on each other in a cycle: " + ", ".join(sorted(waiting)))
        for name in ready:
            bound[name] = evaluate(derived[name], bound)
        for name in {*ready, *free}:
            del waiting[name]
    return bound
