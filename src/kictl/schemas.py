"""The packaged JSON Schemas: their text, the verdict on a document, and the explanation of a refusal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from kictl.errors import UsageError

KINDS = (
    "OperationSpec",
    "WorkloadCase",
    "WorkloadSuite",
    "SoftwareProject",
    "ImplementationRevision",
    "BenchmarkProtocol",
    "ExecutionEnvironment",
    "BenchmarkRun",
    "ModelRevision",
    "ServingStackRevision",
    "ServingConfiguration",
    "ServingWorkload",
    "ServingRun",
)
"""Every kind of manifest."""

_OTHERS = (
    "Bundle",
    "common",
    "upstream/kernels",
    "upstream/kernel-row",
    "upstream/kernel",
    "upstream/submissions",
    "upstream/submission",
)
MOST: Final = 10_000
"""The most violations that are told of one document: a bad one of 1 MiB could have half a million."""
_URN = "urn:kictl:schema:"
_SHOWN = 80
"""Longest value that a message repeats, in characters."""


class Violation(NamedTuple):
    """One place where a document departs from its schema.

    `pointer` (RFC 6901) names the member itself, also where it is missing or unknown. It holds the document's
    own text, so whoever prints it escapes it; the other texts are one line each and safe to print.
    """

    pointer: str
    keyword: str
    message: str
    expected: str
    got: str


def names() -> tuple[str, ...]:
    """Every schema: the kinds, the bundle, the shared types, and the answers of the leaderboard's API."""
    return KINDS + _OTHERS


def text(name: str) -> bytes:
    """The schema as its file has it. Raises UsageError for a name that is not in `names()`."""
    if name not in names():
        raise UsageError(f"no schema is called {show(name)}", code="unknown_schema", hint=_suggestion(name))
    return (_folder() / f"{name}.json").read_bytes()


def bundled(name: str) -> bytes:
    """The schema with all that it refers to inside it, below `$defs` under their own ids: one document that needs no
    other. Raises UsageError as `text`."""
    schema = json.loads(text(name))
    inside: dict[str, Any] = {}
    _gather(schema, inside)
    inside.pop(schema["$id"], None)
    if inside:
        schema["$defs"] = schema.get("$defs", {}) | inside
    return json.dumps(schema, ensure_ascii=False, indent=2).encode() + b"\n"


def _gather(value: Any, found: dict[str, Any]) -> None:
    """Adds every schema of ours that is referred to, by its id."""
    if isinstance(value, dict):
        uri = value.get("$ref", "").partition("#")[0] if isinstance(value.get("$ref"), str) else ""
        if uri and uri not in found:
            found[uri] = _load(uri)
            _gather(found[uri], found)
        value = list(value.values())
    for member in value if isinstance(value, list) else ():
        _gather(member, found)


@cache
def members(name: str) -> frozenset[str]:
    """The members that a schema names at its top level, or below `data` where it is that of an envelope."""
    properties = json.loads(text(name))["properties"]
    return frozenset(properties["data"]["properties"] if set(properties) == {"data"} else properties)


def is_valid(name: str, document: Any) -> bool:
    """Whether `document`, as the strict reader returns it, has the shape that the schema `name` asks for."""
    return (_verdicts.get(name) or _compile(name))(document)


def violations(name: str, document: Any) -> list[Violation]:
    """Why `document` is refused, ordered by pointer; empty exactly where `is_valid` says yes, and at most MOST."""
    if is_valid(name, document):
        return []
    found = set(islice(_explained(name, document), MOST)) or set(islice(_stated(name, document), MOST))
    return sorted(found, key=lambda v: (v.pointer, v.keyword, v.message))


