"""The one place where errors become messages and exit codes."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TextIO

import typer

from kictl.errors import InputError, KictlError, UsageError
from kictl.text import printable

CLOSED_PIPE = 141
INTERRUPTED = 130
BUG = 70


def run(call: Callable[[], object], arguments: Sequence[str], stdout: TextIO, stderr: TextIO) -> int:
    """Calls, flushes stdout, and returns the exit code: of the call, of its error, or of the output's."""
    try:
        try:
            code = call()
            if code == INTERRUPTED:  # what typer makes of it
                raise KeyboardInterrupt
        except KictlError as error:
            code = _report(error, arguments, stdout, stderr)
        stdout.flush()
    except typer.Exit as error:
        return error.exit_code
    except (BrokenPipeError, SystemExit):  # typer's parser makes the second of the first
        _drop(stdout)
        return CLOSED_PIPE
    except (KeyboardInterrupt, typer.Abort):
        stderr.write("kictl: interrupted\n")
        return INTERRUPTED
    except OSError as error:
        return _report_output(error, arguments, stderr, stdout)
    except Exception as error:  # noqa: BLE001 - the boundary: a bug of ours, with its own exit code
        if (usage := _usage(error)) is not None:
            return _report(usage, arguments, stdout, stderr)
        return _report_bug(error, arguments, stdout, stderr)
    return code if isinstance(code, int) else 0


def _usage(error: Exception) -> UsageError | None:
    """An error of the command line's own parser, as ours."""
    if not (hasattr(error, "format_message") and hasattr(error, "exit_code")):
        return None
    context = getattr(error, "ctx", None)
    hint = f"see '{context.command_path} --help'" if context is not None else None
    return UsageError(error.format_message(), hint=hint)


def _report(error: KictlError, arguments: Sequence[str], stdout: TextIO, stderr: TextIO) -> int:
    stderr.write(f"kictl: {printable(str(error))}\n")
    stderr.writelines(f"  {printable(line)}\n" for line in error.details)
    if error.hint:
        stderr.write(f"  {printable(error.hint)}\n")
    if _is_set(arguments, "--verbose", "-v"):
        _traceback(error, stderr)
    if _wants_json(arguments):
        _write_json(stdout, code=error.code, message=str(error), hint=error.hint, details=error.details)
    return error.exit_code


def _report_output(error: OSError, arguments: Sequence[str], stderr: TextIO, stdout: TextIO) -> int:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF):
        _drop(stdout)
        stderr.write(f"kictl: cannot write the output: {error.strerror}\n")
        return InputError.exit_code
    return _report_bug(error, arguments, stdout, stderr)


def _report_bug(error: Exception, arguments: Sequence[str], stdout: TextIO, stderr: TextIO) -> int:
    message = f"{type(error).__name__}: {error}"
    stderr.write(f"kictl: internal error: {printable(message)}\n")
    if _is_set(arguments, "--verbose", "-v"):
        _traceback(error, stderr)
    else:
        stderr.write("  this is a bug in kictl; run again with 'kictl -v …' for a traceback to report\n")
    if _wants_json(arguments):
        _write_json(stdout, code="internal", message=message, hint=None, details=())
    return BUG


def _is_set(arguments: Sequence[str], *names: str) -> bool:
    return any(name in _options(arguments) for name in names)


def _wants_json(arguments: Sequence[str]) -> bool:
    spelt_apart = ("--format", "json") in pairwise(_options(arguments))
    return spelt_apart or _is_set(arguments, "--json", "--format=json")


def _options(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _write_json(stdout: TextIO, **error: object) -> None:
    import json

    stdout.write(json.dumps({"error": error}) + "\n")
    stdout.flush()


def _traceback(error: BaseException, stderr: TextIO) -> None:
    import traceback

    stderr.writelines(traceback.format_exception(error))


def _drop(stdout: TextIO) -> None:
    """Nothing more can be written: let the interpreter's last flush go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno() if stdout is not sys.stdout else 1)
