"""Units, times and names: the one place where the source's spellings become the manifests'."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

MS_DIGITS = 6
NS_PER_MS = 1_000_000

_NOT_KEBAB = re.compile(r"[^a-z0-9]+")
_CLOCK = re.compile(r"[0-9][T ][0-9]")
_LEAP = re.compile(r"(?<=[0-9]:[0-9]{2}):60(?![0-9])")
_DIGITS = re.compile(r"([0-9]{1,9})")
_NOT_TOKEN = re.compile(r"[^a-z0-9_]")

_DTYPES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float32": "fp32",
    "float": "fp32",
    "float64": "fp64",
    "double": "fp64",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e4m3": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
    "float4_e2m1": "fp4_e2m1",
}

_ARCHITECTURES = {"B200": "sm_100", "GB200": "sm_100", "H200": "sm_90", "H100": "sm_90", "A100": "sm_80"}


def ms_to_ns(ms: float) -> int:
    """Milliseconds to whole nanoseconds, halves rounded up: floor(ms × 1e6 + 0.5). OverflowError beyond a double."""
    return math.floor(ms * NS_PER_MS + 0.5)


def kebab(text: str) -> str:
    """Lowercase words joined by `-`, at most 100 characters; empty where the text has no ASCII letter or digit."""
    return _NOT_KEBAB.sub("-", text.lower()).strip("-")[:100]


def token(text: str) -> str:
    """A name for inputs, outputs and libraries: lowercase, other characters as `_`, starting with a letter."""
    name = _NOT_TOKEN.sub("_", text.lower())
    return name if name[:1].isalpha() else f"x_{name}"


def dtype(text: str) -> str:
    """The manifests' name of a data type."""
    return _DTYPES.get(text) or _NOT_TOKEN.sub("_", text.lower())


def title(text: str) -> str:
    """A title, cut to the 200 characters that metadata allows."""
    return text[:200]


class Gpu(NamedTuple):
    """A GPU as the source names it (without an `NVIDIA_` prefix) and as the environment manifest does."""

    name: str
    vendor: str
    product: str
    architecture: str

    @property
    def known(self) -> bool:
        return self.architecture != "unknown"


@lru_cache(maxsize=4096)
def gpu(text: str) -> Gpu:
    """The GPU of a source's name for it; of one not in the table, the architecture stays "unknown"."""
    name = text.removeprefix("NVIDIA_")
    architecture = _ARCHITECTURES.get(name)
    if architecture is None:
        return Gpu(text, "nvidia", text.replace("_", " "), "unknown")
    return Gpu(name, "nvidia", f"NVIDIA {name}", architecture)


_MAKERS = ("NVIDIA ", "AMD Instinct ", "AMD ")


def gpu_of_product(product: str) -> str:
    """The name that tables group by, of a product as environments name it: `B200` of `NVIDIA B200`."""
    return next((product.removeprefix(maker) for maker in _MAKERS if product.startswith(maker)), product) or product


def moment(text: str) -> datetime:
    """A source's timestamp in UTC, which it is in where no zone is given.

    Raises ValueError for anything that is not an ISO 8601 date and time.
    """
    return _in_utc(text).replace(tzinfo=UTC)


def instant(text: str) -> str:
    """A source's timestamp as `YYYY-MM-DDTHH:MM:SS.mmmZ`, truncated to milliseconds. Raises ValueError as `moment`."""
    return _in_utc(text).isoformat(timespec="milliseconds") + "Z"  # isoformat truncates


def _in_utc(text: str) -> datetime:
    """As `moment`, without the zone. A leap second is the one after it, as in POSIX: clocks here have no 60."""
    spelled = text.upper()  # RFC 3339 has t and z as well
    if not _CLOCK.search(spelled):
        raise ValueError(f"not a date and time: {text!r}")
    whole, leaps = _LEAP.subn(":59", spelled)
    read = datetime.fromisoformat(whole)
    try:
        read = read if read.tzinfo is None else read.astimezone(UTC).replace(tzinfo=None)
        if not leaps:
            return read
        if (read.hour, read.minute) != (23, 59):
            raise ValueError(f"a leap second that is not at the end of a day in UTC: {text!r}")
        return read + timedelta(seconds=1)
    except OverflowError as error:
        raise ValueError(f"beyond the years 1 to 9999 in UTC: {text!r}") from error


def version_order(stack: str | None) -> list[str | int]:
    """A key by which stack versions sort, numbers in them as numbers: v1.10 after v1.9; none comes first."""
    parts = _DIGITS.split(stack or "")
    return [int(part) if position % 2 else part for position, part in enumerate(parts)]


def days_between(start: str, end: str) -> int:
    """Whole days from one instant to a later one; none where it is not later."""
    return max(0, (moment(end) - moment(start)).days)


def now() -> str:
    """The present instant, in the same form."""
    return instant(datetime.now(UTC).isoformat())
