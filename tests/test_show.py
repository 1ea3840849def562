"""Dossiers: what they hold, in which order; what names mean; notes and citations."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from boards import HOSTILE, detail, imported, row
from kictl import canonical
from kictl.catalogue.dossiers import ImportRow
from kictl.catalogue.store import Catalogue
from kictl.errors import UsageError
from kictl.render import citation
from kictl.workflow import dossier, naming, pairing, showing
from kictl.workflow.dossier import Dossier, Ineligible
from leaderboards import FIXTURE, database, import_folder
from processes import Done, kictl, shell

RUN = "sha256:deb0ae259fd84c5e3321ed2b634493bcfbbe08ba88b3646967d236453e2c8bc6"
KEY = "sha256:5c170b686aa8ebc62ab7f7aef5d4019f0e004133d9a62577e8141de4f1ee1104"
MOE = "042_moe_expert_load_balancing_and_token_capacity_backward"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture, imported."""
    path = tmp_path_factory.mktemp("show") / "c.sqlite"
    import_folder(FIXTURE, path)
    return path


@pytest.fixture
def catalogue(path: Path) -> Iterator[Catalogue]:
    with Catalogue.open(path) as opened:
        yield opened


def show(path: Path, *arguments: str, **environment: str) -> Done:
    return kictl("show", *arguments, "--catalog", path, stdin=b"", stdout=None, **{"COLUMNS": "80", **environment})


# What a dossier holds


def test_the_published_record(catalogue: Catalogue) -> None:
    """The facts of the run's public page."""
    it = dossier.dossier(catalogue, "19969")
    assert it.run.digest == RUN
    assert it.cohort.key == KEY
    assert it.placing is not None
    assert (it.placing.rank, it.placing.runs, it.placing.author_rank, it.placing.authors) == (2, 2, 2, 2)
    assert it.placing.first.submission == "19900"
    assert it.placing.ratio_to_first == 7699 / 7229
    assert it.entry is not None
    assert it.entry.score is not None
    assert (it.entry.value, it.entry.score.fast_1_count, it.entry.score.fast_1_total) == (7699, 16, 16)
    assert it.row.standing == "current"
    assert it.findings == ()
    assert it.facts["worker_id"] == "external-prod-b200-modal-1"
    for manifest in (it.implementation, it.project, it.subject, it.workload, it.protocol, it.environment):
        assert manifest is not None
        assert canonical.identity(manifest.document) == manifest.digest


def test_findings_are_those_of_verify(catalogue: Catalogue) -> None:
    assert [f.rule for f in dossier.dossier(catalogue, "23001").findings] == ["bound/below-mean", "bound/vacuous"]


def test_rank_among_runs_and_among_authors(tmp_path: Path) -> None:
    rows = [row(1, "a", 0.003), row(2, "a", 0.004), row(3, "b", 0.005), row(4, "a", 0.0051), row(5, "c", 0.0051)]
    path = imported(tmp_path / "b", tmp_path / "c.sqlite", [(detail(1, "001_norm"), rows)])
    with Catalogue.open(path) as catalogue:
        places = {name: dossier.dossier(catalogue, name).placing for name in "12345"}
    found = {
        name: (p.rank, p.tied, p.near, p.author_rank, p.best and p.best.submission) for name, p in places.items() if p
    }
    assert found == {
        "1": (1, False, False, 1, None),
        "2": (2, False, False, 1, "1"),
        "3": (3, False, False, 2, None),
        "4": (4, True, True, 1, "1"),
        "5": (4, True, True, 3, None),
    }
    assert places["3"] is not None
    assert (places["3"].runs, places["3"].authors, places["3"].to_next) == (5, 3, 0.25)


