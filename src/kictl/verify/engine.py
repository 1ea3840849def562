"""Running the rules over a stream of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kictl.documents import Document, Lines
from kictl.errors import UsageError
from kictl.model import Finding
from kictl.verify.checker import Checker
from kictl.verify.context import Context, Nothing
from kictl.verify.registry import RULES, chosen, in_order
from kictl.verify.report import Collector, Report
from kictl.verify.together import Together


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked. `expect` is the digest that the one manifest, or the one bundle's run, must have."""

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

    Raises UsageError for an unknown rule, and for `expect` with other than one manifest; what the documents
    raise while they are read (InputError) passes through.
    """
    options, context = options or Options(), context or Nothing()
    wanted = chosen(options.select, options.ignore)
    collector, checker = Collector(), Checker(wanted, context, options.expect)
    checked = manifests = unreadable = expected = 0
    missed = dict.fromkeys(RULES, 0)
    for batch in documents:
        checker.check(batch)
        outcome = checker.take()
        collector.add(outcome.findings)
        checked += outcome.checked
        manifests += outcome.manifests
        unreadable += outcome.unreadable
        expected += outcome.matched
        for rule, count in outcome.missed.items():
            missed[rule] += count
    if options.expect is not None and (checked != 1 or expected > 1):
        raise UsageError(f"--expect is for one manifest or bundle, not {checked}", code="expect_many")
    together = Together(context, closed=options.closed)
    collector.add(finding for finding in together.findings(checker.facts) if finding.rule in wanted)
    collector.add(finding for finding in extra if finding.rule in wanted)
    for rule, count in together.missed.items():
        missed[rule] += count
    severities = collector.severities
    return Report(
        checked=checked,
        manifests=manifests,
        errors=severities["error"],
        warnings=severities["warning"],
        infos=severities["info"],
        findings=collector.ordered(),
        rules=dict(sorted(collector.rules.items())),
        not_run=tuple(_not_run(wanted, context, missed)),
        unreadable=checked == unreadable == 1,
    )


_ABSENT = {"bounds": "no bounds at hand", "source": "no source to compare with", "catalogue": "no catalogue"}


def _not_run(wanted: frozenset[str], context: Context, missed: dict[str, int]) -> Iterator[tuple[str, str]]:
    for rule in in_order():
        if rule.id not in wanted:
            continue
        if rule.needs in _ABSENT and rule.needs not in context.offers:
            yield rule.id, _ABSENT[rule.needs]
        elif missed[rule.id]:
            yield rule.id, f"{rule.needs} not at hand for {missed[rule.id]} of the runs"
