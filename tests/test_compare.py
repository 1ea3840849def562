"""Comparing runs: what decides, every reason in its order, and the figures where there are any."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from boards import HOSTILE, Json, detail, imported, row
from kictl import canonical, comparability
from kictl.catalogue.store import Catalogue
from kictl.comparability import CHECKS, WHY, Facts
from kictl.errors import UsageError
from kictl.normalize.build import manifest
from kictl.workflow import dossier, pairing
from leaderboards import FIXTURE, import_folder
from processes import Done, kictl

DEFINITION = "042_moe_expert_load_balancing_and_token_capacity_backward"
BASE = Facts(
    definition="norm",
    operation="sha256:o",
    workload="sha256:w",
    is_suite=True,
    cases=2,
    gpu="NVIDIA B200",
    environment="sha256:e",
    stack="v1.1",
    family="sol_execbench_leaderboard",
    harness="stack",
    protocol="sha256:p",
    correctness="sha256:c",
    status="passed",
    metric="latency:mean:ns",
    key=None,
    bounds="sha256:b",
)
CHANGES: dict[str, Json] = {
    "different-definition": {"definition": "rope", "operation": "sha256:o2", "workload": "sha256:w2"},
    "different-operation": {"operation": "sha256:o2", "workload": "sha256:w2"},
    "different-suite": {"workload": "sha256:w2"},
    "suite-and-case": {"workload": "sha256:w2", "is_suite": False, "cases": None, "correctness": "sha256:c2"},
    "different-workload": {"workload": "sha256:w2", "is_suite": None, "cases": None, "correctness": None},
    "different-gpu": {"gpu": "NVIDIA H200", "environment": "sha256:e2"},
    "different-stack": {"stack": "v1.0", "protocol": "sha256:p2", "environment": "sha256:e2"},
    "leaderboard-and-harness": {
        "stack": None,
        "family": "sol_execbench_trace",
        "protocol": "sha256:p2",
        "environment": "sha256:e2",
    },
    "different-protocol": {"protocol": "sha256:p2"},
    "different-environment": {"environment": "sha256:e2"},
    "different-correctness": {"correctness": "sha256:c2"},
    "not-passed": {"status": "timeout"},
    "no-measurement": {"metric": None},
    "different-metric": {"metric": "latency:median:ns"},
}


def codes(*runs: Facts) -> list[str]:
    return [reason.code for reason in comparability.verdict(runs).reasons]


@pytest.mark.parametrize("code", CHANGES)
def test_each_difference_has_its_own_reason(code: str) -> None:
    """Found whichever run comes first, and among runs that are equal; told with what each of them has."""
    other = BASE._replace(**CHANGES[code])
    assert codes(BASE, other) == codes(other, BASE) == codes(BASE, BASE, other) == [code]
    assert len(comparability.verdict([BASE, other]).reasons[0].values) == 2
    assert code in WHY


def test_equal_facts_are_comparable() -> None:
    verdict = comparability.verdict([BASE, BASE, BASE])
    assert (verdict.comparable, verdict.reasons, verdict.caveats) == (True, (), ())


def test_two_cases_of_one_definition() -> None:
    case = BASE._replace(is_suite=False, cases=None)
    assert codes(case, case._replace(workload="sha256:w2")) == ["different-case"]


def test_two_definitions_of_one_signature_are_two() -> None:
    """They make the same operation, suite and comparison key, and compute different things."""
    assert codes(BASE, BASE._replace(definition="another name")) == ["different-definition"]


def test_unknown_facts_are_no_difference() -> None:
    unknown = BASE._replace(operation=None, is_suite=None, cases=None, gpu=None, stack=None, family=None, harness=None)
    assert codes(BASE, unknown._replace(correctness=None, bounds=None)) == []


def test_moved_bounds_restrict_but_do_not_forbid() -> None:
    verdict = comparability.verdict([BASE, BASE._replace(bounds="sha256:b2")])
    assert verdict.comparable
    assert [caveat.code for caveat in verdict.caveats] == ["different-bounds"]


def test_the_most_material_reason_comes_first() -> None:
    """In the order: definition, suite, GPU, stack, correctness, metric, bounds."""
    changes = ["different-gpu", "different-stack", "different-correctness", "no-measurement"]
    other = BASE
    for code in changes:
        other = other._replace(**CHANGES[code])
    assert codes(BASE, other) == changes
    assert codes(BASE, other._replace(bounds="sha256:b2")) == [*changes, "different-bounds"]
    assert codes(BASE, other._replace(**CHANGES["different-definition"])) == ["different-definition", *changes]
    assert codes(BASE, other._replace(workload="sha256:w2")) == ["different-suite", *changes]
    assert len(CHECKS) == 6


def test_values_are_told_with_who_has_them() -> None:
    assert comparability.spread(["x", None, "x"]) == "x (A, C), not known (B)"


# Runs of a catalogue and files


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two definitions, two GPUs, two stacks; `1` and `2` are of one cohort, `2` and `6` of one author."""
    folder = tmp_path_factory.mktemp("compare")
    norm, rope = detail(1, "001_norm"), detail(2, "002_rope", cases=3)
    rows = [
        row(1, "a", 0.004),
        row(2, "b", 0.005, day=2),
        row(3, "c", 0.004, evaluation_stack_version="v1.0"),
        row(4, "d", 0.003, gpu_type="H200"),
        row(5, "e", 0.003, gpu_type="H200", evaluation_stack_version="v1.0"),
        row(6, "b", 0.0041, day=3),
        row(9, "bad", 0.001, is_correct=False),
    ]
    return imported(folder / "board", folder / "c.sqlite", [(norm, rows), (rope, [row(7, "a", 0.007)])])


