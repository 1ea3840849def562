"""One value changed anywhere in what a leaderboard answers: the import ends well, or says what is wrong."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kictl import canonical
from kictl.catalogue.store import Catalogue
from kictl.errors import InputError
from leaderboards import FIXTURE, import_folder

FILES = ("kernels.json", "kernels/11.json", "kernels/115.json", "submissions/11.json", "submissions/230.json")
BODIES = {name: json.loads((FIXTURE / name).read_text("utf-8")) for name in FILES}
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 8.0, 1e300, 2**53, 2**64),
    *("", "x" * 300, "\x00", "\u202e", "9" * 5000, "2026-13-45T99:99", "//"),
    *([], {}, [1], {"a": 1}),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value below `value`."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield (*path, key)
        yield from places(member, (*path, key))


PLACES = [(name, path) for name, body in BODIES.items() for path in places(body)]


@given(st.sampled_from(PLACES), st.sampled_from(VALUES))
@settings(max_examples=120, deadline=None)
def test_one_value_changed(place: tuple[str, tuple[Any, ...]], value: Any) -> None:
    name, path = place
    body = json.loads(json.dumps(BODIES[name]))
    parent = body
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    with tempfile.TemporaryDirectory() as folder:
        copy, catalogue = Path(folder) / "leaderboard", Path(folder) / "c.sqlite"
        shutil.copytree(FIXTURE, copy)
        (copy / name).write_text(json.dumps(body), "utf-8")
        try:
            report = import_folder(copy, catalogue)
        except InputError:  # nothing of such a body can be read, which is told; any other error is a bug
            return
        rows = [entry for entry in report["quarantined"] if " submission " in entry["where"]]
        assert sum(report["runs"].values()) + sum(report["skipped"].values()) + len(rows) == report["received"]
        with Catalogue.open(catalogue) as opened:
            for manifest in opened.manifests():
                assert canonical.identity(manifest.document) == manifest.digest
