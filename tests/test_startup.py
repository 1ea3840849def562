"""What each command loads: no library that it does not need, by name, since most of a short command is loading."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from leaderboards import FIXTURE, ROOT, import_folder

HEAVY = {
    "typer", "rich", "orjson", "jsonschema", "jsonschema_rs", "referencing", "rfc8785", "sqlite3", "zstandard",
    "yaml", "httpx", "tenacity", "filelock", "platformdirs", "pyarrow", "pydantic", "ssl", "asyncio",
    "email.message", "html.parser", "http.client", "importlib.metadata", "logging", "multiprocessing", "pygments",
    "tarfile", "unittest", "urllib.request", "xml.etree",
}  # fmt: skip
MANIFEST = str(ROOT / "fixtures/manifests/good/BenchmarkRun-full.json")
BUNDLE = str(ROOT / "fixtures/manifests/good/Bundle-full.json")

# Beside each command is what it may load.
COMMANDS = [
    (["--version"], ""),
    (["--help"], "typer"),
    (["compare", "--help"], "typer"),
    (["schema", "BenchmarkRun"], "typer"),
    (["digest", MANIFEST], "typer orjson"),
    (["verify", MANIFEST], "typer orjson jsonschema_rs"),
    (["verify", BUNDLE], "typer orjson jsonschema_rs"),
    (["export", "--catalog", "CATALOGUE"], "typer orjson sqlite3 zstandard"),
    (["verify", "--catalog", "CATALOGUE"], "typer orjson rfc8785 jsonschema_rs sqlite3 zstandard"),
    (["compare", "--definition", "042_moe", "--format", "csv", "--catalog", "CATALOGUE"], "typer orjson sqlite3"),
    (["compare", "--definition", "042_moe", "--catalog", "CATALOGUE"], "typer orjson sqlite3 rich"),
    (
        ["import", "sol-execbench", "--from", str(FIXTURE), "--catalog", "NEW"],
        # Some of its rows are refused, and jsonschema says why.
        "typer orjson rfc8785 jsonschema_rs jsonschema referencing sqlite3 zstandard filelock logging",
    ),
]

SCRIPT = """
import sys
from kictl.__main__ import main
code = main()
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder: Path = tmp_path_factory.mktemp("startup")
    import_folder(FIXTURE, folder / "catalogue")
    return {name: str(folder / name.lower()) for name in ("CATALOGUE", "NEW")}


@pytest.mark.parametrize(("arguments", "allowed"), COMMANDS, ids=[" ".join(line[0])[-40:] for line in COMMANDS])
def test_a_command_loads_no_more_than_it_may(arguments: list[str], allowed: str, places: dict[str, str]) -> None:
    command = [sys.executable, "-c", SCRIPT, *(places.get(argument, argument) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "kictl.__main__" in loaded
    if arguments == ["--version"]:
        assert not {"re", "typing", "kictl.cli"} & loaded
    assert HEAVY & loaded <= {*allowed.split()}
