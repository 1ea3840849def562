"""Where kictl keeps its files for one user."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """Answers of leaderboards, so that they are sent again only when changed. KICTL_CACHE overrides."""
    return _override("KICTL_CACHE") or _platform("cache")


def catalogue_path() -> Path:
    """The catalogue file. KICTL_CATALOG overrides."""
    return _override("KICTL_CATALOG") or _platform("data") / "catalogue.sqlite"


def _override(name: str) -> Path | None:
    value = os.environ.get(name, "")
    return Path(value).expanduser() if value else None


def _platform(kind: str) -> Path:
    import platformdirs

    return platformdirs.user_cache_path("kictl") if kind == "cache" else platformdirs.user_data_path("kictl")
