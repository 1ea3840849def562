"""The docs against the program: what they tell to type runs, what they link to exists, what there is they describe."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kictl.cli.app import COMMANDS
from kictl.errors import KictlError
from leaderboards import FIXTURE, import_folder
from processes import ROOT, kictl, shell

ERRORS: list[type[KictlError]] = [KictlError, *KictlError.__subclasses__()]
EXIT_CODES = {"quickstart.md": [2, 1]}  # of what a page shows to fail, in its order
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page: `sh` is to be run here, `shell` needs the network."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A place to work in that looks like the repository, but for what the blocks leave behind."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")], ids=lambda page: page.name)
def test_what_is_to_be_typed_runs(page: Path, folder: Path) -> None:
    script = "set -euo pipefail\n" + "\n".join(blocks(page, "sh"))
    if "import sol-execbench" not in script.split("kictl ")[1]:
        import_folder(FIXTURE, folder / "c.sqlite")
        script = f"export KICTL_CATALOG=c.sqlite\n{script}"
    done = shell(script, cwd=folder)
    assert done.code == 0, done
    assert [int(code) for code in re.findall("^exit code ([0-9]+)$", done.out, re.MULTILINE)] == EXIT_CODES.get(
        page.name, []
    )


def test_the_demo_runs_twice(tmp_path: Path) -> None:
    (tmp_path / "fixtures").mkdir()
    for name in ("demo.sh", "leaderboard"):
        (tmp_path / "fixtures" / name).symlink_to(ROOT / "fixtures" / name)
    first = shell("sh fixtures/demo.sh", cwd=tmp_path)
    assert first.code == 0, first
    assert "\n2 ac4k      19969" in first.out
    assert "\n1 doubleAI  19900" in first.out
    assert shell("sh fixtures/demo.sh", cwd=tmp_path).out == first.out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_in_the_help_run(command: str, folder: Path) -> None:
    help_text = kictl(command, "--help").out
    below = re.findall(r"^  ([a-z-]+) ", help_text.partition("\nCommands:\n")[2], re.MULTILINE)
    helps = [help_text, *(kictl(command, name, "--help").out for name in below)]
    for _ in range(2):  # some examples are about two imports
        import_folder(FIXTURE, folder / "c.sqlite")
    for text in helps:
        examples = re.findall(r"^  Example: (kictl .*?)\n\n", text, re.MULTILINE | re.DOTALL)
        assert examples, text
        for example in examples:
            done = shell(" ".join(example.split()), cwd=folder, KICTL_CATALOG="c.sqlite")
            assert done.code in (0, 1), (example, done)


def test_every_command_has_its_section_with_an_example() -> None:
    page = (ROOT / "docs/commands.md").read_text("utf-8")
    sections = dict(re.findall(r"^## kictl ([a-z-]+)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    assert sections.keys() == COMMANDS.keys()
    for name, text in sections.items():
        assert re.search(rf"^(.*\| )?kictl {name}\b", text, re.MULTILINE), name


def test_the_readme_has_every_exit_code() -> None:
    for page in (ROOT / "README.md", ROOT / "docs/exit-codes.md"):
        codes = {int(code) for code in re.findall(r"^\| ([0-9]+) \|", page.read_text("utf-8"), re.MULTILINE)}
        assert {0, 1} | {kind.exit_code for kind in ERRORS} <= codes


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        if target.startswith("https://"):
            continue
        linked = (page.parent / path).resolve() if path else page
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            dead.append(target)
    assert dead == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in readme] == []


def test_nothing_names_this_machine() -> None:
    for page in PAGES:
        assert not re.search(r"/(work|home|root|Users)/", page.read_text("utf-8")), page.name


def words_in_code() -> Iterator[str]:
    """Every text that is given as the `code` of an error, and the codes that the kinds of error have by default."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.Constant):
                yield str(node.value.value)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_TransientError":
                yield ast.literal_eval(node.args[1])
    yield from (error.default_code for error in ERRORS)


def test_the_words_of_errors_are_those_that_the_page_names() -> None:
    rows = re.findall(r"^\| \d+ \| (`.*) \|$", (ROOT / "docs" / "exit-codes.md").read_text("utf-8"), re.MULTILINE)
    named = {word for row in rows for word in re.findall("`([a-z_]+)`", row)}
    assert named == set(words_in_code())
