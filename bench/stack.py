"""The obvious stack, run by the peers' interpreter: json, jsonschema or fastjsonschema, rfc8785.

stack.py verify EXPORT.zst | stack.py fast MANIFESTS
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import time
from pathlib import Path
from typing import Any

COLUMNS = {
    "OperationSpec": "semanticDigest",
    "WorkloadCase": "workloadDigest",
    "WorkloadSuite": "workloadDigest",
    "ImplementationRevision": "implementationDigest",
    "BenchmarkProtocol": "protocolDigest",
    "ExecutionEnvironment": "environmentDigest",
    "BenchmarkRun": "runDigest",
    "SoftwareProject": "projectDigest",
    "ModelRevision": "modelDigest",
    "ServingStackRevision": "stackDigest",
    "ServingConfiguration": "configurationDigest",
    "ServingWorkload": "workloadDigest",
    "ServingRun": "runDigest",
}
SCHEMAS = {path.stem: json.loads(path.read_bytes()) for path in (Path(__file__).parents[1] / "schemas").glob("*.json")}


def verify(path: str) -> int:
    """Every line: parse, validate, digest, compare with the row's columns; the number of those that differ."""
    import rfc8785
    import zstandard
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    registry: Any = Registry().with_resources((s["$id"], Resource.from_contents(s)) for s in SCHEMAS.values())
    checker = Draft202012Validator.FORMAT_CHECKER
    validators = {
        kind: Draft202012Validator(SCHEMAS[kind], registry=registry, format_checker=checker) for kind in COLUMNS
    }
    bad = 0
    with open(path, "rb") as file:
        for line in io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), "utf-8"):
            row = json.loads(line)["row"]
            manifest = row.get("manifest") or {}
            for each in [manifest] if "kind" in manifest else manifest.values():
                subject = {name: each[name] for name in ("apiVersion", "kind", "spec")}
                digest = "sha256:" + hashlib.sha256(rfc8785.dumps(subject)).hexdigest()
                claimed = row.get(COLUMNS[each["kind"]], digest)
                bad += claimed != digest or not validators[each["kind"]].is_valid(each)
    return bad


def fast(path: str) -> int:
    """Prints fastjsonschema's microseconds for each manifest."""
    import fastjsonschema  # type: ignore[import-not-found]

    handlers = {"urn": lambda uri: SCHEMAS[uri.rpartition(":")[2]]}
    validators = {kind: fastjsonschema.compile(SCHEMAS[kind], handlers=handlers) for kind in COLUMNS}
    values = [json.loads(line) for line in Path(path).read_bytes().splitlines()]
    start = time.perf_counter()
    for value in values:
        validators[value["kind"]](value)
    print(json.dumps((time.perf_counter() - start) / len(values) * 1e6))
    return 0


if __name__ == "__main__":
    sys.exit(bool({"verify": verify, "fast": fast}[sys.argv[1]](sys.argv[2])))
