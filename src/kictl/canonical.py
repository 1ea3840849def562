"""Strict JSON reading, RFC 8785 bytes, and the digests taken over them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import orjson

from kictl.strictjson import INTEGER_LIMIT, ParseError, Unusable, decode, parse, parse_leniently, pointer_to

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "WRITABLE_DEPTH",
    "Digest",
    "ParseError",
    "canonical_bytes",
    "check",
    "digest",
    "identity",
    "raw_identity",
    "read",
    "read_leniently",
    "read_lines",
    "to_json",
]

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 200
"""Of what is read; what is calculated may be WRITABLE_DEPTH deep."""
WRITABLE_DEPTH: Final = 254  # what orjson writes at most: one limit for every path of canonical_bytes

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_STRICT = orjson.OPT_STRICT_INTEGER
_SORTED = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)

# orjson's output is RFC 8785 but for integral floats (`1.0`), floats in [1e-6, 1e-5) (`1e-6`) and in
# [1e16, 1e21) (`1e+16`), null for NaN, and keys beyond the BMP, sorted by code point. Patterns that start
# with a literal are the quickest to search for. A string that looks alike costs time, never correctness.
_PLUS, _POINT, _MINUS = b"+.-"
_INTEGRAL = re.compile(rb"\.0(?:[,\]}]|\Z)").search
_SMALL = re.compile(rb"-6(?<=e-6)(?:[,\]}]|\Z)").search
_NULL = re.compile(rb"null").search
_BEYOND_BMP = re.compile(rb"[\xf0-\xf4]").search
_ESCAPED_COLON = re.compile(rb"\\u003[aA]").search
_NO_OPENING = bytes(set(range(256)) - set(b"[{"))
_LONG = 4096


class Digest(str):
    """`sha256:` and 64 lowercase hexadecimal digits. Raises ValueError on anything else."""

    __slots__ = ()

    def __new__(cls, text: str) -> Digest:
        if not _DIGEST.fullmatch(text):
            raise ValueError(f"not a digest: {text!r} (expected sha256: and 64 lowercase hexadecimal digits)")
        return str.__new__(cls, text)

    @classmethod
    def of(cls, data: bytes | bytearray | memoryview) -> Digest:
        """The digest of exactly these bytes."""
        return str.__new__(cls, "sha256:" + sha256(data).hexdigest())

    @classmethod
    def from_raw(cls, raw: bytes) -> Digest:
        """The digest whose 32 bytes these are."""
        if len(raw) != 32:
            raise ValueError(f"a SHA-256 digest has 32 bytes, not {len(raw)}")
        return str.__new__(cls, "sha256:" + raw.hex())

    @property
    def raw(self) -> bytes:
        """The 32 bytes."""
        return bytes.fromhex(self[7:])

    @property
    def short(self) -> str:
        """The first 12 hexadecimal digits, for people."""
        return self[7:19]


def read(data: bytes | bytearray | memoryview, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Any:
    """The value of one JSON text, read strictly (I-JSON: RFC 7493).

    Refused with ParseError: duplicate members, NaN and infinities, integers beyond ±(2^53 − 1), floats beyond
    the range of a double, lone surrogates, a byte order mark, broken UTF-8, nesting beyond `max_depth`, more
    than `max_bytes` bytes, and whatever RFC 8259 does not allow.
    """
    if len(data) > max_bytes:
        raise ParseError("parse/size", f"{len(data)} bytes; at most {max_bytes} are read")
    if type(data) is not bytes:
        data = bytes(data)
    value = _read_fast(data, max_depth)
    return parse(decode(data), max_depth=max_depth) if value is _REFUSED else value


def read_leniently(data: bytes, *, max_bytes: int) -> tuple[Any, bool]:
    """As `read`, for a text of many records of which one may be bad; and whether `read` had taken it as well.

    Where it had not, the value may hold integers of any size, the text of NaN and of floats beyond the range of a
    double, and halves of surrogate pairs: `check` refuses them. Whatever else `read` refuses is refused here.
    """
    if len(data) > max_bytes:
        raise ParseError("parse/size", f"{len(data)} bytes; at most {max_bytes} are read")
    value = _read_fast(data, MAX_DEPTH)
    if value is not _REFUSED:
        return value, True
    return parse_leniently(decode(data), max_depth=MAX_DEPTH), False


def read_lines(data: bytes) -> list[Any] | None:
    """The value of each line, as `read` has it; None where there is a line that is blank, or that `read` refuses.

    Much quicker than a line at a time where lines are just as orjson writes them, as most writers do.
    """
    if not data.endswith(b"\n"):
        return None
    text = b"".join((b"[", data.replace(b"\n", _NEXT_LINE), b"0]"))
    try:
        marked: list[Any] = orjson.loads(text)
        # A mark that is not between two values stands inside of one, which then lies over several lines.
        values, marks = marked[:-1:2], marked[1::2]
        lines = (len(text) - len(data) - 3) // (len(_NEXT_LINE) - 1)
        if len(values) != lines or len(marks) != lines or marks.count(_MARK) != lines:
            return None
        if _written(marked, MAX_DEPTH + 1) == text:
            return values
        each = zip(values, data.split(b"\n"), strict=False)
        return [value if orjson.dumps(value, None, _STRICT) == line else read(line) for value, line in each]
    except (orjson.JSONDecodeError, orjson.JSONEncodeError, ParseError):
        return None


# What nobody can have written, so that each newline is known again in what was read.
_MARK: Final = os.urandom(8).hex()
_NEXT_LINE: Final = f',"{_MARK}",'.encode()


_REFUSED: Final = object()


def _read_fast(data: bytes, max_depth: int) -> Any:
    """What orjson reads where that is provably all there is; else _REFUSED, and a parser of ours says why."""
    try:
        value = orjson.loads(data)
        out = _written(value, max_depth) if _may_be_deep(data, max_depth) else orjson.dumps(value, None, _STRICT)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return _REFUSED
    return value if out == data or _nothing_lost(data, out) else _REFUSED


def _may_be_deep(data: bytes, max_depth: int) -> bool:
    """Only a text with more than so many brackets, each with its partner, can be nested too deep."""
    if len(data) <= 2 * max_depth:
        return False
    # Where there are many, it is quicker to see than to count.
    return len(data) > _LONG or len(data.translate(None, _NO_OPENING)) > max_depth


def _written(value: Any, max_depth: int) -> bytes:
    """What orjson writes of a value. Raises JSONEncodeError where it is nested more than `max_depth` deep."""
    spare = WRITABLE_DEPTH - max_depth
    for _ in range(spare):
        value = [value]
    out = orjson.dumps(value, None, _STRICT)
    return out[spare : len(out) - spare]


def _nothing_lost(data: bytes, out: bytes) -> bool:
    """Whether orjson kept all of `data`, given what it wrote of it.

    It keeps the last of equal members, so that at least one colon is gone; the only other way for the number
    of colons to change is an escaped one. An integer beyond 64 bits becomes a float, written as `…e+19`.
    """
    return data.count(b":") == out.count(b":") and _PLUS not in out and not _ESCAPED_COLON(data)


def canonical_bytes(value: Any, checked: bool = False) -> bytes:
    """RFC 8785 bytes of a JSON value (dict with str keys, list, tuple, str, int, float, bool, None).

    `checked` says that the value comes from `read`, or has passed `check`, and so holds no NaN. Raises
    ParseError, with the pointer, for what has no such bytes: see `check`.
    """
    try:
        out = orjson.dumps(value, None, _SORTED)
        if (not checked and _NULL(out)) or (not out.isascii() and _BEYOND_BMP(out)):
            return _canonical_slowly(value)
        # One byte is looked for at a fraction of what a pattern costs.
        if _PLUS in out or (_POINT in out and _INTEGRAL(out)) or (_MINUS in out and _SMALL(out)):
            return orjson.dumps(_with_exact_floats(value), None, _SORTED)
    except orjson.JSONEncodeError:
        return _canonical_slowly(value)
    return out


def _with_exact_floats(value: Any) -> Any:
    """A copy whose floats are written by rfc8785; no deeper than what orjson has written already."""
    if isinstance(value, float):
        import rfc8785

        return orjson.Fragment(rfc8785.dumps(value))
    if isinstance(value, dict):
        return {name: _with_exact_floats(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_exact_floats(member) for member in value]
    return value


def _canonical_slowly(value: Any) -> bytes:
    import rfc8785

    check(value)
    return rfc8785.dumps(value)


def check(value: Any) -> None:
    """Refuse, with ParseError, a value that no strict JSON text has; for values from YAML or calculation."""
    todo: list[tuple[Any, _Path, int]] = [(value, None, 0)]
    while todo:
        item, path, depth = todo.pop()
        if isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    raise ParseError("parse/type", f"member name {key!r} is not a string", pointer=_pointer(path))
                _check_string(key, path)
            members: Iterable[tuple[str | int, Any]] = item.items()
        elif isinstance(item, (list, tuple)):
            members = enumerate(item)
        else:
            _check_scalar(item, path)
            continue
        if depth >= WRITABLE_DEPTH:
            raise ParseError("parse/depth", f"nested more than {WRITABLE_DEPTH} deep", pointer=_pointer(path))
        todo.extend((member, (path, key), depth + 1) for key, member in members)


# A path as a chain of links to its parents: siblings share theirs, so that it costs the same at any depth.
_Path = tuple["_Path", str | int] | None


def _pointer(path: _Path) -> str:
    parts: list[str | int] = []
    while path is not None:
        path, part = path
        parts.append(part)
    return pointer_to(parts[::-1])


def _check_scalar(item: Any, path: _Path) -> None:
    if item is None or isinstance(item, bool):
        return
    if isinstance(item, Unusable):
        rule, message = item.fault
        raise ParseError(rule, message, pointer=_pointer(path))
    if isinstance(item, str):
        _check_string(item, path)
    elif isinstance(item, int):
        if abs(item) > INTEGER_LIMIT:
            message = "the integer is beyond 2^53 - 1 and would lose digits"
            raise ParseError("parse/integer-range", message, pointer=_pointer(path))
    elif not isinstance(item, float):
        raise ParseError("parse/type", f"{type(item).__name__} is not a JSON type", pointer=_pointer(path))
    elif item - item != 0:
        raise ParseError("parse/nan", f"{item} is not a JSON number", pointer=_pointer(path))


def _check_string(item: str, path: _Path) -> None:
    try:
        item.encode("utf-8")
    except UnicodeEncodeError as error:
        message = "the string holds half of a surrogate pair"
        raise ParseError("parse/surrogate", message, pointer=_pointer(path)) from error


def digest(value: Any, *, checked: bool = False) -> Digest:
    """The digest of the value's RFC 8785 bytes; `checked` as for `canonical_bytes`."""
    return Digest.of(canonical_bytes(value, checked))


