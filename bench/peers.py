"""Other tools that do the same work, installed beside the results at the first use; kictl needs none of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from shutil import which

from bench.measure import RESULTS

_FOLDER = RESULTS / "peers"
_PYTHON = ("rfc8785", "jsonschema[format]", "fastjsonschema", "check-jsonschema", "zstandard")
_NODE = ("ajv@8", "ajv-formats@3", "canonicalize@2")

missing: dict[str, str] = {}
"""Why a peer is not there."""


@cache
def python() -> str | None:
    """The interpreter that has jsonschema, fastjsonschema, rfc8785 and check-jsonschema."""
    interpreter = _FOLDER / "venv/bin/python"
    if (_FOLDER / "venv/.ready").exists() or (
        _done("Python peers", [sys.executable, "-m", "venv", str(_FOLDER / "venv")])
        and _done("Python peers", [str(interpreter), "-m", "pip", "install", "--quiet", *_PYTHON])
    ):
        (_FOLDER / "venv/.ready").touch()
        return str(interpreter)
    return None


@cache
def node() -> str | None:
    """A node that finds ajv, ajv-formats and canonicalize from `node_folder()`."""
    program = which("node")
    if program is None or which("npm") is None:
        missing["Node peers"] = "no node and npm here"
        return None
    if (_FOLDER / "node_modules/.ready").exists() or _done(
        "Node peers", ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(_FOLDER), *_NODE]
    ):
        (_FOLDER / "node_modules/.ready").touch()
        return program
    return None


def node_command(script: str, *arguments: str) -> list[str] | None:
    """A command that runs bench/node/`script`; None without node."""
    program = node()
    if program is None:
        return None
    return [program, str(Path(__file__).with_name("node") / script), str(_FOLDER / "node_modules"), *arguments]


def check_jsonschema() -> str | None:
    interpreter = python()
    return None if interpreter is None else str(Path(interpreter).with_name("check-jsonschema"))


def _done(what: str, command: Sequence[str]) -> bool:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    print(f"installing {what} …", file=sys.stderr)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        missing[what] = (done.stderr or done.stdout).strip().splitlines()[-1:][0] if done.stderr or done.stdout else ""
    return done.returncode == 0
