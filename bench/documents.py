"""One document at a time: digest from text, validation, and whether others come to the same."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import orjson
import rfc8785

from bench import made, peers
from bench.measure import Goal, Table, interleaved, scaled, timed
from kictl import canonical, documents, schemas

_ASTRAL, _CONTROL = "\U0001f600", "\x1b"
_PIECES = ("", "a", "é", _ASTRAL, "￿", _CONTROL, '"', "\\", "1.0", "null", "e-6,", "x" * 50, "٣")
_EDGES = (0.0, -0.0, 1.0, 5e-6, 1e-6, 9.99e-7, 1e16, 1e20, 1e21, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3, 2**53 - 1)


def sample(count: int) -> list[bytes]:
    """Distinct manifests of an export, in its mix."""
    texts = sorted(set(made.manifests(made.export_lines())))
    return Random(8785).sample(texts, count)


def digest(count: int, rounds: int) -> Table:
    """Digest of a manifest's text: strict reading, identity part, RFC 8785, SHA-256."""
    texts = sample(count)
    items = [(text,) for text in texts]
    tasks = {
        "kictl, on lines": _on_lines(texts),
        "kictl, alone": timed(lambda text: canonical.identity(canonical.read(text), checked=True), items),
        "orjson.loads + rfc8785": timed(_with_rfc8785, items[: count // 4]),
        "json.loads + rfc8785": timed(lambda text: _with_rfc8785(text, json.loads), items[: count // 4]),
        "floor: orjson unguarded": timed(_unguarded, items),
    }
    table = Table("Digest from text, one manifest", "µs", _with_node(tasks, texts, rounds, "digest"))
    for how in ("on lines", "alone"):
        table.goal(f"digest from text, {how}", "orjson.loads + rfc8785", f"kictl, {how}", "≥", 8)
        table.goal(f"digest from text, {how}", "Node canonicalize", f"kictl, {how}", "≥", 2)
    trees = list(hostile(count * 5))
    wrong = sum(canonical.canonical_bytes(tree) != rfc8785.dumps(tree) for tree in trees)
    table.goals.append(Goal(f"mismatches with rfc8785 on {len(trees)} hostile trees", wrong, "≤", 0, ""))
    return table


def _on_lines(texts: Sequence[bytes]) -> Callable[[], float]:
    """A task: the seconds for each text where they come on the lines of a stream, as in an export."""
    stream = b"".join(text + b"\n" for text in texts)

    def task() -> float:
        start = perf_counter()
        for lines in documents.from_stream("-", BytesIO(stream)):
            assert isinstance(lines, documents.Lines)
            for _, manifest in lines.values():
                canonical.identity(manifest, checked=True)
        return (perf_counter() - start) / len(texts)

    return task


def validate(count: int, rounds: int) -> Table:
    """The verdict on a manifest that was read already."""
    texts = sample(count)
    items = [(value["kind"], value) for value in map(canonical.read, texts)]
    slow = _jsonschema()
    tasks = {
        "kictl": timed(schemas.is_valid, items),
        "jsonschema": timed(lambda kind, value: slow[kind].is_valid(value), items[: count // 16]),
    }
    fast = _fastjsonschema(texts)
    if fast is not None:
        tasks["fastjsonschema"] = fast
    table = Table("Validation, one manifest", "µs", _with_node(tasks, texts, rounds, "validate"))
    table.goal("validate", "jsonschema", "kictl", "≥", 80)
    table.goal("validate", "Node ajv", "kictl", "≥", 0.9)
    return table


def _jsonschema() -> dict[str, Any]:
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    texts = {name: canonical.read(schemas.text(name)) for name in schemas.names()}
    registry: Any = Registry().with_resources((text["$id"], Resource.from_contents(text)) for text in texts.values())
    checker = Draft202012Validator.FORMAT_CHECKER
    return {
        kind: Draft202012Validator(texts[kind], registry=registry, format_checker=checker) for kind in schemas.KINDS
    }


def _with_rfc8785(text: bytes, loads: Callable[[bytes], Any] = orjson.loads) -> str:
    manifest = loads(text)
    subject = {name: manifest[name] for name in ("apiVersion", "kind", "spec")}
    return "sha256:" + hashlib.sha256(rfc8785.dumps(subject)).hexdigest()


def _unguarded(text: bytes) -> str:
    manifest = orjson.loads(text)
    subject = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "spec": manifest["spec"]}
    return "sha256:" + hashlib.sha256(orjson.dumps(subject, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _with_node(
    tasks: dict[str, Callable[[], float]], texts: Sequence[bytes], rounds: int, figure: str
) -> dict[str, list[float]]:
    """The µs of the tasks in each round, with those of a Node process that reads the same manifests."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "manifests.jsonl")
        path.write_bytes(b"\n".join(texts))
        command = peers.node_command("documents.js", str(path))
        if command is not None:
            name = {"digest": "Node canonicalize", "validate": "Node ajv"}[figure]
            tasks[name] = lambda: float(json.loads(subprocess.check_output(command))[figure]) / 1e6
        return scaled(interleaved(tasks, rounds), 1e6)


def _fastjsonschema(texts: Sequence[bytes]) -> Callable[[], float] | None:
    interpreter = peers.python()
    if interpreter is None:
        return None

    def task() -> float:
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
            file.write(b"\n".join(texts))
            file.flush()
            script = str(Path(__file__).with_name("stack.py"))
            return float(json.loads(subprocess.check_output([interpreter, script, "fast", file.name]))) / 1e6

    return task


def hostile(count: int) -> Iterator[Any]:
    """JSON values that canonical forms get wrong: floats of all magnitudes, keys and texts of all planes."""
    random = Random(count)
    for _ in range(count):
        yield _tree(random, 3)


def _tree(random: Random, depth: int) -> Any:
    kind = random.randrange(8 if depth else 6)
    if kind == 6:
        return [_tree(random, depth - 1) for _ in range(random.randrange(5))]
    if kind == 7:
        return {_text(random): _tree(random, depth - 1) for _ in range(random.randrange(5))}
    return _scalar(random, kind)


def _scalar(random: Random, kind: int) -> Any:
    if kind == 0:
        return random.choice((True, False, None, *_EDGES))
    if kind == 1:
        return random.randrange(-(2**53) + 1, 2**53)
    if kind == 2:
        return random.choice((1, -1)) * round(random.random(), random.randrange(8)) * 10.0 ** random.randrange(-9, 23)
    if kind == 3:
        (number,) = struct.unpack("<d", random.randbytes(8))
        return number if number - number == 0 else 0.5
    return _text(random)


def _text(random: Random) -> str:
    return "".join(random.choices(_PIECES, k=random.randrange(4)))
