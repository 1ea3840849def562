from __future__ import annotations

import gzip
import json
import re
import shutil
import ssl
import subprocess
import threading
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

import kictl
from kictl.canonical import Digest
from kictl.errors import InputError, SourceError, UsageError
from kictl.pace import Limits
from kictl.sources.cache import Cache
from kictl.sources.recorded import open_snapshot
from kictl.sources.snapshot import SnapshotWriter
from kictl.transport import HttpFetcher
from loopback import OK, Loopback, Reply, in_threads, serving

FAST = Limits(rate=10_000, attempts=4, backoff=0.001, max_backoff=0.01, read_timeout=5, request_timeout=5)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serving() as loopback:
        yield loopback


def decode(value: Any, _strict: bool) -> Any:
    return value


def get(server: Loopback, path: str = "kernels", limits: Limits = FAST, **more: Any) -> Any:
    with HttpFetcher(server.url, limits=limits, **more) as fetcher:
        return fetcher.fetch(path, {}, decode)


def failure(server: Loopback, path: str = "kernels", limits: Limits = FAST) -> SourceError:
    with pytest.raises(SourceError) as caught:
        get(server, path, limits)
    assert "\n" not in str(caught.value)
    assert path in str(caught.value) or caught.value.code in {"deadline", "closed"}
    return caught.value


def test_a_body_comes_as_it_was_sent(server: Loopback) -> None:
    raw = b'{ "data" : {"name": "\xc2\xb5"} }\n'
    server.script("submissions?kernel_id=42&limit=50&offset=0", Reply(body=raw))
    with HttpFetcher(server.url + "/", limits=FAST) as fetcher:
        body, value = fetcher.fetch("submissions", {"offset": "0", "limit": "50", "kernel_id": "42"}, decode)
    assert body.data == raw
    assert body.digest == Digest.of(raw)
    assert body.name == "submissions?kernel_id=42&limit=50&offset=0"
    assert body.url == f"{server.url}/{body.name}"
    assert value == {"data": {"name": "µ"}}


