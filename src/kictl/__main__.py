"""The process: version and arguments in, exit code out."""

from __future__ import annotations

import sys


def main() -> int:
    """The `kictl` command."""
    if sys.argv[1:] == ["--version"]:
        from kictl import __version__

        print(f"kictl {__version__}")  # noqa: T201 - answered before anything is imported
        return 0
    from kictl.cli.app import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
