"""Rules of all rulesets: resolution, skips, going out."""

from __future__ import annotations

import pytest

from tests.rules.phrases import (
    burned,
    drew,
    ended,
    out,
    play,
    played,
)
from tests.rules.scenario import moves, scenario
from tests.rules.tables import cards, rules, table

LEEDS, SHITHEAD, QUEEN = rules("leeds"), rules("shithead"), rules("covered-queen")
THREES, KARMA, BOOT = rules("threes"), rules("karma-radford"), rules("shit-boot")


def test_resolution_the_refill_comes_before_the_burn() -> None:
    """The cards go on the pile, the player refills, then the pile burns."""
    scenario(
        SHITHEAD,
        given=table(pile="9c", hands=["Td", "9s"], stock="4c"),
        when=play(0, "Td"),
        then=[played(0, "Td", turn=0), drew(0, 1), burned(0, cause="rank", count=2)],
    )


def test_resolution_cards_are_laid_in_the_order_named() -> None:
    at = table(pile="4c", hands=["9d 9c 9h 3d", "9s"])
    after = scenario(SHITHEAD, given=at, when=play(0, "9h 9d 9c"))
    assert after.pile == cards("4c 9h 9d 9c")


def test_resolution_five_of_a_rank_burn_too() -> None:
    """Four or more cards of one rank on top of the pile burn."""
    scenario(
        rules("smeghead"),
        given=table(pile="9c 9d 9h", hands=["9s 9c/2 4d", "Ks"]),
        when=play(0, "9s 9c/2"),
        then=[played(0, "9s 9c/2", turn=0), burned(0, cause="set", count=5)],
    )


@pytest.mark.parametrize(("laid", "turn"), [("8c", 0), ("8c 8d", 1), ("8c 8d 8h", 0)])
def test_skips_with_two_left_count_the_seat_that_played(laid: str, turn: int) -> None:
    """After one skip the same player acts again, after two skips the opponent."""
    at = table(pile="4c", hands=["8c 8d 8h 4d", "9s"])
    scenario(QUEEN, given=at, when=play(0, laid), then=[played(0, laid, turn=turn)])


@pytest.mark.parametrize(("laid", "turn"), [("8c", 2), ("8c 8d", 0), ("8c 8d 8h", 1)])
def test_skips_with_three_left_count_the_seat_that_played(laid: str, turn: int) -> None:
    """When skips go round the table, the seat that played is counted like any other."""
    at = table(pile="4c", hands=["8c 8d 8h 4d", "9s", "9h"])
    scenario(QUEEN, given=at, when=play(0, laid), then=[played(0, laid, turn=turn)])


@pytest.mark.parametrize(("laid", "turn"), [("8c", 2), ("8c 8d", 1), ("8c 8d 8h", 2)])
def test_skips_of_a_seat_that_goes_out_do_not_count_it(laid: str, turn: int) -> None:
    """The effects of a last card take place, but a seat that has just gone out is not counted."""
    at = table(pile="4c", hands=[laid, "9s", "9h"])
    then = (played(0, laid, turn=turn), out(0, 1))
    scenario(QUEEN, given=at, when=play(0, laid), then=then)


def test_a_last_card_that_reverses_takes_effect() -> None:
    at = table(pile="4c", hands=["Kc", "9s", "9h", "9d"])
    then = (played(0, "Kc", turn=3, direction=-1), out(0, 1))
    scenario(QUEEN, given=at, when=play(0, "Kc"), then=then)


def test_a_reverse_with_two_left_does_not_change_the_next_seat() -> None:
    at = table(pile="4c", hands=["Kc 4d", "9s", ""], out=[2])
    scenario(QUEEN, given=at, when=play(0, "Kc"), then=[played(0, "Kc", turn=1, direction=-1)])


def test_after_going_out_on_a_burn_the_next_seat_starts() -> None:
    """A player who goes out on a burn does not play again."""
    at = table(pile="9c", hands=["Td", "9s", "4h"], direction=-1)
    after = scenario(
        SHITHEAD,
        given=at,
        when=play(0, "Td"),
        then=[
            played(0, "Td", turn=2, direction=-1),
            burned(0, cause="rank", count=2),
            out(0, 1),
        ],
    )
    assert moves(SHITHEAD, after, 2) == {"4h"}


def test_places_are_in_the_order_of_going_out_with_the_shithead_last() -> None:
    at = table(pile="4c", hands=["", "9d", "9h 3d"], out=[0], turn=1)
    then = (played(1, "9d", turn=None), out(1, 2), *ended("shithead", 2, 0, 1, 2))
    scenario(SHITHEAD, given=at, when=play(1, "9d"), then=then)
