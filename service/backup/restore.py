"""Restore a backup into an empty database, and repeat erasures made since the backup."""

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
    "that continues from it would sign a second tree. Use a later backup"
)

_Connection = psycopg.Connection[tuple[Any, ...]]


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
        _refuse_older(backup.manifest, published)
        backup.check()
        with psycopg.connect(
            database_url, cursor_factory=psycopg.RawCursor, application_name="shithead restore"
        ) as connection:
            _restore_rows(connection, backup)
            if published is not None:
                _check_beginning(connection, backup.manifest, published)
            if corrections is not None:
                corrections.apply(connection)
    except MigrationError as error:
        raise BackupError(str(error)) from None
    except psycopg.Error as error:
        raise BackupError(f"the database refused: {' '.join(str(error).split())}") from None
    finally:
        backup.close()
    return backup.manifest


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
    if count := _one(connection, "restore_misfits"):
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


def _refuse_older(manifest: Manifest, published: Checkpoint | None) -> None:
    if published is not None and published.size > manifest.leaves:
        raise BackupError(LOST.format(size=published.size, leaves=manifest.leaves))


def _check_beginning(connection: _Connection, manifest: Manifest, published: Checkpoint) -> None:
    """Raise BackupError unless the published tree is a prefix of the restored one."""

    def hashes(tile: Tile) -> bytes:
        return bytes(_one(connection, "log_hashes", tile.level, tile.first, tile.width))

    tree = TiledTree(manifest.leaves, hashes)
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
