"""The harm of a decision to the next seat, as everybody computes it from a log."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from schemas.views import ViewFacts
from service.bots.bot import bot_view
from service.bots.sparing import (
    MAX_CHOICES,
    MIN_SPREAD,
    TURN,
    Decision,
    decisions,
    mean_harms,
    next_in_play,
)
from service.bots.worlds import Worlds, choices
from service.replay.history import History, decode_log, sealed_deck
from service.simulation.simulate import Plan, SimulatedGame, simulated_games
from tests.changed import replace
from tests.rules.tables import game_of, table
from tests.unit.playing import rules

LEEDS = rules("leeds")


@pytest.fixture(scope="module")
def hand() -> SimulatedGame:
    return next(iter(simulated_games(Plan(ruleset="leeds", seats=4, bots=("greedy",), games=1))))


@pytest.fixture(scope="module")
def history(hand: SimulatedGame) -> History:
    log = decode_log(hand.lines)
    return History(log, sealed_deck(log))


def of_seat(history: History, hand: SimulatedGame, seat: int) -> list[Decision]:
    return list(decisions(history, seat, game=str(hand.identity)))


def test_each_decision_is_a_move_of_the_seat_with_the_next_seat_still_in_play(
    history: History, hand: SimulatedGame
) -> None:
    found = [one for seat in range(4) for one in of_seat(history, hand, seat)]
    assert len(found) > 10
    for one in found:
        before = history.games[one.version - 1]
        assert before.turn == one.seat
        assert before.seats[one.next_seat].place is None
        assert 0 <= one.harm <= 1
        assert history.move_at(one.version).seat == one.seat


def test_equal_logs_have_equal_numbers(
    history: History, hand: SimulatedGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the means before they are compared: everybody draws the same worlds."""
    means: list[list[dict[Any, float]]] = [[], []]
    for number in range(2):

        def noted(*words: Any, into: list[dict[Any, float]] = means[number]) -> dict[Any, float]:
            into.append(mean_harms(*words))
            return into[-1]

        monkeypatch.setattr("service.bots.sparing.mean_harms", noted)
        of_seat(history, hand, 1)
    assert means[0] == means[1]
    assert len(means[0]) > 2


def test_equal_moves_share_the_middle_of_their_places(
    history: History, hand: SimulatedGame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three moves the last does the most harm and the others the same: 0.25, 0.25 and 1."""

    def flat(_worlds: Any, found: Any, *_rest: Any) -> dict[Any, float]:
        *others, last = found
        return {**dict.fromkeys(others, 0.2), last: 0.5}

    monkeypatch.setattr("service.bots.sparing.mean_harms", flat)
    harms = {one.harm for seat in range(4) for one in of_seat(history, hand, seat)}
    shared = {(moves - 2) / 2 / (moves - 1) for moves in range(2, MAX_CHOICES + 1)}
    assert harms <= shared | {1.0}
    assert harms & (shared - {0.0})


@pytest.mark.parametrize(("spread", "counts"), [(0.9, False), (1.1, True)])
def test_moves_that_hardly_differ_are_no_decision(
    history: History,
    hand: SimulatedGame,
    monkeypatch: pytest.MonkeyPatch,
    *,
    spread: float,
    counts: bool,
) -> None:
    def flat(_worlds: Any, found: Any, *_rest: Any) -> dict[Any, float]:
        *others, last = found
        return {**dict.fromkeys(others, 0.2), last: 0.2 + spread * MIN_SPREAD}

    monkeypatch.setattr("service.bots.sparing.mean_harms", flat)
    assert bool(of_seat(history, hand, 1)) is counts


def test_a_turn_that_the_next_seat_loses_harms_it_and_the_end_of_the_hand_does_not() -> None:
    """L21: a ten burns the pile; the same player plays again."""
    assert harm_of(hands=["Th Kd", "5s", "9d"], pile="6c")["Th"] == TURN
    assert harm_of(hands=["9c", "5s"], pile="6c") == {"9c": 0.0}


def test_the_numbers_depend_on_the_cards_only_that_the_seat_could_see() -> None:
    """The next seat's hidden hand has no influence on the harm of a move."""
    numbers = [harm_of(hands=["4c Kd", other, "9d 9h 9c"], stock=rest) for other, rest in HIDDEN]
    assert numbers[0] == numbers[1]


HIDDEN = (("Qs", "5h 8s"), ("8s", "Qs 5h"))


def test_a_card_that_the_next_seat_can_rarely_beat_harms_it_more() -> None:
    """On a six, a king lets the next seat play less often than an eight."""
    harm = harm_of(hands=["8c Kd", "5s", "9d"], pile="6c")
    assert harm["Kd"] > harm["8c"]


def test_a_larger_pile_does_more_harm_to_a_seat_that_cannot_play() -> None:
    small, large = (
        harm_of(hands=["8c Kd", "5s", "9d"], pile=pile) for pile in ("6c", "3h 4c 4d 5c 5d 6c")
    )
    assert large["Kd"] > small["Kd"]


def test_the_next_seat_is_the_next_one_in_play() -> None:
    """Seat 1 is out; against the clock seat 0 is followed by seat 3."""
    game = game_of(LEEDS, table(hands=["4c", "", "9d", "Kd"], out=[1]))
    assert next_in_play(game, 0) == 2
    assert next_in_play(replace(game, direction=-1), 0) == 3


def test_decisions_of_the_clock_are_left_out(history: History, hand: SimulatedGame) -> None:
    first = of_seat(history, hand, 1)[0]
    seq = history.move_at(first.version).action
    log = list(history.log)
    log[seq] = dataclasses.replace(log[seq], by=None)  # as the server writes it after a time-out
    shorter = History(log, history.deck)
    assert first not in list(decisions(shorter, 1, game=str(hand.identity)))


def harm_of(*, hands: list[str], pile: str = "6c", stock: str = "") -> dict[str, float]:
    """Return the harm to seat 1 of each card that seat 0 can play, by the rules of Leeds."""
    game = game_of(LEEDS, table(hands=hands, pile=pile, stock=stock))
    facts = ViewFacts(id="0", head="", ruleset_hash="")
    view = bot_view(game, 0, facts)
    worlds = Worlds(view)
    found = choices(view, view["moves"], worlds)
    harm = mean_harms(worlds, found, 1, random.Random(7))
    return {
        found[move]["cards"][0]: value
        for move, value in harm.items()
        if found[move]["type"] == "play"
    }
