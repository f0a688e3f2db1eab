"""The functions that write a move: each writes the same rows, and only moves take the short one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from service.store.database import Database, queries
from service.store.events import Commit, OutboxRow, StoredAnswer, StreamKind
from service.store.postgres_events import PostgresStore, encode_commit, move_arguments
from service.store.summaries import MoveColumns
from tests.changed import replace
from tests.streams import FIRST, answer, append, commit, lines_of, linked, new_game

FUNCTIONS = Path(__file__).resolve().parents[2] / "sql" / "functions"
LINES = (b'{"a":"\xc3\xa4"}', b'{"b":1}')
SUMMARY: dict[str, Any] = {
    "status": "swapping",
    "turn": 1,
    "dealer": None,
    "ended_at": None,
    "reason": None,
    "shithead": None,
    "places": None,
    "left_by": None,
    "wake_kind": "time_out",
    "wake_at": "2026-03-01T12:00:30.000000Z",
}
WRITTEN = (
    "SELECT kind, version, head FROM streams WHERE stream_id = $1",
    "SELECT status, version, turn, dealer, ended_at, reason FROM games WHERE game_id = $1",
    "SELECT shithead, places, wake_kind, wake_at, back FROM games WHERE game_id = $1",
    "SELECT version, topic FROM outbox WHERE stream_id = $1",
)
ANSWERED = "SELECT request_key, body_hash, sealed FROM answers WHERE caller = $1"


def move(game: UUID, stored: StoredAnswer | None = None) -> Commit:
    """Return the commit of a move of two events at version 1."""
    row = OutboxRow(stream=game, version=3, topic="game")
    appended = append(game, *LINES, expected=1, after=FIRST, summary=SUMMARY)
    return commit(appended, answer=stored, outbox=(row,))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Return an empty database, used as its owner."""
    opened = Database(database_url)
    yield opened
    opened.close()


def test_a_move_writes_the_same_rows_in_each_way(database: Database, database_url: str) -> None:
    """`append_game_move` is compared with the general functions."""
    store = PostgresStore(database)
    with psycopg.connect(
        database_url, autocommit=True, cursor_factory=psycopg.RawCursor
    ) as connection:
        rows = []
        for function in ("append_game_move", "try_append_events", "append_events"):
            game, stored = new_game(store), answer()
            if function == "append_game_move":
                store.commit(move(game, stored))
            else:
                sent = encode_commit(move(game, stored))
                returned = connection.execute(f"SELECT {function}($1::jsonb)", (sent,)).fetchone()
                assert returned
                assert not returned[0]
            written = [connection.execute(query, (game,)).fetchall() for query in WRITTEN]
            kept = connection.execute(ANSWERED, (stored.caller,)).fetchall()
            rows.append((lines_of(store, game), written, kept))
    assert rows[0] == rows[1] == rows[2]
    assert rows[0][0] == (FIRST, *LINES)


def test_a_new_column_of_games_is_named_in_one_function_and_one_declaration(
    database: Database, database_url: str
) -> None:
    """`append_game_move` sets the columns of `MoveColumns`; the general way takes the table's."""
    text = (FUNCTIONS / "append_game_move.sql").read_text()
    assignments = text.partition("UPDATE games g SET")[2].partition("WHERE")[0]
    assigned = set(re.findall(r"(\w+) = ", assignments))
    assert assigned == {*MoveColumns.__annotations__, "version"}
    game = new_game(PostgresStore(database))
    with psycopg.connect(database_url) as connection:
        connection.execute("ALTER TABLE games ADD COLUMN stakes integer")
        connection.execute("SELECT summarise_game(%s, 1, '{\"stakes\": 7}')", (game,))
        row = connection.execute(
            "SELECT stakes, status, version FROM games WHERE game_id = %s", (game,)
        ).fetchone()
        connection.rollback()
    assert row is not None
    assert row[0] == 7
    assert row[1:] == ("playing", 1)


def test_only_the_known_functions_append() -> None:
    """Those of decision 0061: append_game_move for an ordinary move, else try_append_events."""
    texts = b"\n".join(queries().values()).decode()
    called = set(re.findall(r"SELECT (\w*append_\w+)\(", texts))
    assert called == {"append_game_move", "try_append_events", "append_log"}


def test_an_ordinary_move_has_arguments() -> None:
    game, stored = uuid4(), answer()
    arguments = move_arguments(replace(move(game, stored), token=b"t"))
    assert arguments is not None
    lines = b"\n".join((linked(game, LINES[0], FIRST), *LINES[1:])).decode()
    assert arguments[:4] == (b"t", game, 1, lines)
    assert arguments[-5:] == (
        "game",
        *(stored.caller, stored.request_key, stored.body_hash, stored.sealed),
    )
    without = move_arguments(move(game))
    assert without is not None
    assert without[-4:] == (None, None, None, None)


GAME = UUID(int=5)
ROW = OutboxRow(stream=GAME, version=3, topic="game")


def changed(**changes: Any) -> Commit:
    """Return a move whose append is changed."""
    made = move(GAME)
    return replace(made, appends=(replace(made.appends[0], **changes),))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(move(GAME), outbox=()), id="no outbox row"),
        pytest.param(
            replace(move(GAME), outbox=(ROW, replace(ROW, topic="log"))), id="two outbox rows"
        ),
        pytest.param(replace(move(GAME), outbox=(replace(ROW, version=2),)), id="another version"),
        pytest.param(replace(move(GAME), forget_secret=GAME), id="a seal"),
        pytest.param(
            replace(
                move(GAME),
                appends=(*move(GAME).appends, append(uuid4(), b"x", kind=StreamKind.TABLE)),
            ),
            id="two streams",
        ),
        pytest.param(changed(kind=StreamKind.TABLE), id="a table"),
        pytest.param(changed(expected=0), id="the first events"),
        pytest.param(changed(summary=None), id="no row"),
        pytest.param(changed(summary={**SUMMARY, "back": [0]}), id="a returning player"),
        pytest.param(
            changed(summary={**SUMMARY, "status": "ended", "ended_at": "2026-03-01T12:00:00Z"}),
            id="an ended game",
        ),
        pytest.param(changed(events=(b"a\nb", b"c")), id="an event with a line feed"),
    ],
)
def test_no_other_commit_is_an_ordinary_move(other: Commit) -> None:
    assert move_arguments(other) is None
