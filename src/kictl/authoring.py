"""Authored spellings to the manifests' own: durations with a unit, and lists that stand for sets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from kictl.model import Json

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?) (ns|us|µs|μs|ms|s)")
_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}
_LONGEST = 100
_INTEGER_LIMIT = 2**53 - 1

_DURATIONS = {
    "BenchmarkProtocol": (("measurement", ("warmupDuration",)),),
    "BenchmarkRun": (
        ("timing/latencyNs", ("median", "mean", "p05", "p95", "minimum", "maximum", "mad", "confidence95")),
    ),
}
_SETS = ("hardwareArchitectures", "productsTested", "axes", "dtypes", "layouts")


class Spelling(NamedTuple):
    """One authored spelling. `value` is what it stands for; where that is nothing, `problem` says why."""

    pointer: str
    authored: Any
    value: Any
    problem: str | None = None


def nanoseconds(text: str) -> int:
    """`"12.5 us"` as 12500. Raises ValueError for what is not `<number> ns|us|µs|ms|s` or not a whole number of ns."""
    match = _DURATION.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise ValueError("a duration is an integer number of ns, or a number, a space, and ns, us, µs, ms or s")
    from fractions import Fraction

    ns = Fraction(match.group(1)) * _NS[match.group(2)]
    if ns > _INTEGER_LIMIT:
        raise ValueError("the duration is beyond 2^53 - 1 ns")
    if ns.denominator != 1:
        raise ValueError(f"{text} is not a whole number of ns")
    return int(ns)


def in_set_order(items: list[str]) -> list[str]:
    """Sorted by UTF-16 code unit, without repeats."""
    return sorted(set(items), key=lambda item: item.encode("utf-16-be", "surrogatepass"))


_WITH_SETS = "ImplementationRevision"


def is_in_order(kind: str, manifest: Json) -> bool:
    """Whether a valid manifest has every list that stands for a set in order."""
    if kind != _WITH_SETS:
        return True
    support = manifest["spec"]["support"]
    for member in _SETS:
        items = support.get(member)
        # Code points and code units are in the same order in ASCII.
        if items is None or len(items) < 2 or (sorted(set(items)) == items and "".join(items).isascii()):
            continue
        if in_set_order(items) != items:
            return False
    return True


def normalise(manifest: Json) -> tuple[Json, list[Spelling]]:
    """The manifest in its own spelling, and what had to be respelt; the very same object where nothing had to."""
    kind, spec = manifest.get("kind"), manifest.get("spec")
    found: list[Spelling] = []
    if isinstance(kind, str) and isinstance(spec, dict):
        if kind == _WITH_SETS:
            found += _sets(spec)
        for path, members in _DURATIONS.get(kind, ()):
            found += _durations(spec, path, members)
    return respelt(manifest, found), found


def respelt(manifest: Json, spellings: Iterable[Spelling]) -> Json:
    """The manifest with what these spellings stand for; the given one is left as it is."""
    copies: dict[str, Any] = {}
    for spelling in spellings:
        if spelling.problem is None:
            holder, _, key = spelling.pointer.rpartition("/")
            _put(_copied(manifest, holder, copies), key, spelling.value)
    result: Json = copies.get("", manifest)
    return result


def _copied(manifest: Json, place: str, copies: dict[str, Any]) -> Any:
    """The copy of the container at a place, made once, in the copies of those around it."""
    if place not in copies:
        if place == "":
            copies[place] = manifest.copy()
        else:
            outer, _, key = place.rpartition("/")
            around = _copied(manifest, outer, copies)
            copies[place] = around[key].copy()
            _put(around, key, copies[place])
    return copies[place]


def _put(container: Any, key: str, value: Any) -> None:
    container[int(key) if isinstance(container, list) else key] = value


def _sets(spec: Json) -> list[Spelling]:
    support = spec.get("support")
    if not isinstance(support, dict):
        return []
    return [
        Spelling(f"/spec/support/{member}", items, ordered)
        for member in _SETS
        if isinstance(items := support.get(member), list)
        and len(items) > 1
        and all(isinstance(item, str) for item in items)
        and (ordered := in_set_order(items)) != items
    ]


def _durations(spec: Json, path: str, members: tuple[str, ...]) -> list[Spelling]:
    holder: Any = spec
    for step in path.split("/"):
        holder = holder.get(step) if isinstance(holder, dict) else None
    if not isinstance(holder, dict):
        return []
    found = []
    for member in members:
        value = holder.get(member)
        for index, item in enumerate(value) if isinstance(value, list) else [("", value)]:
            if isinstance(item, str):
                place = f"/spec/{path}/{member}" + (f"/{index}" if index != "" else "")
                found.append(_duration(place, item))
    return found


def _duration(place: str, text: str) -> Spelling:
    try:
        return Spelling(place, text, nanoseconds(text))
    except ValueError as error:
        return Spelling(place, text, None, str(error))