@pytest.fixture
def catalogue(path: Path) -> Iterator[Catalogue]:
    with Catalogue.open(path) as opened:
        yield opened


def paired(catalogue: Catalogue | None, *names: str | Path, **options: Any) -> pairing.Pairing:
    return pairing.pair(catalogue, [str(name) for name in names], io.BytesIO(), **options)


def reasons(found: pairing.Pairing) -> list[str]:
    return [reason.code for reason in found.verdict.reasons]


def caveats(found: pairing.Pairing) -> list[str]:
    return [reason.code for reason in found.verdict.caveats]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("1", "3"), ["different-stack"]),
        (("1", "4"), ["different-gpu"]),
        (("1", "5"), ["different-gpu", "different-stack"]),
        (("1", "7"), ["different-definition"]),
        (("1", "2"), []),
        (("1", "2", "6"), []),
        (("1", "2", "4", "7"), ["different-definition", "different-gpu"]),
    ],
)
def test_what_a_catalogue_has(catalogue: Catalogue, names: tuple[str, ...], expected: list[str]) -> None:
    found = paired(catalogue, *names)
    assert reasons(found) == expected
    assert bool(found.measured) is not bool(expected)


def test_figures_of_what_may_be_compared(catalogue: Catalogue) -> None:
    """The baseline is 10 µs and the bound 1 µs, so that 4 µs close six ninths of the gap."""
    found = paired(catalogue, "2", "1", "6")
    assert [m.value for m in found.measured] == [5000, 4000, 4100]
    assert [m.ratio for m in found.measured] == [1.25, 1.0, 1.025]
    assert [m.difference for m in found.measured] == [1000, 0, 100]
    assert [m.closed for m in found.measured] == pytest.approx([5 / 9, 6 / 9, 5.9 / 9])
    assert [m.rank for m in found.measured] == [3, 1, 2]


def test_with_best_adds_the_first_once(catalogue: Catalogue) -> None:
    found = paired(catalogue, "2", with_best=True)
    assert [(run.dossier and run.dossier.row.submission, run.added) for run in found.runs] == [
        ("2", False),
        ("1", True),
    ]
    assert len(paired(catalogue, "1", "2", with_best=True).runs) == 2


def bundle(catalogue: Catalogue, name: str) -> Json:
    it = dossier.dossier(catalogue, name)
    assert it.protocol is not None
    assert it.environment is not None
    return {"run": it.run.document, "protocol": it.protocol.document, "environment": it.environment.document}


def written(folder: Path, name: str, value: Any) -> Path:
    (folder / name).write_bytes(canonical.to_json(value))
    return folder / name


def test_a_file_of_a_known_run_is_that_run(catalogue: Catalogue, tmp_path: Path) -> None:
    file = written(tmp_path, "one.json", bundle(catalogue, "1"))
    found = paired(catalogue, file, "1")
    assert found.runs[0].dossier is not None
    assert (reasons(found), caveats(found)) == ([], ["same-run"])


