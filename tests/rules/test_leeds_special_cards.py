"""Leeds Rules: statements L13 to L22, face-down cards and special cards."""

from __future__ import annotations

import pytest

from service.domain.ruleset import PlayedFor
from tests.rules.phrases import (
    burned,
    ended,
    failed,
    out,
    pass_,
    passed,
    play,
    played,
    ready,
    swap,
    take,
    turn_over,
    turned,
)
from tests.rules.scenario import moves, not_your_turn, refused, scenario
from tests.rules.tables import cards, dealt, rules, table

LEEDS = rules("leeds")


def test_l13_a_failed_blind_card_goes_to_the_hand_unseen_by_others() -> None:
    """L13: a card that does not fit goes to the hand with the pile; the others do not see it."""
    at = table(pile="9s Kc", hands=["", "9c"], down=["4d 6c -"])
    assert moves(LEEDS, at) == {"turn 0", "turn 1"}
    after = scenario(LEEDS, given=at, when=turn_over(0, 1), then=[failed(0, 1, "", 2, turn=1)])
    assert set(after.seats[0].hand) == set(cards("9s Kc 6c"))
    assert "6c" not in after.seats[0].known
    scenario(LEEDS, given=at, when=turn_over(0, 2), then=refused("L13"))
    scenario(LEEDS, given=at, when=turn_over(0, 3), then=refused("L13"))
    scenario(LEEDS, given=at, when=turn_over(0, -1), then=refused("L13"))
    scenario(LEEDS, given=at, when=take(0), then=refused("L13"))


def test_l14_the_last_card_takes_a_player_out_only_if_it_fits() -> None:
    """L14: the last card must be playable, or the pile empty."""
    at = table(pile="9s Kc", hands=["", "9c", "3c"], down=["4d"])
    scenario(LEEDS, given=at, when=turn_over(0, 0), then=[failed(0, 0, "", 2, turn=1)])
    empty = table(hands=["", "9c", "3c"], down=["4d"])
    scenario(LEEDS, given=empty, when=turn_over(0, 0), then=[turned(0, 0, "4d", turn=1), out(0, 1)])


def test_l15_the_last_seat_with_cards_is_the_shithead() -> None:
    """L15: the last player with cards is the shithead."""
    scenario(
        LEEDS,
        given=table(pile="8c", hands=["9d", "9c 4c", ""], out=[2]),
        when=play(0, "9d"),
        then=[played(0, "9d", turn=None), out(0, 2), *ended("shithead", 1, 2, 0, 1)],
    )
    assert LEEDS.end.played_for is PlayedFor.LOSER


def test_l16_a_two_goes_on_anything_and_anything_on_it() -> None:
    """L16: a two can be played on anything, and anything on a two."""
    for pile in ("Ac", "7c", "Tc", "2c", "5c"):
        assert "2d" in moves(LEEDS, table(pile=pile, hands=["2d 3d", "9s"]))
    assert moves(LEEDS, table(pile="Ac 2c", hands=["3d 4d Kd", "9s"])) == {"3d", "4d", "Kd"}


def test_l17_a_five_needs_companions_of_one_higher_rank() -> None:
    """L17: a five is played only with one or more cards of one rank above five; a two is lower."""
    at = table(pile="4c", hands=["5c 5d 2c 3c 4d 6c 6d Ac", "9s"])
    legal = moves(LEEDS, at)
    fives = {m for m in legal if "5" in m}
    some = ("5c", "5d", "5c 5d")
    assert fives == {f"{f} {c}" for f in some for c in ("6c", "6d", "6c 6d", "Ac")}
    for wrong in ("5c", "5c 5d", "5c 2c", "5c 3c", "5c 4d"):
        scenario(LEEDS, given=at, when=play(0, wrong), then=refused("L17", "L18", "L8"))
    scenario(LEEDS, given=at, when=play(0, "5c 6c Ac"), then=refused("L17", "L8"))


def test_l17_the_companions_lie_on_top_and_give_the_value() -> None:
    """L17: the fives lie below, and the rank of their companions must be beaten."""
    at = table(pile="Kc", hands=["5c 6c 6d 4h", "7s 6s 4s"])
    after = scenario(
        LEEDS, given=at, when=play(0, "6d 5c 6c"), then=[played(0, "5c 6d 6c", turn=1)]
    )
    assert moves(LEEDS, after, 1) == {"7s", "6s"}


def test_l17_fives_are_no_part_of_a_set() -> None:
    """L17: fives are no part of a set of four; four sixes on a five burn."""
    at = table(pile="6c 6d", hands=["5c 6h 4h", "6s Ks"])
    after = scenario(LEEDS, given=at, when=play(0, "5c 6h"), then=[played(0, "5c 6h", turn=1)])
    scenario(LEEDS, given=after, when=play(1, "6s"), then=[played(1, "6s", turn=0)])
    four = table(pile="Kd", hands=["5c 6h 6c 6d 6s 4h", "Ks"])
    scenario(
        LEEDS,
        given=four,
        when=play(0, "5c 6h 6c 6d 6s"),
        then=[played(0, "5c 6h 6c 6d 6s", turn=0), burned(0, cause="set", count=6)],
    )


@pytest.mark.parametrize("pile", ["Kc", "7c", "Ac", "Tc", "2c", "Kc 5s"])
def test_l18_companions_need_not_fit(pile: str) -> None:
    """L18: companions must be higher than five, but need not beat the pile."""
    legal = moves(LEEDS, table(pile=pile, hands=["5d 6d", "9s"]))
    assert "5d 6d" in legal


