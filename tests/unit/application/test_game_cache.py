"""The cache of games: its size, and the version of each game."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from service.application.calls import RegisteredPlayer
from service.application.games.cache import UNUSED_SECONDS, CachedGames
from service.application.games.entry import GameEntry
from service.bootstrap import Services
from tests.changed import replace
from tests.worlds.fake_world import entry_of, open_game, play_out


@pytest.fixture
def versions(services: Services, ada: RegisteredPlayer) -> tuple[GameEntry, GameEntry]:
    """Return a game before its first move and after its end."""
    bots = ({"bot": "lowest"}, {"bot": "greedy"})
    game = open_game(services, ada, bots, window_seconds=0, turn_limit=20)
    begun = entry_of(services, game)
    play_out(services, game)
    return begun, entry_of(services, game)


def copies(entry: GameEntry, count: int) -> list[GameEntry]:
    """Return entries like this one, of other games."""
    return [replace(entry, record=replace(entry.record, identity=uuid4())) for _ in range(count)]


def cached(games: CachedGames, entries: list[GameEntry]) -> list[bool]:
    return [games.get(one.record.identity) is one for one in entries]


def test_finished_games_do_not_displace_running_games(
    versions: tuple[GameEntry, GameEntry],
) -> None:
    games = CachedGames(running=3, over=2)
    running, over = copies(versions[0], 3), copies(versions[1], 5)
    for one in (*running, *over):
        games.keep(one)
    assert cached(games, running) == [True, True, True]
    assert cached(games, over) == [False, False, False, True, True]


def test_a_finished_game_leaves_the_cache_of_running_games(
    versions: tuple[GameEntry, GameEntry],
) -> None:
    begun, over = versions
    games = CachedGames(running=1, over=1)
    games.keep(begun)
    games.keep(over)
    games.keep(begun)  # by a thread that read the game before its end
    identity: UUID = over.record.identity
    assert games.get(identity) is over
    (other,) = copies(over, 1)
    games.keep(other)
    assert games.get(identity) is None
    games.forget(other.record.identity)
    assert games.get(other.record.identity) is None


def test_a_game_finished_by_another_process_leaves_the_cache_later(
    versions: tuple[GameEntry, GameEntry],
) -> None:
    now = 0.0
    games = CachedGames(clock=lambda: now)
    left, read, new = copies(versions[0], 3)
    games.keep(left)
    games.keep(read)
    now = UNUSED_SECONDS - 1
    assert cached(games, [read]) == [True]
    now = UNUSED_SECONDS + 1
    games.keep(new)
    assert cached(games, [left, read, new]) == [False, True, True]


def test_games_share_the_ruleset_that_they_pin(services: Services, ada: RegisteredPlayer) -> None:
    bots = ({"bot": "lowest"}, {"bot": "greedy"})
    first, second = (entry_of(services, open_game(services, ada, bots)) for _ in range(2))
    assert first.record.created["ruleset"] is second.record.created["ruleset"]
    assert first.record.created["ruleset"]["settings"]