def pointer(path: Iterable[str | int]) -> str:
    """A JSON Pointer as RFC 6901 writes it; "" for the whole document."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def show(value: Any) -> str:
    """`value` as JSON on one line, cut to 80 characters; what does not print is written as an escape."""
    shown = ""
    for part in json.JSONEncoder(ensure_ascii=False).iterencode(_cut(value)):
        shown += "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in part[: _SHOWN + 1])
        if len(shown) > _SHOWN:
            return shown[: _SHOWN - 1] + "…"
    return shown


def _cut(value: Any) -> Any:
    # A string is encoded in one piece, however long it is.
    return value[:_SHOWN] if isinstance(value, str) else value


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    spelled = {known.lower(): known for known in names()}
    close = [spelled[match] for match in get_close_matches(name.lower(), spelled)]
    return f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(names())}"


@cache
def _folder() -> Path:
    """In a wheel the schemas lie inside the package, in an editable install at the root of the repository."""
    packaged = Path(__file__).with_name("_schemas")
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "schemas"


def _load(uri: str) -> Any:
    """What a `$ref` leads to. This is the only retriever there is, and it knows only our own files."""
    if not uri.startswith(_URN):
        raise LookupError(f"a schema refers to {uri}, which is not one of ours")
    return json.loads(text(uri.removeprefix(_URN)))


# Verdict: jsonschema_rs, which judges patterns as ECMA 262 does.

_verdicts: dict[str, Callable[[Any], bool]] = {}


def _compile(name: str) -> Callable[[Any], bool]:
    verdict: Callable[[Any], bool] = _judge(name).is_valid
    _verdicts[name] = verdict
    return verdict


@cache
def _judge(name: str) -> Any:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(
        _load(_URN + name), validate_formats=True, ignore_unknown_formats=False, retriever=_load
    )


def _stated(name: str, document: Any) -> Iterator[Violation]:
    """The refusal as the judge locates it, for where the explainer sees nothing wrong."""
    for error in _judge(name).iter_errors(document):
        keyword = error.kind.name
        expected = f"a value that the schema's {keyword} allows"
        yield _violation([*error.instance_path], keyword, expected, show(error.instance))


# Explanation: jsonschema, which keeps the part of the schema and of the document that each error is about.


@cache
def _explainer(name: str) -> Any:
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.validators import extend

    formats = FormatChecker(formats=())
    for known in ("date-time", "uri"):
        formats.checks(known)(_format_verdict(known))
    validator = extend(Draft202012Validator, {"pattern": _ecma_pattern})  # type: ignore[no-untyped-call]
    registry = _registry()
    return validator(registry.contents(_URN + name), registry=registry, format_checker=formats)


@cache
def _registry() -> Any:
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    registry: Registry[Any] = Registry()
    for name in names():
        schema = _load(_URN + name)
        del schema["$schema"]  # met behind a `$ref`, it would bring the library's own `pattern` back
        registry = registry.with_resource(schema["$id"], DRAFT202012.create_resource(schema))
    return registry.crawl()


def _format_verdict(name: str) -> Callable[[object], bool]:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator({"format": name}, validate_formats=True).is_valid


def _ecma_pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    """`pattern` where `$` is the end of the text; Python's own also matches before a last newline."""
    import re

    from jsonschema import ValidationError

    if isinstance(instance, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), instance):
        yield ValidationError("does not match")


def _explained(name: str, document: Any) -> Iterator[Violation]:
    for error in _explainer(name).iter_errors(document):
        path, keyword, limit = [*error.absolute_path], error.validator, error.validator_value
        match keyword:
            case "required":
                yield from _missing(path, limit, error.instance)
            case "additionalProperties":
                yield from _unknown(path, error.schema.get("properties", {}), error.instance)
            case "oneOf" | "anyOf" if not isinstance(error.instance, dict):
                pass  # the type is reported already
            case _:
                # A name that breaks the rule for names is reported at the member that bears it.
                named = "propertyNames" in error.absolute_schema_path
                expected = ("a member name: " if named else "") + _expected(keyword, limit, error.schema)
                got = _got(keyword, limit, error.instance)
                yield _violation([*path, error.instance] if named else path, keyword, expected, got)


def _missing(path: list[str | int], required: list[str], instance: dict[str, Any]) -> Iterator[Violation]:
    for member in required:
        if member not in instance:
            shown = show(member)
            yield Violation(
                pointer([*path, member]), "required", f"missing member {shown}", f"member {shown}", "nothing"
            )


def _unknown(path: list[str | int], known: dict[str, Any], instance: dict[str, Any]) -> Iterator[Violation]:
    expected = f"only {', '.join(known)}"
    for member, value in instance.items():
        if member not in known:
            message = f"unknown member {show(member)}"
            yield Violation(pointer([*path, member]), "additionalProperties", message, expected, show(value))


def _violation(path: list[str | int], keyword: str, expected: str, got: str) -> Violation:
    return Violation(pointer(path), keyword, f"expected {expected}, got {got}", expected, got)


_PHRASES = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "maxLength": "at most {} characters",
    "minItems": "a list of at least {}",
    "maxItems": "a list of at most {}",
}


def _expected(keyword: str, limit: Any, schema: dict[str, Any]) -> str:
    match keyword:
        case "type":
            return " or ".join([limit] if isinstance(limit, str) else limit)
        case "const":
            return show(limit)
        case "enum":
            return " or ".join(map(show, limit))
        case "pattern" | "format":
            return str(schema.get("title", f"{keyword} {limit}"))
        case "oneOf" | "anyOf":
            return f"{_CHOICES[keyword]} {', '.join(_members(limit))}"
    return _PHRASES.get(keyword, keyword + " {}").format(show(limit))


_CHOICES = {"oneOf": "exactly one of", "anyOf": "at least one of"}


def _members(alternatives: list[dict[str, Any]]) -> list[str]:
    """Our alternatives only ever say which member has to be there."""
    return [member for alternative in alternatives for member in alternative["required"]]


def _got(keyword: str, limit: Any, instance: Any) -> str:
    match keyword:
        case "oneOf" | "anyOf":
            return ", ".join(member for member in _members(limit) if member in instance) or "none of them"
        case "maxLength":
            return f"{len(instance)} characters: {show(instance)}"
        case "minItems" | "maxItems":
            return str(len(instance))
    return show(instance)
