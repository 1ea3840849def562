"""The shape of the code: layers that import in one direction, and one owner for each library."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src/kictl"

LAYERS = (
    # Values, errors and text: what everything else speaks in.
    {
        "errors",
        "strictjson",
        "strictyaml",
        "canonical",
        "cohort",
        "model",
        "units",
        "text",
        "patterns",
        "pace",
        "paths",
    },
    # Rules: pure functions from values to values.
    {"schemas", "places", "authoring", "bounds", "rank", "comparability", "normalize"},
    # Edges: the file system, the network, the catalogue; and rules over what they bring.
    {"files", "publishing", "expansion", "documents", "transport", "sources", "verify", "catalogue"},
    # Use-cases.
    {"workflow"},
    # Renderers: the results of use-cases as text.
    {"render"},
    # Commands.
    {"cli", "__main__"},
)

OWNERS = {
    "orjson": {"canonical"},
    "rfc8785": {"canonical"},
    "yaml": {"strictyaml"},
    "jsonschema": {"schemas"},
    "jsonschema_rs": {"schemas"},
    "referencing": {"schemas"},
    "httpx": {"transport"},
    "tenacity": {"transport"},
    "platformdirs": {"paths"},
    "sqlite3": {"catalogue.store", "catalogue.migrations"},
    "filelock": {"catalogue.lock"},
    "rich": {"render.table", "render.progress"},
    "zstandard": {"expansion", "sources.archive", "catalogue.bodies"},
    "typer": {"cli.*"},
    "pyarrow": {"render.parquet"},
}


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax tree of every module, by its dotted name below `kictl`; "" is the package itself."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found[name.removesuffix("__init__").removesuffix(".")] = ast.parse(path.read_text("utf-8"))
    return found


def imported(tree: ast.Module) -> Iterator[str]:
    """The dotted name of everything that a module imports, lazily or not, each name of `from x import y` as x.y."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(tree: ast.Module) -> set[str]:
    """The modules of kictl that a module imports, by dotted name; a name that is none counts for what it is from."""
    found = {name.removeprefix("kictl.") for name in imported(tree) if name.startswith("kictl.")}
    return {name if name in modules() else name.rpartition(".")[0] for name in found} - {""}


def parts(tree: ast.Module) -> set[str]:
    """The top-level modules and packages of kictl that a module imports."""
    return {name.split(".")[0] for name in own_imports(tree)}


def layer(part: str) -> int:
    """The number of a part's layer, the lowest being 0."""
    found = [number for number, parts in enumerate(LAYERS) if part in parts]
    assert len(found) == 1, f"{part} is to stand in one layer of test_architecture.py"
    return found[0]


def test_imports_go_down_the_layers() -> None:
    inside = {name: (name.split(".")[0], parts(tree)) for name, tree in modules().items() if name}
    assert [
        f"{name} imports {other}"
        for name, (part, others) in inside.items()
        for other in sorted(others)
        if layer(other) > layer(part)
    ] == []


def test_parts_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for name, tree in modules().items():
        part = name.split(".")[0]
        graph.setdefault(part, set()).update(parts(tree) - {part})
    list(graphlib.TopologicalSorter(graph).static_order())


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    graph = {name: own_imports(tree) - {name} for name, tree in modules().items()}
    list(graphlib.TopologicalSorter(graph).static_order())


def test_each_library_has_one_owner() -> None:
    libraries = {name: {found.split(".")[0] for found in imported(tree)} for name, tree in modules().items()}
    assert [
        f"{name} imports {library}"
        for name, found in libraries.items()
        for library in sorted(found & OWNERS.keys())
        if not {name, f"{name.rpartition('.')[0]}.*"} & OWNERS[library]
    ] == []


def test_the_command_line_holds_no_rules() -> None:
    """Commands reach rules and edges through use-cases; what they may touch besides is named here."""
    allowed = {"cli", "workflow", "render", "catalogue", "errors", "text", "paths", "pace", "sources"}
    allowed |= {"canonical", "schemas", "units", "verify", "publishing"}
    for name, tree in modules().items():
        if name.startswith("cli."):
            assert parts(tree) <= allowed, name


@pytest.mark.parametrize("forbidden", ["print", "eval", "exec", "input", "breakpoint"])
def test_builtins_that_have_no_place(forbidden: str) -> None:
    calls = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == forbidden
    }
    assert calls == ({"__main__"} if forbidden == "print" else set())


def test_every_module_says_in_a_sentence_what_it_owns() -> None:
    for name, tree in modules().items():
        text = ast.get_docstring(tree)
        assert text, f"{name} has no docstring"
        assert text.split("\n\n")[0].rstrip().endswith("."), f"{name}: {text!r}"
