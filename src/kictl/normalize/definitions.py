"""A definition's detail, as the leaderboard and the harness write it, to operation, cases, suite and bounds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from kictl import bounds, canonical, units
from kictl.model import Definition, Json, Manifest, Suite
from kictl.normalize import expressions
from kictl.normalize.build import NormalizeError, manifest

COMPARATOR = "sol_execbench_eval"
# Part of a suite's identity, to the letter (published record).
SUITE_CORRECTNESS = {
    "comparator": COMPARATOR,
    "description": "Correctness must pass on every case in the SOL evaluation stack.",
}

_SUBSETS = frozenset({"L1", "L2", "Quant", "FlashInfer-Bench"})
_ROLES = {"const": "constant", "expr": "derived", "var": "variable"}
# Source code is never stored: neither the scoring baseline's nor the reference's.
_CODE = frozenset({"baseline", "reference"})


def definition(detail: Json) -> Definition:
    """The manifests and bounds of a definition's detail. Raises NormalizeError where one cannot be made."""
    if detail.get("latency_unit") not in (None, "ms"):
        raise NormalizeError(f"latency_unit {detail['latency_unit']!r} is not understood; ms is")
    operation = operation_manifest(detail)
    workloads: list[Json] = detail["workloads"]
    suite = Suite(
        suite_manifest(detail, operation),
        case_manifests(detail, operation, workloads),
        bounds.of_workloads(workloads, is_dummy=bool(detail.get("sol_is_dummy"))),
    )
    return Definition(
        external_id=str(detail["id"]),
        name=detail["name"],
        tags=tuple(detail.get("tags") or ()),
        gpus=tuple(detail.get("gpu_types") or ()),
        subject=operation,
        suite=suite,
        dtypes=tuple(sorted({units.dtype(argument["dtype"]) for argument in detail["inputs"].values()})),
        facts={member: value for member, value in detail.items() if member not in _CODE},
    )


def base_name(detail: Json) -> str:
    """The manifest name that everything of a definition starts with."""
    return units.kebab(detail["name"]) or f"definition-{units.kebab(str(detail['id']))}"


def operation_manifest(detail: Json) -> Manifest:
    """The OperationSpec of a definition."""
    spec: Json = {
        "family": _family(detail),
        "axes": _axes(detail["axes"]),
        "inputs": _arguments(detail["inputs"]),
        "outputs": _arguments(detail["outputs"]),
        "semantics": {"mutation": "none", "determinism": "unspecified"},
    }
    if detail.get("reference"):
        spec["reference"] = {"language": "python"}
    title = units.title(detail.get("title") or detail["name"])
    return manifest("OperationSpec", {"name": base_name(detail), "title": title}, spec)


def suite_manifest(detail: Json, operation: Manifest) -> Manifest:
    """The WorkloadSuite of a definition: its cases in source order, repeated ones included."""
    cases = [{"externalId": case_id(workload), "axes": _sizes(workload["axes"])} for workload in detail["workloads"]]
    spec = {
        "operationSpecDigest": str(operation.digest),
        "cases": cases,
        "correctness": SUITE_CORRECTNESS,
        "aggregation": {"metric": "latency", "statistic": "mean"},
    }
    title = units.title(detail.get("title") or detail["name"])
    return manifest("WorkloadSuite", {"name": f"{base_name(detail)}-suite", "title": title}, spec)


def case_manifests(
    detail: Json, operation: Manifest, workloads: Iterable[Json], comparator: str = COMPARATOR
) -> tuple[Manifest, ...]:
    """The distinct WorkloadCases of the workloads, in order of first appearance."""
    found: dict[str, Manifest] = {}
    for workload in workloads:
        case = _case_manifest(detail, operation, workload, comparator)
        found.setdefault(case.digest, case)
    return tuple(found.values())


def case_id(workload: Json) -> str:
    """What a case is called: its uuid where it has one, else the start of a hash of its axes in collation order."""
    if workload.get("uuid"):
        return str(workload["uuid"])
    axes = workload["axes"]
    ordered = {name: int(axes[name]) for name in sorted(axes, key=_collation)}
    return hashlib.sha256(canonical.to_json(ordered)).hexdigest()[:12]


@lru_cache(maxsize=4096)
def _collation(name: str) -> tuple[list[tuple[int, str]], list[bool]]:
    """ICU root order for axis names: `_`, digits, letters regardless of case; ties lowercase first."""
    classes = [(2 if c.isalpha() else 1 if c.isdigit() else 0, c.lower()) for c in name]
    return classes, [c.isupper() for c in name]


