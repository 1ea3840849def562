"""The command line as a process: help, exit codes, JSON on failure, and outputs that cannot be written."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kictl import __version__
from kictl.cli.app import COMMANDS
from leaderboards import FIXTURE, database, import_folder
from loopback import Reply, serving
from processes import Done, kictl, on_terminal, shell


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture, imported."""
    path = tmp_path_factory.mktemp("cli") / "c.sqlite"
    import_folder(FIXTURE, path)
    return path


def refused(done: Done, code: int, word: str) -> None:
    """One clear line first, no traceback, nothing on stdout."""
    assert done.code == code, done
    assert done.out == ""
    assert done.err.startswith("kictl: ")
    assert word in done.err
    assert "Traceback" not in done.err


# Help


def test_version_and_help() -> None:
    assert kictl("--version") == Done(0, f"kictl {__version__}\n", "")
    overview = kictl()
    assert overview == kictl("--help")
    assert (overview.code, overview.err) == (0, "")
    listed = overview.out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed if line[2:3].strip()] == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = kictl(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: kictl {command} ")
    assert re.search(rf"^  Example: kictl {command}\b", done.out, re.MULTILINE)
    assert kictl(command, "-h") == done


def test_completion() -> None:
    def completed(words: str) -> list[str]:
        position = str(len(words.split(" ")) - 1)
        return kictl(_KICTL_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=position).out.split()

    assert completed("kictl ") == list(COMMANDS)
    assert completed("kictl comp") == ["compare"]
    assert completed("kictl import sol-execbench --fro") == ["--from"]
    assert "markdown" in completed("kictl compare --format ")
    script = kictl("--show-completion", "bash").out
    assert "_KICTL_COMPLETE=complete_bash" in script
    assert shell(script + "\ncomplete -p kictl").code == 0


# Exit codes


def test_2_usage(catalogue: Path) -> None:
    refused(kictl("nonsense"), 2, "No such command 'nonsense'")
    refused(kictl("compare"), 2, "--definition")
    refused(kictl("digest", "--nonsense", "x"), 2, "--nonsense")
    refused(kictl("schema", "BenchmarkRum"), 2, "did you mean BenchmarkRun or")
    refused(kictl("compare", "-d", "none such", "--catalog", catalogue), 2, "no definition matches 'none such'")
    refused(kictl("import", "sol-execbench", "--base-url", "http://example.org"), 2, "only https")


def test_2_an_ambiguous_pattern_lists_what_it_could_mean(catalogue: Path) -> None:
    assert kictl("compare", "-d", "042", "--catalog", catalogue) == Done(
        2,
        "",
        "kictl: '042' matches 2 definitions\n"
        "  042_moe_expert_load_balancing_and_token_capacity_backward\n"
        "  042_rms_norm_fp8_quant\n"
        "  give the full name of one of them\n",
    )


def test_2_an_empty_leaderboard(tmp_path: Path) -> None:
    (tmp_path / "kernels.json").write_text('{"data": {"kernels": []}}')
    done = kictl("import", "sol-execbench", "--from", tmp_path, "--json", "--catalog", tmp_path / "c.sqlite")
    assert (done.code, json.loads(done.out)["kernels"]) == (0, 0)
    refused(kictl("compare", "-d", "042", "--catalog", tmp_path / "c.sqlite"), 2, "holds no definition")


def test_3_input(tmp_path: Path) -> None:
    refused(kictl("digest", tmp_path / "none.json"), 3, "none.json: No such file or directory")
    refused(kictl("digest", tmp_path), 3, "Is a directory")
    refused(kictl("digest", "-", stdin=b'{"kind": "a", "kind": "b"}'), 3, "kind")
    refused(kictl("digest", "-", stdin=b"{"), 3, "line 1, column 2")
    refused(kictl("digest", "-", stdin=b'{"kind": "OperationSpec", "spec": {}}'), 3, "no apiVersion")
    refused(kictl("digest", "-", stdin=b'{"kind": "a"}\n{"kind": "b"}\n'), 3, "one on each line")
    refused(kictl("import", "sol-execbench", "--from", tmp_path), 3, "not a snapshot")
    refused(kictl("import", "sol-execbench", "--from", tmp_path / "none"), 3, "no such folder")


def test_4_source() -> None:
    with serving() as server:
        server.script("kernels", Reply(status=403))
        refused(kictl("import", "sol-execbench", "--base-url", server.url, "--quiet"), 4, "403")


def test_5_catalogue(tmp_path: Path) -> None:
    refused(kictl("compare", "-d", "042", "--catalog", tmp_path / "none.sqlite"), 5, "run 'kictl import' first")
    (tmp_path / "text.sqlite").write_text("no database " * 100)
    refused(kictl("export", "--catalog", tmp_path / "text.sqlite"), 5, "text.sqlite")
    with database(tmp_path / "other.sqlite") as db:
        db.execute("CREATE TABLE t (a)")
    refused(kictl("export", "--catalog", tmp_path / "other.sqlite"), 5, "not a kictl catalogue")


def test_where_the_catalogue_is(catalogue: Path, sealed: Path) -> None:
    assert kictl("export", KICTL_CATALOG=str(catalogue)) == kictl("export", "--catalog", catalogue)
    assert kictl("export").code == 5
    assert kictl("import", "sol-execbench", "--from", FIXTURE, "--quiet") == Done(0, "", "")
    assert [path.name for path in sealed.rglob("*.sqlite")] == ["catalogue.sqlite"]
    assert kictl("export") == kictl("export", "--catalog", catalogue)


# JSON on failure


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["compare"], 2, "usage"),
        (["digest", "none.json"], 3, "unreadable"),
        (["compare", "-d", "042", "--catalog", "none.sqlite"], 5, "no_catalogue"),
    ],
)
def test_json_on_failure(arguments: list[str], code: int, word: str) -> None:
    done = kictl(*arguments, "--json")
    if arguments[0] == "compare":
        assert done == kictl(*arguments, "--format", "json") == kictl(*arguments, "--format=json")
    error = json.loads(done.out)["error"]
    assert (done.code, error["code"]) == (code, word)
    assert error["message"] in done.err
    assert "hint" in error


