"""Strict reading and canonical bytes: known answers, slow references, and hostile input."""

from __future__ import annotations

import json
import math
import re
import struct
from pathlib import Path
from typing import Any

import orjson
import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from kictl.canonical import (
    MAX_BYTES,
    MAX_DEPTH,
    WRITABLE_DEPTH,
    Digest,
    ParseError,
    canonical_bytes,
    check,
    digest,
    identity,
    read,
    read_leniently,
    read_lines,
    to_json,
)
from kictl.errors import InputError
from kictl.strictjson import decode, parse

ABC = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, appendix B.1


def refusal(data: bytes, **limits: int) -> ParseError:
    with pytest.raises(ParseError) as caught:
        read(data, **limits)
    return caught.value


# --- Digest


def test_digest_of_known_bytes() -> None:
    value = Digest.of(b"abc")
    assert value == ABC
    assert value.raw.hex() == ABC[7:]
    assert value.short == "ba7816bf8f01"
    assert Digest.from_raw(value.raw) == value
    assert isinstance(Digest.from_raw(value.raw), Digest)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sha256:",
        ABC[7:],
        ABC + "\n",
        " " + ABC,
        ABC.upper(),
        ABC[:-1],
        ABC + "0",
        "sha512" + ABC[6:],
        ABC[:-1] + "٣",
    ],
)
def test_digest_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="not a digest"):
        Digest(text)


def test_digest_refuses_raw_bytes_of_another_length() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Digest.from_raw(b"\0" * 31)


# --- RFC 8785

# IEEE 754 bits and the ECMAScript text: RFC 8785, appendix B.
APPENDIX_B = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "text"), APPENDIX_B.items())
def test_numbers_of_the_standard(bits: str, text: str) -> None:
    number = struct.unpack(">d", bytes.fromhex(bits))[0]
    assert canonical_bytes(number) == text.encode()
    assert canonical_bytes([number]) == f"[{text}]".encode()
    assert canonical_bytes({"n": number}) == f'{{"n":{text}}}'.encode()


@pytest.mark.parametrize("bits", ["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])
def test_numbers_that_the_standard_refuses(bits: str) -> None:
    number = struct.unpack(">d", bytes.fromhex(bits))[0]
    with pytest.raises(ParseError) as caught:
        canonical_bytes({"a": [None, number]})
    assert (caught.value.rule, caught.value.pointer) == ("parse/nan", "/a/1")


def test_every_exponent_as_the_slow_reference_writes_it() -> None:
    for exponent in range(-1074, 1024):
        power = math.ldexp(1.0, exponent)
        for number in (power, -power, math.nextafter(power, 0.0), math.nextafter(power, math.inf)):
            assert canonical_bytes([number]) == rfc8785.dumps([number])
    for exponent in range(-323, 308):
        for mantissa in ("1", "1.5", "9.999999999999998", "-7", "1.25"):
            number = float(f"{mantissa}e{exponent}")
            assert canonical_bytes([number]) == rfc8785.dumps([number])


def test_members_are_sorted_by_utf_16_code_units() -> None:
    assert canonical_bytes({"\uffff": 1, "\U0001f600": 2, "a": 3}) == '{"a":3,"\U0001f600":2,"\uffff":1}'.encode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        ([1e16, 1e-6], "[10000000000000000,0.000001]"),
        ({"a": 0.711284, "b": 0.007699, "c": 2.3304}, '{"a":0.711284,"b":0.007699,"c":2.3304}'),
        ('\u20ac$\x0f\nA\'B"\\\\"/\x7f\u2028', '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/\x7f\u2028"'),
        ((True, None, False), "[true,null,false]"),
        ({"v": "1.0,", "w": "e-6]", "x": "1+1", "y": "null"}, '{"v":"1.0,","w":"e-6]","x":"1+1","y":"null"}'),
    ],
)
def test_canonical_bytes(value: Any, text: str) -> None:
    assert canonical_bytes(value) == text.encode()


