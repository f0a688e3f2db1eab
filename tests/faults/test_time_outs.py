"""Clocks: the move made for a silent seat, the bot that stands in, and the player's return."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import orjson
import pytest

from service.application.calls import Caller, RegisteredPlayer
from service.application.errors import Refusal
from service.bootstrap import Services
from service.domain.events import Clock, Entropy
from service.features.games import due_games
from tests.worlds.fake_world import (
    Deployment,
    Stopped,
    assert_sound,
    entry_of,
    legal,
    lines_of,
    one_move,
    open_game,
    post,
    sliced,
    stopping_after,
    types_of,
    version_of,
)

CLOCK = Clock(turn_seconds=5, swap_seconds=8)


def take(services: Services, game: UUID) -> str:
    """Let a worker make all due moves."""
    outcome = "again"
    while outcome == "again":
        outcome = services.turns.play_due_moves(game, version_of(services, game))
    return outcome


def play_until_on_turn(services: Services, game: UUID, seat: int) -> None:
    """Let bots play, one move at a time, until a seat is on turn."""
    for _ in range(200):
        if entry_of(services, game).record.game.turn == seat:
            return
        one_move(services, game)
    raise AssertionError(f"seat {seat} is not on turn")


def stood_in(services: Services, game: UUID) -> bool:
    """Return whether the public view shows that a bot stands in for seat 0."""
    seen = orjson.loads(services.games.view(Caller(), game)[0])
    found: bool = seen["seats"][0]["stand_in"]
    return found


def time_outs(services: Services, game: UUID) -> int:
    """Return how many time-outs the log of a game has."""
    return types_of(services, game).count("turn_timed_out")


@pytest.fixture
def game(services: Services, ada: RegisteredPlayer) -> UUID:
    """Return a game of Ada against a bot with a short clock, Ada not ready yet."""
    seats = ("me", {"bot": "lowest"})
    dealt = open_game(services, ada, seats, ruleset="leeds", clock=CLOCK, window_seconds=0)
    take(services, dealt)
    return dealt


@pytest.fixture
def silent(deployment: Deployment, services: Services, ada: RegisteredPlayer, game: UUID) -> UUID:
    """Return a game in which a bot has just begun to stand in for Ada."""
    post(services, ada, game, {"type": "ready"})
    fall_silent(deployment, services, game)
    return game


def fall_silent(deployment: Deployment, services: Services, game: UUID, *, times: int = 2) -> None:
    """Let Ada be silent on her next `times` turns."""
    for _ in range(times):
        play_until_on_turn(services, game, 0)
        deployment.world.wait(CLOCK.turn_seconds)
        one_move(services, game)


def test_no_time_out_happens_before_the_deadline(
    deployment: Deployment, services: Services, game: UUID
) -> None:
    before = types_of(services, game)
    deployment.world.wait(CLOCK.swap_seconds - 0.001)
    assert take(services, game) == "waits"
    assert types_of(services, game) == before
    deployment.world.wait(0.001)
    take(services, game)
    new = types_of(services, game)[len(before) :]
    assert new[:2] == ["turn_timed_out", "seat_ready"]


def test_the_sweeper_finds_a_time_out_at_its_deadline(
    deployment: Deployment, services: Services, game: UUID
) -> None:
    directory = services.directory
    assert not directory.due_games(now=deployment.world.now(), limit=9)
    deployment.world.wait(CLOCK.swap_seconds)
    due = directory.due_games(now=deployment.world.now(), limit=9)
    assert [(row.id, row.kind) for row in due] == [(game, "time_out")]


def test_after_one_time_out_no_bot_stands_in(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, game: UUID
) -> None:
    post(services, ada, game, {"type": "ready"})
    play_until_on_turn(services, game, 0)
    deployment.world.wait(CLOCK.turn_seconds)
    one_move(services, game)
    assert time_outs(services, game) == 1
    play_until_on_turn(services, game, 0)
    assert take(services, game) == "waits"
    assert not stood_in(services, game)


def test_after_two_time_outs_in_a_row_a_bot_stands_in_without_further_delay(
    services: Services, silent: UUID
) -> None:
    assert time_outs(services, silent) == 2
    assert stood_in(services, silent)
    assert take(services, silent) == "over"
    assert time_outs(services, silent) > 2, "each move of the bot follows a time-out"
    assert_sound(services, silent)


def test_a_player_returns_with_a_move(
    services: Services, ada: RegisteredPlayer, silent: UUID
) -> None:
    play_until_on_turn(services, silent, 0)
    post(services, ada, silent, legal(services, silent, 0)[0])
    assert not stood_in(services, silent)
    play_until_on_turn(services, silent, 0)
    assert take(services, silent) == "waits"
    assert_sound(services, silent)


def test_a_player_returns_without_a_move_by_the_call_back(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, silent: UUID
) -> None:
    """Workers of other processes see it, and a second return has no effect."""
    log = types_of(services, silent)
    for _ in range(2):
        seen = orjson.loads(services.stand_ins.back(Caller(player=ada.id), silent).body)
        assert not seen["seats"][0]["stand_in"]
    assert types_of(services, silent) == log, "the log does not show it"
    other = deployment.process()
    play_until_on_turn(other, silent, 0)
    assert take(other, silent) == "waits"
    assert time_outs(other, silent) == 2


def test_the_clock_of_a_returned_player_runs_even_if_the_bot_was_just_woken(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, silent: UUID
) -> None:
    """The game has the version that the sweeper has just woken, but a new deadline."""
    play_until_on_turn(services, silent, 0)
    wake = sliced(due_games, services)
    assert wake() == 1, "the bot that stands in"
    services.stand_ins.back(Caller(player=ada.id), silent)
    deployment.world.wait(CLOCK.turn_seconds)
    assert wake() == 1


def test_a_returned_player_has_the_full_clock(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, silent: UUID
) -> None:
    services.stand_ins.back(Caller(player=ada.id), silent)
    play_until_on_turn(services, silent, 0)
    deployment.world.wait(CLOCK.turn_seconds - 0.001)
    assert take(services, silent) == "waits"
    post(services, ada, silent, legal(services, silent, 0)[0])
    assert_sound(services, silent)


def test_a_bot_stands_in_again_for_a_player_silent_after_a_move(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, silent: UUID
) -> None:
    services.stand_ins.back(Caller(player=ada.id), silent)
    play_until_on_turn(services, silent, 0)
    post(services, ada, silent, legal(services, silent, 0)[0])
    fall_silent(deployment, services, silent)
    assert stood_in(services, silent)
    assert_sound(services, silent)


def test_a_bot_stands_in_again_for_a_player_who_returned_without_a_move(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, silent: UUID
) -> None:
    services.stand_ins.back(Caller(player=ada.id), silent)
    fall_silent(deployment, services, silent)
    assert stood_in(services, silent)
    assert_sound(services, silent)


def test_a_move_of_another_player_does_not_undo_a_return(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """A return changes no version, so another process may have the game cached without it."""
    game = open_game(
        services,
        ada,
        ("me", "open"),
        ruleset="leeds",
        clock=CLOCK,
        window_seconds=0,
        guests=(bob,),
    )
    other = deployment.process()
    for player in (ada, bob):
        post(services, player, game, {"type": "ready"})
    for _ in range(2):
        if entry_of(services, game).record.game.turn != 0:
            post(services, bob, game, legal(services, game, 1)[0])
        fall_silent(deployment, services, game, times=1)
    assert stood_in(other, game)
    services.stand_ins.back(Caller(player=ada.id), game)
    post(other, bob, game, legal(services, game, 1)[0])
    assert not stood_in(deployment.process(), game)


def test_only_a_seat_of_a_running_game_can_return(
    services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer, silent: UUID
) -> None:
    with pytest.raises(Refusal, match="do not sit"):
        services.stand_ins.back(Caller(player=bob.id), silent)
    take(services, silent)
    with pytest.raises(Refusal, match="over"):
        services.stand_ins.back(Caller(player=ada.id), silent)


def test_a_move_concurrent_with_its_time_out_is_made_once(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, game: UUID
) -> None:
    """Either the move or the time-out comes first, decided by compare-and-set."""
    post(services, ada, game, {"type": "ready"})
    play_until_on_turn(services, game, 0)
    version, before = version_of(services, game), time_outs(services, game)
    move = legal(services, game, 0)[0]
    deployment.world.wait(CLOCK.turn_seconds)
    worker, api = deployment.process(), deployment.process()
    with ThreadPoolExecutor(2) as pool:
        turn = pool.submit(worker.turns.play_due_moves, game, version, step=stopping_after(1))
        made = pool.submit(post, api, ada, game, move, expected=version)
        refused, stopped = made.exception(), turn.exception()
    assert refused is None or isinstance(refused, Refusal)
    assert stopped is None or isinstance(stopped, Stopped)
    timed_out = time_outs(services, game) == before + 1
    assert timed_out == (refused is not None)
    assert_sound(services, game)


@pytest.mark.parametrize("mode", [Entropy.VALUE, Entropy.COMMIT])
def test_a_seat_without_entropy_at_the_deadline_is_named_in_the_abort(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, mode: Entropy
) -> None:
    """The log names the seat and has the server's seed; the same hand can be dealt again."""
    game = open_game(services, ada, ("me", {"bot": "lowest"}), entropy=mode)
    deployment.world.wait(119.999)
    assert take(services, game) == "waits"
    deployment.world.wait(0.001)
    due = services.directory.due_games(now=deployment.world.now(), limit=9)
    assert [row.kind for row in due] == ["entropy"]
    assert take(services, game) == "over"
    last = orjson.loads(lines_of(services, game)[-1])
    assert (last["type"], last["data"]["cause"], last["data"]["seat"]) == (
        "game_aborted",
        "no_entropy",
        0,
    )
    assert_sound(services, game)
    again = services.tables.deal(ada, entry_of(services, game).table, None)
    dealt = orjson.loads(again.body)["game"]
    assert (dealt["hand"], dealt["prev_game"]) == (1, str(game))
