"""Making one manifest: envelope, schema check, identity."""

from __future__ import annotations

from kictl import canonical, schemas
from kictl.model import Json, Manifest

API_VERSION = "kernelindex.dev/v1alpha1"


class NormalizeError(ValueError):
    """A record from which no valid manifest can be made; `pointer` is where in the manifest it shows."""

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


def manifest(kind: str, metadata: Json, spec: Json) -> Manifest:
    """The manifest of `spec`, checked against its schema. Raises NormalizeError with the first violation."""
    document: Json = {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
    if not schemas.is_valid(kind, document):
        first = schemas.violations(kind, document)[0]
        raise NormalizeError(f"{kind} {first.pointer or '/'}: {first.message}", first.pointer)
    return Manifest(canonical.identity(document), document)
