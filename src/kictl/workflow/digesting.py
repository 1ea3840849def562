"""Digest: identity of the manifests in some files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any, NamedTuple

from kictl import authoring, canonical, documents
from kictl.documents import Document
from kictl.errors import InputError

BUNDLED = ("run", "protocol", "environment")


class Identified(NamedTuple):
    """A manifest's digest and kind, and the canonical bytes that the digest is over."""

    name: str
    digest: str
    kind: str
    canonical: bytes


def identified(names: Sequence[str], stdin: IO[bytes]) -> list[Identified]:
    """What each file is; all are read before any is answered. Raises InputError, naming the file."""
    return [found for name in names for found in _identify(documents.only(name, stdin))]


def _identify(document: Document) -> list[Identified]:
    name = document.subject
    try:
        identities = [_identity_part(manifest) for manifest in _manifests(document.read())]
    except InputError as error:
        raise InputError(f"{name}: {error}", code=error.code) from error
    texts = [(str(identity["kind"]), canonical.canonical_bytes(identity)) for identity in identities]
    return [Identified(name, canonical.Digest.of(text), kind, text) for kind, text in texts]


def _manifests(document: Any) -> list[Any]:
    """The manifests of a document: those of a bundle, else itself."""
    is_bundle = isinstance(document, dict) and document.keys() == set(BUNDLED)
    return [document[part] for part in BUNDLED] if is_bundle else [document]


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
