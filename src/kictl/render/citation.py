"""A run as a reference: text, BibTeX and CSL-JSON, with its digest, a permanent name made of it, the access date."""

from __future__ import annotations

import base64
from typing import Any

from kictl import canonical, units
from kictl.canonical import Digest
from kictl.render import measure, numbers
from kictl.text import named, printable
from kictl.workflow.dossier import Dossier

# Braces by name: BibTeX counts them, escaped or not.
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}


def permalink(digest: Digest) -> str:
    """The name of the run by its content, as RFC 6920 writes it: it holds wherever a copy of the manifest is."""
    return f"ni:///sha-256;{base64.urlsafe_b64encode(digest.raw).decode().rstrip('=')}"


def text(dossier: Dossier, accessed: str) -> str:
    """One line of plain text."""
    return (
        f"{_author(dossier)}. {_title(dossier)}. {_publisher(dossier)}, {_number(dossier)},"
        f" {numbers.day(dossier.run.spec['observedAt'])}. {dossier.run.digest}. {permalink(dossier.run.digest)}."
        f" Accessed {accessed}.\n"
    )


def bibtex(dossier: Dossier, accessed: str) -> str:
    """An entry of type misc; braces keep the spelling of names and titles."""
    observed = dossier.run.spec["observedAt"]
    fields = {
        "author": f"{{{tex(_author(dossier))}}}",
        "title": f"{{{tex(_title(dossier))}}}",
        "year": observed[:4],
        "month": str(int(observed[5:7])),
        "howpublished": tex(f"{_publisher(dossier)}, {_number(dossier)}"),
        "note": tex(f"{dossier.run.digest}, {permalink(dossier.run.digest)}"),
        "urldate": accessed,
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@misc{{{_key(dossier)},\n{lines}}}\n"


def csl_json(dossier: Dossier, accessed: str) -> str:
    """A list with one item of type dataset. `<` and `>` would be formatting in CSL and are written as ‹ and ›."""
    item: dict[str, Any] = {
        "id": _key(dossier),
        "type": "dataset",
        "author": [{"literal": _plain(_author(dossier))}],
        "title": _plain(_title(dossier)),
        "publisher": _plain(_publisher(dossier)),
        "number": _plain(_number(dossier)),
        "version": str(dossier.run.digest),
        "issued": {"date-parts": [_parts(dossier.run.spec["observedAt"])]},
        "accessed": {"date-parts": [_parts(accessed)]},
        "URL": permalink(dossier.run.digest),
    }
    return canonical.to_json([item], indent=True).decode() + "\n"


FORMATS = {"text": text, "bibtex": bibtex, "csl-json": csl_json}


def cited(dossier: Dossier, style: str) -> str:
    """A reference of a style in FORMATS, accessed today."""
    return FORMATS[style](dossier, units.now()[:10])


def tex(untrusted: str) -> str:
    """Text that TeX prints as it is."""
    return "".join(_TEX.get(char, char) for char in printable(untrusted))


def _plain(untrusted: str) -> str:
    return untrusted.replace("<", "‹").replace(">", "›")


def _author(dossier: Dossier) -> str:
    return printable(named(dossier.row.author))


def _title(dossier: Dossier) -> str:
    row, entry, cohort = dossier.row, dossier.entry, dossier.cohort
    where = [dossier.decides.gpu or row.gpu]
    if cohort.serving is not None:
        where = [cohort.serving.topology, cohort.serving.protocol]
    elif row.stack is not None or cohort.has_scores:
        where.append(f"stack {row.stack}" if row.stack else "stack not stated")
    if cohort.shape:
        where.append(cohort.shape)
    result = row.status if entry is None else measure.Scale.of(cohort.metric, entry.value).with_unit(entry.value)
    return printable(f"{row.definition} on {', '.join(where)}: {result}")


def _publisher(dossier: Dossier) -> str:
    return printable(str(dossier.claims.source.get("name") or dossier.row.source))


def _number(dossier: Dossier) -> str:
    name = dossier.row.submission
    return printable(name if name.startswith("submission") else f"submission {name}")


def _key(dossier: Dossier) -> str:
    return units.kebab(f"{dossier.row.source}-{dossier.row.submission}-{dossier.run.digest.short[:8]}")


def _parts(day: str) -> list[int]:
    return [int(day[:4]), int(day[5:7]), int(day[8:10])]
