"""Strict JSON reading, RFC 8785 bytes, and the digests taken over them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import orjson

from kictl.strictjson import INTEGER_LIMIT, ParseError, decode, parse, pointer_to

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "Digest",
    "ParseError",
    "canonical_bytes",
    "check",
    "digest",
    "identity",
    "read",
    "to_json",
]

MAX_BYTES: Final = 1 << 20
MAX_DEPTH: Final = 200

# orjson serialises no deeper than this; refusing the same depth elsewhere keeps both paths alike.
_MAX_DUMP_DEPTH = 254

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER

# What orjson may write otherwise than ECMAScript does: an integral float, an exponent, more than 15 digits.
# Each pattern starts with a literal, so that the search runs at the speed of memchr. Text inside strings can
# match too; that costs time, never correctness.
_ODD_FRACTION = re.compile(rb"\.(?:0(?:[,\]}]|\Z)|[0-9]+e|[0-9]{9}|(?<=[0-9]{8}\.)[0-9])")
_EXPONENT = re.compile(rb"e[-+]?[0-9]{1,3}(?:[,\]}]|\Z)")


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


def read(
    data: bytes | bytearray | memoryview, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH
) -> Any:
    """The value of one JSON text, read strictly (I-JSON: RFC 7493).

    Refused with ParseError: duplicate members, NaN and infinities, integers beyond ±(2^53 − 1), floats beyond
    the range of a double, lone surrogates, a byte order mark, broken UTF-8, nesting beyond `max_depth`, more
    than `max_bytes` bytes, and whatever RFC 8259 does not allow.
    """
    if len(data) > max_bytes:
        raise ParseError("parse/size", f"{len(data)} bytes; at most {max_bytes} are read")
    data = bytes(data)
    if data.count(b"{") + data.count(b"[") <= max_depth:
        try:
            value = orjson.loads(data)
            # orjson keeps the last of two equal members and rounds big integers: both change the bytes.
            if orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER) == data:
                return value
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):
            pass  # the strict parser says why, and where
    return parse(decode(data), max_depth=max_depth)


def canonical_bytes(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value (dict with str keys, list, tuple, str, int, float, bool, None).

    Raises ParseError, with the pointer, for what has no such bytes: see `check`.
    """
    try:
        out = orjson.dumps(value, option=_SORTED)
    except orjson.JSONEncodeError:
        return _canonical_slowly(value)
    if out.isascii() and not _ODD_FRACTION.search(out) and not _EXPONENT.search(out):
        if b"null" in out:
            check(value)  # orjson writes null for NaN
        return out
    return _canonical_slowly(value)


def _canonical_slowly(value: Any) -> bytes:
    import rfc8785

    check(value)
    return rfc8785.dumps(value)


def check(value: Any, *, max_depth: int = _MAX_DUMP_DEPTH) -> None:
    """Refuse, with ParseError, a value that no strict JSON text has; for values from YAML or calculation."""
    todo: list[tuple[Any, list[str | int]]] = [(value, [])]
    while todo:
        item, path = todo.pop()
        if isinstance(item, dict):
            members: list[tuple[str | int, Any]] = list(item.items())
            for key, _ in members:
                if not isinstance(key, str):
                    raise ParseError(
                        "parse/type", f"member name {key!r} is not a string", pointer=pointer_to(path)
                    )
                _check_string(key, path)
        elif isinstance(item, (list, tuple)):
            members = list(enumerate(item))
        else:
            _check_scalar(item, path)
            continue
        if len(path) >= max_depth:
            raise ParseError("parse/depth", f"nested more than {max_depth} deep", pointer=pointer_to(path))
        todo.extend((member, [*path, key]) for key, member in reversed(members))


def _check_scalar(item: Any, path: list[str | int]) -> None:
    if item is None or isinstance(item, bool):
        return
    if isinstance(item, str):
        _check_string(item, path)
    elif isinstance(item, int):
        if abs(item) > INTEGER_LIMIT:
            message = "the integer is beyond 2^53 - 1 and would lose digits"
            raise ParseError("parse/integer-range", message, pointer=pointer_to(path))
    elif not isinstance(item, float):
        raise ParseError("parse/type", f"{type(item).__name__} is not a JSON type", pointer=pointer_to(path))
    elif item - item != 0:
        raise ParseError("parse/nan", f"{item} is not a JSON number", pointer=pointer_to(path))


def _check_string(item: str, path: list[str | int]) -> None:
    try:
        item.encode("utf-8")
    except UnicodeEncodeError as error:
        message = "the string holds half of a surrogate pair"
        raise ParseError("parse/surrogate", message, pointer=pointer_to(path)) from error


def digest(value: Any) -> Digest:
    """The digest of the value's RFC 8785 bytes."""
    return Digest.of(canonical_bytes(value))


def identity(manifest: Mapping[str, Any]) -> Digest:
    """The identity digest of a manifest: over apiVersion, kind and spec; KeyError where one is missing."""
    return digest({"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "spec": manifest["spec"]})


def to_json(value: Any, *, indent: bool = False, sort: bool = False) -> bytes:
    """Plain JSON for other programs, numbers unrounded; not canonical. Ends without a newline."""
    option = (orjson.OPT_INDENT_2 if indent else 0) | (orjson.OPT_SORT_KEYS if sort else 0)
    return orjson.dumps(value, option=option)
