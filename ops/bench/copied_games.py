"""Thousands of stored games for benchmarks: copies of played games under new ids."""

from __future__ import annotations

from typing import LiteralString
from uuid import UUID

import psycopg
from psycopg.sql import SQL, Identifier

BATCH = 500
ORIGINALS = 5
"""The maximum number of games that are copied in turn."""

# The rows of a game, its table and its host, by database table. Each copy has its own ids,
# player and times.
_COPIED: dict[str, LiteralString] = {
    "players": "one.player_id = (SELECT host FROM tables WHERE table_id = %(table)s)",
    "streams": "one.stream_id = %(game)s",
    "secrets": "one.game_id = %(game)s",
    "games": "one.game_id = %(game)s",
    "game_seats": "one.game_id = %(game)s",
    "tables": "one.table_id = %(table)s",
    "table_seats": "one.table_id = %(table)s",
}
_OWN = SQL(
    "jsonb_build_object('stream_id', copy.game, 'game_id', copy.game, 'table_id', copy.table_id,"
    " 'player_id', copy.player, 'host', copy.player, 'created_at', copy.at,"
    " 'ended_at', CASE WHEN %(ended)s THEN copy.at END,"
    " 'token_hash', sha256(uuid_send(copy.player)),"
    " 'recovery_hash', sha256(uuid_send(copy.game)))"
)

# One answer for each two events, as the moves of one player, and the game's leaves of the public
# log. Their indexes are so far above those of the tree that the tree never grows into them.
_ANSWERS = """
    INSERT INTO answers (caller, request_key, body_hash, sealed)
    SELECT copy.player, sha256(uuid_send(gen_random_uuid())), a.body_hash, a.sealed
    FROM copy, (SELECT body_hash, sealed FROM answers LIMIT %(answers)s) a
"""
_LEAVES = """
    INSERT INTO log_leaves (leaf_index, game_id, version, data, added_at)
    SELECT
        1000000000000 + %(leaves)s + row_number() OVER (), copy.game, l.version, l.data, now()
    FROM copy, log_leaves l
    WHERE l.game_id = %(game)s
"""


def store_copies(url: str, count: int) -> int:
    """
    Store `count` more finished games at `url`, the owner's, and return the size of the database.

    The copies have the bytes of their originals under other ids. They fill tables and indexes, and
    cannot be read as games.

    Raises ValueError if no game has ended.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        _copy(connection, count, ended=True)
        connection.execute("VACUUM ANALYZE")
        return _number(connection, "SELECT pg_database_size(current_database())")


def fill_up(url: str, *, events: int, running: int) -> tuple[int, int]:
    """
    Store finished games until there are `events` events, and running games until `running`.

    Returns the events and the bytes that are then stored. The copies are those of `store_copies`.

    Raises ValueError if no game has ended or none is running.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        games = _number(connection, "SELECT count(*) FROM games WHERE ended_at IS NULL")
        _copy(connection, running - games, ended=False)
        stored = _number(connection, "SELECT sum(version) FROM streams")
        mean = _number(connection, f"SELECT avg(version) FROM ({_originals(ended=True)}) o")
        _copy(connection, (events - stored) // mean + 1, ended=True)
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
        return (
            _number(connection, "SELECT sum(version) FROM streams"),
            _number(connection, "SELECT pg_database_size(current_database())"),
        )


def _originals(*, ended: bool) -> LiteralString:
    """Return the query for the games that are copied, the shortest ones."""
    state: LiteralString = "IS NOT NULL" if ended else "IS NULL"
    return (
        f"SELECT game_id, table_id, version FROM games WHERE ended_at {state}"
        f" ORDER BY version LIMIT {ORIGINALS}"
    )


def _copy(connection: psycopg.Connection, count: int, *, ended: bool) -> None:
    """Store `count` copies in batches; each batch copies one of the originals."""
    found = connection.execute(_originals(ended=ended)).fetchall()
    if not found:
        raise ValueError("a game has to be played first")
    for number, start in enumerate(range(0, count, BATCH)):
        game, table, version = found[number % len(found)]
        original = {"game": game, "table": table, "ended": ended, "answers": version // 2}
        _batch(connection, original, start, min(BATCH, count - start))


def _batch(
    connection: psycopg.Connection, original: dict[str, UUID | bool | int], start: int, count: int
) -> None:
    with connection.transaction():
        connection.execute(
            "CREATE TEMPORARY TABLE copy ON COMMIT DROP AS SELECT gen_random_uuid() AS game,"
            " gen_random_uuid() AS table_id, gen_random_uuid() AS player,"
            " now() - (%s + n) * interval '1 minute' AS at FROM generate_series(1, %s) AS n",
            [start, count],
        )
        for table, where in _COPIED.items():
            name = Identifier(table)
            connection.execute(
                SQL(
                    "INSERT INTO {0} SELECT made.* FROM {0} AS one, copy,"
                    " jsonb_populate_record(NULL::{0}, to_jsonb(one) || {1}) AS made WHERE {2}"
                ).format(name, _OWN, SQL(where)),
                original,
            )
        connection.execute(
            "INSERT INTO events SELECT copy.game, seq, line FROM events, copy"
            " WHERE stream_id = %(game)s",
            original,
        )
        connection.execute(_ANSWERS, original)
        leaves = _number(connection, "SELECT coalesce(max(leaf_index), 0) FROM log_leaves")
        connection.execute(_LEAVES, {**original, "leaves": leaves % 1_000_000_000_000})


def _number(connection: psycopg.Connection, query: LiteralString) -> int:
    """Return the number that a query finds, 0 if it finds none."""
    row = connection.execute(query).fetchone()
    return int(row[0] or 0) if row else 0
