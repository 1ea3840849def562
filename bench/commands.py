"""Short commands as processes: start-up, one file, and each further file."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench import documents, peers
from bench.measure import KICTL, PASS, RESULTS, ROOT, Table, processes

_FILES = 200


def startup(rounds: int) -> Table:
    """What can be asked without any document."""
    commands = {
        "python -c pass": [*PASS],
        "kictl --version": [KICTL, "--version"],
        "kictl --help": [KICTL, "--help"],
        **{f"kictl {name} --help": [KICTL, name, "--help"] for name in ("import", "verify", "compare", "digest")},
        "kictl schema BenchmarkRun": [KICTL, "schema", "BenchmarkRun"],
    }
    table = Table("Start-up, as a process", "ms", processes(commands, rounds))
    table.goal("--version", "kictl --version", "python -c pass", "≤", 1.6)
    table.goal("--help", "kictl --help", "python -c pass", "≤", 9)
    return table


def files(rounds: int) -> Table:
    """One manifest in a file, and a folder of them."""
    one = str(ROOT / "fixtures/manifests/good/BenchmarkRun-full.json")
    folder = _folder()
    commands = {
        "python -c pass": [*PASS],
        "kictl digest": [KICTL, "digest", one],
        "kictl verify": [KICTL, "verify", one],
        f"kictl verify, {_FILES} files": [KICTL, "verify", str(folder)],
    }
    checker = peers.check_jsonschema()
    if checker is not None:
        schema = [checker, "--schemafile", str(_one_schema())]
        commands["check-jsonschema"] = [*schema, one]
        commands[f"check-jsonschema, {_FILES} files"] = [*schema, *map(str, sorted(folder.iterdir()))]
    table = Table("Files, as a process", "ms", processes(commands, rounds))
    for name in ("kictl", "check-jsonschema"):
        single = "kictl verify" if name == "kictl" else name
        if single in table.figures:
            many = table.figures[f"{single}, {_FILES} files"]
            table.figures[f"{name}, each further file"] = (many - table.figures[single]) / (_FILES - 1)
    for command in ("kictl verify", "kictl digest"):
        table.goal(f"{command} one.json", command, "check-jsonschema", "≤", 0.45)
        table.goal(f"{command} one.json", command, "python -c pass", "≤", 9)
    table.goal("each further file", "kictl, each further file", "check-jsonschema, each further file", "≤", 0.2)
    return table


def _folder() -> Path:
    """Runs, a file each."""
    folder = RESULTS / "files"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    runs = [text for text in documents.sample(_FILES * 4) if b'"BenchmarkRun"' in text][:_FILES]
    assert len(runs) == _FILES
    for number, text in enumerate(runs):
        (folder / f"{number:03}.json").write_bytes(text)
    return folder


def _one_schema() -> Path:
    """The schema of runs with what it refers to inside it: check-jsonschema follows no references to others."""
    from kictl import canonical, schemas

    schema, common = (canonical.read(schemas.text(name)) for name in ("BenchmarkRun", "common"))
    path = RESULTS / "BenchmarkRun.json"
    path.write_bytes(canonical.to_json({**schema, "$defs": {**schema.get("$defs", {}), "common": common}}))
    return path