def test_files_alone_need_no_catalogue(catalogue: Catalogue, tmp_path: Path) -> None:
    files = {name: written(tmp_path, f"{name}.json", bundle(catalogue, name)) for name in "12347"}
    same = paired(None, files["1"], files["2"])
    assert (reasons(same), [m.difference for m in same.measured]) == ([], [0, 1000])
    assert reasons(paired(None, files["1"], files["3"])) == ["different-stack"]
    assert reasons(paired(None, files["1"], files["4"])) == ["different-gpu"]
    assert reasons(paired(None, files["1"], files["7"])) == ["different-definition"]
    runs = [written(tmp_path, f"run{name}.json", bundle(catalogue, name)["run"]) for name in "13"]
    assert reasons(paired(None, *runs)) == ["different-protocol"]


def harness(it: dossier.Dossier, workload: str, *, timing: bool = True) -> Json:
    """A bundle of a run of the harness on a workload, on the same GPU."""
    protocol = manifest(
        "BenchmarkProtocol",
        {"name": "harness"},
        {
            "harness": {"name": "sol-execbench"},
            "measurement": {"timer": "harness_reported", "primaryStatistic": "mean"},
            "comparability": {"family": "sol_execbench_trace"},
        },
    )
    assert it.environment is not None
    hardware = it.environment.spec["hardware"]
    environment = manifest("ExecutionEnvironment", {"name": "box"}, {"hardware": hardware, "software": {}})
    spec = {
        "implementationDigest": it.run.spec["implementationDigest"],
        "workloadDigest": str(workload),
        "protocolDigest": str(protocol.digest),
        "environmentDigest": str(environment.digest),
        "status": "passed" if timing else "timeout",
        "sourceNative": {"source": "sol-execbench", "benchmark": it.row.definition},
        "observedAt": "2026-07-01T00:00:00.000Z",
    }
    if timing:
        spec["timing"] = {"primaryStatistic": "mean", "latencyNs": {"mean": 3900}}
    run = manifest("BenchmarkRun", {"name": "mine"}, spec)
    return {"run": run.document, "protocol": protocol.document, "environment": environment.document}


def cases(catalogue: Catalogue, it: dossier.Dossier) -> list[str]:
    operation = it.workload and it.workload.spec["operationSpecDigest"]
    return [
        str(m.digest)
        for m in catalogue.manifests()
        if m.kind == "WorkloadCase" and m.spec["operationSpecDigest"] == operation
    ]


def test_a_harness_run_is_no_leaderboard_run(catalogue: Catalogue, tmp_path: Path) -> None:
    it = dossier.dossier(catalogue, "1")
    suite = written(tmp_path, "suite.json", harness(it, it.run.spec["workloadDigest"]))
    found = paired(catalogue, "1", suite)
    assert reasons(found) == ["leaderboard-and-harness"]
    assert "SOL-ExecBench evaluation stack (A), sol-execbench (B)" in found.verdict.reasons[0].message
    case, other = (written(tmp_path, f"{n}.json", harness(it, c)) for n, c in enumerate(cases(catalogue, it)[:2]))
    assert reasons(paired(catalogue, "1", case)) == ["suite-and-case", "leaderboard-and-harness"]
    assert reasons(paired(catalogue, suite, case)) == ["suite-and-case"]
    assert reasons(paired(catalogue, case, other)) == ["different-case"]
    failed = written(tmp_path, "failed.json", harness(it, it.run.spec["workloadDigest"], timing=False))
    assert reasons(paired(catalogue, suite, failed)) == ["not-passed", "no-measurement"]


def test_one_submission_under_moved_bounds_says_so(tmp_path: Path) -> None:
    """Its latency is the same, its score another: the source made it with other bounds."""
    path = tmp_path / "c.sqlite"
    old, new = detail(1, "001_norm"), detail(1, "001_norm", sol_ms=0.002)
    still = row(2, "b", 0.005)
    imported(tmp_path / "1", path, [(old, [row(1, "a", 0.004, sol_score=0.75), still])])
    with Catalogue.open(path) as catalogue:
        first = dossier.dossier(catalogue, "1").run.digest
    imported(tmp_path / "2", path, [(new, [row(1, "a", 0.004, sol_score=0.8), still])])
    with Catalogue.open(path) as catalogue:
        found = paired(catalogue, first, "1")
        assert found.verdict.comparable
        assert caveats(found) == ["same-submission", "not-current", "moved-bounds", "different-bounds"]
        assert [m.ratio for m in found.measured] == [1.0, 1.0]
        assert [m.closed for m in found.measured] == pytest.approx([6 / 8, 6 / 8])
        assert [m.rank for m in found.measured] == [None, 1]
        assert caveats(paired(catalogue, "1", "2")) == ["moved-bounds", "different-bounds"]
        it = dossier.dossier(catalogue, "2")
        assert it.observed_bounds is not None
        assert it.bounds is not None
        assert it.observed_bounds.digest != it.bounds.digest
        assert [version.import_id for version in it.bounds_versions] == [1, 2]


