"""Bodies in the catalogue: what is packed comes back, whatever it refers to and however it looks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kictl import canonical
from kictl.canonical import Digest
from kictl.catalogue.manifests import ManifestWriter
from kictl.catalogue.store import Catalogue
from kictl.errors import CatalogueError
from kictl.model import Manifest

HELD, ABSENT = Digest.of(b"held"), Digest.of(b"absent")


def manifest(name: str, **spec: Any) -> Manifest:
    document = {
        "apiVersion": "v",
        "kind": "SoftwareProject",
        "metadata": {"name": name},
        "spec": {"name": name, **spec},
    }
    return Manifest(canonical.identity(document), document)


def put_and_fail(catalogue: Catalogue, *manifests: Manifest) -> None:
    with catalogue.transaction() as db:
        ManifestWriter(catalogue).put(db, manifests)
        db.execute("INSERT INTO nowhere VALUES (1)")


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with Catalogue.create(tmp_path / "catalogue.sqlite") as made:
        with made.transaction() as db:
            db.execute("INSERT INTO manifest (id, digest, kind_id, body) VALUES (7, ?, 1, x'')", (HELD.raw,))
        yield made


texts = st.sampled_from(
    [str(HELD), str(ABSENT), "sha256:#7", "sha256:#8", "sha256:", f"x{HELD}", f"{HELD} ", f'"{HELD}"', "é", '"', "#7"]
)
values = st.recursive(texts | st.integers(-(2**53) + 1, 2**53 - 1) | st.none(), lambda v: st.lists(v, max_size=3))


@given(st.dictionaries(texts, values, max_size=4) | st.lists(values, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_packed_comes_back(catalogue: Catalogue, value: Any) -> None:
    assert catalogue.codec.unpack(catalogue.codec.pack(value)) == value


def test_a_digest_that_the_catalogue_holds_takes_a_few_bytes(catalogue: Catalogue) -> None:
    held, absent = ({"digests": [digest] * 1} for digest in (HELD, ABSENT))
    assert len(catalogue.codec.pack(held)) + 25 < len(catalogue.codec.pack(absent))


def test_a_manifest_refers_to_another_of_the_same_transaction(catalogue: Catalogue) -> None:
    first = manifest("first")
    second = manifest("second", of=first.digest)
    with catalogue.transaction() as db:
        ManifestWriter(catalogue).put(db, [second, first])
    assert catalogue.find(second.digest) == second
    with Catalogue.open(catalogue.path) as again:
        assert again.find(second.digest) == second


def test_what_was_rolled_back_is_not_referred_to(catalogue: Catalogue) -> None:
    first, other = manifest("first"), manifest("other")
    second = manifest("second", of=first.digest)
    with pytest.raises(CatalogueError, match="nowhere"):
        put_and_fail(catalogue, first)
    with catalogue.transaction() as db:
        ManifestWriter(catalogue).put(db, [other, second])
    assert catalogue.find(second.digest) == second


def test_a_reference_to_nothing_is_damage(catalogue: Catalogue) -> None:
    packed = catalogue.codec.pack({"of": HELD})
    with catalogue.transaction() as db:
        db.execute("DELETE FROM manifest")
    with Catalogue.open(catalogue.path) as again, pytest.raises(CatalogueError) as caught:
        again.codec.unpack(packed)
    assert caught.value.code == "damaged_catalogue"
