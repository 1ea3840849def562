"""The line of a JSON Pointer in JSON and YAML, and in the reports that are shown beside a text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kictl.places import Places
from processes import ROOT, kictl

JSON = '{\n  "a": 1,\n  "b/c": [\n    {"d": "x\\n}"}, 2,\n    {\n      "d": {}\n    }\n  ],\n\n  "e": null\n}\n'
YAML = "a: 1\nb/c:\n  - d: x\n  - 2\n  -\n    d: {}\n\ne: null\n"


@pytest.mark.parametrize(
    ("where", "in_json", "in_yaml"),
    [
        ("", 1, 1),
        ("/a", 2, 1),
        ("/b~1c", 3, 2),
        ("/b~1c/0/d", 4, 3),
        ("/b~1c/1", 4, 4),
        ("/b~1c/2/d", 6, 6),
        ("/b~1c/2/missing/deeper", 5, 6),
        ("/e", 10, 8),
        ("/nothing", 1, 1),
    ],
)
def test_the_line_of_a_pointer(where: str, in_json: int, in_yaml: int) -> None:
    assert Places(JSON).line(where) == in_json
    assert Places(YAML, is_yaml=True).line(where) == in_yaml


@pytest.mark.parametrize("text", ["", "[", '{"a"', '{"a": 1,\n "b": }', "[" * 100_000, "a: [", "&a [*a]"])
def test_a_broken_text_has_at_least_its_first_line(text: str) -> None:
    assert Places(text).line("/x/y") == 1
    assert Places(text, is_yaml=True).line("/x/y") == 1


def test_annotations_and_regions_are_at_the_line_of_the_pointer(tmp_path: Path) -> None:
    manifest: dict[str, Any] = json.loads((ROOT / "fixtures/manifests/good/SoftwareProject-full.json").read_bytes())
    manifest["spec"]["name"] = 7
    text = json.dumps(manifest, indent=1)
    (tmp_path / "x.json").write_text(text, "utf-8")
    (tmp_path / "x.jsonl").write_text("\n" + json.dumps(manifest) + "\n", "utf-8")
    (tmp_path / "x.yaml").write_text("# a comment\n---\n" + _as_yaml(manifest), "utf-8")
    for name, line in (
        ("x.json", text[: text.index('"name": 7')].count("\n") + 1),
        ("x.jsonl", 2),
        ("x.yaml", ("# a comment\n---\n" + _as_yaml(manifest)).split("name: 7")[0].count("\n") + 1),
    ):
        path = tmp_path / name
        assert f"::error file={path},line={line},title=schema/type::" in kictl("verify", path, "--format", "github").out
        log = json.loads(kictl("verify", path, "--format", "sarif").out)
        (result,) = log["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": line}


def _as_yaml(value: Any, indent: str = "") -> str:
    if not isinstance(value, dict):
        return f"{indent}{json.dumps(value)}\n"
    lines = ""
    for name, member in value.items():
        nested = isinstance(member, dict) and member
        lines += f"{indent}{name}:" + ("\n" + _as_yaml(member, indent + "  ") if nested else f" {json.dumps(member)}\n")
    return lines