# As a process


def run(path: Path, *arguments: str | Path, **environment: str) -> Done:
    return kictl("compare", *arguments, "--catalog", path, stdin=b"", stdout=None, **{"COLUMNS": "80", **environment})


def test_comparable_at_80_columns(path: Path) -> None:
    done = run(path, "1", "6")
    assert (done.code, done.err) == (0, "")
    assert done.out.split("\n\n")[0] == (
        "comparable\n"
        "001_norm · B200 · stack v1.1 · 2 cases · latency (mean, lower is better)\n"
        "  run author        µs   ratio  + µs gap closed    SOL rank\n"
        "───────────────────────────────────────────────────────────\n"
        "      SOL bound  1.000 0.2500×            100 %\n"
        "A 1   a          4.000  1.000×     –     66.7 % 0.7500    1\n"
        "B 6   b          4.100 ≈1.025× 0.100     65.6 % 0.7438    2\n"
        "      baseline  10.000  2.500×              0 %\n"
        "gap closed: how far the latency has come from the scoring baseline to the SOL\n"
        "bound\n"
        "≈ within 5 % of the best: inside the run-to-run noise"
    )
    fields = [line.split() for line in done.out.splitlines()]
    assert ["=", "GPU", "NVIDIA", "B200", "NVIDIA", "B200"] in fields
    assert ["≠", "author", "a", "b"] in fields


def test_refused_with_every_reason(path: Path) -> None:
    done = run(path, "1", "5", "--explain")
    assert (done.code, done.err) == (1, "")
    assert done.out.split("\n\n")[0] == (
        "not comparable\n"
        "1. different GPUs: NVIDIA B200 (A), NVIDIA H200 (B)\n"
        "   results on different GPUs say as much about the GPUs as about the kernels\n"
        "2. different evaluation stacks: v1.1 (A), v1.0 (B)\n"
        "   versions of the evaluation stack time differently; v1.0 and v1.1 are not\n"
        "   comparable"
    )
    heads = [line for line in done.out.splitlines() if "gap closed" in line or " ratio " in line or " rank" in line]
    assert heads == []


def test_json_of_both_verdicts(path: Path) -> None:
    fine, refused = json.loads(run(path, "1", "2", "--json").out), json.loads(run(path, "1", "4", "--json").out)
    assert (fine["comparable"], fine["reasons"]) == (True, [])
    assert [item["ratio"] for item in fine["runs"]] == [1.0, 1.25]
    assert refused["comparable"] is False
    assert [(r["code"], r["values"]) for r in refused["reasons"]] == [("different-gpu", ["NVIDIA B200", "NVIDIA H200"])]
    assert {item["rank"] for item in refused["runs"]} == {None}
    differing = [field["field"] for field in refused["fields"] if field["differs"] and field["decides"]]
    assert differing == ["GPU", "environment"]


def test_csv_has_a_line_per_run(path: Path) -> None:
    lines = list(csv.DictReader(io.StringIO(run(path, "1", "4", "--format", "csv").out)))
    assert [(line["submission"], line["comparable"], line["reasons"]) for line in lines] == [
        ("1", "no", "different-gpu"),
        ("4", "no", "different-gpu"),
    ]


def test_eight_runs_side_by_side(path: Path) -> None:
    names = ["1", "2", "6", "1", "2", "6", "1", "2"]
    done = run(path, *names)
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.count("what decides") == 2
    wide = run(path, *names, COLUMNS="140")
    assert wide.out.count("what decides") == 1
    assert max(map(len, wide.out.splitlines())) <= 140


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        ([], 2, "either runs or --definition"),
        (["1", "-d", "001"], 2, "either runs or --definition"),
        (["1"], 2, "2 to 8"),
        (["1"] * 9, 2, "2 to 8"),
        (["1", "2", "--gpu", "B200"], 2, "--definition only"),
        (["-d", "001", "--with-best"], 2, "runs only"),
        (["1", "nothing"], 2, "no run in the catalogue is called 'nothing'"),
        (["1", "9"], 2, "submission 9 by bad is not a run: not-correct"),
        (["1", "no/such/file.json"], 3, "No such file"),
        (["1", "pyproject.toml"], 2, "no run in the catalogue"),
        (["1", "./pyproject.toml"], 3, "./pyproject.toml"),
        (["1", "fixtures/manifests/good/BenchmarkProtocol-minimal.json"], 3, "not a valid BenchmarkRun"),
        (["1", "fixtures/manifests/bad/Bundle-swapped.json"], 3, "Bundle-swapped"),
    ],
)
def test_what_cannot_be_compared_is_refused(path: Path, arguments: list[str], code: int, word: str) -> None:
    done = run(path, *arguments)
    assert (done.code, done.out) == (code, "")
    assert word in done.err
    assert "Traceback" not in done.err


