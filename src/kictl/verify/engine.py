"""Running the rules over a stream of documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import chain
from typing import NamedTuple

from kictl.canonical import Digest
from kictl.documents import Document, Lines
from kictl.errors import UsageError
from kictl.model import Finding
from kictl.verify.checker import Checker
from kictl.verify.context import Context, Nothing
from kictl.verify.facts import Facts
from kictl.verify.parallel import outcomes
from kictl.verify.registry import RULES, by_name, chosen, declare, in_order
from kictl.verify.report import Report, Tally
from kictl.verify.together import Together


class Options(NamedTuple):
    """What is asked. `expect` is the digest that the one manifest, or the one bundle's run, must have.

    `allow_empty` says that there may be nothing to check. `jobs` processes share the lines of a long stream.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    closed: bool = False
    expect: str | None = None
    allow_empty: bool = False
    jobs: int = 1


def verify(
    documents: Iterable[Document | Lines],
    options: Options | None = None,
    context: Context | None = None,
    extra: Iterable[Finding] = (),
) -> Report:
    """Applies the rules to all documents, which are read once and not kept. `extra` findings join the report.

    Raises UsageError for an unknown rule, and where `expect` is no digest or there is not one manifest to expect
    it of; what the documents raise while they are read (InputError) passes through.
    """
    options, context = options or Options(), context or Nothing()
    wanted = chosen(options.select, options.ignore)
    if options.expect is not None:
        _check_digest(options.expect)
    # A context holds connections, which no other process may use.
    jobs = options.jobs if type(context) is Nothing and hasattr(os, "fork") else 1
    tally, together = Tally(), Together(context, closed=options.closed)
    results = outcomes(documents, lambda: Checker(wanted, context, options.expect), jobs)
    with closing(Facts()) as facts, closing(results):
        for part, records in results:
            tally.add(part)
            facts.absorb(records)
        late = chain(together.findings(facts), extra)
        for finding in late:
            if finding.rule in wanted:
                tally.tell(finding)
    if options.expect is not None and (tally.checked != 1 or not (tally.matched or tally.severities["error"])):
        manifests = tally.matched if tally.checked == 1 else tally.checked
        raise UsageError(f"--expect is for one manifest or bundle, not {manifests}", code="expect_many")
    not_run = tuple(_not_run(wanted, context, tally.missed + together.missed))
    for finding in _asked_in_vain(options, not_run):
        tally.tell(finding)
    nothing = None if options.allow_empty else _nothing(tally, wanted, context)
    return Report(
        checked=tally.checked,
        manifests=tally.manifests,
        errors=tally.severities["error"],
        warnings=tally.severities["warning"],
        infos=tally.severities["info"],
        findings=tally.ordered(),
        rules=dict(sorted(tally.rules.items())),
        not_run=not_run,
        unreadable=tally.checked == tally.unreadable == 1,
        nothing=nothing,
    )


def _check_digest(text: str) -> None:
    try:
        Digest(text)
    except ValueError as error:
        raise UsageError(f"--expect: {error}", code="expect_digest") from error


_ABSENT = {
    "bounds": "no bounds at hand (--catalog, or --against a source, has them)",
    "rows": "no rows of a source at hand (--against a source, or a snapshot as the path)",
    "source": "no source to compare with (--against catalog, live or a snapshot)",
    "catalogue": "for a catalogue that is itself verified (kictl verify without a path)",
}


NOT_RUN = declare(
    "collection/not-run",
    "error",
    "A rule that was asked for by name has to run, or its silence would be taken for a yes.",
    "--select source/differs without --against",
)


def _asked_in_vain(options: Options, not_run: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    named = by_name(options.select)
    for rule, reason in not_run:
        if rule in named:
            message = f"{rule} was asked for by name and could not run: {reason}"
            severity = RULES[NOT_RUN].severity
            yield Finding(NOT_RUN, severity, f"--select {rule}", message, "", f"{rule} to run", "not run")


def _nothing(tally: Tally, wanted: frozenset[str], context: Context) -> str | None:
    """Why nothing was checked; None where something was, or where a finding says so already."""
    if tally.severities["error"]:
        return None
    if not tally.checked:
        return "there was no document in what was to be read"
    if all(RULES[rule].needs in _ABSENT and RULES[rule].needs not in context.offers for rule in wanted):
        return "none of the rules that were chosen could run"
    return None


def _not_run(wanted: frozenset[str], context: Context, missed: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for rule in in_order():
        if rule.id not in wanted:
            continue
        if rule.needs in _ABSENT and rule.needs not in context.offers:
            yield rule.id, _ABSENT[rule.needs]
        elif missed.get(rule.id):
            yield rule.id, f"{rule.needs} not at hand for {missed[rule.id]} of the runs"