@pytest.mark.parametrize(
    ("value", "rule", "pointer"),
    [
        ({"a": {"b/c~d": 2**53}}, "parse/integer-range", "/a/b~1c~0d"),
        ([-(2**53)], "parse/integer-range", "/0"),
        ([10**30], "parse/integer-range", "/0"),
        ({"a": "\ud800"}, "parse/surrogate", "/a"),
        ({"a": {"\udc00": 1}}, "parse/surrogate", "/a"),
        ({"a": {1: 2}}, "parse/type", "/a"),
        ({"a": [b"bytes"]}, "parse/type", "/a/0"),
        ({"a": {1, 2}}, "parse/type", "/a"),
    ],
)
def test_values_without_canonical_bytes(value: Any, rule: str, pointer: str) -> None:
    for refuse in (canonical_bytes, check):
        with pytest.raises(ParseError) as caught:
            refuse(value)
        assert (caught.value.rule, caught.value.pointer) == (rule, pointer)


def nested(depth: int, innermost: Any = None) -> Any:
    value: Any = [innermost] if innermost is not None else []
    for level in range(depth - 1):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize("innermost", [None, 1.0, "\U00010000"])
def test_writing_has_one_limit_of_depth_on_every_path(innermost: Any) -> None:
    deepest = nested(WRITABLE_DEPTH, innermost)
    assert json.loads(canonical_bytes(deepest)) == deepest
    with pytest.raises(ParseError) as caught:
        canonical_bytes(nested(WRITABLE_DEPTH + 1, innermost))
    assert caught.value.rule == "parse/depth"


@pytest.mark.parametrize("innermost", [None, 1.0])
@pytest.mark.parametrize("separators", [(",", ":"), None])
def test_reading_has_one_limit_of_depth_on_every_path(innermost: Any, separators: tuple[str, str] | None) -> None:
    deepest, too_deep = (json.dumps(nested(depth, innermost), separators=separators).encode() for depth in (200, 201))
    assert read(deepest) == nested(200, innermost)
    assert refusal(too_deep).rule == "parse/depth"
    assert refusal(b'{"+":1e2,"a":' + deepest + b"}").rule == "parse/depth"


def test_many_brackets_are_not_deep() -> None:
    value = {"a": [[], {}] * 500, "b": nested(199), "c": "[{" * 500}
    for separators in ((",", ":"), None):
        assert read(json.dumps(value, separators=separators).encode()) == value


def test_published_vectors(shared: Path) -> None:
    inputs = sorted((shared / "vectors/jcs/input").glob("*.json"))
    assert inputs
    for path in inputs:
        expected = (shared / "vectors/jcs/output" / path.name).read_bytes()
        assert canonical_bytes(read(path.read_bytes())) == expected, path.name


def test_published_record(shared: Path) -> None:
    bundle = read((shared / "vectors/published/run-19969.json").read_bytes())
    run = bundle["run"]
    assert identity(run) == "sha256:deb0ae259fd84c5e3321ed2b634493bcfbbe08ba88b3646967d236453e2c8bc6"
    assert identity(bundle["protocol"]) == run["spec"]["protocolDigest"]
    assert identity(bundle["environment"]) == run["spec"]["environmentDigest"]


def test_identity_leaves_out_metadata_and_all_else() -> None:
    manifest = {"apiVersion": "v", "kind": "K", "spec": {"b": 1.0, "a": "é"}}
    expected = Digest.of('{"apiVersion":"v","kind":"K","spec":{"a":"é","b":1}}'.encode())
    assert identity(manifest) == expected
    assert identity({"metadata": {"name": "x"}, **manifest}, checked=True) == expected
    assert identity({**manifest, "spec": {"a": "é", "b": 2}}) != expected
    with pytest.raises(KeyError):
        identity({"apiVersion": "v", "kind": "K"})


# --- Differential: canonical bytes

floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**70), 2**70).map(float),
    st.builds(lambda m, e: float(f"{m}e{e}"), st.integers(-9999, 9999), st.integers(-330, 300)),
    st.integers(0, 2**52).map(lambda bits: struct.unpack("<d", bits.to_bytes(8, "little"))[0]),
)
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.text(st.sampled_from(':,.+-e60]}"\\/\0\n\x7f\u2028\ue000\uffff\U00010000\U0010ffff'), max_size=8),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-(2**53) + 1, 2**53 - 1), floats, texts)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=25,
)


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1 from 1.0 and from true."""
    return type(left) is type(right) and repr(left) == repr(right)


@given(values)
def test_canonical_bytes_equal_the_slow_reference(value: Any) -> None:
    out = canonical_bytes(value)
    assert out == rfc8785.dumps(value)
    assert digest(value) == Digest.of(out)
    assert digest(value, checked=True) == Digest.of(out)
    if not re.search(rb"[0-9]{16}", out):  # 1e20 is written as an integer, which a strict reader refuses
        assert canonical_bytes(read(out)) == out


@given(values, st.sampled_from([None, 1]), st.booleans())
def test_reading_equals_what_was_written(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert same(read(text.encode()), value)
    compact = orjson.dumps(value)
    assert same(read(compact), value)
    assert same(read(bytearray(compact)), value)
    assert same(read(memoryview(compact)), value)


# --- Differential: reading


class ReferenceRefusalError(Exception):
    pass


def reference(data: bytes) -> Any:
    """What may be read, by the standard library: slow, recursive and without places."""

    def refuse_unless(good: bool) -> None:
        if not good:
            raise ReferenceRefusalError

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        refuse_unless(len(dict(pairs)) == len(pairs))
        return dict(pairs)

    def integer(text: str) -> int:
        refuse_unless(len(text) <= 17 and abs(int(text)) < 2**53)
        return int(text)

    def real(text: str) -> float:
        refuse_unless(math.isfinite(float(text)))
        return float(text)

    def constant(text: str) -> None:
        refuse_unless(False)

    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=members,
            parse_int=integer,
            parse_float=real,
            parse_constant=constant,
        )
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails on half of a surrogate pair
    except ValueError as error:
        raise ReferenceRefusalError from error
    return value


def agree(data: bytes) -> None:
    try:
        expected = reference(data)
    except ReferenceRefusalError:
        error = refusal(data)
        assert error.rule.startswith("parse/")
        assert isinstance(error, InputError)
        assert error.line is not None
        assert error.line >= 1
        assert error.column is not None
        assert error.column >= 1
        return
    assert same(read(data), expected)
    assert same(parse(decode(data), max_depth=MAX_DEPTH), expected)
    again = canonical_bytes(expected)
    assert again == rfc8785.dumps(expected)


@given(st.binary(max_size=60))
@example(b"\xef\xbb\xbf1")
@example(b'"\xed\xa0\x80"')
@example(b"1\0")
@example(b"\xff\xfe1\0")
def test_reading_agrees_on_bytes(data: bytes) -> None:
    agree(data)


FRAGMENTS = r"""
{ } [ ] , : "a" "b" "\u0061" "\u003a" "\u003A" ":" "" "\ud83d\ude00" "\ud800" "\udc00x" "\/" "\n" "\x" "
1 0 -0 -0.0 01 1.0 1. .5 1e5 1E+2 1e-7 7e-6 0.000007 1e16 1e400 -1e999 9007199254740991 9007199254740992
18446744073709551615 18446744073709551616 -9223372036854775809 - NaN Infinity -Infinity null true false nul
"""
fragments = st.sampled_from(FRAGMENTS.split())


@given(st.lists(fragments, max_size=9), st.sampled_from(["", " ", "\n", "\x0c"]))
def test_reading_agrees_on_fragments(parts: list[str], between: str) -> None:
    agree(between.join(parts).encode())


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "\\u0061", "\\u003a", ":", "c"]), fragments), max_size=5))
def test_reading_agrees_on_members(pairs: list[tuple[str, str]]) -> None:
    inner = "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
    agree(inner.encode())
    agree(f'[{{"x": {inner}}}, 1]'.encode())


# --- Refusals, with their place


@pytest.mark.parametrize(
    ("data", "rule", "pointer", "line", "column"),
    [
        (b'{"a":1,"a":1}', "parse/duplicate-member", "/a", 1, 8),
        (b'{"a":1,"\\u0061":2}', "parse/duplicate-member", "/a", 1, 8),
        (b'{"x":[{},{"a":{"b":1,\n "b":2}}]}', "parse/duplicate-member", "/x/1/a/b", 2, 2),
        (b'{"":1,"":2}', "parse/duplicate-member", "/", 1, 7),
        (b'{"a:":1,"a":1,"a":"\\u003a"}', "parse/duplicate-member", "/a", 1, 15),
        (b'{"a":1,"a":"\\u003A"}', "parse/duplicate-member", "/a", 1, 8),
        (b'[1, {"b/~": 9007199254740992}]', "parse/integer-range", "/1/b~1~0", 1, 13),
        (b"[-9007199254740992]", "parse/integer-range", "/0", 1, 2),
        (b"[ 18446744073709551616]", "parse/integer-range", "/0", 1, 3),
        (b"9" * 100_000, "parse/integer-range", "", 1, 1),
        (b"[1e400]", "parse/float-range", "/0", 1, 2),
        (b'{"a":NaN}', "parse/nan", "/a", 1, 6),
        (b"[0,-Infinity]", "parse/nan", "/1", 1, 4),
        (b'{"a":"\\ud800"}', "parse/surrogate", "/a", 1, 6),
        (b'{"a":"\\udc00\\ud800"}', "parse/surrogate", "/a", 1, 6),
        (b'{"\\ud800":1}', "parse/surrogate", "", 1, 2),
        (b"\xef\xbb\xbf{}", "parse/bom", "", 1, 1),
        (b'"\n\xff"', "parse/utf-8", "", 2, 1),
        (b'["\xc3\xa9\xc0\x80"]', "parse/utf-8", "", 1, 4),
        (b'"\xed\xa0\x80"', "parse/utf-8", "", 1, 2),
        (b"", "parse/syntax", "", 1, 1),
        (b"{}\0", "parse/syntax", "", 1, 3),
        (b'{"a":1}\n{}', "parse/syntax", "", 2, 1),
        (b"[1,]", "parse/syntax", "/1", 1, 4),
        (b'{"a":1,}', "parse/syntax", "", 1, 8),
        (b'{"a" 1}', "parse/syntax", "/a", 1, 6),
        (b'{"a":[01]}', "parse/syntax", "/a/0", 1, 8),
        (b'{"a":"x\ty"}', "parse/syntax", "/a", 1, 8),
        (b'"a', "parse/syntax", "", 1, 1),
        (b"'a'", "parse/syntax", "", 1, 1),
        (b"[1,//\n2]", "parse/syntax", "/1", 1, 4),
        (b"{1:2}", "parse/syntax", "", 1, 2),
        (b"[1}", "parse/syntax", "/0", 1, 3),
        (b"trux", "parse/syntax", "", 1, 1),
    ],
)
def test_refusals(data: bytes, rule: str, pointer: str, line: int, column: int) -> None:
    error = refusal(data)
    assert (error.rule, error.pointer, error.line, error.column) == (rule, pointer, line, column)
    assert error.code == rule
    assert error.exit_code == 3


def test_what_looks_refusable_and_is_not() -> None:
    assert read(b'{"a":{"a":1},"b":{"a":1}}') == {"a": {"a": 1}, "b": {"a": 1}}
    assert read(b"[9007199254740991,-9007199254740991]") == [2**53 - 1, 1 - 2**53]
    assert read(b"1e20") == 1e20
    assert read(b"[1e-400]") == [0.0]
    assert read(b'"\\u0000"') == "\0"
    assert read(b'"\\ud83d\\ude00"') == "\U0001f600"
    assert read(b' \t\r\n{ "a" : [ ] } \n') == {"a": []}


def test_size_limit_counts_bytes() -> None:
    assert read(b'"' + b"x" * (MAX_BYTES - 2) + b'"') == "x" * (MAX_BYTES - 2)
    error = refusal(b" " * MAX_BYTES + b"1")
    assert (error.rule, error.line) == ("parse/size", None)
    assert read(b"[10]", max_bytes=4) == [10]
    assert refusal(b"[10]", max_bytes=3).rule == "parse/size"


def test_depth_limit_can_be_lower() -> None:
    assert read(b'[{"a":[]}]', max_depth=3) == [{"a": []}]
    assert read(b"[[],[],[],[]]", max_depth=2) == [[], [], [], []]
    error = refusal(b'[1,{"a":[]}]', max_depth=2)
    assert (error.rule, error.pointer) == ("parse/depth", "/1/a")


@pytest.mark.parametrize("start", [b"[", b'{"a":', b'[{"a":', b"[0,"])
def test_deep_nesting_never_overflows(start: bytes) -> None:
    assert refusal(start * (MAX_BYTES // len(start))).rule == "parse/depth"


def test_messages_stay_short_and_on_one_line() -> None:
    name = "\\u001b[31m\\n" + "n" * 100_000
    error = refusal(f'{{"{name}":{{"x":NaN}}}}'.encode())
    assert error.pointer.endswith("nnn/x")
    assert len(str(error)) < 500
    assert str(error).isprintable()


# --- Lines

LINE = st.one_of(
    values.map(lambda value: orjson.dumps(value, option=orjson.OPT_SORT_KEYS)),
    st.sampled_from(
        [b"", b" ", b"1,2", b"[1", b"2]", b'{"a":1,"a":1}', b'{"a":1},{"b":2}', b"9007199254740993", b"1e400"]
    ),
)


def refusal_or_value(line: bytes) -> Any:
    try:
        return read(line)
    except ParseError as error:
        return error.rule


@given(st.lists(LINE, max_size=6), st.sampled_from([b"", b"\n"]))
def test_lines_are_read_as_each_would_be(lines: list[bytes], end: bytes) -> None:
    data = b"\n".join(lines) + end
    found = read_lines(data)
    if found is not None:
        assert repr(found) == repr([refusal_or_value(line) for line in data.split(b"\n")[:-1]])


def test_lines_are_read_together_however_they_are_written() -> None:
    values = [{"a": 1.5, "é": [None]}, [], nested(MAX_DEPTH), {"b": [[], {}] * 50}, "x"]
    data = b"".join(orjson.dumps(value) + b"\n" for value in values)
    assert read_lines(data) == values
    assert repr(read_lines(data + b'{"a": 1}\n1e2\n"\\u0061"\n')) == repr([*values, {"a": 1}, 100.0, "a"])
    assert read_lines(data[:-1]) is None


@pytest.mark.parametrize(
    "other",
    [
        b"\n",
        b"[1\n2]\n",
        b"[1\n2]\n3,4\n",
        b'{"a":1\n"b":2}\n',
        b'{"a":1,"a":1}\n',
        b"9007199254740993\n",
        orjson.dumps(nested(MAX_DEPTH + 1)) + b"\n",
    ],
)
def test_lines_of_which_one_is_refused_are_not_read_together(other: bytes) -> None:
    assert read_lines(b"{}\n" + other) is None
    assert read_lines(other + b"{}\n") is None


# --- Plain output


def test_to_json() -> None:
    value = {"b": 0.1, "a": [1e-6, "é"]}
    assert to_json(value) == '{"b":0.1,"a":[1e-6,"é"]}'.encode()
    assert to_json(value, sort=True).startswith(b'{"a"')
    assert json.loads(to_json(value, indent=True)) == value
    assert to_json(value, indent=True).startswith(b'{\n  "b": 0.1,')


@pytest.mark.parametrize(
    "text", ["1e400", "[-1e999]", "NaN", "[-Infinity]", str(2**53), str(10**4000), r'"\ud800"', r'{"\udfff": 1}']
)
def test_a_lenient_reading_lets_pass_what_a_check_then_refuses(text: str) -> None:
    value, strict = read_leniently(text.encode(), max_bytes=1 << 20)
    assert not strict
    with pytest.raises(ParseError) as later:
        check(value)
    with pytest.raises(ParseError):
        read(text.encode())
    assert later.value.rule in {"parse/nan", "parse/float-range", "parse/integer-range", "parse/surrogate"}


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '[{"a+":1,"a+":1}]',
        '{"a":1,"\\u0061":2}',
        "[1,]",
        '"\n"',
        "01",
        "",
        "\ufeff1",
    ],
)
def test_a_lenient_reading_is_as_strict_about_the_rest(text: str) -> None:
    with pytest.raises(ParseError):
        read_leniently(text.encode(), max_bytes=1 << 20)


@pytest.mark.parametrize("depth", [200, 201, 5000])
def test_a_lenient_reading_has_the_same_depth(depth: int) -> None:
    text = b'[{"+":' * (depth // 2) + b"[" * (depth % 2) + b"1" + b"]" * (depth % 2) + b"}]" * (depth // 2)
    if depth <= MAX_DEPTH:
        assert read_leniently(text, max_bytes=1 << 20)[0] == read(text)
    else:
        with pytest.raises(ParseError, match="nested"):
            read_leniently(text, max_bytes=1 << 20)


@given(values)
def test_a_lenient_reading_of_strict_text_is_the_same(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        found, strict = read_leniently(text.encode(), max_bytes=1 << 20)
        assert repr(found) == repr(read(text.encode()))
        if not strict:
            check(found)