def _case_manifest(detail: Json, operation: Manifest, workload: Json, comparator: str) -> Manifest:
    spec: Json = {
        "operationSpecDigest": str(operation.digest),
        "axes": _sizes(workload["axes"]),
        "tensors": _tensors(detail, workload),
        "correctness": {"comparator": comparator, **_tolerances(workload.get("tolerance") or {})},
    }
    scalars = _scalars(detail, workload)
    if scalars:
        spec["scalars"] = scalars
    name = f"{base_name(detail)}-{units.kebab(case_id(workload))}"
    return manifest("WorkloadCase", {"name": name[:200]}, spec)


def _tensors(detail: Json, workload: Json) -> Json:
    """The inputs whose every dimension has a value; an input of unknown size is left out, not guessed."""
    values = _bound(detail["axes"], workload["axes"])
    descriptors = workload.get("inputs") or {}
    tensors: Json = {}
    for name, argument in detail["inputs"].items():
        shape = [_dimension(entry) for entry in argument.get("shape") or ()]
        if not shape or not all(isinstance(entry, int) or entry in values for entry in shape):
            continue
        tensor: Json = {
            "shape": [entry if isinstance(entry, int) else values[entry] for entry in shape],
            "dtype": units.dtype(argument["dtype"]),
        }
        if name in descriptors:
            safe = descriptors[name].get("type") == "safetensors"
            tensor["data"] = {"generator": "safetensors" if safe else "random"}
        tensors[units.token(name)] = tensor
    return tensors


def _bound(axes: Json, published: Mapping[str, int]) -> dict[str, int]:
    constants = {name.lower(): int(axis["value"]) for name, axis in axes.items() if axis["type"] == "const"}
    derived = {name.lower(): axis["expression"].lower() for name, axis in axes.items() if axis["type"] == "expr"}
    try:
        return expressions.bind({**constants, **_sizes(published)}, derived)
    except expressions.ExpressionError as error:
        raise NormalizeError(str(error)) from error


def _scalars(detail: Json, workload: Json) -> Json:
    """The scalar inputs whose value the source gives as a number."""
    scalars: Json = {}
    for name, descriptor in (workload.get("inputs") or {}).items():
        argument = detail["inputs"].get(name)
        value = descriptor.get("value")
        if argument and not argument.get("shape") and type(value) in (int, float):
            scalars[units.token(name)] = {"dtype": units.dtype(argument["dtype"]), "value": value}
    return scalars


def _tolerances(tolerance: Json) -> Json:
    members = {"maxAbsoluteError": tolerance.get("max_atol"), "maxRelativeError": tolerance.get("max_rtol")}
    return {name: value for name, value in members.items() if value is not None}


def _family(detail: Json) -> str:
    tags = [tag for tag in detail.get("tags") or () if tag not in _SUBSETS and not tag.startswith("model:")]
    return units.kebab(detail.get("op_type") or "") or units.kebab(tags[0] if tags else "") or "uncategorized"


def _axes(axes: Json) -> Json:
    roles = {name: _axis(name, axis) for name, axis in axes.items()}
    return _lowered(roles)


def _axis(name: str, axis: Json) -> Json:
    role = _ROLES.get(axis["type"])
    if role is None:
        raise NormalizeError(f"axis {name!r} has the unknown type {axis['type']!r}")
    out: Json = {"role": role, "type": "integer"}
    if role == "constant":
        out["value"] = axis.get("value")
    elif role == "derived":
        out["expression"] = str(axis.get("expression") or "").lower()
    return out


def _arguments(arguments: Json) -> list[Json]:
    named = [(units.token(name), argument) for name, argument in arguments.items()]
    if len({name for name, _ in named}) < len(named):
        raise NormalizeError("two arguments have the same name once normalised")
    return [{"name": name, **_argument(argument)} for name, argument in named]


def _argument(argument: Json) -> Json:
    dtype = units.dtype(argument["dtype"])
    shape = argument.get("shape")
    if not shape:
        return {"scalar": {"dtype": dtype}}
    return {"tensor": {"shape": [_dimension(entry) for entry in shape], "dtype": dtype}}


def _dimension(entry: str | int) -> str | int:
    if not isinstance(entry, str):
        return int(entry)
    # More digits than an extent has are left to the schema to refuse.
    return int(entry) if entry.isascii() and entry.isdigit() and len(entry) <= 16 else entry.lower()


def _sizes(axes: Mapping[str, float]) -> dict[str, int]:
    """Axes by lowercase name; 8.0 is the integer 8, as JSON has it."""
    return {name: int(size) for name, size in _lowered(axes).items()}


def _lowered(axes: Mapping[str, Any]) -> dict[str, Any]:
    lowered = {name.lower(): value for name, value in axes.items()}
    if len(lowered) < len(axes):
        raise NormalizeError("two axes have the same name once lowercased")
    return lowered