def test_what_an_incomplete_listing_could_have_missed(tmp_path: Path) -> None:
    """The second import finds a row of the definition malformed that has the submission's id: it says nothing of it."""
    path, board = tmp_path / "c.sqlite", detail(1, "001_norm")
    imported(tmp_path / "1", path, [(board, [row(1, "a", 0.003), row(2, "b", 0.004)])])
    imported(tmp_path / "2", path, [(board, [row(1, "a", 0.003), row(2, "b", 0.004) | {"latency_ms": "fast"}])])
    imported(tmp_path / "3", path, [(board, [row(1, "a", 0.003), row(2, "b", 0.004)])])
    with Catalogue.open(path) as catalogue:
        assert dossier.dossier(catalogue, "1").history.seen_in == (1, 2, 3)
        history = dossier.dossier(catalogue, "2").history
    assert (history.seen_in, history.unsure) == ((1, 3), (2,))


def test_a_submission_becomes_a_run(tmp_path: Path) -> None:
    path, board = tmp_path / "c.sqlite", detail(1, "001_norm")
    imported(tmp_path / "1", path, [(board, [row(1, "a", None, status="PENDING_RESULT")])])
    with Catalogue.open(path) as catalogue:
        it = showing.show(catalogue, "1")
        with pytest.raises(UsageError, match="is not a run: not-completed, no-latency") as caught:
            dossier.dossier(catalogue, "1")
    assert isinstance(it, Ineligible)
    assert (it.row.reasons, caught.value.code) == (("not-completed", "no-latency"), "not_a_run")
    imported(tmp_path / "2", path, [(board, [row(1, "a", 0.004)])])
    with Catalogue.open(path) as catalogue:
        assert [e.what for e in dossier.dossier(catalogue, "1").history.events] == ["first-seen", "became-run"]


# What names mean


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("19969", "submission/19969"),
        ("submission/19969", "submission/19969"),
        ("deb0ae", f"run/{RUN}"),
        ("sha256:deb0ae25", f"run/{RUN}"),
        (RUN, f"run/{RUN}"),
        (RUN[7:], f"run/{RUN}"),
        ("run/deb0ae", f"run/{RUN}"),
        ("5c170b", f"cohort/{KEY}"),
        ("cohort/5c170b", f"cohort/{KEY}"),
        ("ac4k", "author/ac4k"),
        ("author/a | b", "author/a | b"),
        (MOE, f"definition/{MOE}"),
        ("moe_expert", f"definition/{MOE}"),
        ("definition/042_moe", f"definition/{MOE}"),
        ("115", "definition/115_patch_merge_windows"),
        ("import/1", "import/1"),
    ],
)
def test_one_meaning(catalogue: Catalogue, name: str, means: str) -> None:
    assert naming.subject(catalogue, name).name == means


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("042", "ambiguous_name"),
        ("definition/042", "ambiguous_name"),
        ("deb0a", "unknown_name"),
        ("run/19969", "unknown_name"),
        ("author/nobody", "unknown_name"),
        ("import/2", "unknown_name"),
        ("import/x", "unknown_name"),
        ("import/" + "9" * 30, "unknown_name"),
        ("", "unknown_name"),
        ("sha256:" + "0" * 64, "unknown_name"),
        ("x" * 5000, "unknown_name"),
    ],
)
def test_no_meaning_or_several(catalogue: Catalogue, name: str, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        naming.subject(catalogue, name)
    assert caught.value.code == code
    assert len(str(caught.value)) < 300


def test_ambiguous_names_are_refused_with_the_candidates(path: Path) -> None:
    done = show(path, "042")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "kictl: '042' could be 2 things\n"
        f"  definition/{MOE}\n"
        "  definition/042_rms_norm_fp8_quant\n"
        "  give one of these, or more digits\n"
    )


def test_an_author_cannot_take_a_definitions_name(tmp_path: Path) -> None:
    rows = [row(1, "001_norm", 0.004), row(2, "norm", 0.005), row(3, "2", 0.006)]
    path = imported(tmp_path / "b", tmp_path / "c.sqlite", [(detail(1, "001_norm"), rows)])
    with Catalogue.open(path) as catalogue:
        for name, candidates in (
            ("001_norm", ("definition/001_norm", "author/001_norm")),
            ("2", ("submission/2", "author/2")),
        ):
            with pytest.raises(UsageError) as caught:
                naming.subject(catalogue, name)
            assert caught.value.details == candidates
        assert naming.subject(catalogue, "norm").name == "author/norm"
        assert naming.run(catalogue, "2").author == "norm"


