"""Which definitions a pattern means: a full name, a number prefix, or a part of the name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from kictl.errors import UsageError


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """The distinct names that a pattern means, in their order: the exact name, else the names whose number prefix it
    is, else the names that contain it, ignoring case."""
    known = list(dict.fromkeys(names))
    if pattern in known:
        return [pattern]
    numbered = [name for name in known if name.partition("_")[0] == pattern] if pattern.isdigit() else []
    folded = pattern.casefold()
    return numbered or [name for name in known if folded in name.casefold()]


def all_matching(pattern: str, names: Sequence[str]) -> list[str]:
    """As `matching`, but a pattern that means nothing is a UsageError with the nearest names."""
    found = matching(pattern, names)
    if not found:
        near = difflib.get_close_matches(pattern, names, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}?" if near else None
        raise UsageError(f"no definition matches {pattern!r}", code="unknown_definition", hint=hint)
    return found


def one_matching(pattern: str, names: Sequence[str]) -> str:
    """The one name that a pattern means; UsageError with the candidates where it could be several."""
    found = all_matching(pattern, names)
    if len(found) > 1:
        raise UsageError(
            f"{pattern!r} matches {len(found)} definitions",
            code="ambiguous_definition",
            hint="give the full name of one of them",
            details=tuple(found),
        )
    return found[0]
