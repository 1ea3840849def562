"""Opening a source: live with its cache, or recorded; recorded anew where that is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kictl.pace import Limits
from kictl.sources.fetch import Fetcher
from kictl.sources.leaderboard import SolExecBench


@contextmanager
def leaderboard(
    *,
    base_url: str,
    recorded: Path | None,
    save: Path | None,
    limits: Limits,
    cached: bool = True,
    proxy: str | None = None,
) -> Iterator[SolExecBench]:
    """The leaderboard at `base_url`, or as `recorded`. `save` becomes a snapshot of what is read, if all goes well.
    `proxy` is the URL of the proxy that a live one is read through."""
    with ExitStack() as stack:
        record = None
        if save is not None:
            from kictl.sources.snapshot import SnapshotWriter

            record = stack.enter_context(SnapshotWriter(save))
        fetcher: Fetcher
        if recorded is not None:
            from kictl.sources.recorded import open_snapshot

            fetcher = stack.enter_context(open_snapshot(recorded, record=record))
            yield SolExecBench(fetcher)
            return
        from kictl.sources.cache import Cache
        from kictl.transport import HttpFetcher

        cache = Cache.for_base(base_url) if cached else None
        fetcher = stack.enter_context(HttpFetcher(base_url, limits=limits, cache=cache, record=record, proxy=proxy))
        yield SolExecBench(fetcher, workers=limits.concurrency)