def test_two_sources_with_one_id(tmp_path: Path) -> None:
    path = imported(tmp_path / "b", tmp_path / "c.sqlite", [(detail(1, "001_norm"), [row(1, "a", 0.004)])])
    with database(path) as db:
        db.execute("INSERT INTO definition (source, external_id, name) VALUES ('other', '1', 'x')")
        apart = ("id", "definition_id", "author")
        names = ", ".join(c[1] for c in db.execute("PRAGMA table_info(submission)") if c[1] not in apart)
        db.execute(
            f"INSERT INTO submission (definition_id, author, {names})"
            f" SELECT (SELECT id FROM definition WHERE source = 'other'), 'b', {names} FROM submission"
        )
    with Catalogue.open(path) as catalogue:
        with pytest.raises(UsageError) as caught:
            naming.run(catalogue, "1")
        assert caught.value.details == ("submission/other/1", "submission/sol-execbench/1")
        assert naming.run(catalogue, "submission/sol-execbench/1").author == "a"


# Other subjects


def test_a_definition_an_author_an_import(catalogue: Catalogue) -> None:
    definitions = showing.show(catalogue, "042_rms")
    assert isinstance(definitions, tuple)
    (sheet,) = definitions
    assert [(c.cohort.gpu, c.cohort.stack, c.runs) for c in sheet.cohorts] == [
        ("B200", "v1.1", 16),
        ("B200", "v1.0", 2),
        ("B200", None, 1),
        ("H100", "v1.1", 2),
    ]
    author = showing.show(catalogue, "second-lab")
    assert isinstance(author, showing.AuthorSheet)
    assert [(e.cohort.definition[:3], e.cohort.gpu, e.rank, e.tied) for e in author.entered] == [
        ("011", "B200", 1, True),
        ("115", "B200", 1, False),
        ("230", "GB200", 1, False),
        ("230", "H200", 1, False),
    ]
    event = showing.show(catalogue, "import/1")
    assert isinstance(event, ImportRow)
    assert event.report is not None
    assert event.report["received"] == 60


@pytest.mark.parametrize("name", ["19969", "30743", "042_rms", "5c170b", "ac4k", "import/1"])
@pytest.mark.parametrize("form", ["table", "json", "markdown"])
def test_every_subject_in_every_form(path: Path, name: str, form: str) -> None:
    done = show(path, name, "--format", form)
    assert (done.code, done.err) == (0, "")
    if form == "json":
        kinds = {"1": "run", "3": "submission", "0": "definition", "5": "cohort", "a": "author", "i": "import"}
        assert json.loads(done.out)["kind"] == kinds[name[0]]
    if form == "table":
        assert max(map(len, done.out.splitlines())) <= 80


def test_the_dossier_reads_in_this_order(path: Path) -> None:
    done = show(path, "19969")
    assert done.out.startswith(
        f"ac4k · {MOE} · B200 · stack\n"
        "v1.1 · 16 cases\n"
        "  latency           7.699 µs mean\n"
        "  rank              2 of 2 runs\n"
        "  rank of author    2 of 2 authors\n"
        "  to the first      1.065× of 19900 by doubleAI, 7.229 µs\n"
        "  to the next       6.50 % slower\n"
        "  to the SOL bound  3.804× of it\n"
        "  SOL score         0.7113\n"
        "  speedup           2.330× reference\n"
        "  faster            16/16 cases\n"
        "  observed          2026-07-10 06:07 UTC\n"
        "\n"
        "Identity\n"
        "  implementation         ac4k\n"
        "  implementation digest\n"
        "    sha256:2fd84da7897ec0a67946d23f526caa7f60fadfdf7a771960de403387d2a9e97f\n"
        "  project                ac4k\n"
        "  revision               submission-19969\n"
    )
    titles = [line for line in done.out.splitlines() if line and not line.startswith(" ")][2:]
    assert titles == [
        "Identity",
        "Correctness",
        "Workload",
        "Measurements",
        "Protocol",
        "Environment",
        "Artifacts",
        "Bounds",
        "Findings",
        "History",
        "Notes and replications",
        "What else the source says",
        "Canonical manifest",
    ]
    assert max(map(len, done.out.splitlines())) <= 80