def test_a_traceback_only_when_asked_for() -> None:
    assert "Traceback" in kictl("-v", "digest", "none.json").err
    assert "Traceback" not in kictl("digest", "none.json").err


# Digests


def test_a_digest_is_that_of_what_is_meant_however_it_is_written(tmp_path: Path) -> None:
    good = Path("fixtures/manifests/good/ImplementationRevision-full.json")
    manifest = json.loads(good.read_text("utf-8"))
    manifest["spec"]["support"]["dtypes"].reverse()
    manifest["spec"]["support"]["dtypes"] *= 2
    (tmp_path / "authored.yaml").write_text(yaml.safe_dump(manifest), "utf-8")
    (tmp_path / "packed.json.gz").write_bytes(gzip.compress(json.dumps(manifest).encode()))
    expected = kictl("digest", good)
    assert kictl("digest", tmp_path / "authored.yaml") == kictl("digest", tmp_path / "packed.json.gz") == expected
    run = json.loads(Path("fixtures/manifests/good/BenchmarkRun-full.json").read_text("utf-8"))
    run["spec"]["timing"]["latencyNs"]["mean"] = "0.5 ns"
    refused(kictl("digest", "-", stdin=json.dumps(run).encode()), 3, "/spec/timing/latencyNs/mean")


def test_the_digests_of_a_bundle_are_those_of_its_manifests(tmp_path: Path) -> None:
    bundle = Path("fixtures/manifests/good/Bundle-full.json")
    parts = json.loads(bundle.read_text("utf-8"))
    for part in ("run", "protocol", "environment"):
        (tmp_path / part).write_text(json.dumps(parts[part]), "utf-8")
    alone = [kictl("digest", tmp_path / part).out for part in ("run", "protocol", "environment")]
    assert kictl("digest", bundle) == Done(0, "".join(alone), "")
    found = json.loads(kictl("digest", "--json", bundle, tmp_path / "run").out)
    assert [item["kind"] for item in found] == [
        "BenchmarkRun",
        "BenchmarkProtocol",
        "ExecutionEnvironment",
        "BenchmarkRun",
    ]
    del parts["protocol"]
    refused(kictl("digest", "-", stdin=json.dumps(parts).encode()), 3, "no kind")


