"""Contract tests of every directory for idle games."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from service.store.games import IdleGame
from service.store.summaries import Cursor
from tests.contract.conftest import Stores
from tests.streams import THEN, append, bot, commit, game_summary, person

NOW = THEN + timedelta(days=40)
LIMIT = NOW - timedelta(days=30)


def stored_game(stores: Stores, *days: int, **changes: Any) -> UUID:
    """Store a game of a person and a bot, with an event `days` after its creation."""
    game = uuid4()
    lines = [
        b'{"at":"%s"}' % (THEN + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()
        for day in (0, *days)
    ]
    summary = game_summary(**{"seats": [person(0, uuid4()), bot(1)], **changes})
    stores.store.commit(commit(append(game, *lines, summary=summary)))
    return game


def idle_games_found(stores: Stores, *, limit: int = 9) -> list[UUID]:
    """Return the games that are idle 40 days later with a limit of 30 days."""
    rows = stores.directory.idle_games(now=NOW, untouched_since=LIMIT, limit=limit)
    return [row.id for row in rows]


def test_a_game_is_idle_when_its_last_event_is_old_enough(stores: Stores) -> None:
    old, at_the_limit = stored_game(stores), stored_game(stores, 3, 10, created_at=THEN)
    stored_game(stores, 11)
    assert set(idle_games_found(stores)) == {old, at_the_limit}


def test_idle_games_are_listed_oldest_first_with_their_versions(stores: Stores) -> None:
    second = stored_game(stores, 1, created_at=THEN + timedelta(seconds=1))
    first = stored_game(stores)
    rows = stores.directory.idle_games(now=NOW, untouched_since=LIMIT, limit=9)
    assert list(rows) == [
        IdleGame(id=first, version=1, created_at=THEN),
        IdleGame(id=second, version=2, created_at=THEN + timedelta(seconds=1)),
    ]
    assert idle_games_found(stores, limit=1) == [first]


def test_the_next_page_of_idle_games_begins_after_the_last_game(stores: Stores) -> None:
    """Games of the same time are ordered by id, so no page skips a game."""
    games = {stored_game(stores) for _ in range(3)} | {stored_game(stores, created_at=LIMIT)}
    seen: list[UUID] = []
    after = None
    while rows := stores.directory.idle_games(now=NOW, untouched_since=LIMIT, limit=1, after=after):
        seen += [row.id for row in rows]
        after = Cursor(at=rows[-1].created_at, id=rows[-1].id)
    assert (len(seen), set(seen)) == (4, games)


def test_a_game_that_is_over_is_not_idle(stores: Stores) -> None:
    stored_game(stores, status="ended")
    stored_game(stores, status="aborted")
    assert idle_games_found(stores) == []


def test_a_game_of_bots_is_not_idle(stores: Stores) -> None:
    stored_game(stores, seats=[bot(0), bot(1)])
    assert idle_games_found(stores) == []


def test_a_game_is_not_idle_before_its_wake_up_time_but_is_after_it(
    stores: Stores,
) -> None:
    stored_game(stores, wake_kind="time_out", wake_at=NOW + timedelta(seconds=1))
    due = stored_game(stores, wake_kind="bot", wake_at=NOW)
    assert idle_games_found(stores) == [due]