def test_json_is_unrounded(path: Path) -> None:
    it = json.loads(show(path, "19969", "--json").out)
    assert it["ranking"]["ratio_to_first"] == 7699 / 7229
    assert (it["run_digest"], it["identity"]["comparison_key"]) == (RUN, KEY)
    assert canonical.identity(it["manifest"]["run"]) == RUN


def test_the_manifest_verifies(path: Path) -> None:
    done = show(path, "19969", "--manifest")
    verified = kictl("verify", "-", "--expect", RUN, stdin=done.out.encode())
    assert (verified.code, verified.err) == (0, "")


# Citations


def cited(path: Path, name: str, style: str) -> str:
    with Catalogue.open(path) as catalogue:
        return citation.FORMATS[style](dossier.dossier(catalogue, name), "2026-12-24")


def test_citations(path: Path) -> None:
    link = "ni:///sha-256;3rCuJZ_YTF4zIe0rY0STvPu-CLqIs2RpZ9I2RT4si8Y"
    assert cited(path, "19969", "text") == (
        f"ac4k. {MOE} on NVIDIA B200, stack v1.1: 7.699 µs. sol-execbench, submission 19969, 2026-07-10."
        f" {RUN}. {link}. Accessed 2026-12-24.\n"
    )
    assert cited(path, "19969", "bibtex") == (
        "@misc{sol-execbench-19969-deb0ae25,\n"
        "  author = {{ac4k}},\n"
        f"  title = {{{{{MOE.replace('_', chr(92) + '_')} on NVIDIA B200, stack v1.1: 7.699 µs}}}},\n"
        "  year = {2026},\n"
        "  month = {7},\n"
        "  howpublished = {sol-execbench, submission 19969},\n"
        f"  note = {{{RUN}, {link.replace('_', chr(92) + '_')}}},\n"
        "  urldate = {2026-12-24},\n"
        "}\n"
    )
    (item,) = json.loads(cited(path, "19969", "csl-json"))
    assert (item["version"], item["URL"], item["type"]) == (RUN, link, "dataset")
    assert item["issued"] == {"date-parts": [[2026, 7, 10]]}
    assert item["accessed"] == {"date-parts": [[2026, 12, 24]]}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    rows = [row(number, name, 0.004 + number / 1e6) for number, name in enumerate(HOSTILE, start=1)]
    return imported(folder / "board", folder / "c.sqlite", [(detail(1, "001_norm"), rows)])


@pytest.mark.parametrize("number", range(1, len(HOSTILE) + 1))
def test_hostile_names_in_citations(hostile: Path, number: int) -> None:
    """BibTeX counts braces, escaped or not; CSL reads tags as formatting."""
    bibtex = cited(hostile, str(number), "bibtex")
    author = next(line for line in bibtex.splitlines() if "author =" in line)
    assert author.startswith("  author = {{")
    assert author.endswith("}},")
    depth = 0
    for position, char in enumerate(author):
        depth += {"{": 1, "}": -1}.get(char, 0)
        assert depth > 0 or position < 11 or position >= len(author) - 2
    assert not re.search(r"(?<!\\)[$&#%_~^<>|]", author)
    csl = cited(hostile, str(number), "csl-json")
    assert not {"<", ">"} & set(json.loads(csl)[0]["author"][0]["literal"])
    for style in citation.FORMATS:
        assert not {"\x1b", "\u202e", "\t"} & set(cited(hostile, str(number), style))


def test_only_a_run_can_be_cited(path: Path) -> None:
    for arguments in (["042_rms", "--cite", "text"], ["30743", "--manifest"]):
        done = show(path, *arguments)
        assert (done.code, done.out) == (2, "")
        assert "is not a run" in done.err
    assert show(path, "19969", "--cite", "text", "--json").code == 2
    assert re.search(r"Accessed \d{4}-\d\d-\d\d\.\n$", show(path, "19969", "--cite", "text").out)


