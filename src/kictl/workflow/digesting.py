"""Digest: identity of the manifests in some files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

from kictl import authoring, canonical, documents
from kictl.documents import Document
from kictl.errors import InputError


@dataclass(frozen=True, slots=True)
class Identified:
    """A manifest's digest and kind, and the canonical bytes that the digest is over."""

    name: str
    digest: str
    kind: str
    canonical: bytes


def identified(names: Sequence[str], stdin: IO[bytes]) -> list[Identified]:
    """What each file is; all are read before any is answered. Raises InputError, naming the file."""
    return [_identify(documents.only(name, stdin)) for name in names]


def _identify(document: Document) -> Identified:
    name = document.subject
    try:
        identity = _identity_part(document.read())
    except InputError as error:
        raise InputError(f"{name}: {error}", code=error.code) from error
    out = canonical.canonical_bytes(identity)
    return Identified(name, canonical.Digest.of(out), str(identity["kind"]), out)


def _identity_part(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise InputError("not a manifest: it has no kind")
    missing = [member for member in ("apiVersion", "spec") if member not in document]
    if missing:
        raise InputError(f"not a manifest: it has no {missing[0]}")
    normal, spellings = authoring.normalise(document)
    for spelling in spellings:
        if spelling.problem:
            raise InputError(f"{spelling.pointer}: {spelling.problem}")
    return {member: normal[member] for member in ("apiVersion", "kind", "spec")}
