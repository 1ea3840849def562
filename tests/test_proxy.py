"""A proxy is used where it was asked for openly, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopback import OK, Reply, serving
from processes import kictl
from proxies import proxying

NO_ONE = "http://127.0.0.1:9"


@pytest.mark.parametrize("asked", ["option", "environment"])
def test_an_import_goes_through_the_proxy_that_was_asked_for(tmp_path: Path, asked: str) -> None:
    catalogue = tmp_path / "c.sqlite"
    with serving() as server, proxying() as proxy:
        server.script("kernels", Reply(body=OK))
        option = ["--proxy", proxy.url] if asked == "option" else []
        environment: dict[str, Any] = {} if option else {"KICTL_PROXY": proxy.url}
        done = kictl(
            "import", "sol-execbench", "--base-url", server.url, "--catalog", catalogue, *option, **environment
        )
        assert done.code == 0, done.err
        assert proxy.asked == [("GET", f"{server.url}/kernels")]
        assert server.paths() == ["kernels"]


def test_verify_against_a_live_source_goes_through_the_proxy() -> None:
    with serving() as server, proxying() as proxy:
        server.script("kernels", Reply(body=OK))
        kictl("verify", "fixtures/leaderboard", "--against", server.url, "--proxy", proxy.url)
        assert ("GET", f"{server.url}/kernels") in proxy.asked


def test_what_other_programs_take_a_proxy_from_is_not_looked_at(tmp_path: Path) -> None:
    others: dict[str, Any] = dict.fromkeys(
        ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"), NO_ONE
    )
    with serving() as server:
        server.script("kernels", Reply(body=OK))
        done = kictl("import", "sol-execbench", "--base-url", server.url, "--catalog", tmp_path / "c.sqlite", **others)
    assert done.code == 0, done.err


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "http://a..b", "http://127.0.0.1:65536", "x", "http://h/p"])
def test_what_is_no_http_proxy_is_told(tmp_path: Path, proxy: str) -> None:
    done = kictl("import", "sol-execbench", "--proxy", proxy, "--catalog", tmp_path / "c.sqlite")
    assert done.code == 2, done.err
    assert "proxy" in done.err


@pytest.mark.parametrize(
    "base",
    ["https://a..b", f"https://{'a' * 64}.org", "https://h.org:65536", "https://h.org:99999999", "https://xn--a.org"],
)
def test_a_base_that_no_server_can_have_is_told(tmp_path: Path, base: str) -> None:
    done = kictl("import", "sol-execbench", "--base-url", base, "--catalog", tmp_path / "c.sqlite")
    assert done.code == 2, done.err
