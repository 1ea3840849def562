"""What the same libraries take for schema and digest alone: read as it comes, floats unguarded, no other rule applied.

python -m bench.floor EXPORT.zst
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import orjson
import zstandard
from jsonschema_rs import Draft202012Validator

from bench.stack import COLUMNS, SCHEMAS

BY_ID = {schema["$id"]: schema for schema in SCHEMAS.values()}
CHUNK = 1 << 20


def verify(path: str) -> int:
    """Every line: parse, validate, digest, compare with the row's columns; the number of those that differ."""
    valid = {kind: Draft202012Validator(SCHEMAS[kind], retriever=BY_ID.__getitem__).is_valid for kind in COLUMNS}
    known: dict[bytes, bool] = {}
    bad, rest = 0, b""
    with Path(path).open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
        while chunk := reader.read(CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                row = orjson.loads(line)["row"]
                manifest = row.get("manifest")
                if manifest is None:
                    continue
                if "kind" in manifest:
                    bad += not _is_good(manifest, row, valid)
                    continue
                bad += not _is_good(manifest["run"], row, valid)
                for each in (manifest["protocol"], manifest["environment"]):
                    text = orjson.dumps(each)
                    if text not in known:
                        known[text] = _is_good(each, row, valid)
                    bad += not known[text]
    return bad


def _is_good(manifest: dict[str, Any], row: dict[str, Any], valid: dict[str, Any]) -> bool:
    kind = manifest["kind"]
    subject = {"apiVersion": manifest["apiVersion"], "kind": kind, "spec": manifest["spec"]}
    digest = hashlib.sha256(orjson.dumps(subject, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return bool(valid[kind](manifest)) and row.get(COLUMNS[kind], f"sha256:{digest}") == f"sha256:{digest}"


if __name__ == "__main__":
    print(verify(sys.argv[1]), "differ")