def test_only_honest_headers_are_sent(server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9/")
    server.script("kernels", Reply(headers={"Set-Cookie": "session=1; Path=/"}))
    with HttpFetcher(server.url, limits=FAST) as fetcher:
        for _ in range(2):
            fetcher.fetch("kernels", {}, decode)
    first, second = (dict(seen.headers) for seen in server.seen)
    assert first == second
    assert first.pop("host") == server.url.split("/")[2]
    assert first == {
        "accept": "application/json",
        "accept-encoding": "gzip, deflate",
        "connection": "keep-alive",
        "user-agent": f"kictl/{kictl.__version__}",
    }


PASSING = {
    "500": Reply(500),
    "503": Reply(503, b"<html>" + b"x" * 200_000, content_type="text/html"),
    "429": Reply(429, headers={"Retry-After": "0"}),
    "429 since 2015": Reply(429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    "429 soon": Reply(429, headers={"Retry-After": "soon"}),
    "dropped": Reply(drop=True),
    "cut": Reply(cut=True),
    "page": Reply(body=b"<html>Bad gateway</html>", content_type="text/html"),
    "no type": Reply(content_type=None),
    "broken": Reply(body=b'{"data": {"kernels": ['),
    "elsewhere": Reply(302, headers={"Location": "https://elsewhere.invalid/api/kernels"}),
    "nowhere": Reply(302, headers={"Location": "http://[::1/"}),
    "unasked 304": Reply(304, b""),
    "brotli": Reply(headers={"Content-Encoding": "br"}),
    "not gzip": Reply(body=OK, headers={"Content-Encoding": "gzip"}),
    "cut gzip": Reply(body=gzip.compress(OK)[:-9], headers={"Content-Encoding": "gzip"}),
    "long gzip": Reply(body=gzip.compress(OK) + b"more", headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING)
def test_what_may_pass_is_asked_again_and_then_given_up(server: Loopback, reply: Reply) -> None:
    server.script("kernels", reply, reply, Reply())
    with HttpFetcher(server.url, limits=FAST) as fetcher:
        body, _ = fetcher.fetch("kernels", {}, decode)
        assert body.data == OK
        assert (fetcher.stats.requests, fetcher.stats.retries) == (3, 2)
    server.script("kernels", reply)
    assert "4 times in a row" in str(failure(server))
    assert server.paths() == ["kernels"] * 7


@pytest.mark.parametrize("status", [204, 400, 401, 403, 410])
def test_other_answers_are_final(server: Loopback, status: int) -> None:
    server.script("kernels", Reply(status, b"" if status == 204 else b"{}"))
    error = failure(server)
    assert (error.code, error.exit_code) == ("http", 4)
    assert str(error) == f"{server.url}/kernels: answered {status}"
    assert len(server.seen) == 1


def test_not_found_has_a_code_of_its_own(server: Loopback) -> None:
    assert failure(server, "kernels/7").code == "not_found"
    assert len(server.seen) == 1


def test_no_server_is_an_error_of_the_network() -> None:
    with serving() as gone:
        pass
    error = failure(gone)
    assert (error.code, error.exit_code) == ("network", 4)
    assert "refused" in str(error)


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress], ids=["gzip", "zlib"])
def test_compressed_bodies_are_unpacked(server: Loopback, compress: Any) -> None:
    encoding = "gzip" if compress is gzip.compress else "deflate"
    server.script("kernels", Reply(body=compress(OK), headers={"Content-Encoding": encoding}))
    body, _ = get(server)
    assert body.data == OK


def test_a_body_may_not_exceed_its_cap_packed_or_not(server: Loopback) -> None:
    limits = replace(FAST, max_body=100_000)
    bomb = gzip.compress(bytes(50_000_000))
    hollow = zlib.compress(b"{}", 0)[:2] + b"\0\0\0\xff\xff" * 50_000
    server.script("fits", Reply(body=b'"' + b"x" * 99_998 + b'"'))
    server.script("plain", Reply(body=b'"' + b"x" * 99_999 + b'"'))
    server.script("bomb", Reply(body=bomb, headers={"Content-Encoding": "gzip"}))
    server.script("hollow", Reply(body=hollow, headers={"Content-Encoding": "deflate"}))
    assert len(get(server, "fits", limits)[0].data) == 100_000
    for path in ("plain", "bomb", "hollow"):
        error = failure(server, path, limits)
        assert error.code == "too_large"
        assert "100000 bytes" in str(error)
    assert server.paths() == ["fits", "plain", "bomb", "hollow"]


def test_all_bodies_together_may_not_exceed_theirs(server: Loopback) -> None:
    packed = gzip.compress(b'"' + b"x" * 10_000 + b'"')
    server.script("kernels", Reply(body=packed, headers={"Content-Encoding": "gzip"}))
    with HttpFetcher(server.url, limits=replace(FAST, max_total=25_000)) as fetcher:
        fetcher.fetch("kernels", {}, decode)
        fetcher.fetch("kernels", {}, decode)
        with pytest.raises(SourceError) as caught:
            fetcher.fetch("kernels", {}, decode)
    assert caught.value.code == "too_large"


def test_redirects_stay_on_the_host(server: Loopback) -> None:
    server.script("old", Reply(301, headers={"Location": "/api/older"}))
    server.script("older", Reply(308, headers={"Location": f"{server.url}/kernels"}))
    server.script("kernels", Reply())
    body, _ = get(server, "old")
    assert body.name == "old"
    assert server.paths() == ["old", "older", "kernels"]


def test_redirects_to_anywhere_else_are_never_followed(server: Loopback) -> None:
    with serving() as other:
        other.script("kernels", Reply())
        host = server.url.split("/")[2]
        for location in (
            f"{other.url}/kernels",
            f"https://{host}/api/kernels",
            f"//user:pw@{host}/api/kernels",
            "ftp://127.0.0.1/",
            "https://b\u00fccher.example/",
        ):
            server.script("kernels", Reply(302, headers={"Location": location.encode().decode("latin-1")}))
            error = failure(server)
            assert error.code == "redirect"
            assert str(error).isascii()
            assert ":pw@" not in str(error)
        assert other.seen == []


def test_a_circle_of_redirects_ends(server: Loopback) -> None:
    server.script("kernels", Reply(302, headers={"Location": "/api/kernels"}))
    assert failure(server, limits=replace(FAST, attempts=1)).code == "redirect"
    assert len(server.seen) == 4


@pytest.mark.parametrize(
    "base",
    [
        "http://example.invalid/api",
        "http://127.0.0.1.example.invalid/api",
        "http://10.0.0.1/api",
        "http://user@127.0.0.1/api",
        "https://user:secret@example.invalid/api",
        "ftp://127.0.0.1/api",
        "file:///etc/passwd",
        "127.0.0.1/api",
        "https:///api",
        "https://example.invalid/api?key=1",
        "https://example.invalid/api#x",
        "https://exa\x00mple/",
        "",
    ],
)
def test_base_urls_that_are_refused(base: str) -> None:
    with pytest.raises(UsageError) as caught:
        HttpFetcher(base)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "base", ["http://127.9.9.9/a", "http://[::1]:8/a", "http://localhost/a", "https://x.invalid/a"]
)
def test_base_urls_that_are_taken(base: str) -> None:
    with HttpFetcher(base) as fetcher:
        assert fetcher.origin == base


@pytest.mark.parametrize("more", [{"concurrency": 3}, {"rate": 8.1}])
def test_other_machines_get_light_use_only(more: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="terms"):
        HttpFetcher("https://example.invalid/api", limits=Limits(**more))
    HttpFetcher("http://127.0.0.1/api", limits=Limits(**more)).close()


