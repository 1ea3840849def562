"""Find: the best results for an operation, data type, GPU and shape; what was measured, never what lies between."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from kictl import rank, units
from kictl.canonical import Digest
from kictl.catalogue.leaders import Group, groups
from kictl.catalogue.queries import Cohort
from kictl.catalogue.store import Catalogue
from kictl.errors import UsageError
from kictl.model import Manifest
from kictl.normalize import expressions

NEAREST = 5
"""The most measured cases that are shown beside those that were asked for."""

Shape = Mapping[str, int]
Held = Callable[[Digest], Manifest]
"""From a digest to the manifest that the catalogue has of it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for; what is None, or no axis of `shape`, may be anything."""

    op: str | None = None
    dtype: str | None = None
    gpu: str | None = None
    source: str | None = None
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The best run of one cohort. `axes` are the sizes of its case, None for a suite; `differs` has, for a case that is
    only near, each axis with its size there and the size that was asked for."""

    cohort: Cohort
    first: rank.Entry
    runs: int
    axes: Shape | None
    differs: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Findings:
    """`exact` match all that was asked for, `nearest` in all but the sizes of axes; `suites` have the shape among their
    cases, while their results are over all of them."""

    wanted: Wanted
    exact: tuple[Found, ...]
    nearest: tuple[Found, ...]
    suites: tuple[Found, ...]


def parse_shape(text: str) -> Shape:
    """`m=4096,k=7168` as sizes by axis. Raises UsageError."""
    shape: dict[str, int] = {}
    for part in text.replace(",", " ").split():
        name, equals, size = part.partition("=")
        if not equals or not name or not (size.isascii() and size.isdigit()) or len(size) > 16:
            raise UsageError(f"{part!r} is not the size of an axis", hint="write it as in --shape m=4096,k=7168")
        shape[name.lower()] = int(size)
    return shape


def find(catalogue: Catalogue, wanted: Wanted) -> Findings:
    """The best run of each cohort that fits. Raises UsageError where nothing of the kind was ever measured."""
    held = lru_cache(maxsize=4096)(catalogue.held)
    candidates = [group for group in groups(catalogue) if group.cohort.kernel is not None and _order(group)]
    fitting = list(_narrowed(candidates, wanted, held))
    exact: list[Found] = []
    near: list[tuple[float, Found]] = []
    suites: list[Found] = []
    for group in fitting:
        cohort, shape = group.cohort, wanted.shape or {}
        if cohort.is_suite:
            if not shape or _has_case(held(cohort.workload), held(cohort.subject), shape):
                (suites if shape else exact).append(_best(group, None, {}))
            continue
        axes = _sizes(held(cohort.subject), held(cohort.workload).spec["axes"])
        if not shape.keys() <= axes.keys():
            continue
        differs = {name: (axes[name], size) for name, size in shape.items() if axes[name] != size}
        if differs:
            near.append((_distance(differs), _best(group, axes, differs)))
        else:
            exact.append(_best(group, axes, {}))
    near.sort(key=lambda pair: (pair[0], pair[1].cohort.definition, pair[1].cohort.shape or ""))
    return Findings(wanted, tuple(exact), tuple(found for _, found in near[:NEAREST]), tuple(suites))


def _narrowed(candidates: list[Group], wanted: Wanted, held: Held) -> Iterator[Group]:
    """Those of the operation, data type, GPU and source that are asked for. UsageError for one that there is not."""
    checks: tuple[_Check, ...] = (
        ("operation", wanted.op, lambda group: _names(group, held(group.cohort.subject)), _is_op),
        (
            "data type",
            wanted.dtype and units.dtype(wanted.dtype),
            lambda group: _dtypes(held(group.cohort.subject)),
            _is,
        ),
        ("GPU", wanted.gpu, lambda group: {group.cohort.gpu}, _is),
        ("source", wanted.source, lambda group: {group.cohort.source}, _is),
    )
    for what, value, of, fits in checks:
        if value is None:
            continue
        known = sorted({name for group in candidates for name in of(group)})
        candidates = [group for group in candidates if any(fits(value, name) for name in of(group))]
        if not candidates:
            close = difflib.get_close_matches(value, known, n=3, cutoff=0.4) or known[:8]
            hint = f"there are results for {', '.join(close)}" if close else None
            raise UsageError(f"nothing was measured for {what} {value!r}", code="nothing_found", hint=hint)
    return iter(candidates)


_Check = tuple[str, str | None, Callable[[Group], set[str]], Callable[[str, str], bool]]
"""What is asked for in words, its name, the names that a cohort has, and whether one of these is meant."""


def _is(value: str, name: str) -> bool:
    return value.casefold() == name.casefold()


def _is_op(value: str, name: str) -> bool:
    """An operation is meant by its family, a tag, or a part of its definition's name."""
    return units.kebab(value) in units.kebab(name)


def _names(group: Group, operation: Manifest) -> set[str]:
    return {operation.spec["family"], group.cohort.definition, *group.tags}


def _dtypes(operation: Manifest) -> set[str]:
    """The data types of the tensors that go in."""
    return {item["tensor"]["dtype"] for item in operation.spec["inputs"] if "tensor" in item}


def _sizes(operation: Manifest, axes: Shape) -> dict[str, int]:
    """The axes of a case with the constants of its operation, and those that follow from them."""
    stated = operation.spec["axes"]
    constants = {name: axis["value"] for name, axis in stated.items() if axis["role"] == "constant"}
    derived = {name: axis["expression"] for name, axis in stated.items() if axis["role"] == "derived"}
    try:
        return expressions.bind({**constants, **axes}, derived)
    except expressions.ExpressionError:
        return {**constants, **axes}


def _has_case(suite: Manifest, operation: Manifest, shape: Shape) -> bool:
    return any(shape.items() <= _sizes(operation, case["axes"]).items() for case in suite.spec["cases"])


def _distance(differs: Mapping[str, tuple[int, int]]) -> float:
    """How far the sizes are from those asked for, as factors: twice is as far as half."""
    return sum(abs(math.log(max(there, 1) / max(here, 1))) for there, here in differs.values())


def _best(group: Group, axes: Shape | None, differs: Mapping[str, tuple[int, int]]) -> Found:
    order = _order(group)
    assert order is not None, "asked before"  # noqa: S101
    return Found(group.cohort, rank.rank(group.entries, order)[0].entry, len(group.entries), axes, differs)


def _order(group: Group) -> rank.Order | None:
    return group.cohort.metric and rank.order_of(group.cohort.metric)
