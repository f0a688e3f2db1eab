"""Backups: every row of the database in one file, and restoring them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import psycopg
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from psycopg import sql

from service.runtime.atomic_files import whole_file
from service.runtime.version import VERSION
from service.shx.canonical import RecordError, format_time
from service.shx.tlog.checkpoint import Checkpoint, parse_checkpoint
from service.shx.tlog.notes import parse_note
from service.shx.tlog.tiles import Tile, TiledTree
from service.store.database import query
from service.store.migrate import (
    MigrationError,
    applied_by,
    apply_bookkeeping,
    apply_migrations,
    bring_forward,
    refuse_made_before,
)

MANIFEST: Final = "manifest.json"
SIGNATURE: Final = "manifest.sig"
_SIGNED: Final = b"shithead backup manifest 1\n"
"""Prefix of the signed bytes, so that the signature is not valid for a receipt or checkpoint."""
MAX_MANIFEST: Final = 1 << 20  # bytes
BLOCK: Final = 1 << 20  # bytes
FORMAT: Final = 1
_TIME: Final = (1980, 1, 1, 0, 0, 0)  # of every entry, so that equal rows give equal bytes
_DAMAGE: Final = (
    *(OSError, EOFError, zipfile.BadZipFile, zlib.error),
    RuntimeError,  # raised by zipfile for an encrypted entry and for an unknown compression
)
"""Errors of the standard library for a damaged or changed archive."""


class BackupError(Exception):
    """A backup cannot be written, read or restored; nothing has been changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """The columns, row count and hash of a table, whose rows are in the text format of COPY."""

    columns: tuple[str, ...]
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """
    The content of a backup, and the time of its snapshot.

    `keys` are the ids of the keys that encrypt the seeds of its running games. The keys
    themselves are not in a backup.
    """

    made_at: str
    engine: str  # version of the service that wrote the backup
    migrations: Mapping[str, str]  # name → SHA-256 of each applied migration
    tables: Mapping[str, TableRows]
    games: int
    running: int
    leaves: int  # of the public log
    root: str  # of the tree of these leaves, in hexadecimal
    keys: tuple[str, ...]

    def encode(self) -> bytes:
        """Return the bytes of the manifest."""
        return json.dumps({"v": FORMAT, **asdict(self)}, indent=1, sort_keys=True).encode() + b"\n"

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        """Return the manifest in its encoded form; raises BackupError if it is invalid."""
        try:
            value = json.loads(data)
            if value.pop("v") != FORMAT:
                raise BackupError("the backup has a later format than this release can read")
            tables = {str(name): _rows(table) for name, table in value.pop("tables").items()}
            return cls(**value | {"tables": tables, "keys": tuple(value["keys"])})
        except (ValueError, TypeError, KeyError, AttributeError):
            raise BackupError(f"{MANIFEST} is not the manifest of a backup") from None


