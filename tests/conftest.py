"""What every test gets: sealed user folders, no network beyond loopback, published data where present."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

LOOPBACK = ("127.", "::1", "localhost")


@pytest.fixture(autouse=True)
def sealed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home that processes started by the test inherit; returns it."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith(("KICTL_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name in ("CACHE", "CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for method in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, method, _loopback_only(getattr(socket.socket, method)))
    return home


def _loopback_only(connect: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        is_internet = self.family in (socket.AF_INET, socket.AF_INET6)
        if is_internet and not str(address[0]).startswith(LOOPBACK):
            raise AssertionError(f"a test wants to leave this machine: {address!r}")
        return connect(self, address)

    return guarded


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published data beside the repository."""
    folder = Path(__file__).parents[1].parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no published data to check against: {folder.name}/ is not beside the repository")
    return folder
