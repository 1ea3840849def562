"""The error tree: one root, one class per exit code."""

from __future__ import annotations

from typing import ClassVar


class KictlError(Exception):
    """Anything a user can act on.

    `code` is a stable word for programs, `hint` says what to do next, `details` lists what the message speaks of.
    """

    exit_code: ClassVar[int] = 70

    def __init__(
        self, message: str, *, code: str | None = None, hint: str | None = None, details: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.code = code or self.default_code
        self.hint = hint
        self.details = details

    default_code: ClassVar[str] = "internal"


class UsageError(KictlError):
    """The command's words cannot be carried out: unknown name, ambiguous pattern, conflicting options."""

    exit_code = 2
    default_code = "usage"


class InputError(KictlError):
    """A file or stream is missing, unreadable or malformed."""

    exit_code = 3
    default_code = "input"


class SourceError(KictlError):
    """A source or the network did not answer as it must."""

    exit_code = 4
    default_code = "source"


class CatalogueError(KictlError):
    """The catalogue cannot be opened, read or written."""

    exit_code = 5
    default_code = "catalogue"