class Writer:
    """Writes tables into a new file, one after another, and the manifest last."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._zip = file

    def add(self, table: str, columns: Iterable[str], blocks: Iterable[bytes]) -> TableRows:
        """Write the rows of a table, and return their entry in the manifest."""
        digest, rows = hashlib.sha256(), 0
        with self._zip.open(_entry(f"{table}.copy"), "w", force_zip64=True) as entry:
            for block in blocks:
                digest.update(block)
                rows += bytes(block).count(b"\n")  # COPY escapes line feeds within a row
                entry.write(block)
        return TableRows(columns=tuple(columns), rows=rows, sha256=digest.hexdigest())

    def finish(self, manifest: Manifest, signer: Ed25519PrivateKey | None = None) -> None:
        """Write the manifest, which completes the backup, and its signature if there is a key."""
        data = manifest.encode()
        self._zip.writestr(_entry(MANIFEST), data)
        if signer is not None:
            value = {
                "v": FORMAT,
                "key": _text(signer.public_key().public_bytes_raw()),
                "signature": _text(signer.sign(_SIGNED + data)),
            }
            self._zip.writestr(_entry(SIGNATURE), json.dumps(value).encode() + b"\n")


class Authenticity(StrEnum):
    """The origin of a backup according to its signature."""

    SIGNED = "signed"  # by a known key
    UNKNOWN_KEY = "unknown-key"  # by an unknown key, which any party can create
    UNSIGNED = "unsigned"  # made without keys, or its signature was removed


@contextmanager
def new_backup(path: Path) -> Iterator[Writer]:
    """
    Yield the writer of a new backup, written atomically: see `whole_file`.

    Only the owner of the file can read it, because a backup contains private data of players.

    Raises BackupError if the file exists, OSError if it cannot be written.
    """
    if path.exists():
        raise BackupError(f"{path} already exists")
    with whole_file(path, new=True) as file, zipfile.ZipFile(file, "w") as packed:
        yield Writer(packed)


class Backup:
    """
    A backup opened for reading; `check` verifies its rows.

    Raises BackupError if the file is not a backup.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
            self._manifest = self._zip.open(MANIFEST).read(MAX_MANIFEST)
            signed = SIGNATURE in self._zip.namelist()
            self._signature = self._zip.open(SIGNATURE).read(MAX_MANIFEST) if signed else None
        except (KeyError, *_DAMAGE) as error:
            raise BackupError(f"{path} is not a backup: {error}") from None
        self.manifest = Manifest.decode(self._manifest)

    def authenticity(self, known: Collection[bytes]) -> Authenticity:
        """
        Return whether one of the `known` public keys signed the manifest.

        The manifest has the hash of every table, so its signature covers all rows. Raises
        BackupError if the signature is invalid.
        """
        if self._signature is None:
            return Authenticity.UNSIGNED
        try:
            value = json.loads(self._signature)
            public = base64.b64decode(value["key"], validate=True)
            signature = base64.b64decode(value["signature"], validate=True)
            Ed25519PublicKey.from_public_bytes(public).verify(signature, _SIGNED + self._manifest)
        except (InvalidSignature, ValueError, TypeError, KeyError, binascii.Error):
            raise BackupError(
                "the backup was changed: its manifest is not the one that was signed"
            ) from None
        return Authenticity.SIGNED if public in known else Authenticity.UNKNOWN_KEY

    def check(self) -> None:
        """Raise BackupError unless the file has exactly the tables and rows of its manifest."""
        self.authenticity(())
        expected = {f"{name}.copy" for name in self.manifest.tables} | {MANIFEST}
        names = [name for name in self._zip.namelist() if name != SIGNATURE]
        if len(names) != len(set(names)) or set(names) != expected:
            raise BackupError("the files in the backup are not those in its manifest")
        for name, table in self.manifest.tables.items():
            digest = hashlib.sha256()
            for block in self.blocks(name):
                digest.update(block)
            if digest.hexdigest() != table.sha256:
                raise BackupError(f"the rows of {name} are not those that were backed up")

    def blocks(self, table: str) -> Iterator[bytes]:
        """
        Yield the rows of a table in blocks of at most BLOCK bytes.

        Raises BackupError if the rows cannot be read.
        """
        try:
            with self._zip.open(f"{table}.copy") as entry:
                while block := entry.read(BLOCK):
                    yield block
        except _DAMAGE as error:
            raise BackupError(f"the rows of {table} cannot be read: {error}") from None

    def close(self) -> None:
        """Close the file."""
        self._zip.close()


def _rows(value: dict[str, Any]) -> TableRows:
    return TableRows(
        columns=tuple(value["columns"]), rows=int(value["rows"]), sha256=str(value["sha256"])
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


def described(manifest: Manifest) -> dict[str, Any]:
    """Return the facts about a backup that commands print."""
    return {
        "made_at": manifest.made_at,
        "engine": manifest.engine,
        "games": manifest.games,
        "running": manifest.running,
        "rows": sum(table.rows for table in manifest.tables.values()),
        "leaves": manifest.leaves,
        "keys": list(manifest.keys),
    }


BOOKKEEPING: Final = frozenset({"applied_migrations", "applied_files"})
"""Tables that are not backed up: a restore fills them when it applies the migrations."""

_Connection = psycopg.Connection[tuple[Any, ...]]


def back_up(
    database_url: str,
    path: Path,
    *,
    now: datetime,
    signer: Ed25519PrivateKey | None = None,
) -> Manifest:
    """
    Write a backup of a database and return its manifest; the service may run meanwhile.

    All tables are read in one snapshot, so every stream matches its row, its game's table and
    the public log. The role needs the privilege to read all tables. `signer` signs the
    manifest, so that a restore detects changes of the file. Raises BackupError; then there is no
    file.
    """
    try:
        with _snapshot(database_url) as connection, new_backup(path) as writer:
            tables = {
                table: _copied(connection, writer, table, columns)
                for table, columns in _tables(connection)
                if table not in BOOKKEEPING
            }
            manifest = _manifest(connection, tables, now)
            writer.finish(manifest, signer)
    except psycopg.Error as error:
        raise BackupError(f"the database cannot be read: {' '.join(str(error).split())}") from None
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror}") from None
    return manifest


