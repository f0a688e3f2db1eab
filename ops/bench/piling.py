"""Thousands of finished games for benchmarks: copies of one game under new ids."""

from __future__ import annotations

import psycopg
from psycopg.sql import SQL, Identifier

BATCH = 500

# The summaries and streams of one game and its table; what a copy has of its own is put in.
_COPIED = {
    "streams": "one.stream_id = %(game)s",
    "games": "one.game_id = %(game)s",
    "game_seats": "one.game_id = %(game)s",
    "tables": "one.table_id = %(table)s",
    "table_seats": "one.table_id = %(table)s",
}
_OWN = SQL(
    "jsonb_build_object('stream_id', copy.game, 'game_id', copy.game, 'table_id', copy.hand_of,"
    " 'player_id', copy.player, 'host', copy.player, 'created_at', copy.at, 'ended_at', copy.at)"
)


def pile(url: str, count: int) -> int:
    """
    Store `count` finished games more at `url`, the owner's, and return the bytes then stored.

    The copies have the bytes of the game they were made from, under ids that do not fit them: they
    fill tables and indexes, and no caller may read them.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT game_id, table_id FROM games WHERE status = 'ended' ORDER BY created_at LIMIT 1"
        ).fetchone()
        if row is None:
            raise ValueError("a game has to be played first")
        for start in range(0, count, BATCH):
            _batch(connection, {"game": row[0], "table": row[1]}, start, min(BATCH, count - start))
        connection.execute("VACUUM ANALYZE")
        size = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(size[0]) if size else 0


def _batch(
    connection: psycopg.Connection, original: dict[str, object], start: int, count: int
) -> None:
    with connection.transaction():
        connection.execute(
            "CREATE TEMPORARY TABLE copy ON COMMIT DROP AS SELECT gen_random_uuid() AS game,"
            " gen_random_uuid() AS hand_of, gen_random_uuid() AS player,"
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