def test_digests_from_six_digits_on(catalogue: Catalogue) -> None:
    digest = dossier.dossier(catalogue, "1").run.digest
    for name in (digest, digest[7:], digest[:13], digest[7:13], f"run/{digest[7:20]}", "submission/1"):
        assert dossier.dossier(catalogue, name).row.submission == "1"
    with pytest.raises(UsageError, match="no run in the catalogue"):
        dossier.dossier(catalogue, digest[7:12])


def test_from_stdin(path: Path, catalogue: Catalogue) -> None:
    data = canonical.to_json(bundle(catalogue, "2"))
    done = kictl("compare", "1", "-", "--catalog", path, stdin=data, COLUMNS="80")
    assert (done.code, done.out.partition("\n")[0]) == (0, "comparable")


# The form for a definition


@pytest.fixture(scope="module")
def fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fixture") / "c.sqlite"
    import_folder(FIXTURE, path)
    return path


def test_a_definition_explained(fixture: Path) -> None:
    done = run(fixture, "-d", "042_moe", "--explain")
    assert done.code == 0
    assert done.out.startswith(
        f"{DEFINITION}\n"
        "B200 · stack v1.1 · 16 cases · 2 runs by 2 authors\n"
        "sol-execbench · ranked by latency (mean, lower is better)\n"
        "comparison key sha256:5c170b686aa8… · bounds sha256:009d86455311…\n"
        "# author       id     µs   ratio    SOL speedup faster date       digest\n"
        "──────────────────────────────────────────────────────────────────────────\n"
        "  SOL bound        2.024 0.2800×\n"
        "1 doubleAI  19900  7.229  1.000× 0.7261  2.502×  16/16 2026-07-10 3f1c5764\n"
        "2 ac4k      19969  7.699  1.065× 0.7113  2.330×  16/16 2026-07-10 deb0ae25\n"
        "  baseline        16.936  2.343×\n"
    )
    assert "\nB200 · stack v1.0 · 16 cases is separate from the first table (A):\n" in done.out
    assert "\n  different evaluation stacks: v1.1 (A), v1.0 (B); " in done.out


def test_excluded_explained(fixture: Path) -> None:
    done = run(fixture, "-d", "042_rms", "--explain", COLUMNS="140")
    assert "\nnot ranked: 1 disqualified, 3 no-latency, 1 no-time, 4 not-completed, 2 not-correct\n" in done.out
    assert "\n  disqualified: the source disqualified it\n" in done.out
    apart = json.loads(run(fixture, "-d", "042_rms", "--explain", "--json").out)["apart"]
    assert apart == [["different-stack"], ["different-stack"], ["different-gpu"]]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    rows = [row(number, name, 0.004 + number / 1e6) for number, name in enumerate(HOSTILE, start=1)]
    return imported(folder / "board", folder / "c.sqlite", [(detail(1, "001_norm"), rows)])


@pytest.mark.parametrize("columns", ["80", "140"])
@pytest.mark.parametrize("form", ["table", "markdown", "csv"])
@pytest.mark.parametrize("what", [("-d", "001"), tuple(map(str, range(1, 9))), ("8", "9", "10", "11")])
def test_hostile_names_do_nothing(hostile: Path, columns: str, form: str, what: tuple[str, ...]) -> None:
    done = run(hostile, *what, "--format", form, COLUMNS=columns, TERM="dumb", NO_COLOR="1")
    assert (done.code, done.err) == (0, "")
    assert not {"\x1b", "\u202e", "\t"} & set(done.out)
    if form == "table":
        assert max(map(len, done.out.splitlines())) <= int(columns)
    if form == "markdown":
        assert "<script>" not in done.out.replace("\\<", "")
        rows = [line for line in done.out.splitlines() if line.startswith("|")]
        assert len({line.replace("\\\\", "").replace("\\|", "").count("|") for line in rows}) <= 2
    if form == "csv":
        cells = [cell for line in csv.reader(io.StringIO(done.out)) for cell in line]
        assert not [cell for cell in cells if cell.startswith(("=", "@"))]
