"""Idle games: when a game waits for people only, and the seat named when it is aborted."""

from __future__ import annotations

import pytest

from service.domain.events import AbortCause, Clock, GameAborted
from service.domain.evolve import evolve
from service.domain.game import Game, Status
from service.domain.legal import idle_end, may_act, waits_for_people
from tests.changed import replace
from tests.rules.tables import game_of, rules, table


def with_kinds(game: Game, *kinds: str) -> Game:
    """Return the game with people and bots at its seats."""
    seats = tuple(
        replace(seat, kind=kind) for seat, kind in zip(game.setup.seats, kinds, strict=True)
    )
    return replace(game, setup=replace(game.setup, seats=seats))


@pytest.fixture
def game() -> Game:
    """Return a game of two people in which it is the turn of seat 0."""
    position = table(pile="4c", hands=["5d 9s", "6h 9c"])
    return with_kinds(game_of(rules("shithead"), position), "human", "human")


def test_a_game_of_people_without_a_clock_waits_for_them(game: Game) -> None:
    assert waits_for_people(game)


def test_an_exchange_among_people_waits_for_them_until_a_bot_may_act(game: Game) -> None:
    swapping = replace(game, status=Status.SWAPPING, turn=None)
    assert waits_for_people(swapping)
    with_bot = with_kinds(swapping, "human", "bot")
    assert not waits_for_people(with_bot)
    ready = with_bot.with_seat(1, replace(with_bot.seats[1], ready=True))
    assert waits_for_people(ready)


def test_a_game_with_a_clock_ends_without_its_players(game: Game) -> None:
    clock = Clock(turn_seconds=5, swap_seconds=5)
    assert not waits_for_people(replace(game, setup=replace(game.setup, clock=clock)))


def test_a_game_in_which_a_bot_may_act_does_not_wait_for_people(game: Game) -> None:
    assert waits_for_people(with_kinds(game, "human", "bot"))
    assert not waits_for_people(with_kinds(game, "bot", "human"))
    assert not waits_for_people(with_kinds(game, "bot", "bot"))


@pytest.mark.parametrize("status", [Status.SHUFFLING, Status.ENDED, Status.ABORTED])
def test_a_game_does_not_wait_for_people_before_the_deal_and_after_the_end(
    game: Game, status: Status
) -> None:
    assert waits_for_people(replace(game, status=status)) is False


def test_the_seat_on_turn_is_named(game: Game) -> None:
    assert idle_end(game) == GameAborted(cause=AbortCause.IDLE, seat=0)


def test_in_a_first_come_opening_no_seat_is_named_even_if_only_one_may_open() -> None:
    """The seat with an opening card is hidden, so the abort must not name it (T3)."""
    position = table(hands=["3d 9s", "6h 9c"], first_turn=True, turn=None)
    opening = with_kinds(game_of(rules("threes"), position), "human", "human")
    assert (may_act(opening, 0), may_act(opening, 1)) == (True, False)
    assert idle_end(opening).seat is None


def test_in_the_exchange_the_only_seat_that_is_not_ready_is_named(
    game: Game,
) -> None:
    swapping = replace(game, status=Status.SWAPPING, turn=None)
    assert idle_end(swapping).seat is None
    ready = swapping.with_seat(0, replace(swapping.seats[0], ready=True))
    assert idle_end(ready).seat == 1


def test_an_aborted_idle_game_has_no_shithead(game: Game) -> None:
    after = evolve(game, idle_end(game))
    assert after.status is Status.ABORTED
    assert after.result is not None
    assert (after.result.reason, after.result.cause) == (None, AbortCause.IDLE)
    assert after.result.shithead is None
    assert not waits_for_people(after)
