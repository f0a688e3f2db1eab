"""Games that wait only for people, and the seat that their abort names."""

from __future__ import annotations

import pytest

from service.domain.events import AbortCause, Clock, GameAborted
from service.domain.evolve import evolve
from service.domain.game import Game, Status
from service.domain.legal import may_act
from service.domain.timeouts import idle_end, waits_for_people
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


def test_a_clock_brings_a_game_to_its_end_without_anybody(game: Game) -> None:
    clock = Clock(turn_seconds=5, swap_seconds=5)
    assert not waits_for_people(replace(game, setup=replace(game.setup, clock=clock)))


def test_a_game_with_something_for_a_bot_to_do_does_not_wait(game: Game) -> None:
    assert waits_for_people(with_kinds(game, "human", "bot"))
    assert not waits_for_people(with_kinds(game, "bot", "human"))
    assert not waits_for_people(with_kinds(game, "bot", "bot"))


@pytest.mark.parametrize("status", [Status.SHUFFLING, Status.ENDED, Status.ABORTED])
def test_before_the_deal_and_after_the_end_nobody_is_waited_for(game: Game, status: Status) -> None:
    assert not waits_for_people(replace(game, status=status))


def test_the_seat_on_turn_is_named(game: Game) -> None:
    assert idle_end(game) == GameAborted(cause=AbortCause.IDLE, seat=0)


def test_at_a_first_come_opening_nobody_is_named_even_if_one_alone_may_open() -> None:
    """Who holds a card that opens is hidden; the end of the game says nothing of it (T3)."""
    position = table(hands=["3d 9s", "6h 9c"], first_turn=True, turn=None)
    opening = with_kinds(game_of(rules("threes"), position), "human", "human")
    assert (may_act(opening, 0), may_act(opening, 1)) == (True, False)
    assert idle_end(opening).seat is None


def test_in_the_exchange_a_seat_is_named_if_it_is_the_only_one_that_is_not_ready(
    game: Game,
) -> None:
    swapping = replace(game, status=Status.SWAPPING, turn=None)
    assert idle_end(swapping).seat is None
    ready = swapping.with_seat(0, replace(swapping.seats[0], ready=True))
    assert idle_end(ready).seat == 1


def test_after_it_the_game_is_over_without_a_shithead(game: Game) -> None:
    after = evolve(game, idle_end(game))
    assert after.status is Status.ABORTED
    assert after.result is not None
    assert (after.result.reason, after.result.cause) == (None, AbortCause.IDLE)
    assert after.result.shithead is None
    assert not waits_for_people(after)
