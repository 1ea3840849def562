"""A small real HTTP proxy on loopback: it forwards plain requests and tunnels the others."""

from __future__ import annotations

import http.client
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Proxy(ThreadingHTTPServer):
    """`asked` holds the method and target of every request that came in."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Proxy

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.asked.append(("GET", self.path))
        target = urlsplit(self.path)
        onward = http.client.HTTPConnection(target.netloc, timeout=10)
        onward.request("GET", f"{target.path}?{target.query}" if target.query else target.path)
        answer = onward.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        for name in ("Content-Type", "Content-Length"):
            self.send_header(name, answer.headers[name])
        self.end_headers()
        self.wfile.write(body)
        onward.close()

    def do_CONNECT(self) -> None:
        self.server.asked.append(("CONNECT", self.path))
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port)), 10) as onward:
            self.send_response(200)
            self.end_headers()
            sides = {self.connection: onward, onward: self.connection}
            while True:
                for ready in select.select([*sides], [], [], 10)[0]:
                    data = ready.recv(65536)
                    if not data:
                        self.close_connection = True
                        return
                    sides[ready].sendall(data)


@contextmanager
def proxying() -> Iterator[Proxy]:
    """A proxy on a free port."""
    proxy = Proxy()
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()
