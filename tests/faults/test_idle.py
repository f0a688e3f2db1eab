"""Idle games: when the service closes them, and their state afterwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest

from service.application.calls import Caller, RegisteredPlayer
from service.application.errors import Refusal
from service.bootstrap import Services
from service.domain.events import Clock
from service.features.games import idle_games
from tests.worlds.fake_world import (
    Deployment,
    assert_sound,
    entry_of,
    legal,
    lines_of,
    open_game,
    post,
    sliced,
    types_of,
    version_of,
)

IDLE = timedelta(days=30)


@pytest.fixture
def deployment(deployment: Deployment) -> Deployment:
    """Return a service that closes games after 30 days without an event."""
    deployment.idle_after = IDLE
    return deployment


@pytest.fixture
def game(services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer) -> UUID:
    """Return a game of two people without a clock, in which play has begun."""
    dealt = open_game(services, ada, ("me", "open"), guests=(bob,))
    for player in (ada, bob):
        post(services, player, dealt, {"type": "ready"})
    return dealt


def take_turns(services: Services, game: UUID) -> str:
    """Let a worker take the due turns of a game; return what it reports."""
    return services.turns.play_due_moves(game, version_of(services, game))


def on_turn(services: Services, game: UUID) -> int:
    """Return the seat that has the turn."""
    turn = entry_of(services, game).record.game.turn
    assert turn is not None
    return turn


def table_of(services: Services, game: UUID) -> dict[str, Any]:
    """Return the public view of the table of a game."""
    table = entry_of(services, game).table
    return services.tables.view(Caller(), table)[0]


def test_a_game_is_closed_after_the_idle_time_and_not_before(
    deployment: Deployment, services: Services, game: UUID
) -> None:
    turn = on_turn(services, game)
    deployment.world.wait(IDLE.total_seconds() - 0.001)
    assert take_turns(services, game) == "waits"
    deployment.world.wait(0.001)
    assert take_turns(services, game) == "over"
    last = orjson.loads(lines_of(services, game)[-1])
    assert (last["type"], last["by"]) == ("game_aborted", None)
    assert (last["data"]["cause"], last["data"]["seat"]) == ("idle", turn)
    assert len(last["data"]["seed"]) == 64
    assert len(last["data"]["deck"]) == 52
    assert_sound(services, game)


def test_a_move_restarts_the_idle_time(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    game: UUID,
) -> None:
    deployment.world.wait(IDLE.total_seconds() - 1)
    seat = on_turn(services, game)
    post(services, (ada, bob)[seat], game, legal(services, game, seat)[0])
    deployment.world.wait(IDLE.total_seconds() - 1)
    assert take_turns(services, game) == "waits"


def test_the_table_is_free_and_deals_the_same_hand_again(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, game: UUID
) -> None:
    """An aborted hand changes no tally and does not use up its number."""
    deployment.world.wait(IDLE.total_seconds())
    take_turns(services, game)
    shown = table_of(services, game)
    assert (shown["status"], shown["game"]) == ("between", None)
    assert [(s["hands"], s["shithead"]) for s in shown["seats"]] == [(0, 0), (0, 0)]
    dealt = services.tables.deal(ada, UUID(str(shown["id"])), None)
    again = UUID(orjson.loads(dealt.body)["game"]["id"])
    created = orjson.loads(lines_of(services, again)[0])["data"]
    assert (created["hand"], created["prev_game"]) == (1, str(game))


def test_an_abort_at_a_first_come_opening_names_no_seat(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    game = open_game(services, ada, ("me", "open"), ruleset="threes", guests=(bob,))
    for player in (ada, bob):
        post(services, player, game, {"type": "ready"})
    assert entry_of(services, game).record.game.turn is None
    deployment.world.wait(IDLE.total_seconds())
    assert take_turns(services, game) == "over"
    assert orjson.loads(lines_of(services, game)[-1])["data"]["seat"] is None
    assert_sound(services, game)


def test_a_game_with_a_clock_is_not_idle(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """Rules, Time-outs: the server plays for silent seats, so such a game is not idle."""
    clock = Clock(turn_seconds=60, swap_seconds=60)
    game = open_game(services, ada, ("me", "open"), clock=clock, guests=(bob,))
    deployment.world.wait(IDLE.total_seconds())
    while take_turns(services, game) != "over":
        deployment.world.wait(60)
    assert "game_aborted" not in types_of(services, game)


def test_a_waiting_bot_moves_first_and_restarts_the_idle_time(
    deployment: Deployment, services: Services, ada: RegisteredPlayer
) -> None:
    """A service that was off for long does not close games that waited for its own bots."""
    game = open_game(services, ada, ("me", {"bot": "lowest"}), window_seconds=0)
    post(services, ada, game, {"type": "ready"})
    deployment.world.wait(2 * IDLE.total_seconds())
    assert take_turns(services, game) == "waits"
    assert "game_aborted" not in types_of(services, game)
    deployment.world.wait(IDLE.total_seconds())
    assert take_turns(services, game) == "over"


def test_the_sweeper_closes_idle_games(
    deployment: Deployment, services: Services, game: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    wake_idle = sliced(idle_games, services)
    deployment.world.wait(IDLE.total_seconds())
    deployment.notifier.woken.clear()
    assert wake_idle() == 1
    assert deployment.notifier.woken == [(game, version_of(services, game))]
    assert take_turns(services, game) == "over"
    assert wake_idle() == 0


def test_games_that_cannot_be_closed_delay_no_other(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    game: UUID,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each round takes a batch, oldest first; the next one continues after it, and wraps around."""
    deployment.world.wait(1)
    younger = open_game(services, ada, ("me", "open"), guests=(bob,))
    deployment.world.wait(IDLE.total_seconds())
    deployment.notifier.woken.clear()
    wake_idle = sliced(idle_games, services, rows=1)
    for _ in range(4):
        wake_idle()
    assert [woken for woken, _ in deployment.notifier.woken] == [game, younger, game]


def test_without_a_limit_no_game_is_closed(deployment: Deployment, game: UUID) -> None:
    deployment.idle_after = None
    patient = deployment.process()
    deployment.world.wait(3650 * 86400)
    assert patient.idle.found(limit=9) == ()
    assert take_turns(patient, game) == "waits"


@pytest.mark.parametrize("_attempt", range(6))
def test_a_move_concurrent_with_the_abort_is_either_made_or_refused(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    bob: RegisteredPlayer,
    game: UUID,
    _attempt: int,
) -> None:
    """The version decides: either the move is in the log, or the game ended before it."""
    seat = on_turn(services, game)
    move = legal(services, game, seat)[0]
    version = version_of(services, game)
    deployment.world.wait(IDLE.total_seconds())
    worker = deployment.process()

    def moved() -> bool:
        try:
            post(services, (ada, bob)[seat], game, move)
        except Refusal as refusal:
            assert refusal.code == "game-over"
            return False
        return True

    with ThreadPoolExecutor(2) as both:
        job = both.submit(worker.turns.play_due_moves, game, version)
        made, outcome = both.submit(moved).result(), job.result()
    assert (made, outcome) in ((True, "stale"), (False, "over"))
    assert (types_of(services, game)[-1] == "game_aborted") is not made
    assert_sound(services, game)