def identity(manifest: Mapping[str, Any], *, checked: bool = False) -> Digest:
    """The identity digest of a manifest: over apiVersion, kind and spec; KeyError where one is missing.

    `checked` as for `canonical_bytes`.
    """
    return str.__new__(Digest, "sha256:" + raw_identity(manifest, checked).hex())


def raw_identity(manifest: Mapping[str, Any], checked: bool = False) -> bytes:
    """The 32 bytes of `identity`; `checked` as for `canonical_bytes`."""
    api_version, kind, spec = manifest["apiVersion"], manifest["kind"], manifest["spec"]
    if type(api_version) is str and type(kind) is str:
        try:
            hashed = _head(api_version, kind).copy()
            hashed.update(canonical_bytes(spec, checked) + b"}")
            return hashed.digest()
        except ParseError:
            pass  # said below, with the pointer from the manifest's root
    return digest({"apiVersion": api_version, "kind": kind, "spec": spec}, checked=checked).raw


@lru_cache(maxsize=64)
def _head(api_version: str, kind: str) -> Hash:
    """The hash of what the canonical bytes of every manifest of a kind begin with."""
    return sha256(canonical_bytes({"apiVersion": api_version, "kind": kind})[:-1] + b',"spec":')


def to_json(value: Any, *, indent: bool = False, sort: bool = False) -> bytes:
    """Plain JSON for other programs, numbers unrounded; not canonical. Ends without a newline."""
    option = (orjson.OPT_INDENT_2 if indent else 0) | (orjson.OPT_SORT_KEYS if sort else 0)
    return orjson.dumps(value, option=option)
