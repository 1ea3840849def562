"""Catalogues of many runs: importing, their size, and comparing in them."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from statistics import median

from bench import made, synthetic
from bench.measure import KICTL, PASS, RESULTS, Goal, Table, peak, process, processes
from kictl import canonical
from kictl.catalogue.migrations import STEPS
from kictl.catalogue.store import Catalogue
from kictl.catalogue.writer import ImportWriter
from kictl.model import Definition, Submission
from kictl.normalize import leaderboard
from kictl.sources.interface import DefinitionRef, Reading

COMPARED = 250
"""Runs of the definition that is compared, whatever the size of the catalogue."""


def importing(submissions: int, rounds: int) -> Table:
    """`kictl import` of a recorded leaderboard into a new catalogue, as a process."""
    source = RESULTS / f"leaderboard-{submissions}"
    if not source.exists():
        synthetic.write(source, submissions)
    catalogue = RESULTS / "imported.sqlite"
    command = [KICTL, "import", "sol-execbench", "--from", str(source), "--catalog", str(catalogue)]
    seconds = []
    for _ in range(rounds):
        catalogue.unlink(missing_ok=True)
        seconds.append(process(command)())
    catalogue.unlink()
    table = Table(f"Import of {submissions} recorded submissions, as a process", "s", {"kictl import": seconds})
    table.goals.append(Goal("import", submissions / median(seconds), "≥", 10_000, "submissions/s"))
    table.goals.append(Goal("import, peak", peak(command), "≤", 250, "MiB"))
    return table


def size(runs: int) -> Table:
    """The catalogue's file against the JSON in it: the manifests, and the source's rows that they were made from."""
    path = built(runs)
    with Catalogue.open(path) as catalogue:
        manifests = [len(canonical.to_json(manifest.document)) for manifest in catalogue.manifests()]
        bodies = catalogue.db.execute("SELECT body FROM evidence")
        rows = sum(len(canonical.to_json(row)) for (body,) in bodies for row in catalogue.codec.unpack(body))
    table = Table(f"A catalogue of {len(manifests)} manifests, from {runs} rows", "MB")
    table.figures = {
        "manifests as JSON": sum(manifests) / 1e6,
        "all that it holds as JSON": (sum(manifests) + rows) / 1e6,
        "catalogue": path.stat().st_size / 1e6,
    }
    table.goal("size, against all that it holds", "catalogue", "all that it holds as JSON", "≤", 0.4)
    table.goal("size, against the manifests alone", "catalogue", "manifests as JSON", "≤", 0.4)
    return table


def comparing(small: int, large: int, rounds: int) -> Table:
    """`kictl compare` of a definition with as many runs, in a small and in a large catalogue."""
    commands: dict[str, list[str]] = {"python -c pass": [*PASS]}
    for runs in (small, large):
        compare = [KICTL, "compare", "--catalog", str(built(runs)), "--definition"]
        commands[f"of {runs} runs"] = [*compare, "001", "--limit", "20"]
        commands[f"of {runs} runs, --json"] = [*compare, "001", "--limit", "20", "--json"]
    commands[f"of {large} runs, one with {large // made.DEFINITIONS} of them"] = [*compare, "002", "--limit", "20"]
    table = Table(f"Compare {COMPARED} runs, as a process", "ms", processes(commands, rounds))
    table.goal("compare", f"of {large} runs", f"of {small} runs", "≤", 1.3)
    table.goal("compare", f"of {small} runs", "python -c pass", "≤", 15)
    table.goal("compare", f"of {large} runs", "python -c pass", "≤", 15)
    return table


def built(runs: int) -> Path:
    """A catalogue with so many runs, written by the catalogue's own writer; kept until its schema changes."""
    path = RESULTS / f"catalogue-{canonical.digest(STEPS).short}-{runs}.sqlite"
    if not path.exists():
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        with Catalogue.create(new) as catalogue:
            _fill(catalogue, runs)
        new.replace(path)
    return path


def _fill(catalogue: Catalogue, runs: int) -> None:
    writer = ImportWriter.begin(
        catalogue, source=leaderboard.SOURCE, origin="made up", selection={}, version="0", resume=False
    )
    others = (runs - COMPARED) // (made.DEFINITIONS - 1)
    numbers = count(1)
    for number in range(1, made.DEFINITIONS + 1):
        last = runs - COMPARED - others * (made.DEFINITIONS - 2)
        wanted = {1: COMPARED, made.DEFINITIONS: last}.get(number, others)
        writer.add(*_reading(made.definition(number), [next(numbers) for _ in range(wanted)]))


def _reading(definition: Definition, numbers: list[int]) -> tuple[Reading, tuple[Submission, ...]]:
    submissions = tuple(leaderboard.submission(made.row(number, definition), definition) for number in numbers)
    reading = Reading(
        ref=DefinitionRef(definition.external_id or "", definition.name),
        definition=definition,
        submissions=submissions,
        expected=len(submissions),
        received=len(submissions),
        complete=True,
    )
    return reading, submissions