@pytest.mark.parametrize("more", [{"concurrency": 0}, {"concurrency": 65}, {"rate": 0.0}, {"rate": float("nan")}])
def test_limits_that_mean_nothing(more: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        HttpFetcher("http://127.0.0.1/api", limits=Limits(**more))


def test_never_more_than_two_at_once_and_evenly_spaced(server: Loopback) -> None:
    server.script("kernels", Reply(wait=0.03))
    with HttpFetcher(server.url, limits=replace(FAST, rate=50)) as fetcher:
        in_threads([lambda: fetcher.fetch("kernels", {}, decode)] * 12)
    assert server.most_at_once == 2
    starts = sorted(seen.at for seen in server.seen)
    assert len(starts) == 12
    assert starts[-1] - starts[0] >= 10 / 50  # waiting longer is allowed, starting sooner is not


def test_concurrency_of_one(server: Loopback) -> None:
    server.script("kernels", Reply(wait=0.005))
    with HttpFetcher(server.url, limits=replace(FAST, concurrency=1)) as fetcher:
        in_threads([lambda: fetcher.fetch("kernels", {}, decode)] * 6)
    assert server.most_at_once == 1


def test_retry_after_holds_every_thread(server: Loopback) -> None:
    server.script("kernels", Reply(429, headers={"Retry-After": "1"}), Reply())
    server.script("kernels/1", Reply())
    with HttpFetcher(server.url, limits=FAST) as fetcher:
        waiting = threading.Thread(target=fetcher.fetch, args=("kernels", {}, decode))
        waiting.start()
        _until(lambda: fetcher.stats.retries == 1)
        fetcher.fetch("kernels/1", {}, decode)
        waiting.join()
    refused = next(seen.at for seen in server.seen)
    assert all(seen.at - refused >= 0.99 for seen in server.seen[1:])
    assert sorted(server.paths()) == ["kernels", "kernels", "kernels/1"]


IN_AN_HOUR = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)


@pytest.mark.parametrize("later", ["3600", "9" * 12, "9" * 300, IN_AN_HOUR], ids=len)
def test_a_retry_after_that_is_too_long_ends_the_import(server: Loopback, later: str) -> None:
    server.script("kernels", Reply(503, headers={"Retry-After": later}))
    error = failure(server)
    assert error.code == "retry_after"
    assert re.search(r"come back at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", str(error))
    assert len(server.seen) == 1


def test_a_server_that_does_not_answer(server: Loopback) -> None:
    server.script("kernels", Reply(wait=60))
    error = failure(server, limits=replace(FAST, attempts=2, read_timeout=0.05))
    assert error.code == "timeout"
    assert len(server.seen) == 2


@pytest.mark.parametrize("reply", [Reply(drip=0.05), Reply(wait=60)], ids=["drips", "waits"])
def test_a_request_that_takes_too_long_in_all(server: Loopback, reply: Reply) -> None:
    server.script("kernels", reply)
    error = failure(server, limits=replace(FAST, attempts=2, request_timeout=0.2))
    assert error.code == "timeout"
    assert len(server.seen) == 2


def test_an_import_that_takes_too_long(server: Loopback) -> None:
    server.script("kernels", Reply(drip=0.05))
    assert failure(server, limits=replace(FAST, deadline=0.2)).code == "deadline"
    server.script("kernels", Reply(500))
    assert failure(server, limits=replace(FAST, deadline=0.2, backoff=60, max_backoff=60)).code == "deadline"


def test_closing_ends_what_other_threads_wait_for(server: Loopback) -> None:
    server.script("kernels", Reply(wait=60))
    server.script("kernels/1", Reply(503))
    limits = replace(FAST, read_timeout=60, request_timeout=60, backoff=60, max_backoff=60)
    fetcher = HttpFetcher(server.url, limits=limits)

    def close() -> None:
        _until(lambda: len(server.seen) == 3)
        fetcher.close()

    closer = threading.Thread(target=close)
    closer.start()
    calls = [lambda p=path: fetcher.fetch(p, {}, decode) for path in ("kernels", "kernels/1", "kernels")]
    errors = in_threads(calls)
    closer.join()
    assert [getattr(error, "code", error) for error in errors] == ["closed"] * 3
    with pytest.raises(SourceError, match="interrupted"):
        fetcher.fetch("kernels", {}, decode)


def _until(condition: Any) -> None:
    pause = threading.Event()
    while not condition():
        pause.wait(0.005)