def test_names_of_files_are_printed_escaped(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\x1b[31m\xff\xe2\x80\xae.json"
    with open(name, "wb") as file:
        file.write(b'{"apiVersion": "a", "kind": "\\u009b1m", "spec": {}}')
    done = kictl("digest", os.fsdecode(name), os.fsdecode(name))
    assert r"  \x9b1m  " in done.out
    assert r"/\x1b[31m\udcff\u202e.json" in done.out
    done = kictl("digest", os.fsdecode(name), "--json")
    assert [char for char in done.out if not char.isprintable() and char != "\n"] == []
    assert json.loads(done.out)[0]["file"].endswith("/\x1b[31m\\udcff\u202e.json")


# Outputs that cannot be written


@pytest.mark.parametrize(
    "command", ["--version", "--help", "schema", "schema BenchmarkRun", "export", "compare -d 042_moe"]
)
def test_a_closed_pipe_ends_it_quietly(catalogue: Path, command: str) -> None:
    done = shell(f"kictl {command} | head -c 0; exit ${{PIPESTATUS[0]}}", KICTL_CATALOG=str(catalogue))
    assert done == Done(141, "", "")


@pytest.mark.parametrize("command", ["--version", "--help", "schema", "export", "compare -d 042_moe"])
def test_a_full_disk_is_told(catalogue: Path, command: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = kictl(*command.split(), stdout=full, KICTL_CATALOG=str(catalogue))
    assert done == Done(3, "", "kictl: cannot write the output: No space left on device\n")


def test_a_closed_stdout_is_told(catalogue: Path) -> None:
    done = shell("kictl export >&-", KICTL_CATALOG=str(catalogue))
    assert done == Done(3, "", "kictl: cannot write the output: Bad file descriptor\n")
    assert shell("kictl digest none.json 2>&-") == Done(3, "", "")


# Surroundings


def test_output_does_not_depend_on_where_it_is_made(tmp_path: Path) -> None:
    surroundings: tuple[dict[str, Any], ...] = (
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "2", "TZ": "America/New_York", "LC_ALL": "C.UTF-8"},
    )
    found = []
    for number, environment in enumerate(surroundings):
        environment["KICTL_CATALOG"] = str(tmp_path / f"{number}.sqlite")
        steps = (
            ("import", "sol-execbench", "--from", FIXTURE),
            ("export",),
            ("compare", "-d", "042_rms", "--all"),
            ("compare", "-d", "042_rms", "--json"),
        )
        found.append([kictl(*step, **environment) for step in steps])
    assert found[0] == found[1]
    assert {done.code for done in found[0]} == {0}


# Terminals


def test_colour_only_on_a_terminal_that_wants_it(catalogue: Path) -> None:
    arguments = ("compare", "-d", "042_moe", "--catalog", catalogue)
    assert "\x1b[" in on_terminal(*arguments)
    assert "\x1b[" not in on_terminal(*arguments, NO_COLOR="1")
    assert "\x1b[" not in on_terminal(*arguments, TERM="dumb")
    assert "\x1b[" not in kictl(*arguments).out


def test_hostile_names_reach_no_output_unescaped(catalogue: Path) -> None:
    for form in ("table", "csv", "markdown"):
        done = kictl("compare", "-d", "042_rms", "--format", form, "--catalog", catalogue)
        assert done.code == 0
        assert not {"\x1b", "\u202e", "\t"} & set(done.out)
        assert "算子优化" in done.out
