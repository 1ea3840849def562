"""Documents from what a user names: files, folders, stdin, compressed or not, one value or a stream of lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final, Literal, NamedTuple, NoReturn

from kictl import canonical
from kictl.errors import InputError
from kictl.expansion import Expanded
from kictl.strictjson import ParseError, decode

MAX_BYTES: Final = canonical.MAX_BYTES
"""The largest document, and the longest line of a stream."""
MAX_ARRAY: Final = 16 << 20
"""The largest array of documents; a stream of lines has no such limit."""
MAX_DEPTH: Final = canonical.MAX_DEPTH
SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".yaml", ".yml")
"""What is read of a folder, each also with `.gz` or `.zst` after it; a file that is named is always read."""
BLOCK: Final = 1 << 18

_LINE_SUFFIXES = (".jsonl", ".ndjson")
_YAML_SUFFIXES = (".yaml", ".yml")
_COMPRESSED = (".gz", ".zst")

Format = Literal["json", "yaml"]


class Document(NamedTuple):
    """The bytes of one document and where they are from; `line` counts from 1, None where it is the whole file.

    `claim` is the digest under which it is kept, if it is.
    """

    subject: str
    data: bytes
    line: int | None = None
    format: Format = "json"
    error: ParseError | None = None
    claim: str | None = None

    @property
    def is_blank(self) -> bool:
        """Whether it is an empty file or stream, in which there is nothing to read."""
        return self.error is None and self.claim is None and not self.data.strip()

    def read(self) -> Any:
        """Its value. Raises ParseError."""
        if self.error is not None:
            raise self.error
        return read_yaml(self.data) if self.format == "yaml" else read_json(self.data, max_bytes=MAX_ARRAY)


class Lines(NamedTuple):
    """Consecutive whole lines of one stream, blank ones among them; `first` is the number of the first.

    Instead of a line that is too long to keep, or that cannot be expanded, there is an `error`.
    """

    subject: str
    first: int
    data: bytes
    error: ParseError | None = None

    def values(self) -> Iterator[tuple[int, Any]]:
        """Each line that is not blank: its number, and its value or, in place of that, the ParseError."""
        values = canonical.read_lines(self.data)
        return self._each() if values is None else enumerate(values, self.first)

    def _each(self) -> Iterator[tuple[int, Any]]:
        for number, line in enumerate(self.data.split(b"\n"), self.first):
            if line and not line.isspace():
                try:
                    yield number, read_json(line)
                except ParseError as error:
                    yield number, error


def read_json(data: bytes, *, max_bytes: int = MAX_BYTES) -> Any:
    """As `canonical.read`, within the limits of documents: 1 MiB (an array `max_bytes`) and 200 levels.

    Raises ParseError.
    """
    if len(data) > MAX_BYTES and not data.lstrip().startswith(b"["):
        raise too_large(len(data))
    return canonical.read(data, max_bytes=max_bytes, max_depth=MAX_DEPTH)


def read_yaml(data: bytes) -> Any:
    """One document of YAML 1.2, core schema; JSON is read as JSON. Raises ParseError."""
    if len(data) > MAX_BYTES:
        raise too_large(len(data))
    if data.lstrip()[:1] in (b"{", b"["):
        try:
            return read_json(data)
        except ParseError as error:
            if error.rule != "parse/syntax":
                raise
    from kictl import strictyaml

    return strictyaml.parse(decode(data), max_depth=MAX_DEPTH)


def too_large(size: int) -> ParseError:
    return ParseError("parse/size", f"{size} bytes or more; a document has at most {MAX_BYTES}")


def from_inputs(names: Iterable[str], stdin: IO[bytes]) -> Iterator[Document | Lines]:
    """The documents of each name in turn: a file, a folder (its files by path, links followed inside it only), `-`.

    What the content is decides how it is read: compressed or not, JSON or YAML, one document or one per line.
    Raises InputError for what is not there or cannot be opened.
    """
    for name in names:
        if name == "-":
            yield from from_stream("-", stdin)
        elif os.path.isdir(name):
            for path in folder_files(Path(name)):
                yield from _from_file(str(path))
        else:
            yield from _from_file(name)


def only(name: str, stdin: IO[bytes]) -> Document:
    """The document of a file, or of stdin, that has but one. Raises InputError where there is one on each line."""
    batch = next(from_stream(name, stdin) if name == "-" else _from_file(name))
    if isinstance(batch, Lines):
        raise InputError(f"{name}: not one document, but one on each line")
    return batch


def folder_files(root: Path) -> Iterator[Path]:
    """The files below a folder that may hold documents, in order of their paths; hidden ones are not looked at.

    Raises InputError for a folder that cannot be opened.
    """
    inside = root.resolve()
    for folder, folders, files in os.walk(root, onerror=_cannot_open):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            wanted = not name.startswith(".") and _may_hold_documents(name)
            if wanted and path.is_file() and _is_inside(path, inside):
                yield path


def _cannot_open(error: OSError) -> NoReturn:
    raise InputError(f"{error.filename}: {error.strerror or error}", code="unreadable") from error


def _may_hold_documents(name: str) -> bool:
    return _plain_name(name).endswith(SUFFIXES)


def _plain_name(name: str) -> str:
    base, suffix = os.path.splitext(name.lower())
    return base if suffix in _COMPRESSED else name.lower()


def _is_inside(path: Path, root: Path) -> bool:
    return not path.is_symlink() or path.resolve().is_relative_to(root)


def _from_file(name: str) -> Iterator[Document | Lines]:
    try:
        with open(name, "rb") as file:
            yield from from_stream(name, file)
    except OSError as error:
        error.filename = name  # of a failed read the system tells no name
        _cannot_open(error)


def from_stream(name: str, file: IO[bytes]) -> Iterator[Document | Lines]:
    """The documents of one open file, in constant memory where it is a stream of lines."""
    pieces = Expanded(file)
    try:
        head = pieces.read(MAX_BYTES + 1)
        if _are_lines(name, head):
            yield from _lines(name, head, pieces)
            return
        if head.lstrip()[:1] == b"[" and len(head) > MAX_BYTES:
            head += pieces.read(MAX_ARRAY + 1 - len(head))
    except ParseError as error:
        yield Document(name, b"", None, "json", error)
        return
    yield Document(name, head, None, _format(name, head))


def _format(name: str, head: bytes) -> Format:
    if _plain_name(name).endswith(_YAML_SUFFIXES):
        return "yaml"
    start = head.lstrip()[:1]
    if _plain_name(name).endswith(SUFFIXES) or not start or start in b"{[":
        return "json"
    return "yaml"


def _are_lines(name: str, head: bytes) -> bool:
    """Whether a document stands on each line: the name says so, or the first two lines that are not blank do."""
    if not head.strip():
        return False
    if _plain_name(name).endswith(_LINE_SUFFIXES):
        return True
    lines = (line.strip() for line in head.split(b"\n", 64)[:64])
    first, second = ([line for line in lines if line] + [b"", b""])[:2]
    return first.startswith(b"{") and first.endswith(b"}") and second.startswith(b"{")


def _lines(name: str, head: bytes, pieces: Expanded) -> Iterator[Lines]:
    number, rest = 1, b""
    blocks = (head[start : start + BLOCK] for start in range(0, len(head), BLOCK))
    stream = chain(blocks, iter(lambda: pieces.read(BLOCK), b""))
    try:
        for block in stream:
            data = rest + block
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            if end:
                lines = data[:end]
                yield Lines(name, number, lines)
                number += end - len(lines.replace(b"\n", b""))  # several times as quick as count()
            if len(rest) > MAX_BYTES:
                yield Lines(name, number, b"", too_large(len(rest)))
                rest = _after_newline(stream)
                number += 1
        if rest:
            yield Lines(name, number, rest)
    except ParseError as error:
        yield Lines(name, number, b"", error)


def _after_newline(blocks: Iterable[bytes]) -> bytes:
    for block in blocks:
        _, newline, rest = block.partition(b"\n")
        if newline:
            return rest
    return b""