def test_what_has_not_changed_is_not_sent_again(server: Loopback, tmp_path: Path) -> None:
    server.script("kernels", Reply(etag='"a"'))
    first, _ = get(server, cache=Cache(tmp_path))
    with HttpFetcher(server.url, limits=FAST, cache=Cache(tmp_path)) as fetcher:
        again, value = fetcher.fetch("kernels", {}, decode)
        assert fetcher.stats.not_modified == 1
        assert fetcher.stats.received == 0
    assert again == first
    assert again.data == OK
    assert value == json.loads(OK)
    assert [seen.headers.get("if-none-match") for seen in server.seen] == [None, '"a"']

    server.script("kernels", Reply(body=b'{"data": 2}', headers={"Last-Modified": "yesterday"}))
    assert get(server, cache=Cache(tmp_path))[1] == {"data": 2}
    get(server, cache=Cache(tmp_path))
    assert server.seen[-1].headers.get("if-modified-since") == "yesterday"
    assert "if-none-match" not in server.seen[-1].headers


def test_a_damaged_cache_is_no_cache(server: Loopback, tmp_path: Path) -> None:
    server.script("kernels", Reply(etag='"a"'))
    get(server, cache=Cache(tmp_path))
    (tmp_path / "kernels.json").write_bytes(b'{"data": "edited"}')
    body, _ = get(server, cache=Cache(tmp_path))
    assert body.data == OK
    assert "if-none-match" not in server.seen[-1].headers
    get(server, cache=Cache(tmp_path))
    assert server.seen[-1].headers["if-none-match"] == '"a"'


def test_broken_bodies_are_not_cached(server: Loopback, tmp_path: Path) -> None:
    server.script("kernels", Reply(body=b"{", etag='"broken"'), Reply(etag='"a"'))
    get(server, cache=Cache(tmp_path))
    assert [seen.headers.get("if-none-match") for seen in server.seen] == [None, None]


def test_a_cached_body_that_is_no_longer_taken_is_fetched_anew(server: Loopback, tmp_path: Path) -> None:
    server.script("kernels", Reply(etag='"a"'))
    get(server, cache=Cache(tmp_path))
    asked = []

    def picky(value: Any, _strict: bool) -> int:
        asked.append(value)
        if len(asked) == 1:
            raise InputError("not any more")
        return len(asked)

    with HttpFetcher(server.url, limits=FAST, cache=Cache(tmp_path)) as fetcher:
        assert fetcher.fetch("kernels", {}, picky)[1] == 2
    assert [seen.headers.get("if-none-match") for seen in server.seen] == [None, '"a"', None]


def test_a_snapshot_replays_what_was_fetched(server: Loopback, tmp_path: Path) -> None:
    server.script("kernels", Reply(etag='"a"'))
    server.script("moving", Reply(body=b"1"), Reply(500), Reply(body=b"2"), Reply(body=b"1"))
    get(server, cache=Cache(tmp_path / "cache"))

    def reading(fetcher: Any) -> list[Any]:
        seen = [fetcher.fetch(path, {}, decode) for path in ("kernels", "moving", "moving", "moving")]
        with pytest.raises(SourceError) as caught:
            fetcher.fetch("kernels/7", {}, decode)
        return [*seen, caught.value.code]

    with (
        SnapshotWriter(tmp_path / "saved.tar.zst") as record,
        HttpFetcher(server.url, limits=FAST, cache=Cache(tmp_path / "cache"), record=record) as fetcher,
    ):
        live = reading(fetcher)
        assert fetcher.stats.not_modified == 1
    with open_snapshot(tmp_path / "saved.tar.zst") as replay:
        assert reading(replay) == live
    assert [value for _, value in live[:-1]] == [json.loads(OK), 1, 2, 1]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_a_certificate_that_nobody_signed_is_refused(tmp_path: Path) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject]
    subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    with serving(tls) as server:
        error = failure(server)
        assert error.code == "tls"
        assert server.seen == []


@pytest.mark.parametrize("target", ["https://xn--a.org/", "https://xn--zzzzzz--.org/", "javascript:alert(1)"])
def test_a_redirect_to_no_server_is_told_as_one(server: Loopback, target: str) -> None:
    server.script("kernels", Reply(302, headers={"Location": target}))
    assert failure(server).code == "redirect"


def test_a_gzip_body_may_have_several_members(server: Loopback) -> None:
    packed = gzip.compress(OK[:9]) + gzip.compress(OK[9:])
    server.script("kernels", Reply(body=packed, headers={"Content-Encoding": "gzip"}))
    with HttpFetcher(server.url, limits=FAST) as fetcher:
        assert fetcher.fetch("kernels", {}, decode)[0].data == OK


def test_an_empty_content_encoding_is_none(server: Loopback) -> None:
    server.script("kernels", Reply(headers={"Content-Encoding": ""}))
    with HttpFetcher(server.url, limits=FAST) as fetcher:
        assert fetcher.fetch("kernels", {}, decode)[0].data == OK
