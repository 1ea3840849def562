"""Documents from files, folders and stdin: whatever they hold, they are read or refused in their place."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kictl import documents, expansion
from kictl.documents import Document, Lines, from_inputs, from_stream
from kictl.errors import InputError
from kictl.expansion import Expanded
from kictl.strictjson import ParseError

ROOT = Path(__file__).parents[1]
GOOD = ROOT / "fixtures/manifests/good"


def each(name: str, data: bytes) -> Iterator[tuple[int | None, Any]]:
    """Line and value, or line and rule, of each document in the data."""
    for batch in from_stream(name, io.BytesIO(data)):
        if isinstance(batch, Document):
            yield batch.line, value_of(batch)
            continue
        for number, value in batch.values():
            yield number, value.rule if isinstance(value, ParseError) else value
        if batch.error is not None:
            yield batch.first, batch.error.rule


def value_of(document: Document) -> Any:
    try:
        return document.read()
    except ParseError as error:
        return error.rule


def zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


PRETTY = json.dumps({"a": [1, 2], "b": {}}, indent=2).encode()
LINES = b'{"a": 1}\n\n{"a": 2}\n{"a": 3}'


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("x", PRETTY, [(None, {"a": [1, 2], "b": {}})]),
        ("x.txt", LINES, [(1, {"a": 1}), (3, {"a": 2}), (4, {"a": 3})]),
        ("x.json", LINES, [(1, {"a": 1}), (3, {"a": 2}), (4, {"a": 3})]),
        ("x.json", LINES.replace(b"\n", b"\r\n"), [(1, {"a": 1}), (3, {"a": 2}), (4, {"a": 3})]),
        ("x.jsonl", b'{"a": 1}', [(1, {"a": 1})]),
        ("x.jsonl", b"nonsense\n{}\n", [(1, "parse/syntax"), (2, {})]),
        ("x", b'{"a": 1}', [(None, {"a": 1})]),
        ("x", b'[{"a": 1}, {"a": 2}]', [(None, [{"a": 1}, {"a": 2}])]),
        ("x", b"a: 1\n", [(None, {"a": 1})]),
        ("x.json", b"a: 1\n", [(None, "parse/syntax")]),
        ("x.yaml", b'{"a": 1}', [(None, {"a": 1})]),
        ("x.yml", b"{a: 1}", [(None, {"a": 1})]),
        ("x.yaml", b'{"a": 1, "a": 2}', [(None, "parse/duplicate-member")]),
        ("x", b"", [(None, "parse/syntax")]),
        ("x.jsonl", b" \n \n", [(None, "parse/syntax")]),
        ("x", b'\xef\xbb\xbf{"a": 1}', [(None, "parse/bom")]),
        ("x.json", b'\xef\xbb\xbf{"a": 1}', [(None, "parse/bom")]),
        ("x.yaml", b"\xef\xbb\xbfa: 1", [(None, "parse/bom")]),
        ("x.yaml", b"a: \xff", [(None, "parse/utf-8")]),
        ("x.yaml", "a: ü".encode("utf-16"), [(None, "parse/utf-8")]),
    ],
)
def test_content_decides_how_it_is_read(name: str, data: bytes, expected: list[tuple[int | None, Any]]) -> None:
    assert [*each(name, data)] == expected
    for pack, suffix in ((gzip.compress, ".gz"), (zst, ".zst"), (zst, "")):
        packed = pack(data)
        assert [*each(name + suffix, packed)] == expected
    assert [*each(name, zst(data[:5]) + zst(data[5:]))] == expected


def test_size_is_limited_for_documents_and_lines_not_for_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_ARRAY", 3 << 20)
    text = b'{"a": "' + b"x" * (1 << 20) + b'"}'
    assert [*each("x", text)] == [(None, "parse/size")]
    assert [*each("x.yaml", text)] == [(None, "parse/size")]
    exact = b'{"a": "' + b"x" * ((1 << 20) - 9) + b'"}'
    assert [value for _, value in each("x", exact)] == [json.loads(exact)]
    found = [*each("x.jsonl", LINES + b"\n" + text + b"\n" + text + text + b"\n" + LINES)]
    assert [(line, value if isinstance(value, str) else value["a"]) for line, value in found] == [
        (1, 1),
        (3, 2),
        (4, 3),
        (5, "parse/size"),
        (6, "parse/size"),
        (7, 1),
        (9, 2),
        (10, 3),
    ]
    array = b"[" + b",".join([exact[:600000] + b'"}'] * 3) + b"]"
    assert [len(value) for _, value in each("x", array)] == [3]
    assert [*each("x", b"[" + b",".join([exact] * 4) + b"]")] == [(None, "parse/size")]


@pytest.mark.parametrize("pack", [gzip.compress, zst])
def test_what_is_cut_short_or_damaged_is_refused(pack: Any) -> None:
    packed = pack(b"".join(b'{"a": %d}\n' % number for number in range(5000)))
    for data in (packed[:-1], packed[: len(packed) // 2], packed + b"junk", packed[:6]):
        assert [*each("x.jsonl", data)][-1][1] == "parse/compression"


def test_skippable_frames_hold_nothing() -> None:
    skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    assert [*each("x", skipped + zst(b'{"a":') + skipped + zst(b"1}") + skipped)] == [(None, {"a": 1})]


@pytest.mark.parametrize("pack", [lambda data: gzip.compress(data, 1), zst])
@pytest.mark.parametrize("content", [bytes(1), b"\n", b'{"a":1}\n', b"["])
def test_expansion_is_limited(pack: Any, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "FREE", 4 << 20)
    monkeypatch.setattr(expansion, "RATIO", 2)
    bomb = pack(content * ((8 << 20) // len(content)))
    found = [value for _, value in each("x.jsonl", bomb)]
    assert found[-1] in ("parse/expansion", "parse/size", "parse/syntax")
    assert sum(value == {"a": 1} for value in found) <= (4 << 20) // 8
    fair = pack(content * 100)
    assert "parse/expansion" not in [value for _, value in each("x.jsonl", fair)]


def test_folders_are_read_in_order_and_not_left(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text("{}")
    root = tmp_path / "root"
    (root / "b").mkdir(parents=True)
    (root / ".git").mkdir()
    for name in (
        "b/2.json",
        "b/10.json.gz",
        "a.yaml",
        "c.jsonl.zst",
        "z.YML",
        ".hidden.json",
        ".git/x.json",
        "README.md",
    ):
        (root / name).write_text("{}")
    (root / "link.json").symlink_to(outside)
    (root / "inner.json").symlink_to(root / "a.yaml")
    (root / "dangling.json").symlink_to(root / "nowhere.json")
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe.json")
    found = [batch.subject for batch in from_inputs([str(root)], io.BytesIO())]
    assert found == [
        str(root / name) for name in ("a.yaml", "c.jsonl.zst", "inner.json", "z.YML", "b/10.json.gz", "b/2.json")
    ]


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        [*from_inputs([str(tmp_path / "nowhere.json")], io.BytesIO())]


def test_a_folder_that_cannot_be_opened_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    listed = os.scandir

    def refused(path: str) -> Any:
        # The superuser, as whom tests may run, opens everything.
        if os.fspath(path) == str(locked):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(InputError, match="locked: Permission denied"):
        [*from_inputs([str(tmp_path)], io.BytesIO())]


def test_stdin_is_a_name() -> None:
    assert {batch.subject for batch in from_inputs(["-"], io.BytesIO(LINES))} == {"-"}


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(["x", "x.json", "x.yaml", "x.jsonl"]), st.booleans())
def test_any_bytes_are_documents_or_refused(data: bytes, name: str, packed: bool) -> None:
    for _, value in each(name, zst(data) if packed else data):
        assert not isinstance(value, str) or value.startswith("parse/") or value in data.decode("utf-8", "replace")


HEADS = [
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\x50\x2a\x4d\x18",
    b"{",
    b"[",
    b"%YAML 1.2\n---\n",
    b"&a [*a,",
    b"!!",
    b"? ",
]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(HEADS), st.binary(max_size=300))
def test_bytes_that_begin_like_something_are_refused_at_most(head: bytes, data: bytes) -> None:
    for name in ("x", "x.yaml", "x.jsonl"):
        [*each(name, head + data)]


SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
TEXTS = st.text(
    st.characters(
        codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="\x85\u2028\u2029\ufeff\ufffe\uffff"
    )
)
VALUES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_yaml_that_a_writer_makes_of_a_value_reads_as_that_value(value: Any) -> None:
    """All quoted and tagged, since the writer follows YAML 1.1, whose plain scalars are others."""
    text = yaml.safe_dump(value, default_style='"', allow_unicode=True)
    assert documents.read_yaml(text.encode()) == value


def test_no_memory_or_time_beyond_the_caps(tmp_path: Path) -> None:
    """Everything hostile at once, in a process that may have 400 MB."""
    aliases = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )
    hostile = {
        "deep.json": b"[" * (1 << 20),
        "deep.yaml": b"- " * (1 << 19),
        "flow.yaml": b"[" * (1 << 19),
        "keys.yaml": b"? " * (1 << 19),
        "aliases.yaml": aliases.encode(),
        "number.json": b'{"a": ' + b"9" * 1000000 + b"}",
        "exponent.json": b'{"a": 1e' + b"9" * 100000 + b"}",
        "number.yaml": b"a: " + b"9" * 1000000,
        "nul.json": bytes(1 << 20),
        "nul.yaml": b"a: " + bytes(1000),
        "escape.json": b'{"\x1b[2J": 1}',
        "utf8.json": b'{"a": "\xed\xa0\x80"}',
        "bomb.json.zst": zst(bytes(1 << 27)),
        "bomb.jsonl.zst": zst(bytes(1 << 27)),
        "bomb.jsonl.gz": gzip.compress(b"[" * (1 << 26), 1),
        "window.zst": b"\x28\xb5\x2f\xfd\x00\xff" + bytes(20),
    }
    for name, data in hostile.items():
        (tmp_path / name).write_bytes(data)
    script = (
        "import resource, sys, io; resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))\n"
        "from kictl.documents import from_inputs\nfrom kictl.verify import verify\n"
        "report = verify(from_inputs(sys.argv[1:], io.BytesIO()))\n"
        "print(report.checked, report.errors, sorted(report.rules))"
    )
    names = [str(tmp_path / name) for name in hostile]
    done = subprocess.run(
        [sys.executable, "-c", script, *names], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    checked, errors, rules = done.stdout.split(" ", 2)
    assert int(checked) >= len(hostile)
    assert int(errors) >= len(hostile)
    assert "parse/" in rules


def test_a_stream_takes_no_memory_for_its_length() -> None:
    """Ten times the lines, the same peak: counted by what is held at once."""

    class Endless(io.RawIOBase):
        def __init__(self, size: int) -> None:
            self.left = size

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            part = min(size, self.left)
            self.left -= part
            return (b'{"a": 1}\n' * (part // 9 + 1))[:part]

    largest = 0
    count = 0
    for batch in from_stream("x", Endless(50 << 20)):  # type: ignore[arg-type]
        assert isinstance(batch, Lines)
        largest = max(largest, len(batch.data))
        count += 1
    assert count > 100
    assert largest <= documents.BLOCK + documents.MAX_BYTES


@pytest.mark.parametrize(("start", "name"), [(b"\xfd7zXZ\x00", "xz"), (b"BZh91", "bzip2"), (b"PK\x03\x04", "zip")])
def test_a_compression_that_is_not_read_is_named(start: bytes, name: str) -> None:
    with pytest.raises(ParseError, match=f"compressed with {name}, which is not read"):
        Expanded(io.BytesIO(start + bytes(20))).read(10)


def test_a_window_beyond_the_limit_is_told_as_a_limit() -> None:
    frame = bytes.fromhex("28b52ffd") + bytes([0, 0xA8, 1, 0, 0])  # window descriptor: 2^31 bytes
    with pytest.raises(ParseError, match="a window of more than 134217728 bytes") as caught:
        Expanded(io.BytesIO(frame)).read(10)
    assert caught.value.rule == "parse/expansion"
