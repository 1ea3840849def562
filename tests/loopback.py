"""A real HTTP server on loopback whose answers are scripted, path by path."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OK = b'{"data": {"kernels": []}}'


@dataclass(frozen=True)
class Reply:
    """One answer. `drop` closes without one, `cut` sends half the body, `etag` answers 304 to who has it.

    Seconds: `wait` before the first byte, `drip` between single bytes.
    """

    status: int = 200
    body: bytes = OK
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str | None = "application/json"
    drop: bool = False
    cut: bool = False
    wait: float = 0.0
    drip: float = 0.0
    etag: str | None = None


@dataclass(frozen=True)
class Seen:
    """One request as the server saw it; header names are lower case."""

    path: str
    headers: Mapping[str, str]
    at: float


class Loopback:
    """Answers each path with its replies in turn, the last one for ever."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.most_at_once = 0
        self.released = threading.Event()
        self._replies: dict[str, list[Reply]] = {}
        self._now = 0
        self._lock = threading.Lock()
        self.url = ""

    def script(self, path: str, *replies: Reply) -> None:
        self._replies[path] = list(replies)

    def scripted(self, path: str) -> tuple[Reply, ...]:
        return tuple(self._replies[path])

    def paths(self) -> list[str]:
        return [seen.path for seen in self.seen]

    def begin(self, path: str, headers: Mapping[str, str]) -> Reply:
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            self.seen.append(Seen(path, {k.lower(): v for k, v in headers.items()}, time.monotonic()))
            replies = self._replies.get(path, [Reply(404, b'{"error": "not found"}')])
            return replies.pop(0) if len(replies) > 1 else replies[0]

    def end(self) -> None:
        with self._lock:
            self._now -= 1


class _Server(ThreadingHTTPServer):
    def __init__(self, loopback: Loopback) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.loopback = loopback

    def handle_error(self, *_: object) -> None:
        """A client that goes away is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        reply = self.server.loopback.begin(self.path.removeprefix("/api/"), dict(self.headers.items()))
        try:
            self.server.loopback.released.wait(reply.wait)
            if reply.drop:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            else:
                self._answer(reply)
        except OSError:
            self.close_connection = True
        finally:
            self.server.loopback.end()

    def _answer(self, reply: Reply) -> None:
        same = reply.etag is not None and self.headers.get("If-None-Match") == reply.etag
        body = b"" if same else reply.body
        headers = {"ETag": reply.etag, "Content-Type": reply.content_type, "Content-Length": str(len(body))}
        self.send_response(304 if same else reply.status)
        for name, value in {**headers, **reply.headers}.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        if reply.cut:
            self.close_connection = True
            body = body[: len(body) // 2]
        if reply.drip:
            for byte in body:
                self.wfile.write(bytes([byte]))
                self.server.loopback.released.wait(reply.drip)
        else:
            self.wfile.write(body)


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Loopback]:
    """A server below `/api` of a free port."""
    loopback = Loopback()
    server = _Server(loopback)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    loopback.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}/api"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield loopback
    finally:
        loopback.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def in_threads(calls: Sequence[Callable[[], object]]) -> list[object]:
    """Run all calls at once; their results or exceptions in order."""
    results: list[object] = [None] * len(calls)

    def run(index: int) -> None:
        try:
            results[index] = calls[index]()
        except Exception as error:  # noqa: BLE001 - handed to the test
            results[index] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