@contextmanager
def _snapshot(database_url: str) -> Iterator[_Connection]:
    with psycopg.connect(
        database_url, cursor_factory=psycopg.RawCursor, application_name="shithead backup"
    ) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        yield connection


def _tables(connection: _Connection) -> list[tuple[str, list[str]]]:
    found = connection.execute(query("backup_tables")).fetchall()
    if not {"streams", "events", "applied_migrations"} <= {name for name, _ in found}:
        raise BackupError("this is not a database of the service")
    return [(name, columns) for name, columns in found]


def _copied(connection: _Connection, writer: Writer, table: str, columns: list[str]) -> TableRows:
    statement = sql.SQL("COPY {} ({}) TO STDOUT").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as rows:
        return writer.add(table, columns, (bytes(block) for block in rows))


def _manifest(connection: _Connection, tables: dict[str, TableRows], now: datetime) -> Manifest:
    applied = connection.execute(query("applied_migrations")).fetchall()
    row = connection.execute(query("backup_facts")).fetchone()
    if row is None:
        raise BackupError("this is not a database of the service")
    games, running, leaves, root, keys = row
    return Manifest(
        made_at=format_time(now),
        engine=VERSION,
        migrations={name: bytes(checksum).hex() for name, checksum in applied},
        tables=tables,
        games=games,
        running=running,
        leaves=leaves,
        root=bytes(root).hex(),
        keys=tuple(keys),
    )


LOST: Final = (
    "the public log was published up to {size} leaves, and this backup has {leaves}: a service "
    "that continues from it would sign a second tree. Use a later backup"
)


def restore(
    database_url: str,
    path: Path,
    *,
    checkpoint: bytes | None = None,
    corrections: Corrections | None = None,
) -> Manifest:
    """
    Restore a backup into the empty database at `database_url`, as its owner; return its manifest.

    All changes are made in one transaction: first the schema as it was at the backup, then the
    rows, then the later migrations, functions, triggers and privileges of this release. No code
    from the backup is executed. `checkpoint` is the newest known checkpoint of the public log: a
    backup whose log is shorter is refused, because the log would fork. `corrections` are applied
    in the same transaction. Raises BackupError.
    """
    backup = Backup(path)
    try:
        published = None if checkpoint is None else _published(checkpoint)
        _refuse_older(backup.manifest.leaves, published)
        backup.check()
        with psycopg.connect(
            database_url, cursor_factory=psycopg.RawCursor, application_name="shithead restore"
        ) as connection:
            _restore_rows(connection, backup)
            if published is not None:
                _check_beginning(connection, backup.manifest.leaves, published)
            if corrections is not None:
                corrections.apply(connection)
    except MigrationError as error:
        raise BackupError(str(error)) from None
    except psycopg.Error as error:
        raise BackupError(f"the database refused: {' '.join(str(error).split())}") from None
    finally:
        backup.close()
    return backup.manifest


def continue_from(
    database_url: str, checkpoint: bytes | None, corrections: Corrections
) -> bytes | None:
    """
    Check that a recovered database continues the newest known checkpoint, and correct it.

    Returns the newer one of `checkpoint` and that in the database, None without any. Raises
    BackupError, also if the database was made before 0.1.0.
    """
    published = None if checkpoint is None else _published(checkpoint)
    try:
        with psycopg.connect(
            database_url, cursor_factory=psycopg.RawCursor, application_name="shithead recover"
        ) as connection:
            refuse_made_before(dict(connection.execute(query("applied_migrations")).fetchall()))
            leaves = int(_one(connection, "log_head") or 0)
            if published is not None:
                _refuse_older(leaves, published)
                _check_beginning(connection, leaves, published)
            corrections.apply(connection)
            row = connection.execute(query("log_published")).fetchone()
    except MigrationError as error:
        raise BackupError(str(error)) from None
    except psycopg.Error as error:
        raise BackupError(f"the database refused: {' '.join(str(error).split())}") from None
    return newest_checkpoint((checkpoint, None if row is None else bytes(row[2])))


