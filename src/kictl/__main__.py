"""The process: version and arguments in, exit code out."""

from __future__ import annotations

import gc
import os
import sys

COLLECT_EVERY = 50_000
"""Objects between two looks for unreachable ones. Loading modules makes many objects, all of which stay."""


def main() -> int:
    """The `kictl` command."""
    _hold_streams()
    arguments = sys.argv[1:]
    if arguments == ["--version"] and _print_version():
        return 0
    gc.set_threshold(COLLECT_EVERY)
    from kictl.cli.app import run

    try:
        return run(arguments)
    finally:
        gc.freeze()  # the last look, at the end of the process, would be a seventh of its time


def _hold_streams() -> None:
    """Puts something in the place of closed standard streams, whose numbers the next opened files would get.

    What stands for stdout refuses to be written, so that lost output is an error.
    """
    for name, flags in (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), "r" if name == "stdin" else "w"))


def _print_version() -> bool:
    """Answers before anything is imported; False where the output cannot be written, which the long way reports."""
    from kictl import __version__

    try:
        print(f"kictl {__version__}", flush=True)  # noqa: T201 - the one line that needs nothing else
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
