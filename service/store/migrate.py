"""Migrations and roles of the database; forward only."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import psycopg
from psycopg import conninfo, sql

from service.store.database import SQL, query

SERVICE = "shithead_service"

_RowsOf: TypeAlias = Callable[[str], list[tuple[Any, ...]]]
"""A function that returns the rows of a named query."""


def service_url(owner_url: str, *, password: str | None = None) -> str:
    """
    Return the address of the same database for the API and the workers.

    Without a password it works only if the server trusts the connection, as the embedded one
    trusts its private socket. Otherwise the caller stores a password and sets it with
    `set_password`.
    """
    if not owner_url.startswith(("postgresql://", "postgres://")):
        return conninfo.make_conninfo(owner_url, user=SERVICE, password=password or "")
    scheme, _, rest = owner_url.partition("://")
    authority, slash, path = rest.partition("/")
    _, _, host = authority.rpartition("@")
    secret = "" if password is None else ":" + quote(password, safe="")
    return f"{scheme}://{SERVICE}{secret}@{host}{slash}{path}"


def set_password(owner_url: str, password: str) -> None:
    """Set the password of the service's role, for all databases of the server."""
    statement = sql.SQL("ALTER ROLE {} PASSWORD {}").format(
        sql.Identifier(SERVICE), sql.Literal(password)
    )
    with psycopg.connect(owner_url, autocommit=True) as connection:
        connection.execute(statement)


class MigrationError(RuntimeError):
    """The database cannot be migrated by this release; the message states why."""


class LaterSchema(MigrationError):
    """A later release migrated the database; this one can use it, but does not change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlFile:
    """A file of `sql/`, and the hash that reveals a change of it."""

    name: str
    text: bytes

    @property
    def checksum(self) -> bytes:
        """Return the SHA-256 of the file."""
        return hashlib.sha256(self.text).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The names of the migrations, functions and privileges that one run applied."""

    migrations: tuple[str, ...]
    others: tuple[str, ...]


def migrate(database_url: str, *, folder: Path = SQL) -> Applied:
    """
    Bring the database at `database_url` to the schema of this release; return what was applied.

    All changes are made in one transaction. Concurrent calls wait for the first one, and then
    have nothing to do. Connects as the owner.

    Raises MigrationError if the schema was made before 0.1.0, if an applied migration was changed,
    is unknown to this release or follows a missing one, or if the owner lacks a privilege.
    """
    with (
        psycopg.connect(
            database_url, cursor_factory=psycopg.RawCursor, application_name="shithead migrate"
        ) as connection,
        connection.transaction(),
    ):
        return bring_forward(connection, folder)


def finish(database_url: str, *, folder: Path = SQL) -> None:
    """
    Drop the functions that only processes of earlier releases call; as the owner.

    They have to be stopped. A database that no earlier release has used needs it not.
    """
    with (
        psycopg.connect(database_url, cursor_factory=psycopg.RawCursor) as connection,
        connection.transaction(),
    ):
        connection.execute(query("migration_lock"))
        for name in superseded(lambda name: connection.execute(query(name)).fetchall(), folder):
            connection.execute(sql.SQL("DROP FUNCTION IF EXISTS {}").format(sql.Identifier(name)))
            connection.execute(query("forget_file"), (name,))


def superseded(rows_of: _RowsOf, folder: Path = SQL) -> list[str]:
    """
    Return the functions that `finish` drops: of earlier releases, and no longer in `sql/functions`.

    There are none if a later release has migrated the database, because unknown ones are its own.
    """
    applied: Mapping[str, bytes] = dict(rows_of("applied_migrations"))
    if not applied.keys() <= {file.name for file in _files(folder / "migrations")}:
        return []
    present = {file.name for file in (*_files(folder / "functions"), *_files(folder))}
    return sorted(dict(rows_of("applied_files")).keys() - present)


def bring_forward(connection: psycopg.Connection[tuple[Any, ...]], folder: Path = SQL) -> Applied:
    """Do the work of `migrate` within the caller's transaction."""
    apply_bookkeeping(connection)
    pending = pending_migrations(_applied(connection, "applied_migrations"), folder)
    apply_migrations(connection, pending)
    others = _apply_again(connection, folder, everything=bool(pending))
    return Applied(migrations=_names(pending), others=_names(others))