def _restore_rows(connection: _Connection, backup: Backup) -> None:
    """Create the schema of the backup, load its rows, and migrate to this release."""
    manifest = backup.manifest
    _refuse_occupied(connection)
    apply_bookkeeping(connection)
    checksums = {name: bytes.fromhex(one) for name, one in manifest.migrations.items()}
    apply_migrations(connection, applied_by(checksums))
    tables: dict[str, list[str]] = dict(connection.execute(query("backup_tables")).fetchall())
    for name, rows in manifest.tables.items():
        if not set(rows.columns) <= set(tables.get(name, ())):
            raise BackupError(
                f"table {name} of the backup does not fit the schema of its migrations"
            )
        _load(connection, backup, name)
    if count := _one(connection, "restore_head_mismatches"):
        raise BackupError(f"{count} streams in the backup have a last event that is not their head")
    bring_forward(connection)


def _load(connection: _Connection, backup: Backup, table: str) -> None:
    """Load the rows of a table, and replace those that migrations inserted."""
    rows, name = backup.manifest.tables[table], sql.Identifier(table)
    connection.execute(sql.SQL("DELETE FROM {}").format(name))
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        name, sql.SQL(", ").join(map(sql.Identifier, rows.columns))
    )
    with connection.cursor() as cursor:
        with cursor.copy(statement) as copy:
            for block in backup.blocks(table):
                copy.write(block)
        if cursor.rowcount != rows.rows:
            raise BackupError(f"{table} has {cursor.rowcount} rows, but {rows.rows} were backed up")


def _refuse_occupied(connection: _Connection) -> None:
    found = [name for (name,) in connection.execute(query("restore_occupied")).fetchall()]
    if found:
        raise BackupError(
            f"the database is not empty (it has {', '.join(found)}, …): "
            "restore the backup into a new one"
        )


def _published(data: bytes) -> Checkpoint:
    """Return a parsed checkpoint; its signature is not verified: the operator supplies it."""
    try:
        return parse_checkpoint(parse_note(data).text)
    except RecordError as error:
        raise BackupError(f"the checkpoint cannot be read: {error.detail}") from None


def newest_checkpoint(notes: Iterable[bytes | None]) -> bytes | None:
    """
    Return the checkpoint of the largest tree, None without any.

    Raises BackupError for one that cannot be read, and for two trees of one size.
    """
    newest: tuple[Checkpoint, bytes] | None = None
    for note in notes:
        if note is None:
            continue
        one = _published(note)
        if newest is not None and (one.size, one.root) != (newest[0].size, newest[0].root):
            if one.size == newest[0].size:
                raise BackupError(f"two checkpoints are different trees of {one.size} leaves")
            if one.size < newest[0].size:
                continue
        newest = one, note
    return None if newest is None else newest[1]


def _refuse_older(leaves: int, published: Checkpoint | None) -> None:
    if published is not None and published.size > leaves:
        raise BackupError(LOST.format(size=published.size, leaves=leaves))


def _check_beginning(connection: _Connection, leaves: int, published: Checkpoint) -> None:
    """Raise BackupError unless the published tree is a prefix of the restored one."""

    def hashes(tile: Tile) -> bytes:
        return bytes(_one(connection, "log_hashes", tile.level, tile.first, tile.width))

    tree = TiledTree(leaves, hashes)
    if tree.root(published.size) != published.root:
        raise BackupError("the checkpoint does not belong to the public log in this backup")


def _one(connection: _Connection, name: str, *values: object) -> Any:
    row = connection.execute(query(name), values).fetchone()
    return None if row is None else row[0]


NO_ERASURES: Final[Mapping[UUID, datetime]] = MappingProxyType({})


class Corrections:
    """
    Corrections after a restore: invalidate all tokens, and repeat erasures.

    A backup restores tokens that were replaced since, and players who were erased since.
    `ended` counts the invalidated tokens, `erased` the players erased again. Recovery codes are
    not changed, because players need them for new tokens: also a code that was replaced since
    the backup is valid again.
    """

    def __init__(
        self, *, end_tokens: bool = False, erased: Mapping[UUID, datetime] = NO_ERASURES
    ) -> None:
        self._end_tokens = end_tokens
        self._erased = erased
        self.ended = 0
        self.erased = 0

    def apply(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        """Apply the corrections to the database restored in this connection's transaction."""
        if self._erased:
            values = (list(self._erased), list(self._erased.values()))
            self.erased = _count(connection, "restore_erase", *values)
        if self._end_tokens:
            self.ended = _count(connection, "restore_end_tokens")


def _count(connection: psycopg.Connection[tuple[Any, ...]], name: str, *values: object) -> int:
    row = connection.execute(query(name), values).fetchone()
    return 0 if row is None else int(row[0])
