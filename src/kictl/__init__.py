"""kictl: import GPU-kernel leaderboard results, verify them, compare only what may be compared."""

from __future__ import annotations

__version__ = "0.1.0"


def project_url() -> str | None:
    """The project's address, the first that its package metadata name; None where they name none."""
    from importlib.metadata import metadata

    named = metadata("kictl").get_all("Project-URL") or [", "]
    return named[0].partition(", ")[2] or None