@pytest.mark.parametrize("columns", ["80", "140"])
@pytest.mark.parametrize("form", ["table", "markdown"])
def test_hostile_names_do_nothing(hostile: Path, columns: str, form: str) -> None:
    for name in ("5", "6", "10", "11", "author/[red]x[/red]", "author/<script>alert(1)</script>", "001_norm"):
        done = show(hostile, name, "--format", form, COLUMNS=columns, TERM="dumb", NO_COLOR="1")
        assert (done.code, done.err) == (0, "")
        assert not {"\x1b", "\u202e", "\t"} & set(done.out)
    assert "[red]x[/red]" in show(hostile, "2").out


# Notes


def test_a_note_changes_neither_evidence_nor_rank(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    import_folder(FIXTURE, path, definitions=("042_moe",))
    with Catalogue.open(path) as catalogue:
        before, digest = dossier.dossier(catalogue, "19969"), catalogue.digest()
    text = "7.9 µs on our B200\n\x1b[31mred\u202e | <b>"
    done = kictl("note", "19969", "--kind", "replication", "--text", text, "--catalog", path)
    assert done == Done(0, f"noted on {RUN}\n", "")
    assert kictl("note", "deb0ae", "-t", "second", "--catalog", path, "--json").code == 0
    with Catalogue.open(path) as catalogue:
        after = dossier.dossier(catalogue, "19969")
        assert catalogue.digest() == digest
    assert [(note.kind, note.text) for note in after.notes] == [("replication", text), ("note", "second")]
    for name in Dossier.__dataclass_fields__:
        if name != "notes":
            assert getattr(after, name) == getattr(before, name), name
    shown = show(path, "19969").out
    assert "7.9 µs on our B200\\x0a\\x1b[31mred\\u202e | <b>" in " ".join(shown.split())
    assert json.loads(show(path, "19969", "--json").out)["notes"][0]["text"] == text


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["19969", "--text", " \n"], 2, "needs a text"),
        (["19969", "--text", "x" * 4001], 2, "at most 4000"),
        (["30743", "--text", "x"], 2, "is not a run"),
        (["ac4k", "--text", "x"], 2, "no run"),
        (["19969", "--text", "x", "--kind", "proof"], 2, "proof"),
    ],
)
def test_notes_that_are_refused(path: Path, arguments: list[str], code: int, word: str) -> None:
    done = kictl("note", *arguments, "--catalog", path)
    assert (done.code, done.out) == (code, "")
    assert word in done.err


def test_a_note_makes_no_catalogue(tmp_path: Path) -> None:
    done = kictl("note", "1", "-t", "x", "--catalog", tmp_path / "none.sqlite")
    assert (done.code, list(tmp_path.iterdir())) == (5, [])


def test_a_note_in_bytes_that_are_no_text(path: Path) -> None:
    done = shell(f"kictl note 19969 --text $'\\xff' --catalog '{path}'")
    assert (done.code, done.out) == (2, "")
    assert "UTF-8" in done.err


# The whole of the published data


def test_every_run_of_the_corpus_has_a_dossier(shared: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    import_folder(shared / "corpus", path)
    expected = [json.loads(line) for line in (shared / "corpus/expected.jsonl").read_text("utf-8").splitlines()]
    with Catalogue.open(path) as catalogue:
        for line in expected:
            names = list(line["runs"])
            for name in names:
                it = dossier.dossier(catalogue, name)
                assert (it.run.digest, it.cohort.key) == (
                    line["runs"][name]["run"],
                    line["runs"][name]["comparison_key"],
                )
                assert it.placing is not None
            first = {line["runs"][name]["comparison_key"] for name in names[:8]}
            if len(names) > 1:
                found = pairing.pair(catalogue, names[:8], io.BytesIO())
                assert found.verdict.comparable == (len(first) == 1)
