"""The catalogue file: opening, migrating, transactions, manifests by digest."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from kictl import canonical
from kictl.canonical import Digest
from kictl.catalogue.bodies import Codec
from kictl.catalogue.migrations import OBJECTS, STEPS
from kictl.errors import CatalogueError
from kictl.model import Manifest
from kictl.text import cut

APPLICATION_ID = 0x6B696374  # "kict"
BUSY_MS = 30_000
PAGE = 8192
"""Bytes; in smaller pages, of which each holds one body of evidence, a third of the room is wasted."""

PREFIX_BYTES = 6
"""What of a digest is in the index of manifests: enough to lead to one row, or hardly more. Whoever looks for a digest
compares all of it."""


PREFIX = f"substr(digest, 1, {PREFIX_BYTES})"
"""What the index is over."""
BY_DIGEST = f"{PREFIX}, digest"
"""The order of digests, as the index gives it."""

Connection = sqlite3.Connection

_SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""The second is what Python makes of a message of SQLite's that quotes a damaged schema."""
_OF_DAMAGED_VALUES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class Catalogue:
    """One catalogue file. Errors of SQLite leave it as CatalogueError; use it as a context manager."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writes: bool = False) -> None:
        self.path = path
        self.db = connection
        self._writes = writes

    @classmethod
    def create(cls, path: Path) -> Catalogue:
        """Opens the catalogue for writing; makes it, and its folder, where it does not exist."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CatalogueError(f"cannot make {path.parent}: {error.strerror}") from error
        is_new = not path.exists()
        catalogue = cls(path, _connect(path, "rwc"), writes=True)
        with _closed_on_error(catalogue, remove=is_new), wrapped(path):
            if catalogue._is_empty():
                catalogue.db.execute(f"PRAGMA page_size = {PAGE}")
            else:
                catalogue._check_version()
                catalogue._check_schema()
            # Commits wait for the disk at checkpoints only. A process that dies loses none; a machine that does may
            # lose the last of them, never a part of one.
            catalogue.db.execute("PRAGMA journal_mode = WAL")
            catalogue.db.execute("PRAGMA synchronous = NORMAL")
            catalogue._migrate()
        return catalogue

    @classmethod
    def open(cls, path: Path, *, writable: bool = False, audited: bool = False) -> Catalogue:
        """Opens an existing catalogue; unless it is `writable`, all that can change is an older one's schema.

        One that holds what kictl did not make, such as triggers, is refused unless it is to be `audited`.
        """
        if not path.is_file():
            raise CatalogueError(f"no catalogue at {path}", code="no_catalogue", hint="run 'kictl import' first")
        catalogue = cls(path, _connect(path, "rw"))
        with _closed_on_error(catalogue), wrapped(path):
            catalogue._check_version()
            if not audited:
                catalogue._check_schema()
            if catalogue._version() < len(STEPS):
                catalogue._migrate()
            catalogue.db.execute(f"PRAGMA query_only = {'OFF' if writable else 'ON'}")
        return catalogue

    def __enter__(self) -> Catalogue:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        is_damaged = isinstance(error, _OF_DAMAGED_VALUES) and self._is_damaged()
        with suppress(CatalogueError) if error else nullcontext():
            self.close()
        if isinstance(error, _SQLITE_ERRORS):
            raise _told(self.path, error) from error
        if is_damaged:
            raise CatalogueError(f"{self.path} is damaged", code="damaged_catalogue") from error

    def close(self) -> None:
        """Ends the use of the catalogue; when its last writer has done so it is one file, readable anywhere."""
        with wrapped(self.path):
            if self._writes:
                with suppress(sqlite3.OperationalError):  # somebody else has it open: the next writer will do it
                    self.db.execute("PRAGMA busy_timeout = 0")
                    self.db.execute("PRAGMA journal_mode = DELETE")
            self.db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; another writer is waited for."""
        with wrapped(self.path):
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
            except BaseException:
                if "codec" in vars(self):
                    self.codec.forget()
                # After a full disk SQLite has rolled back by itself.
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise
            self.db.execute("COMMIT")

    @cached_property
    def codec(self) -> Codec:
        row = self.db.execute("SELECT content FROM dictionary ORDER BY id DESC LIMIT 1").fetchone()
        return Codec(row[0], self.id_of, self._digest_of)

    def id_of(self, digest: bytes) -> int | None:
        """The row of a manifest, by its raw digest."""
        row = self.db.execute(
            f"SELECT id FROM manifest WHERE {PREFIX} = ? AND digest = ?", (digest[:PREFIX_BYTES], digest)
        ).fetchone()
        return None if row is None else int(row[0])

    def _digest_of(self, manifest_id: int) -> bytes:
        row = self.db.execute("SELECT digest FROM manifest WHERE id = ?", (manifest_id,)).fetchone()
        if row is None:
            raise CatalogueError(f"{self.path} lacks its manifest {manifest_id}", code="damaged_catalogue")
        digest: bytes = row[0]
        return digest

    def manifest(self, manifest_id: int) -> Manifest:
        digest, body = self.db.execute("SELECT digest, body FROM manifest WHERE id = ?", (manifest_id,)).fetchone()
        return Manifest(Digest.from_raw(digest), self.codec.unpack(body))

    def evidence(self, evidence_id: int) -> Any:
        """The rows of a source that were kept under one id."""
        body = self.db.execute("SELECT body FROM evidence WHERE id = ?", (evidence_id,)).fetchone()[0]
        return self.codec.unpack(body)

    def find(self, digest: Digest) -> Manifest | None:
        """The manifest of a digest, if the catalogue has it."""
        manifest_id = self.id_of(digest.raw)
        return None if manifest_id is None else self.manifest(manifest_id)

    def held(self, digest: Digest) -> Manifest:
        """The manifest of a digest that the catalogue itself refers to."""
        found = self.find(digest)
        if found is None:
            raise CatalogueError(f"{self.path} lacks the manifest {digest}", code="damaged_catalogue")
        return found

    def manifests(self) -> Iterator[Manifest]:
        """Every manifest, by digest."""
        with wrapped(self.path):
            for digest, body in self.db.execute(f"SELECT digest, body FROM manifest ORDER BY {BY_DIGEST}"):
                yield Manifest(Digest.from_raw(digest), self.codec.unpack(body))

    def digest(self) -> Digest:
        """The catalogue's digest: over the JCS bytes of the sorted list of all manifest digests."""
        state = sha256(b"[")
        separator = b'"'
        for (digest,) in self.db.execute("SELECT digest FROM manifest ORDER BY digest"):
            state.update(separator + b"sha256:" + digest.hex().encode() + b'"')
            separator = b',"'
        state.update(b"]")
        return Digest.from_raw(state.digest())

    def _is_damaged(self) -> bool:
        """Whether the file, and not the program, is to blame for an error."""
        try:
            lost = self.db.execute("PRAGMA foreign_key_check").fetchone()
            return lost is not None or self.db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",)
        except _SQLITE_ERRORS:
            return True

    def _version(self) -> int:
        return int(self.db.execute("PRAGMA user_version").fetchone()[0])

    def _check_version(self) -> None:
        if self.db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise CatalogueError(f"{self.path} is not a kictl catalogue", code="not_a_catalogue")
        if self._version() > len(STEPS):
            raise CatalogueError(
                f"{self.path} was written by a newer kictl (schema {self._version()}, this one knows {len(STEPS)})",
                code="newer_catalogue",
                hint="update kictl",
            )

    def _check_schema(self) -> None:
        """A trigger or view that somebody put into the file would run with the next import."""
        strange = self.strange_objects()
        if strange:
            raise CatalogueError(
                f"{self.path} holds what kictl did not make: {', '.join(strange)}",
                code="strange_schema",
                hint="import again into a new file; 'kictl verify --catalog FILE' checks what this one holds",
            )

    def strange_objects(self) -> list[str]:
        """Tables, triggers, views and indexes that no version of kictl made, each as `trigger NAME`."""
        rows = self.db.execute("SELECT type, name FROM sqlite_master ORDER BY type, name")
        return [
            f"{kind} {cut(name, 60)}"
            for kind, name in rows
            if kind not in ("table", "index") or not (name in OBJECTS or name.startswith("sqlite_"))
        ]

    def _migrate(self) -> None:
        self.db.execute("PRAGMA foreign_keys = OFF")
        with self.transaction() as db:
            if self._is_empty():
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._check_version()
            for number in range(self._version(), len(STEPS)):
                for part in STEPS[number]:
                    if not isinstance(part, str):
                        part(db, self.codec)
                        continue
                    for statement in _statements(part):
                        db.execute(statement)
                if number == 0:
                    from kictl.catalogue.dictionary import content

                    db.execute("INSERT INTO dictionary (content) VALUES (?)", (content(),))
                db.execute(f"PRAGMA user_version = {number + 1}")
        self.db.execute("PRAGMA foreign_keys = ON")

    def _is_empty(self) -> bool:
        return self.db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    with wrapped(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=BUSY_MS / 1000
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection


def _statements(script: str) -> Iterator[str]:
    """One statement at a time: sqlite3's executescript would commit before it starts."""
    pending = ""
    for part in script.split(";"):
        pending += part + ";"
        if sqlite3.complete_statement(pending):
            if pending.strip() != ";":
                yield pending
            pending = ""


@contextmanager
def _closed_on_error(catalogue: Catalogue, *, remove: bool = False) -> Iterator[None]:
    """Closes the catalogue where it cannot be used, and removes the file where it was just made: nothing half-made
    stays."""
    try:
        yield
    except BaseException:
        catalogue.db.close()
        if remove:
            for suffix in ("", "-journal", "-wal", "-shm"):
                catalogue.path.with_name(catalogue.path.name + suffix).unlink(missing_ok=True)
        raise


@contextmanager
def wrapped(path: Path) -> Iterator[None]:
    """SQLite's errors as CatalogueError, with the file's name."""
    try:
        yield
    except _SQLITE_ERRORS as error:
        raise _told(path, error) from error


def _told(path: Path, error: Exception) -> CatalogueError:
    message = str(error)
    if "full" in message:
        return CatalogueError(f"no space left for {path}", code="disk_full")
    if "locked" in message or "busy" in message:
        return CatalogueError(f"{path} is in use by another process", code="locked")
    return CatalogueError(f"{path}: {cut(message, 200)}")


def encoded(value: object) -> str:
    """A JSON text column."""
    return canonical.to_json(value).decode()


def decoded(text: str) -> Any:
    """The value of a JSON text column. Raises CatalogueError."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise CatalogueError(f"a stored text is damaged: {error}", code="damaged_catalogue") from error
