"""kictl as its users run it: a process with exit code, stdout and stderr."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[1]
KICTL = Path(sys.executable).with_name("kictl")
TIMEOUT = 120


@dataclass(frozen=True)
class Done:
    """What a process left behind."""

    code: int
    out: str
    err: str


def kictl(*arguments: str | Path, stdin: bytes = b"", stdout: IO[bytes] | None = None, **environment: str) -> Done:
    """Runs the installed command in the repository; `environment` is added to the test's own."""
    done = subprocess.run(
        [KICTL, *map(str, arguments)],
        cwd=ROOT,
        input=stdin,
        stdout=stdout or subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        timeout=TIMEOUT,
        check=False,
    )
    return Done(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())


def shell(script: str, cwd: Path = ROOT, **environment: str) -> Done:
    """Runs a bash script with kictl on the PATH."""
    path = f"{KICTL.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=cwd,
        capture_output=True,
        env={**os.environ, "PATH": path, **environment},
        timeout=TIMEOUT,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def on_terminal(*arguments: str | Path, **environment: str) -> str:
    """What kictl writes to a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [KICTL, *map(str, arguments)],
        cwd=ROOT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
    ) as process:
        os.close(theirs)
        out = b""
        try:
            while chunk := os.read(ours, 65536):
                out += chunk
        except OSError:  # Linux's way of saying that the other side has gone
            pass
        os.close(ours)
        assert process.wait(TIMEOUT) == 0
    return out.decode()
