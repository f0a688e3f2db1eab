"""Migrated databases for tests; each is reused if a test changed only rows."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import LiteralString

import psycopg

from tests.servers import DatabaseServer, database_name
from tests.warm_pools import WARM_POOLS

_EXIT_SECONDS = 2.0
"""Time limit for the server to notice that its clients have disconnected."""

_MAX_BYTES = 2 << 20
"""Size of tables without indexes, with dead rows, above which they slow down the next test."""

# A row of a catalogue gets a new xmin with each change: a new function, a disabled trigger,
# a granted privilege. Statistics are not part of it, nor rows of initdb that nothing changed:
# they are most of the rows, and have the xmin 1.
_FINGERPRINT = """
SELECT count(*), sum(xmin::text::bigint) FROM (
    SELECT xmin FROM pg_class
    UNION ALL SELECT xmin FROM pg_attribute
    UNION ALL SELECT xmin FROM pg_attrdef
    UNION ALL SELECT xmin FROM pg_constraint
    UNION ALL SELECT xmin FROM pg_default_acl
    UNION ALL SELECT xmin FROM pg_event_trigger
    UNION ALL SELECT xmin FROM pg_extension
    UNION ALL SELECT xmin FROM pg_index
    UNION ALL SELECT xmin FROM pg_namespace
    UNION ALL SELECT xmin FROM pg_policy
    UNION ALL SELECT xmin FROM pg_proc
    UNION ALL SELECT xmin FROM pg_rewrite
    UNION ALL SELECT xmin FROM pg_sequence
    UNION ALL SELECT xmin FROM pg_type
    UNION ALL SELECT xmin FROM pg_database WHERE datname = current_database()
    UNION ALL SELECT s.xmin FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
        WHERE d.datname = current_database()
) WHERE xmin <> '1'::xid
"""

_USER_TABLES = """
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
ORDER BY 1
"""

# Tables that have or had rows, with their bytes including dead rows.
_WRITTEN = """
SELECT oid::regclass::text, bytes FROM (
    SELECT c.oid, pg_relation_size(c.oid) AS bytes
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
    OFFSET 0
) WHERE bytes > 0
"""

# Tests disable triggers to write rows that the database would refuse. The triggers are enabled
# again afterwards, so their state is not part of the fingerprint.
_TRIGGERS = """
SELECT tgrelid::regclass::text, quote_ident(tgname), tgenabled::text,
    concat_ws(' ', tgfoid, tgtype, tgattr, tgqual)
FROM pg_trigger
"""

_SWITCHES = {"O": "ENABLE", "D": "DISABLE", "R": "ENABLE REPLICA", "A": "ENABLE ALWAYS"}

_SEQUENCES = """
SELECT format('%I.%I', schemaname, sequencename), coalesce(last_value, start_value),
    last_value IS NOT NULL
