"""Other tools that do the same work, installed beside the results at the first use; kictl needs none of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from shutil import which

from bench.measure import RESULTS

_FOLDER = RESULTS / "peers"
_PYTHON = ("rfc8785", "jsonschema[format]", "fastjsonschema", "check-jsonschema", "zstandard")
_NODE = ("ajv@8", "ajv-formats@3", "canonicalize@2", "fzstd")

missing: dict[str, str] = {}
"""Why a peer is not there."""


@cache
def python() -> str | None:
    """The interpreter that has jsonschema, fastjsonschema, rfc8785 and check-jsonschema."""
    venv = _FOLDER / "venv"
    commands = (
        [sys.executable, "-m", "venv", "--clear", str(venv)],
        [str(venv / "bin/python"), "-m", "pip", "install", "--quiet", *_PYTHON],
    )
    return str(venv / "bin/python") if _installed("Python peers", _PYTHON, commands) else None


@cache
def node() -> str | None:
    """A node that finds the packages in `node_modules` beside the other peers."""
    program = which("node")
    if program is None or which("npm") is None:
        missing["Node peers"] = "no node and npm here"
        return None
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(_FOLDER), *_NODE]
    return program if _installed("Node peers", _NODE, (install,)) else None


def node_command(script: str, *arguments: str) -> list[str] | None:
    """A command that runs bench/node/`script`; None without node."""
    program = node()
    if program is None:
        return None
    return [program, str(Path(__file__).with_name("node") / script), str(_FOLDER / "node_modules"), *arguments]


def check_jsonschema() -> str | None:
    interpreter = python()
    return None if interpreter is None else str(Path(interpreter).with_name("check-jsonschema"))


def _installed(what: str, packages: Sequence[str], commands: Iterable[Sequence[str]]) -> bool:
    """Whether the packages are there, or could be installed now."""
    mark, wanted = _FOLDER / f"{what}.txt", "\n".join(packages)
    if mark.exists() and mark.read_text("utf-8") == wanted:
        return True
    _FOLDER.mkdir(parents=True, exist_ok=True)
    print(f"installing {what} …", file=sys.stderr)
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            missing[what] = ((done.stderr or done.stdout).strip().splitlines() or ["could not be installed"])[-1]
            return False
    mark.write_text(wanted, "utf-8")
    return True
