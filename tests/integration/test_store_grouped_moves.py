"""Moves that wait for the database are one transaction, and each has its own result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest

from service.store.database import Database, NotSent
from service.store.events import (
    AnswerConflict,
    Commit,
    StoreError,
    StoreUnavailable,
    StreamConflict,
    TokenEnded,
)
from service.store.postgres_events import PostgresStore
from tests.changed import replace
from tests.integration.test_store_moves import LINES, move
from tests.running import wait_for
from tests.streams import FIRST, answer, lines_of, new_game

WHOLE = (FIRST, *LINES)
WAIT = 30.0
"""Longest wait in seconds for something that happens at once, unless the machine is busy."""


class Moves:
    """A store whose process has one place for moves, and the moves that wait for it."""

    def __init__(self, url: str, threads: ThreadPoolExecutor) -> None:
        self.url, self._threads = url, threads
        self.database = Database(url, size=1, connection_seconds=WAIT, statement_seconds=WAIT)
        self.store = PostgresStore(self.database)
        self._sent = 0

    def game(self) -> UUID:
        """Return a new game."""
        return new_game(self.store)

    def send(self, commit: Commit) -> Future[None]:
        """Write a commit in another thread; those that are sent later wait behind it."""
        sent = self._threads.submit(self.store.commit, commit)
        moves = self.store._moves
        wait_for(lambda: len(moves._waiting) == self._sent and self._is_blocked(), seconds=WAIT)
        self._sent += 1
        return sent

    def _is_blocked(self) -> bool:
        """Return whether the first one waits for a lock: until then it may want a connection."""
        with psycopg.connect(self.url) as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).fetchone()
        return row == (1,)

    def transactions(self, games: list[UUID]) -> list[int]:
        """Return how many events each transaction wrote to some games."""
        with psycopg.connect(self.url) as connection:
            rows = connection.execute(
                "SELECT count(*) FROM events WHERE stream_id = ANY(%s) AND seq > 0 GROUP BY xmin",
                (games,),
            ).fetchall()
        return [count for (count,) in rows]


@pytest.fixture
def moves(database_url: str) -> Iterator[Moves]:
    """Return a store on an empty database, used as its owner."""
    with ThreadPoolExecutor(8) as threads:
        made = Moves(database_url, threads)
        yield made
        made.database.close()
    assert made.store._moves._free == 1, "each place that was taken is free again, and no other"


@contextmanager
def locked(url: str, game: UUID) -> Iterator[None]:
    """Let moves of a game wait while the block runs."""
    with psycopg.connect(url) as connection:
        connection.execute("SELECT FROM streams WHERE stream_id = %s FOR UPDATE", (game,))
        yield


def test_moves_that_wait_for_a_place_are_one_transaction(moves: Moves) -> None:
    first, *others = games = [moves.game() for _ in range(4)]
    with locked(moves.url, first):
        sent = [moves.send(move(game, answer())) for game in games]
    for one in sent:
        one.result(WAIT)
    assert all(lines_of(moves.store, game) == WHOLE for game in games)
    assert moves.transactions([first]) == [2]
    assert moves.transactions(others) == [6]


def test_a_group_has_a_largest_size(moves: Moves, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement has a time limit, and an answer waits for all moves of its group."""
    monkeypatch.setattr("service.store.grouped_moves.LARGEST", 2)
    first, *others = games = [moves.game() for _ in range(6)]
    with locked(moves.url, first):
        sent = [moves.send(move(game)) for game in games]
    for one in sent:
        one.result(WAIT)
    assert sorted(moves.transactions(others)) == [2, 4, 4]


def test_a_refused_move_of_a_group_has_its_reason_and_the_others_are_written(moves: Moves) -> None:
    stored = answer()
    moves.store.commit(move(moves.game(), stored))
    first, stale, again, ended, good = games = [moves.game() for _ in range(5)]
    moves.store.commit(move(stale))
    commits = [move(game) for game in games]
    commits[2] = move(again, stored)
    commits[3] = replace(move(ended), token=b"unknown")
    with locked(moves.url, first):
        sent = [moves.send(commit) for commit in commits]
    errors = [one.exception(WAIT) for one in sent]
    assert [type(error) for error in errors] == [
        *(type(None), StreamConflict, AnswerConflict, TokenEnded, type(None)),
    ]
    assert isinstance(errors[1], StreamConflict)
    assert (errors[1].stream, errors[1].version) == (stale, 3)
    assert lines_of(moves.store, good) == WHOLE
    assert lines_of(moves.store, again) == lines_of(moves.store, ended) == (FIRST,)