def test_l18_the_companions_effects_happen() -> None:
    """L18: with a five, too, a ten burns, a seven asks for seven or lower, a jack reverses."""
    at = table(pile="Kc", hands=["5d Td 7d Jd", "9s 3s", "9c"])
    scenario(
        LEEDS,
        given=at,
        when=play(0, "5d Td"),
        then=[played(0, "5d Td", turn=0), burned(0, cause="rank", count=3)],
    )
    after = scenario(LEEDS, given=at, when=play(0, "5d 7d"))
    assert moves(LEEDS, after, 1) == {"3s"}
    scenario(
        LEEDS, given=at, when=play(0, "5d Jd"), then=[played(0, "5d Jd", turn=2, direction=-1)]
    )


def test_l18_a_five_is_never_played_alone() -> None:
    """L18: a five needs a companion even on an empty pile, and as a face-down card."""
    hand = table(hands=["5d 5c", "9s"])
    assert moves(LEEDS, hand) == {"pass"}
    scenario(LEEDS, given=hand, when=play(0, "5d"), then=refused("L17", "L18"))
    scenario(LEEDS, given=hand, when=pass_(0), then=[passed(0, turn=1)])
    blind = table(hands=["", "9s"], down=["5d"])
    after = scenario(LEEDS, given=blind, when=turn_over(0, 0), then=[failed(0, 0, "", 0, turn=1)])
    assert after.seats[0].hand == cards("5d")


def test_l19_a_seven_asks_for_seven_or_lower() -> None:
    """L19: play seven or lower, a two, or a five with companions; a seven cannot beat an eight."""
    at = table(pile="7c", hands=["3d 7d 8d Td 2d 5d Ad", "9s"])
    legal = moves(LEEDS, at)
    assert legal == {"3d", "7d", "2d", "5d 7d", "5d 8d", "5d Td", "5d Ad"}
    scenario(LEEDS, given=at, when=play(0, "8d"), then=refused("L19"))
    assert moves(LEEDS, table(pile="8c", hands=["7d 9d", "9s"])) == {"9d"}


def test_l20_a_jack_reverses() -> None:
    """L20: a jack is played by the normal rule and reverses the direction; two cancel out."""
    at = table(pile="9c", hands=["Jd Jc 4c", "9s", "Qs"])
    scenario(LEEDS, given=at, when=play(0, "Jd"), then=[played(0, "Jd", turn=2, direction=-1)])
    scenario(LEEDS, given=at, when=play(0, "Jd Jc"), then=[played(0, "Jd Jc", turn=1)])
    high = table(pile="Qc", hands=["Jd Kc", "9s"])
    assert moves(LEEDS, high) == {"Kc"}


def test_l21_a_ten_burns_and_the_same_player_plays_again() -> None:
    """L21: a ten burns the pile; the same player plays again."""
    scenario(
        LEEDS,
        given=table(pile="9c", hands=["Th 4d", "9s"]),
        when=play(0, "Th"),
        then=[played(0, "Th", turn=0), burned(0, cause="rank", count=2)],
    )


@pytest.mark.parametrize("pile", ["Jc", "Qc", "Kc", "Ac", "7c"])
def test_l21_a_ten_is_not_played_on_a_higher_card_or_a_seven(pile: str) -> None:
    """L21: a ten is played by the normal rule."""
    at = table(pile=pile, hands=["Td 3c", "9s"])
    assert "Td" not in moves(LEEDS, at)
    scenario(LEEDS, given=at, when=play(0, "Td"), then=refused("L21", "L19"))


def test_l22_four_of_one_rank_burn_at_once_or_by_following_on() -> None:
    """L22: four of one rank on top of the pile burn, from one play or several."""
    for pile, laid in (("4c", "9c 9d 9h 9s"), ("4c 9c 9d", "9h 9s")):
        scenario(
            LEEDS,
            given=table(pile=pile, hands=[f"{laid} 4d", "Ks"]),
            when=play(0, laid),
            then=[played(0, laid, turn=0), burned(0, cause="set", count=5)],
        )


def test_l22_with_several_decks_four_of_a_rank_burn_and_three_do_not() -> None:
    """L22: four or more of one rank burn, however many decks there are."""
    at = table(pile="9c 9d", hands=["9h 9c/2 9d/2 4d", "Ks"], decks=2)
    scenario(
        LEEDS,
        given=at,
        when=play(0, "9h 9c/2 9d/2"),
        then=[played(0, "9h 9c/2 9d/2", turn=0), burned(0, cause="set", count=5)],
    )
    scenario(LEEDS, given=at, when=play(0, "9h"), then=[played(0, "9h", turn=1)])


def test_l22_a_burn_of_jacks_reverses_nothing() -> None:
    """L22: the fourth jack burns the pile and does not reverse the direction."""
    scenario(
        LEEDS,
        given=table(pile="Jc Js Jh", hands=["Jd 4d", "Ks", "Kc"]),
        when=play(0, "Jd"),
        then=[played(0, "Jd", turn=0), burned(0, cause="set", count=4)],
    )


def test_l6_a_ready_seat_cannot_exchange() -> None:
    """L6: players exchange until they are ready."""
    game, _ = dealt(LEEDS, seats=2, up=["4c 5c 6c"], hands=["Kc Qc Jc"])
    game = scenario(LEEDS, given=game, when=ready(0))
    scenario(LEEDS, given=game, when=swap(0, "Kc", "4c"), then=not_your_turn())
