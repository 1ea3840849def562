"""The schemas' verdicts beside those of a validator in JavaScript, whose patterns JSON Schema means."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from kictl import canonical, schemas
from mutations import mutations

ROOT = Path(__file__).parents[1]
PEERS = ROOT / "bench/results/peers/node_modules"
GOOD = ROOT / "fixtures/manifests/good"


def is_text(value: Any) -> bool:
    """Whether JSON can say it, and JavaScript reads it as it is."""
    try:
        canonical.check(value)
    except canonical.ParseError:
        return False
    return True


def test_verdicts_equal_those_of_ecmascript(tmp_path: Path) -> None:
    node = which("node")
    if node is None or not (PEERS / "ajv").is_dir():
        pytest.skip("node with ajv is not here: 'make bench' installs it where node and npm are")
    cases = []
    for path in sorted(GOOD.glob("*.json")):
        kind = path.name.partition("-")[0]
        document = json.loads(path.read_bytes())
        cases += [(kind, "as it is", document)]
        cases += [
            (kind, f"{what} {place}", changed) for what, place, changed in mutations(document) if is_text(changed)
        ]
    lines = tmp_path / "cases.jsonl"
    lines.write_bytes(b"\n".join(canonical.to_json({"kind": kind, "document": value}) for kind, _, value in cases))
    command = [node, str(ROOT / "bench/node/verdicts.js"), str(PEERS), str(lines)]
    theirs = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    differing = [
        (kind, what, verdict)
        for (kind, what, value), verdict in zip(cases, theirs, strict=True)
        if schemas.is_valid(kind, value) != verdict
    ]
    assert len(cases) > 10_000
    assert differing == []
