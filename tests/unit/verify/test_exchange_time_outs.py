"""Time-outs in the exchange: the seat is made ready, and nothing else is done for it."""

from __future__ import annotations

import pytest

from service.domain.commands import Swap, TimeOut
from service.domain.decide import decide
from service.domain.events import SeatReady, TurnTimedOut
from service.domain.evolve import evolve
from service.verify.finding import Check
from tests.attacks.registry import game_at
from tests.attacks.rule_attacks import swap_for_a_silent_seat
from tests.random_games import Plan, made_game
from tests.tamper import Forgery, failing, report_on, sample

CLOCK = {"turn_seconds": 30, "swap_seconds": 60}


def silent_layout(*, stop: int | None = None) -> Forgery:
    """Return a game with a layout in which seat 1 never answers."""
    plan = Plan(name="silent layout", ruleset="shithead-layout", clock=CLOCK, silent=1, stop=stop)
    return Forgery(made_game(plan))


def laid_for_the_silent(f: Forgery) -> int:
    return f.find("table_laid", lambda e: e["by"] is None)


@pytest.mark.parametrize("ruleset", ["shithead", "shithead-layout", "shit-boot", "reverse"])
def test_a_seat_made_ready_after_its_time_passes(ruleset: str) -> None:
    plan = Plan(name="silent", ruleset=ruleset, clock=CLOCK, silent=1)
    f = Forgery(made_game(plan))
    assert f.events[f.find("turn_timed_out") + 1]["type"] in ("seat_ready", "table_laid")
    assert not failing(report_on(f.lines()))
    assert not failing(report_on(f.lines()[: f.find("play_started") + 1]))


def test_a_swap_for_a_silent_seat_fails_also_in_a_running_game() -> None:
    f = sample("threes-time-outs")
    seq = swap_for_a_silent_seat(f)
    assert failing(report_on(f.lines()))[Check.ORDER] == seq
    running = failing(report_on(f.lines()[: f.find("play_started") + 1]))
    assert running == {Check.ORDER: seq}


def test_other_cards_laid_for_a_silent_seat_fail() -> None:
    """The first cards dealt are laid: the operator must not choose the better ones."""
    f = silent_layout()
    seq = laid_for_the_silent(f)
    stacks = f.data(seq)["stacks"]
    held = [card for card in game_at(f, seq).seats[1].hand if [card] not in stacks]
    f.data(seq)["stacks"] = [[held[0]], *stacks[1:]]
    assert failing(report_on(f.lines()))[Check.LEGALITY] == seq


def test_cards_laid_for_a_silent_seat_that_stays_unready_fail() -> None:
    f = silent_layout(stop=8)
    seq = laid_for_the_silent(f)
    f.drop(seq + 1, len(f.events))
    found = failing(report_on(f.lines()))
    assert found == {Check.ORDER: seq}


def test_a_silent_seat_made_ready_without_its_layout_fails() -> None:
    f = silent_layout(stop=8)
    seq = laid_for_the_silent(f)
    f.drop(seq)
    del f.events[f.find("play_started") + 1 :]
    assert failing(report_on(f.lines()))[Check.LEGALITY] == seq


def test_a_time_out_in_the_exchange_makes_no_chosen_move() -> None:
    """Also if a move is passed along, which only a stand-in on turn does."""
    f = sample("threes-time-outs")
    seq = f.find("turn_timed_out")
    game, seat = game_at(f, seq), f.data(seq)["seat"]
    state = game.seats[seat]
    swap = Swap(seat=seat, up=state.hand[:1], hand=state.up[0][:1])
    assert evolve(game, decide(swap, game)[0]) != game
    expected = (TurnTimedOut(seat=seat), SeatReady(seat=seat))
    assert decide(TimeOut(seat=seat, move=swap), game)[:2] == expected
