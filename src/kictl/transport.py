"""HTTP as a good and wary guest: paced, bounded, retried, conditional, and only to the host it was given."""

from __future__ import annotations

import ipaddress
import math
import queue
import re
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, NoReturn, TypeVar

import httpx
import tenacity

from kictl import __version__, canonical, project_url
from kictl.errors import InputError, SourceError, UsageError
from kictl.model import Body
from kictl.pace import MAX_CONCURRENCY, MAX_RATE, Limits, Pace, Stats
from kictl.sources.cache import Cache
from kictl.sources.fetch import Decode, Fetcher
from kictl.sources.recording import MAX_BODY, Exchange, request_target
from kictl.sources.snapshot import SnapshotWriter

T = TypeVar("T")

MAX_REDIRECTS: Final = 3
LONGEST_WAIT: Final = 1e9
"""Seconds, some 30 years: what a server asks for beyond that is the same, and no date overflows."""

_INFLATED = {"gzip", "x-gzip", "deflate"}
_JSON_TYPE = re.compile(r"application/(json|[a-z0-9!#$&^_.-]+\+json)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: httpx.Headers
    data: bytes
    redirect: httpx.URL | None


class _TransientError(Exception):
    """An answer, or the lack of one, after which it is worth asking again."""

    def __init__(self, message: str, code: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after


class HttpFetcher(Fetcher):
    """GETs JSON below one base URL; a body is cached and recorded once `decode` has taken it.

    `proxy` is the URL of an HTTP proxy that all requests go through; none is ever taken from the environment. Raises
    UsageError for a URL or limits that are not allowed, SourceError for what the network does.
    """

    def __init__(
        self,
        base_url: str,
        *,
        limits: Limits | None = None,
        cache: Cache | None = None,
        record: SnapshotWriter | None = None,
        proxy: str | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.stats = Stats()
        self.origin = _checked_base(base_url, self.limits)
        self._cache = cache
        self._record = record
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._end = time.monotonic() + self.limits.deadline
        self._total = 0
        self._pace = Pace(1 / self.limits.rate, self._sleep)
        self._slots: queue.LifoQueue[_Slot] = queue.LifoQueue()
        tls = httpx.create_ssl_context(trust_env=False)
        through = None if proxy is None else _checked_proxy(proxy, tls)
        self._all_slots = [_Slot(self.limits, tls, through, self._starting) for _ in range(self.limits.concurrency)]
        for slot in self._all_slots:
            self._slots.put(slot)

    def fetch(self, path: str, params: Mapping[str, str], decode: Decode[T]) -> tuple[Body, T]:
        target = request_target(path, params)
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_TransientError),
            stop=tenacity.stop_after_attempt(self.limits.attempts),
            wait=self._wait,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(self._attempt, target, decode)
        except _TransientError as error:
            message = f"{self._url(target)}: {error}, {self.limits.attempts} times in a row"
            hint = "what was imported stays; run the same command again later"
            if error.code in {"network", "timeout"}:
                hint += ", or read a snapshot: import --from, verify --against"
            raise SourceError(message, code=error.code, hint=hint) from error

    def notes(self) -> str:
        retries = self.stats.retries
        return f"{retries} {'retry' if retries == 1 else 'retries'}" if retries else ""

    def close(self) -> None:
        """End what is under way in other threads, too: their fetches raise SourceError (code `closed`)."""
        self._closed.set()
        for slot in self._all_slots:
            slot.abort()
        with suppress(queue.Empty):  # a thread that is still connecting ends by its time-out
            for _ in self._all_slots:
                self._slots.get(timeout=1).client.close()
        for slot in self._all_slots:
            self._slots.put(slot)

    def _attempt(self, target: str, decode: Decode[T]) -> tuple[Body, T]:
        exchange, data = self._exchange(target)
        if exchange.status == 404:
            self._keep(exchange, data)
            raise SourceError(f"{self._url(target)}: not found (404)", code="not_found")
        try:
            value = decode(*canonical.read_leniently(data, max_bytes=MAX_BODY))
        except InputError as error:
            if self._cache is not None:
                self._cache.forget(target)
            raise _TransientError(f"broken body: {error}", "body") from error
        self._keep(exchange, data)
        return Body(target, data, exchange.digest, exchange.url), value

    def _keep(self, exchange: Exchange, data: bytes) -> None:
        if self._cache is not None and exchange.status == 200:
            self._cache.keep(exchange, data)
        if self._record is not None:
            self._record.add(exchange, data)

    def _exchange(self, target: str) -> tuple[Exchange, bytes]:
        """The answer to one request: status 200, 304 (the body is from the cache) or 404."""
        url = self._url(target)
        cached = self._cache.load(target) if self._cache is not None else None
        answer = self._follow(httpx.URL(url), _conditions(cached))
        if answer.status == 304 and cached is not None:
            with self._lock:
                self.stats.not_modified += 1
            exchange, data = cached
            return exchange.confirmed(), data
        if answer.status not in {200, 404}:
            raise self._refusal(url, answer)
        exchange = Exchange.of(target, answer.data, url=url, status=answer.status, headers=dict(answer.headers))
        return exchange, answer.data

    def _follow(self, url: httpx.URL, headers: Mapping[str, str]) -> _Answer:
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._get(url, headers)
            if answer.redirect is None:
                return answer
            url = _same_host(url, answer.redirect)
        raise _TransientError(f"redirected more than {MAX_REDIRECTS} times", "redirect")

    def _refusal(self, url: str, answer: _Answer) -> Exception:
        if answer.status not in {304, 429} and answer.status < 500:
            return SourceError(f"{url}: answered {answer.status}", code="http")
        wait = _retry_after(answer.headers.get("retry-after", ""))
        if wait > self.limits.max_retry_after:
            until = datetime.now(UTC) + timedelta(seconds=wait)
            message = f"{url}: answered {answer.status} and asks to come back at {until:%Y-%m-%d %H:%M:%S} UTC"
            return SourceError(message, code="retry_after", hint="run the same command again after that")
        self._pace.hold(wait)
        return _TransientError(f"answered {answer.status}", "http", retry_after=wait)

    def _get(self, url: httpx.URL, headers: Mapping[str, str]) -> _Answer:
        slot = self._slots.get()
        try:
            self._check_open()
            return self._get_with(slot, url, headers)
        finally:
            self._slots.put(slot)

    def _get_with(self, slot: _Slot, url: httpx.URL, headers: Mapping[str, str]) -> _Answer:
        try:
            with (
                slot.watched(),
                slot.client.stream("GET", url, headers=dict(headers), extensions=slot.hooks) as response,
            ):
                following = response.next_request
                redirect = following.url if following is not None else None
                answer = _Answer(response.status_code, response.headers, self._read(response), redirect)
                if slot.aborted:  # a body that ends with its connection looks whole
                    raise httpx.ReadError("ended by us")
                return answer
        except (httpx.InvalidURL, UnicodeError) as error:  # httpx reads a Location before we do
            raise _TransientError("redirected to what is not a URL", "redirect") from error
        except httpx.TransportError as error:
            self._check_open()
            if slot.aborted or isinstance(error, httpx.TimeoutException):
                raise _TransientError("timed out", "timeout") from error
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise SourceError(
                    f"{url}: the server's certificate is not valid: {_plain(error)}", code="tls"
                ) from error
            raise _TransientError(f"no answer: {_plain(error)}", "network") from error

    def _starting(self) -> float:
        """Wait for the turn of one request; how long it may then take."""
        self._check_open()
        self._pace.wait()
        with self._lock:
            self.stats.requests += 1
        return min(self.limits.request_timeout, max(0.0, self._end - time.monotonic()))

    def _read(self, response: httpx.Response) -> bytes:
        """The decompressed body; of other answers at most as much as it takes to use the connection again."""
        status = response.status_code
        if status not in {200, 404}:
            with suppress(SourceError):
                for _ in self._counted(response, 1 << 16):
                    pass
            return b""
        kind = response.headers.get("content-type", "").partition(";")[0].strip()
        if status == 200 and not _JSON_TYPE.fullmatch(kind):
            raise _TransientError(f"answered with {_shown(kind) or 'no type'} instead of JSON", "content_type")
        encoding = response.headers.get("content-encoding", "identity").strip().lower() or "identity"
        pieces = self._counted(response, self.limits.max_body)
        if encoding in _INFLATED:
            pieces = self._inflated(response, pieces)
        elif encoding != "identity":
            raise _TransientError(f"answered in an encoding that was not asked for: {_shown(encoding)}", "encoding")
        return b"".join(pieces)

    def _counted(self, response: httpx.Response, limit: int) -> Iterator[bytes]:
        """The body as it comes over the wire."""
        size = 0
        for piece in response.iter_raw():
            size += len(piece)
            if size > limit:
                self._too_large(response, limit)
            self._count(response, len(piece), wire=True)
            yield piece

    def _inflated(self, response: httpx.Response, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """What gzip or zlib `pieces` hold, never more than one byte beyond the limit in memory."""
        inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)
        size = 0
        try:
            for piece in pieces:
                while piece:
                    if inflater.eof:  # gzip may have several members, zlib may not
                        inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
                    plain = inflater.decompress(piece, self.limits.max_body + 1 - size)
                    size += len(plain)
                    if size > self.limits.max_body:
                        self._too_large(response, self.limits.max_body)
                    self._count(response, len(plain), wire=False)
                    yield plain
                    piece = inflater.unused_data
        except zlib.error as error:
            raise _TransientError("broken body: not what its Content-Encoding says", "body") from error
        if not inflater.eof:
            raise _TransientError("broken body: cut or followed by something else", "body")

    def _count(self, response: httpx.Response, size: int, *, wire: bool) -> None:
        with self._lock:
            self._total += size
            if wire:
                self.stats.received += size
        if self._total > self.limits.max_total:
            message = f"{_shown(str(response.url))}: more than {self.limits.max_total} bytes in this import"
            raise SourceError(message, code="too_large")

    def _too_large(self, response: httpx.Response, limit: int) -> NoReturn:
        url = _shown(str(response.url))
        raise SourceError(f"{url}: the body has more than {limit} bytes", code="too_large")

    def _wait(self, state: tenacity.RetryCallState) -> float:
        backoff = tenacity.wait_random_exponential(self.limits.backoff, self.limits.max_backoff)(state)
        error = state.outcome.exception() if state.outcome is not None else None
        with self._lock:
            self.stats.retries += 1
        return max(backoff, error.retry_after if isinstance(error, _TransientError) else 0.0)

    def _sleep(self, seconds: float) -> None:
        self._closed.wait(max(0.0, min(seconds, self._end - time.monotonic())))
        self._check_open()

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise SourceError(f"{self.origin}: interrupted", code="closed")
        if time.monotonic() >= self._end:
            message = f"{self.origin}: not finished after {self.limits.deadline:g} s"
            raise SourceError(message, code="deadline", hint="run the same command again to go on")

    def _url(self, target: str) -> str:
        return f"{self.origin}/{target}"


class _Slot:
    """One of the connections that may be in use at once; `abort` ends its request from any thread."""

    def __init__(self, limits: Limits, tls: Any, proxy: httpx.Proxy | None, starting: Callable[[], float]) -> None:
        self.aborted = False
        self.hooks: dict[str, Any] = {"trace": self._trace}
        self._starting = starting
        self._socket: socket.socket | None = None
        self._timer: threading.Timer | None = None
        self.client = httpx.Client(
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "gzip, deflate",
                "User-Agent": user_agent(),
            },
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            follow_redirects=False,
            limits=httpx.Limits(max_connections=1),
            proxy=proxy,
            timeout=httpx.Timeout(limits.read_timeout, connect=limits.connect_timeout),
            trust_env=False,
            verify=tls,
        )

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Within it, the timer that `_trace` starts may end the request."""
        self.aborted = False
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def abort(self) -> None:
        self.aborted = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        """A request starts when its headers leave, so that connecting does not bring two starts closer."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
        elif event == "http11.send_request_headers.started" and info["request"].method != b"CONNECT":
            self._timer = threading.Timer(self._starting(), self.abort)
            self._timer.daemon = True
            self._timer.start()


def user_agent() -> str:
    """How kictl names itself to a server: with its version, and the project's address where it has one."""
    address = project_url()
    return f"kictl/{__version__}" + (f" (+{address})" if address is not None else "")


def _checked_base(base_url: str, limits: Limits) -> str:
    url = _checked_url(base_url, "base URL")
    if url.query or url.fragment:
        raise UsageError(f"not a base URL of the form https://host/path: {_shown(base_url)}")
    if url.userinfo:
        raise UsageError("the base URL holds a user name or password: none is ever sent")
    loopback = _is_loopback(url.host)
    if url.scheme == "http" and not loopback:
        raise UsageError("only https is spoken to other machines", hint="http is for 127.0.0.1, ::1 and localhost")
    if not (1 <= limits.concurrency <= 64 and limits.rate > 0 and math.isfinite(limits.rate)):
        raise UsageError("concurrency must be from 1 to 64, and the rate above zero")
    if not loopback and (limits.concurrency > MAX_CONCURRENCY or limits.rate > MAX_RATE):
        raise UsageError(
            f"at most {MAX_CONCURRENCY} requests at once and {MAX_RATE:g} starts a second:"
            " the leaderboard's terms ask for light use"
        )
    return str(url).rstrip("/")


def _checked_proxy(proxy: str, tls: Any) -> httpx.Proxy:
    url = _checked_url(proxy, "proxy")
    if url.query or url.fragment or url.path not in {"", "/"}:
        raise UsageError("not a proxy of the form http://host:port")
    return httpx.Proxy(url, ssl_context=tls if url.scheme == "https" else None)


_LABEL = re.compile(rb"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")


def _checked_url(text: str, what: str) -> httpx.URL:
    """The one place where a URL that someone gave is read: http or https, a host that can be looked up, a port.

    Raises UsageError, which does not repeat a user name or password.
    """
    shown = _shown(re.sub(r"//[^/]*@", "//", text))
    try:
        url = httpx.URL(text)
        host, port = url.host, url.port
    except (httpx.InvalidURL, UnicodeError) as error:
        raise UsageError(f"the {what} is not a URL: {shown}") from error
    if url.scheme not in {"http", "https"} or not host:
        raise UsageError(f"not a {what} of the form https://host/path: {shown}")
    if port is not None and not 0 < port < 1 << 16:
        raise UsageError(f"the {what} has no port from 1 to 65535: {shown}")
    labels = url.raw_host.removesuffix(b".").split(b".")
    if b":" not in url.raw_host and (len(url.raw_host) > 253 or not all(map(_LABEL.fullmatch, labels))):
        raise UsageError(f"the {what} has a host that no server can have: {shown}")
    return url


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _conditions(cached: tuple[Exchange, bytes] | None) -> dict[str, str]:
    if cached is None:
        return {}
    exchange, _ = cached
    wanted = {"If-None-Match": exchange.etag, "If-Modified-Since": exchange.last_modified}
    return {name: value for name, value in wanted.items() if value is not None}


def _same_host(url: httpx.URL, target: httpx.URL) -> httpx.URL:
    if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port) or target.userinfo:
        where = _shown(f"{target.scheme}://{target.netloc.decode('ascii', 'replace')}")
        raise _TransientError(f"redirected elsewhere, to {where}, which is not followed", "redirect")
    return target


def _retry_after(value: str) -> float:
    """Seconds from a Retry-After header, 0 where there is none that can be read."""
    if re.fullmatch(r"[0-9]{1,300}", value):
        return min(float(value), LONGEST_WAIT)
    with suppress(ValueError, TypeError, OverflowError):
        moment = parsedate_to_datetime(value)
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    return 0.0


def _plain(error: Exception) -> str:
    return _shown(str(error)) or type(error).__name__


def _shown(text: str) -> str:
    """Text from elsewhere on one line of a terminal."""
    return ascii(text[:200])[1:-1]
