"""Streams distributed by their id: hash partitions, one of them on another database server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import conninfo

from service.api.app import create_app
from service.features import FEATURES
from service.runtime.config import Settings
from service.store.database import Database
from service.store.events import StreamConflict
from service.store.migrate import migrate
from service.store.postgres_events import PostgresStore
from tests.servers import DatabaseServer
from tests.streams import append, commit, lines_of

ROOT = Path(__file__).resolve().parents[2]

DISTRIBUTED = ("streams", "events")
"""Tables of which one partition is on another server here."""

CITUS = (ROOT / "ops" / "citus.sql").read_text()
DISTRIBUTED_BY = dict(re.findall(r"create_distributed_table\('(\w+)', '(\w+)'", CITUS))
"""The column that each distributed table is distributed by."""

REFERENCE = set(re.findall(r"create_reference_table\('(\w+)'\)", CITUS))
"""Tables that every server has as a whole: the reasons are in the file."""

ON_ONE_SERVER = {
    "applied_migrations": "bookkeeping of the schema",
    "applied_files": "bookkeeping of the schema",
    "outbox": "a queue over all streams, taken in order of age",
    "log_leaves": "the public log has one order; no move waits for it",
    "log_hashes": "the public log",
    "log_heads": "the public log",
    "log_cosignatures": "the public log",
    "log_time_stamps": "the public log",
    "log_damage": "the public log",
    "trail": "the operator log has one order",
    "ratings": "follow from the hands in the order of the public log",
    "ratings_reached": "one row beside them",
    "decisions": "follow from the hands in the order of the public log, and are searched as one",
    "decision_names": "numbers that all of them share",
    "decisions_reached": "one row beside them",
    "player_results": "one row a player, who plays in many games",
    "handles": "one order of all names, and a key over all players",
    "moments": "rows of a player, who looks at many games",
    "seeks": "matched in one order, with the rows of a table in one commit",
    "webhooks": "a queue of players, taken in order of time",
    "webhook_deliveries": "rows of these",
    "availability": "one row for the whole service",
    "write_probes": "always empty; a probe shows that the coordinator writes",
}
"""Tables that are not distributed, with the reason."""

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"

KEYS = """
SELECT t.relname, i.relname, array_agg(a.attname::text)
FROM pg_index x
JOIN pg_class i ON i.oid = x.indexrelid
JOIN pg_class t ON t.oid = x.indrelid
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (x.indkey)
WHERE (x.indisunique OR x.indisexclusion) AND t.relnamespace = 'public'::regnamespace
GROUP BY 1, 2
UNION ALL
SELECT t.relname, c.conname, array_agg(a.attname::text)
FROM pg_constraint c
JOIN pg_class t ON t.oid = c.conrelid
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (c.conkey)
WHERE c.contype = 'f' AND t.relnamespace = 'public'::regnamespace
GROUP BY 1, 2
"""
"""The columns of every unique key, exclusion constraint and foreign key."""


def keys_over_streams(connection: psycopg.Connection) -> set[str]:
    """Return the keys of distributed tables that lack the column of the distribution."""
    keys = connection.execute(KEYS.encode()).fetchall()
    return {
        key
        for table, key, columns in keys
        if table in DISTRIBUTED_BY and DISTRIBUTED_BY[table] not in columns
    }


def test_every_key_contains_the_distribution_column_of_its_table(database_url: str) -> None:
    """The test also finds a unique key and a foreign key that do not; it rolls them back."""
    with psycopg.connect(database_url) as connection:
        assert keys_over_streams(connection) == set()
        for statement in (
            "CREATE UNIQUE INDEX heads_once ON streams (head)",
            "ALTER TABLE games ADD CONSTRAINT at_a_table FOREIGN KEY (table_id) REFERENCES tables",
        ):
            connection.execute(statement.encode())
        assert keys_over_streams(connection) == {"heads_once", "at_a_table"}
        connection.rollback()


def test_every_table_is_distributed_or_has_a_reason_not_to_be(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        tables = {name for (name,) in connection.execute(TABLES.encode())}
    places = [*DISTRIBUTED_BY, *REFERENCE, *ON_ONE_SERVER]
    assert sorted(tables) == sorted(places)


ROW_LOCKS = {
    "hold_players": """PERFORM FROM players p
    WHERE p.player_id = ANY (wanted)
    ORDER BY p.player_id
    FOR KEY SHARE;""",
    "erase_player": "PERFORM FROM players p WHERE p.player_id = player FOR UPDATE;",
}
"""The statements that `ops/citus.sql` replaces by advisory locks."""


@pytest.mark.parametrize("name", ROW_LOCKS)
def test_the_functions_for_a_cluster_differ_only_in_their_locks(name: str) -> None:
    shipped = (ROOT / "sql" / "functions" / f"{name}.sql").read_text()
    before, lock, after = shipped[shipped.index("CREATE OR") :].partition(ROW_LOCKS[name])
    assert lock
    for_cluster = CITUS[CITUS.index(before) + len(before) :]
    assert for_cluster.startswith("PERFORM lock_players(")
    assert for_cluster.partition(";")[2].startswith(after.rstrip())


ROWS_LOCKED = {"add_seek", "purge_players", "refuse_over_quota"}
"""They lock rows there too: purge_players does not run on a cluster, the others lock first."""


def test_every_other_function_that_locks_players_has_advisory_locks_on_a_cluster() -> None:
    """Row locks of a reference table in the middle of a transaction cause distributed deadlocks."""
    locking = re.compile(
        r"FROM players p\b[^;]*\bFOR (?:NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)", re.DOTALL
    )
    files = (ROOT / "sql" / "functions").glob("*.sql")
    found = {file.stem for file in files if locking.search(file.read_text())}
    replaced = set(re.findall(r"CREATE OR REPLACE FUNCTION (\w+)", CITUS))
    assert found - replaced == ROWS_LOCKED


def test_no_sequence_orders_the_streams(database_url: str) -> None:
    """A sequence would be a value that all shards share."""
    query = (
        "SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace"
    )
    with psycopg.connect(database_url) as connection:
        assert connection.execute(query.encode()).fetchall() == []


class Shards:
    """Two migrated databases: the first reaches all streams, and the second stores half of them."""

    def __init__(self, server: DatabaseServer) -> None:
        self.url, self.shard_url = server.create(), server.create()
        migrate(self.url)
        migrate(self.shard_url)
        known = conninfo.conninfo_to_dict(self.shard_url)
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(b"CREATE EXTENSION postgres_fdw")
            options = _options(known, "host", "port", "dbname")
            login = _options(known, "user", "password")
            for statement in (
                f"CREATE SERVER shard FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({options})",
                f"CREATE USER MAPPING FOR CURRENT_USER SERVER shard OPTIONS ({login})",
            ):
                connection.execute(statement.encode())
            for table in DISTRIBUTED:
                for statement in _distribute(table):
                    connection.execute(statement.encode())

    def counts(self, table: str) -> dict[str, int]:
        """Return the number of rows of each partition."""
        query = f"SELECT tableoid::regclass::text, count(*) FROM {table} GROUP BY 1"
        with psycopg.connect(self.url) as connection:
            return dict(connection.execute(query.encode()).fetchall())


def _options(known: dict[str, Any], *names: str) -> str:
    return ", ".join(f"{name} '{known[name]}'" for name in names if known.get(name))


def _distribute(table: str) -> Iterator[str]:
    """Yield the statements that make a table the first of two hash partitions."""
    part = "PARTITION OF {0} FOR VALUES WITH (MODULUS 2, REMAINDER 1)"
    yield f"ALTER TABLE {table} RENAME TO {table}_here"
    yield (
        f"CREATE TABLE {table} (LIKE {table}_here INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"
        " PARTITION BY HASH (stream_id)"
    )
    here = f"ALTER TABLE {table} ATTACH PARTITION {table}_here"
    yield f"{here} FOR VALUES WITH (MODULUS 2, REMAINDER 0)"
    yield (
        f"CREATE FOREIGN TABLE {table}_there {part.format(table)}"
        f" SERVER shard OPTIONS (table_name '{table}')"
    )


@pytest.fixture(scope="module")
def shards(database_server: DatabaseServer) -> Iterator[Shards]:
    """Return two databases that share the streams."""
    made = Shards(database_server)
    yield made
    for url in (made.url, made.shard_url):
        database_server.drop(url)


@pytest.fixture
def store(shards: Shards) -> Iterator[PostgresStore]:
    """Return the store over both, as the owner, the only role that the other server knows."""
    database = Database(shards.url, size=2)
    yield PostgresStore(database)
    database.close()


def test_streams_on_both_shards_accept_appends_and_refuse_outdated_versions(
    shards: Shards, store: PostgresStore
) -> None:
    before = shards.counts("streams")
    streams = [uuid4() for _ in range(24)]
    for stream in streams:
        store.commit(commit(append(stream, b'{"a":1}', b'{"a":2}')))
        store.commit(commit(append(stream, b'{"a":3}', expected=2, after=store)))
        for outdated in (0, 2):
            with pytest.raises(StreamConflict):
                store.commit(commit(append(stream, b'{"a":4}', expected=outdated, after=store)))
        assert lines_of(store, stream) == (b'{"a":1}', b'{"a":2}', b'{"a":3}')
    after = shards.counts("streams")
    grown = {name: after[name] - before.get(name, 0) for name in after}
    assert set(grown) == {"streams_here", "streams_there"}
    assert min(grown.values()) > 0
    assert sum(grown.values()) == len(streams)
    assert sum(shards.counts("events").values()) >= 3 * len(streams)


def test_each_statement_of_an_append_or_a_read_touches_one_shard(
    shards: Shards, store: PostgresStore
) -> None:
    statements = (
        "SELECT line FROM streams LEFT JOIN events USING (stream_id) WHERE stream_id = '{0}'",
        "UPDATE streams SET version = 3 WHERE stream_id = '{0}' AND version = 2",
        "SELECT line FROM events WHERE stream_id = '{0}' AND seq >= 1",
    )
    seen = set()
    with psycopg.connect(shards.url) as connection:
        for _ in range(12):
            stream = uuid4()
            for statement in statements:
                explain = f"EXPLAIN (FORMAT JSON, VERBOSE) {statement.format(stream)}"
                row = connection.execute(explain.encode()).fetchone()
                assert row is not None
                places = {name.rpartition("_")[2] for name in _relations(row[0])}
                assert len(places & {"here", "there"}) == 1, row[0]
                seen |= places
    assert seen >= {"here", "there"}


def _relations(plan: Any) -> Iterator[str]:
    """Yield the tables that a plan reads or changes."""
    if isinstance(plan, list):
        for one in plan:
            yield from _relations(one)
    elif isinstance(plan, dict):
        if "Relation Name" in plan and plan.get("Node Type") != "ModifyTable":
            yield plan["Relation Name"]
        yield from _relations(list(plan.values()))


def test_hands_are_played_and_replayed_on_both_shards(shards: Shards, tmp_path: Path) -> None:
    settings = Settings(database_url=shards.url, key_file=tmp_path / "keys.json")
    client = create_app(FEATURES, settings=settings).test_client()
    token = client.post("/v1/players", json={"name": "Ada"}).get_json()["token"]
    me = {"Authorization": f"Bearer {token}"}
    table = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}], "window_seconds": 0}
    games = []
    for _ in range(8):
        game = client.post("/v1/tables", json=table, headers=me).get_json()["game"]
        for move in ({"type": "ready"}, {"type": "forfeit"}):
            answer = client.post(f"/v1/games/{game}/moves", json=move, headers=me)
            assert answer.status_code == 201, answer.data
        view = client.get(f"/v1/games/{game}", headers=me).get_json()
        assert view["status"] == "ended"
        replay = client.get(f"/v1/games/{game}/replay", headers=me).get_json()
        assert len(replay["items"]) == view["version"]
        games.append(UUID(game))
    with psycopg.connect(shards.url) as connection:
        query = "SELECT DISTINCT tableoid::regclass::text FROM events WHERE stream_id = ANY (%s)"
        places = cast("list[tuple[str]]", connection.execute(query, (games,)).fetchall())
    assert json.dumps(sorted(places)) == '[["events_here"], ["events_there"]]'
