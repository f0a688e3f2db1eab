"""Taking a backup: every table as it stood at one moment, while the service goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

from service.event_store.queries import query
from service.keeping.backup_file import BackupError, Manifest, TableRows, Writer, new_backup
from service.record.times import format_time
from service.version import VERSION

REMADE: Final = frozenset({"applied_migrations", "applied_files"})
"""Tables that the way back fills by itself, from the migrations that the manifest names."""

_Connection = psycopg.Connection[tuple[Any, ...]]


def back_up(database_url: str, path: Path, *, now: datetime) -> Manifest:
    """
    Write a backup of a database and return its manifest; the service may go on meanwhile.

    All tables are read in one transaction that sees the database as it was when it
    began, so every stream fits its row, its game's table and the public log. Any role
    that may read all tables will do. Raises BackupError; then there is no file.
    """
    try:
        with _snapshot(database_url) as connection, new_backup(path) as writer:
            tables = {
                table: _copied(connection, writer, table, columns)
                for table, columns in _tables(connection)
                if table not in REMADE
            }
            manifest = _manifest(connection, tables, now)
            writer.finish(manifest)
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
        raise BackupError("this is no database of the service")
    return [(name, columns) for name, columns in found]


def _copied(
    connection: _Connection, writer: Writer, table: str, columns: list[str]
) -> TableRows:
    statement = sql.SQL("COPY {} ({}) TO STDOUT").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as rows:
        return writer.add(table, columns, (bytes(block) for block in rows))


def _manifest(connection: _Connection, tables: dict[str, TableRows], now: datetime) -> Manifest:
    applied = connection.execute(query("applied_migrations")).fetchall()
    row = connection.execute(query("backup_facts")).fetchone()
    if row is None:
        raise BackupError("this is no database of the service")
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