FROM pg_sequences
"""

# The function behind the view pg_stat_activity, whose joins cost three times as much.
_CLIENTS = """
SELECT count(*) FROM pg_stat_get_activity(NULL)
WHERE datid = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND pid <> ALL(%s)
"""


@dataclass(kw_only=True)
class Databases:
    """
    Copies of the migrated database `template` on one server.

    Creating and dropping a database costs a quarter of a second of processor time; deleting the
    rows of a test costs some milliseconds. A database is dropped if a test left a connection, a
    changed catalogue or much data.

    One idle connection to each database stays open: a new backend would first read the catalogues
    again, which costs 12 ms of processor time. The pools of the service stay open likewise, see
    `WarmPools`.
    """

    server: DatabaseServer
    template: str
    _free: list[str] = field(default_factory=list)
    _fingerprints: dict[str, tuple[int, int]] = field(default_factory=dict)
    _connections: dict[str, psycopg.Connection] = field(default_factory=dict)
    _initial: Contents | None = None

    @contextmanager
    def lent(self) -> Iterator[str]:
        """Yield the address of a database that equals the template, for the time of a block."""
        url = self.take()
        yield url
        self.give_back(url)

    def take(self) -> str:
        """Return the address of a database that equals the template, as its owner."""
        if self._free:
            return self._free.pop()
        url = self.server.create(template=self.template)
        WARM_POOLS.names.add(database_name(url))
        connection = self._connection(url)
        self._fingerprints[url] = _fingerprint(connection)
        if self._initial is None:
            self._initial = _contents(connection)
        return url

    def give_back(self, url: str) -> None:
        """Restore the database at `url` to the state of the template, or drop it."""
        if self._restored(url):
            self._free.append(url)
        else:
            self._fingerprints.pop(url)
            self._drop(url)

    def contents(self, url: str) -> Contents:
        """Return all rows of the database at `url`, for `fill`."""
        return _contents(self._connection(url))

    def fill(self, url: str, contents: Contents) -> None:
        """Replace all rows of the database at `url` by those of another one."""
        assert _restore(self._connection(url), contents)

    def drop_all(self) -> None:
        """Drop the databases that no test is using."""
        while self._free:
            self._drop(self._free.pop())

    def _drop(self, url: str) -> None:
        self._connections.pop(url).close()
        WARM_POOLS.close(url)
        self.server.drop(url)

    def _connection(self, url: str) -> psycopg.Connection:
        """Return the connection to the database at `url`, a new one if a test ended the last."""
        with suppress(KeyError, psycopg.OperationalError):
            self._connections[url].execute("SELECT 1")
            return self._connections[url]
        self._connections[url] = psycopg.connect(url, autocommit=True)
        return self._connections[url]

    def _restored(self, url: str) -> bool:
        assert self._initial is not None
        try:
            connection = self._connection(url)
            return (
                _has_no_clients(connection, besides=WARM_POOLS.sessions(url))
                and _fingerprint(connection) == self._fingerprints[url]
                and _restore(connection, self._initial)
            )
        except (psycopg.OperationalError, psycopg.errors.InsufficientPrivilege):
            return False  # no connections allowed, or an owner that is not a superuser


_Triggers = dict[tuple[str, str], tuple[str, str]]
"""Whether each trigger is enabled, and what it does, by table and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The rows of each table, the sequences and the triggers of a database."""

    rows: dict[str, bytes]
    sequences: frozenset[tuple[str, int, bool]]  # name, value, whether it has been returned
    triggers: _Triggers


def _contents(connection: psycopg.Connection) -> Contents:
    tables = [str(row[0]) for row in connection.execute(_USER_TABLES)]
    rows = {table: _rows(connection, table) for table in tables}
    return Contents(rows=rows, sequences=_sequences(connection), triggers=_triggers(connection))


def _has_no_clients(connection: psycopg.Connection, *, besides: list[int]) -> bool:
    """
    Return whether no client is connected besides this one and those of some server processes.

    Waits up to _EXIT_SECONDS for the others to leave.
    """
    end = time.monotonic() + _EXIT_SECONDS
    while _number(connection, _CLIENTS, besides) > 0:
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def _fingerprint(connection: psycopg.Connection) -> tuple[int, int]:
    row = connection.execute(_FINGERPRINT).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def _restore(connection: psycopg.Connection, initial: Contents) -> bool:
    """
    Replace all rows by the initial ones.

    Returns False if there are other triggers or too much data. In the role of a replica only
    triggers that are enabled as ALWAYS fire.
    """
    written = {str(row[0]): int(row[1]) for row in connection.execute(_WRITTEN)}
    if sum(written.values()) > _MAX_BYTES:
        return False
    now = _triggers(connection)
    if {key: does for key, (_, does) in now.items()} != {
        key: does for key, (_, does) in initial.triggers.items()
    }:
        return False
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        always = {table for (table, _), (state, _) in now.items() if state == "A"}
        for table in _filled(connection, initial.rows, written):
            rows = initial.rows[table]
            if rows and _rows(connection, table) == rows:
                continue
            if table in always:
                connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
            connection.execute(f"DELETE FROM {table}".encode())
            if rows:
                with connection.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
                    copy.write(rows)
        for sequence in initial.sequences - _sequences(connection):
            connection.execute("SELECT setval(%s::regclass, %s, %s)", sequence)
        for (table, name), (state, _) in _triggers(connection).items():
            wanted = initial.triggers[table, name][0]
            if state != wanted:
                switch = f"ALTER TABLE {table} {_SWITCHES[wanted]} TRIGGER {name}"
                connection.execute(switch.encode())
    return True


def _sequences(connection: psycopg.Connection) -> frozenset[tuple[str, int, bool]]:
    found = connection.execute(_SEQUENCES)
    return frozenset((str(row[0]), int(row[1]), bool(row[2])) for row in found)


def _triggers(connection: psycopg.Connection) -> _Triggers:
    found = connection.execute(_TRIGGERS)
    return {(str(row[0]), str(row[1])): (str(row[2]), str(row[3])) for row in found}


def _filled(
    connection: psycopg.Connection, initial: dict[str, bytes], written: Collection[str]
) -> list[str]:
    """Return the tables that have rows now or had rows in the template."""
    parts = [f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in written]
    now = {str(row[0]) for row in connection.execute(" UNION ALL ".join(parts).encode())}
    return [table for table, rows in initial.items() if rows or table in now]


def _rows(connection: psycopg.Connection, table: str) -> bytes:
    with connection.cursor().copy(f"COPY {table} TO STDOUT".encode()) as copy:
        return b"".join(copy)


def _number(connection: psycopg.Connection, statement: LiteralString, *values: object) -> int:
    row = connection.execute(statement, values).fetchone()
    assert row is not None
    return int(row[0])
