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
from kictl.verify.registry import chosen, in_order
from kictl.verify.report import Report, Tally
from kictl.verify.together import Together


class Options(NamedTuple):
    """What is asked. `expect` is the digest that the one manifest, or the one bundle's run, must have.

    `jobs` processes share the lines of a long stream.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    closed: bool = False
    expect: str | None = None
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
    return Report(
        checked=tally.checked,
        manifests=tally.manifests,
        errors=tally.severities["error"],
        warnings=tally.severities["warning"],
        infos=tally.severities["info"],
        findings=tally.ordered(),
        rules=dict(sorted(tally.rules.items())),
        not_run=tuple(_not_run(wanted, context, tally.missed + together.missed)),
        unreadable=tally.checked == tally.unreadable == 1,
    )


def _check_digest(text: str) -> None:
    try:
        Digest(text)
    except ValueError as error:
        raise UsageError(f"--expect: {error}", code="expect_digest") from error


_ABSENT = {
    "bounds": "no bounds at hand",
    "rows": "no rows of a source at hand",
    "source": "no source to compare with",
    "catalogue": "no catalogue",
}


def _not_run(wanted: frozenset[str], context: Context, missed: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for rule in in_order():
        if rule.id not in wanted:
            continue
        if rule.needs in _ABSENT and rule.needs not in context.offers:
            yield rule.id, _ABSENT[rule.needs]
        elif missed.get(rule.id):
            yield rule.id, f"{rule.needs} not at hand for {missed[rule.id]} of the runs"
