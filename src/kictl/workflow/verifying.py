"""Verify: the documents that are named, or the whole catalogue, with what is at hand beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from kictl.documents import from_inputs
from kictl.verify import Options, Report, verify


def documents(names: Sequence[str], stdin: IO[bytes], options: Options) -> Report:
    """Verifies files, folders and stdin by themselves."""
    return verify(from_inputs(names, stdin), options)