def test_a_move_that_is_a_bug_stops_no_other_of_its_group(moves: Moves) -> None:
    """The database raises an error, which ends the transaction: each is sent again alone."""
    first, wrong, good = (moves.game() for _ in range(3))
    commit = move(wrong)
    commit = replace(commit, appends=(replace(commit.appends[0], head=bytes(32)),))
    with locked(moves.url, first):
        sent = [moves.send(one) for one in (move(first), commit, move(good))]
    assert isinstance(sent[1].exception(WAIT), StoreError)
    assert sent[2].exception(WAIT) is None
    assert lines_of(moves.store, wrong) == (FIRST,)
    assert lines_of(moves.store, good) == WHOLE


def test_two_moves_of_one_game_in_a_group_are_one_move_and_a_conflict(moves: Moves) -> None:
    first, game = moves.game(), moves.game()
    with locked(moves.url, first):
        sent = [moves.send(one) for one in (move(first), move(game), move(game))]
    errors = [one.exception(WAIT) for one in sent]
    assert sorted(type(error).__name__ for error in errors[1:]) == ["NoneType", "StreamConflict"]
    assert lines_of(moves.store, game) == WHOLE


def test_a_connection_that_breaks_while_a_group_is_written_leaves_no_move_in_doubt(
    moves: Moves,
) -> None:
    first, second, third = (moves.game() for _ in range(3))
    with locked(moves.url, third):
        with locked(moves.url, first):
            sent = [moves.send(move(game)) for game in (first, second, third)]
        sent[0].result(WAIT)  # the others are sent, and wait for the last of them
        with psycopg.connect(moves.url) as other:
            waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            wait_for(lambda: other.execute(waits).fetchone() == (1,), seconds=WAIT)
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE wait_event_type = 'Lock'"
            )
        errors = [one.exception(WAIT) for one in sent[1:]]
    assert [type(error) for error in errors] == [StoreUnavailable, StoreUnavailable]
    for game in (second, third):
        assert lines_of(moves.store, game) == (FIRST,)
        moves.store.commit(move(game))


def test_a_group_takes_its_games_in_the_order_of_their_ids(moves: Moves) -> None:
    """Else two processes that write moves of the same games could wait for each other."""
    first, *others = (moves.game() for _ in range(4))
    low, middle, high = sorted(others, key=lambda game: game.bytes)
    with locked(moves.url, low), psycopg.connect(moves.url) as other:
        with locked(moves.url, first):
            sent = [moves.send(move(game)) for game in (first, high, low, middle)]
        sent[0].result(WAIT)
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        wait_for(lambda: other.execute(waits).fetchone() == (1,), seconds=WAIT)
        for game in (middle, high):
            free = "SELECT FROM streams WHERE stream_id = %s FOR UPDATE NOWAIT"
            other.execute(free, (game,))
        other.rollback()
    assert [one.exception(WAIT) for one in sent] == [None] * 4


def test_no_move_of_a_group_that_fails_in_another_way_counts_as_written(
    moves: Moves, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = moves.database.change

    def failing(name: str, *values: object) -> list[tuple[Any, ...]]:
        if name == "append_game_moves":
            raise ValueError("a bug")
        return change(name, *values)

    monkeypatch.setattr(moves.database, "change", failing)
    first, second, third = games = [moves.game() for _ in range(3)]
    with locked(moves.url, first):
        sent = [moves.send(move(game)) for game in games]
    errors = [type(one.exception(WAIT)) for one in sent]
    assert errors == [type(None), ValueError, StoreUnavailable]
    assert lines_of(moves.store, second) == lines_of(moves.store, third) == (FIRST,)
    moves.store.commit(move(third))


def test_a_move_waits_for_a_place_as_long_as_for_a_connection(moves: Moves) -> None:
    first, second = moves.game(), moves.game()
    with locked(moves.url, first):
        sent = moves.send(move(first))
        moves.database.connection_seconds = 0.1
        with pytest.raises(NotSent, match="no place for a move"):
            moves.store.commit(move(second))
        assert moves.database._slow_until > time.monotonic(), "few calls wait for a while"
    sent.result(WAIT)
    moves.store.commit(move(second))
    assert lines_of(moves.store, second) == WHOLE


def test_moves_that_wait_count_as_calls_that_wait_for_the_database(moves: Moves) -> None:
    """Threads must stay free to refuse calls while the database hangs."""
    moves.database._most_waiting = 1
    games = [moves.game() for _ in range(3)]
    with locked(moves.url, games[0]):
        sent = [moves.send(move(game)) for game in games[:2]]
        with pytest.raises(NotSent, match="too many"):
            moves.store.commit(move(games[2]))
    assert [one.exception(WAIT) for one in sent] == [None, None]
    moves.store.commit(move(games[2]))
