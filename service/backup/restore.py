"""Restore a backup into an empty database; tokens and erasures are applied in the same commit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg import sql

from service.backup.backup import Backup, BackupError, Manifest
from service.shx.canonical import RecordError
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
)

LOST: Final = (
    "the public log was published up to {size} leaves, and this backup has {leaves}: a service "
    "that went on from it would sign a second tree. Look for a later backup"
)

_Connection = psycopg.Connection[tuple[Any, ...]]


def restore(
    database_url: str,
    path: Path,
    *,
    checkpoint: bytes | None = None,
    amends: Amends | None = None,
) -> Manifest:
    """
    Put a backup into the empty database at `database_url`, as its owner; return its manifest.

    Whole or not at all. The schema is made anew, as it was when the backup was taken;
    then come the rows, then the later migrations, functions, triggers and privileges of
    this release: nothing of a backup is ever executed. `checkpoint` is the newest one
    that anybody has of the public log; a backup that ends before it is refused, since
    the log would fork. `amends` are made in the same transaction. Raises BackupError.
    """
    backup = Backup(path)
    try:
        published = None if checkpoint is None else _published(checkpoint)
        _refuse_older(backup.manifest, published)
        backup.check()
        with psycopg.connect(
            database_url, cursor_factory=psycopg.RawCursor, application_name="shithead restore"
        ) as connection:
            _put_back(connection, backup)
            if published is not None:
                _check_beginning(connection, backup.manifest, published)
            if amends is not None:
                amends.make(connection)
    except MigrationError as error:
        raise BackupError(str(error)) from None
    except psycopg.Error as error:
        raise BackupError(f"the database refused: {' '.join(str(error).split())}") from None
    finally:
        backup.close()
    return backup.manifest


def _put_back(connection: _Connection, backup: Backup) -> None:
    manifest = backup.manifest
    _refuse_occupied(connection)
    apply_bookkeeping(connection)
    checksums = {name: bytes.fromhex(one) for name, one in manifest.migrations.items()}
    apply_migrations(connection, applied_by(checksums))
    tables: dict[str, list[str]] = dict(connection.execute(query("backup_tables")).fetchall())
    for name, rows in manifest.tables.items():
        if not set(rows.columns) <= set(tables.get(name, ())):
            raise BackupError(f"the backup has a table {name} that its schema does not have")
        _load(connection, backup, name)
    if count := _one(connection, "restore_misfits"):
        raise BackupError(f"{count} streams in the backup do not end with their head")
    bring_forward(connection)


def _load(connection: _Connection, backup: Backup, table: str) -> None:
    """Fill a table; the backup holds the rows that migrations insert as well."""
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
            raise BackupError(f"{table}: {cursor.rowcount} rows, {rows.rows} were backed up")


def _refuse_occupied(connection: _Connection) -> None:
    found = [name for (name,) in connection.execute(query("restore_occupied")).fetchall()]
    if found:
        raise BackupError(
            f"the database is not empty (it has {', '.join(found)}, …): "
            "a backup is put back into a new one only"
        )


def _published(data: bytes) -> Checkpoint:
    """Return what a checkpoint says; whose it is its giver knows."""
    try:
        return parse_checkpoint(parse_note(data).text)
    except RecordError as error:
        raise BackupError(f"the checkpoint cannot be read: {error.detail}") from None


def _refuse_older(manifest: Manifest, published: Checkpoint | None) -> None:
    if published is not None and published.size > manifest.leaves:
        raise BackupError(LOST.format(size=published.size, leaves=manifest.leaves))


def _check_beginning(connection: _Connection, manifest: Manifest, published: Checkpoint) -> None:
    """Raise unless the tree that was published is the beginning of the one that came back."""

    def hashes(tile: Tile) -> bytes:
        return bytes(_one(connection, "log_hashes", tile.level, tile.first, tile.width))

    tree = TiledTree(manifest.leaves, hashes)
    if tree.root(published.size) != published.root:
        raise BackupError("the checkpoint is not one of the log in this backup")


def _one(connection: _Connection, name: str, *values: object) -> Any:
    row = connection.execute(query(name), values).fetchone()
    return None if row is None else row[0]


NO_ERASURES: Final[Mapping[UUID, datetime]] = MappingProxyType({})


class Amends:
    """
    What a backup brings back that had ended: tokens that were replaced, people who were erased.

    `ended` and `erased` count what was done. A recovery code stays: it is the way in which a
    person gets a new token, and no call ever replaces it.
    """

    def __init__(
        self, *, end_tokens: bool = False, erased: Mapping[UUID, datetime] = NO_ERASURES
    ) -> None:
        self._end_tokens = end_tokens
        self._erased = erased
        self.ended = 0
        self.erased = 0

    def make(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        """Change a database that was restored on this connection, in its transaction."""
        if self._erased:
            values = (list(self._erased), list(self._erased.values()))
            self.erased = _count(connection, "restore_erase", *values)
        if self._end_tokens:
            self.ended = _count(connection, "restore_end_tokens")


def _count(connection: psycopg.Connection[tuple[Any, ...]], name: str, *values: object) -> int:
    row = connection.execute(query(name), values).fetchone()
    return 0 if row is None else int(row[0])