def apply_bookkeeping(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Lock out other migrations, and create the tables that record the applied files."""
    connection.execute(query("migration_lock"))
    _run(connection, SqlFile(name="bookkeeping", text=query("bookkeeping")))


def apply_migrations(
    connection: psycopg.Connection[tuple[Any, ...]], files: Iterable[SqlFile]
) -> None:
    """Apply and record migrations, without functions and triggers, which follow the last one."""
    for file in files:
        _run(connection, file)
        connection.execute(query("note_migration"), (file.name, file.checksum))


def applied_by(checksums: Mapping[str, bytes], folder: Path = SQL) -> list[SqlFile]:
    """
    Return the migrations that another database has recorded as applied, in order.

    Raises MigrationError if they are not the first ones of this release.
    """
    pending = {file.name for file in pending_migrations(checksums, folder)}
    return [file for file in _files(folder / "migrations") if file.name not in pending]


def check(database_url: str, *, folder: Path = SQL) -> None:
    """
    Check that the schema of the database is that of this release, or a later one.

    Raises MigrationError if a migration is missing, psycopg.OperationalError if the database does
    not answer.
    """
    with psycopg.connect(
        database_url, autocommit=True, cursor_factory=psycopg.RawCursor, connect_timeout=2
    ) as connection:
        check_rows(lambda name: connection.execute(query(name)).fetchall(), folder=folder)


def check_rows(rows_of: _RowsOf, *, folder: Path = SQL) -> None:
    """
    Check the schema like `check`, with a function that returns the rows of a named query.

    For readiness, on a connection that is open; the service's role may call it too. Raises
    MigrationError.
    """
    if rows_of("bookkeeping_exists") != [(True,)]:
        raise MigrationError("the database has not been migrated: run `shithead migrate`")
    applied = {name for name, _ in rows_of("applied_migrations")}
    refuse_made_before(applied, folder)
    missing = [file.name for file in _files(folder / "migrations") if file.name not in applied]
    if missing:
        raise MigrationError(
            f"migrations are missing: {', '.join(missing)}; run `shithead migrate`"
        )


def pending_migrations(applied: Mapping[str, bytes], folder: Path = SQL) -> list[SqlFile]:
    """
    Return the migrations still to be applied, in order.

    Raises LaterSchema if a later release has migrated the database, MigrationError if it was made
    before 0.1.0, an applied file was changed, or a new one comes before an applied one.
    """
    refuse_made_before(applied, folder)
    files = {file.name: file for file in _files(folder / "migrations")}
    for name, checksum in applied.items():
        if name not in files:
            raise LaterSchema(
                f"the database has migration {name}, which this release does not know: "
                "it belongs to a later one"
            )
        if files[name].checksum != checksum:
            raise MigrationError(f"migration {name} was changed after it had been applied")
    pending = [file for name, file in files.items() if name not in applied]
    if pending and applied and pending[0].name < max(applied):
        raise MigrationError(f"migration {pending[0].name} comes before one already applied")
    return pending


def refuse_made_before(applied: Collection[str], folder: Path = SQL) -> None:
    """Raise MigrationError if migrations were applied, but not the first one of every release."""
    first, *_ = _files(folder / "migrations")
    if applied and first.name not in applied:
        raise MigrationError(
            "the schema was made before 0.1.0, which this release neither migrates nor reads"
        )


def _apply_again(
    connection: psycopg.Connection[tuple[Any, ...]], folder: Path, *, everything: bool
) -> list[SqlFile]:
    """
    Run the files of functions that changed, or all, then set privileges again.

    Returns the files that were run.
    """
    applied = _applied(connection, "applied_files")
    privileges = _files(folder, "privileges*.sql")  # those of a feature may have a file
    files = [*_files(folder / "functions"), *privileges]
    changed = [file for file in files if everything or applied.get(file.name) != file.checksum]
    if changed:  # until then every role may execute a new function
        changed += [file for file in privileges if file not in changed]
    for file in changed:
        _run(connection, file)
        connection.execute(query("note_file"), (file.name, file.checksum))
    return changed


def _names(files: Iterable[SqlFile]) -> tuple[str, ...]:
    return tuple(file.name for file in files)


def _run(connection: psycopg.Connection[tuple[Any, ...]], file: SqlFile) -> None:
    try:
        connection.execute(file.text)
    except psycopg.errors.InsufficientPrivilege as error:
        raise MigrationError(
            f"{file.name}: this user lacks a privilege ({error.diag.message_primary}); "
            "see sql/privileges.sql for the roles an administrator can make beforehand"
        ) from error


def _applied(connection: psycopg.Connection[tuple[Any, ...]], name: str) -> dict[str, bytes]:
    return dict(connection.execute(query(name)).fetchall())


def _files(folder: Path, pattern: str = "*.sql") -> list[SqlFile]:
    files = [
        SqlFile(name=path.stem, text=path.read_bytes()) for path in sorted(folder.glob(pattern))
    ]
    if not files:
        raise MigrationError(f"there is no {pattern} in {folder}: the installation is incomplete")
    return files
