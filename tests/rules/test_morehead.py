"""The entry after Morehead: statements M1 to M14."""

from __future__ import annotations

import pytest

from service.domain.legal import may_act
from service.domain.ruleset import NextDealer, deck_of
from tests.rules.phrases import (
    burned,
    drew,
    failed,
    play,
    played,
    swap,
    take,
    took,
    turn_over,
    turned,
)
from tests.rules.scenario import moves, not_your_turn, refused, scenario
from tests.rules.tables import all_ready, cards, dealt, rules, table

MOREHEAD = rules("morehead")
JOKERS = rules("morehead", jokers=2)


def test_m1_two_to_six_play_with_or_without_jokers_and_six_always_with() -> None:
    """M1: six players always play with two jokers, so the option has no effect."""
    assert (MOREHEAD.seats_min, MOREHEAD.seats_max) == (2, 6)
    assert [deck_of(MOREHEAD, n)[1] for n in range(2, 7)] == [0, 0, 0, 0, 2]
    assert [deck_of(JOKERS, n)[1] for n in range(2, 7)] == [2, 2, 2, 2, 2]


def test_m2_the_deal_rotates() -> None:
    """M2: the deal rotates clockwise; a table may let the loser deal instead."""
    assert MOREHEAD.end.next_dealer is NextDealer.ROTATE
    assert rules("morehead", next_dealer="loser").end.next_dealer is NextDealer.LOSER


def test_m3_three_cards_each_and_any_number_may_be_exchanged() -> None:
    """M3: three cards down, three up, three in hand; exchange any number."""
    game, _ = dealt(MOREHEAD, seats=6, up=["4c 5c 6c"], hands=["Kc Qc Jc"])
    assert {(len(s.down), len(s.up), len(s.hand)) for s in game.seats} == {(3, 3, 3)}
    assert len(game.stock) == 0
    scenario(MOREHEAD, given=game, when=swap(0, "Kc Qc Jc", "4c 5c 6c"))


@pytest.mark.parametrize(
    ("up", "hands", "may"),
    [
        (["3c", "Kd", "3h"], ["9c", "3d", "9h"], {0, 2}),  # a face-up three comes first
        (["Kc", "Kd", "Kh"], ["9c", "3d", "3h"], {1, 2}),  # else a three in hand
        (["4c", "Kd", "Kh"], ["9c", "4d", "9h"], {0}),
        (["Kc", "5d", "Kh"], ["9c", "9d", "4h"], {2}),
    ],
)
def test_m4_a_face_up_card_opens_before_one_in_hand(
    up: list[str], hands: list[str], may: set[int]
) -> None:
    """M4: a player with a face-up three opens; else with a three in hand; then fours likewise."""
    game, _ = dealt(MOREHEAD, seats=3, up=up, hands=hands)
    game = all_ready(game)
    assert game.turn is None
    assert {s for s in range(3) if may_act(game, s)} == may
    for seat in {0, 1, 2} - may:
        scenario(MOREHEAD, given=game, when=play(seat, hands[seat]), then=not_your_turn())


def test_m4_the_opening_is_any_one_rank_from_the_hand() -> None:
    """M4: the seats that may open are judged after the exchange."""
    game, _ = dealt(MOREHEAD, seats=2, up=["Kh", "3d"], hands=["3c 9c 9d", "Kd Qd Jd"])
    game = scenario(MOREHEAD, given=game, when=[swap(0, "3c", "Kh"), swap(1, "Kd", "3d")])
    game = all_ready(game)
    assert [may_act(game, s) for s in (0, 1)] == [True, False]
    assert moves(MOREHEAD, game) == {"9c", "9d", "9c 9d", "Kh"}


def test_m5_equal_or_higher_whatever_the_number() -> None:
    """M5: the number of cards need not match the play before."""
    at = table(pile="9c 9d", hands=["9h 8d Jd Jh Kd", "9s"])
    assert moves(MOREHEAD, at) == {"9h", "Jd", "Jh", "Jd Jh", "Kd", "take"}
    scenario(MOREHEAD, given=at, when=play(0, "8d"), then=refused("M5"))


def test_m6_as_many_are_drawn_as_were_played() -> None:
    """M6: draw as many cards as were played, even to a large hand, or what the stock has."""
    at = table(pile="4c", hands=["8d 8h 6c 9c Qd", "Ks"], stock="3c 3d 3h")
    then = (played(0, "8d 8h", turn=1), drew(0, 2))
    scenario(MOREHEAD, given=at, when=play(0, "8d 8h"), then=then)
    short = table(pile="4c", hands=["8d 8h 6c 9c Qd", "Ks"], stock="3c")
    then = (played(0, "8d 8h", turn=1), drew(0, 1))
    scenario(MOREHEAD, given=short, when=play(0, "8d 8h"), then=then)


def test_m7_a_seat_that_does_not_play_takes_the_pile() -> None:
    """M7: unable or unwilling: take the pile; the next player plays anything."""
    at = table(pile="4c", hands=["8d", "3s Ks"])
    after = scenario(MOREHEAD, given=at, when=take(0), then=[took(0, 1, turn=1)])
    assert moves(MOREHEAD, after, 1) == {"3s", "Ks"}


def test_m8_the_pile_is_taken_with_one_face_up_card() -> None:
    """M8: unable or unwilling to play a face-up card: take the pile and one of them."""
    at = table(pile="4c", hands=["", "3s"], up=["8d 8h 3d"], down=["5c 5d 5h"])
    assert moves(MOREHEAD, at) == {"8d", "8h", "8d 8h", "take 8d", "take 8h", "take 3d"}
    for wrong in ("", "8d 8h"):
        scenario(MOREHEAD, given=at, when=take(0, wrong), then=refused("M8"))


def test_m9_face_down_cards_are_played_last() -> None:
    """M9: a face-down card that is not playable goes to the hand with the pile."""
    at = table(pile="Kc", hands=["", "4s"], down=["4d Ad"])
    assert moves(MOREHEAD, at) == {"turn 0", "turn 1"}
    after = scenario(MOREHEAD, given=at, when=turn_over(0, 0), then=[failed(0, 0, "4d", 1, turn=1)])
    assert set(after.seats[0].known) == set(cards("Kc 4d"))
    scenario(MOREHEAD, given=at, when=turn_over(0, 1), then=[turned(0, 1, "Ad", turn=1)])


def test_m10_a_joker_reverses_and_the_card_under_it_must_be_beaten() -> None:
    """M10: a joker at any time; the next player must beat the card under it, if there is one."""
    at = table(pile="Qc", hands=["X1 X2 4d", "Ks", "Kd Js"])
    assert moves(JOKERS, at) == {"X1", "X2", "X1 X2", "take"}
    then = [played(0, "X1", turn=2, direction=-1)]
    after = scenario(JOKERS, given=at, when=play(0, "X1"), then=then)
    assert moves(JOKERS, after, 2) == {"Kd", "take"}
    scenario(JOKERS, given=at, when=play(0, "X1 X2"), then=[played(0, "X1 X2", turn=1)])
    scenario(JOKERS, given=at, when=play(0, "X1 4d"), then=refused("M5", "M10"))
    empty = table(pile="X1", hands=["3d", "9s"])
    assert moves(JOKERS, empty) == {"3d", "take"}


def test_m10_a_joker_on_a_joker_asks_for_the_rank_below_both() -> None:
    """M10: the next player must beat the card under the jokers."""
    at = table(pile="Qc X1 X2", hands=["Jd Kd", "9s"])
    assert moves(JOKERS, at) == {"Kd", "take"}


def test_m11_a_two_at_any_time_and_anything_on_it() -> None:
    """M11: a two can be played at any time, and anything on a two."""
    assert "2d" in moves(MOREHEAD, table(pile="Ac", hands=["2d", "9s"]))
    assert moves(MOREHEAD, table(pile="Ac 2c", hands=["3d", "9s"])) == {"3d", "take"}


@pytest.mark.parametrize("pile", ["Jc", "Qc", "Kc", "Ac"])
def test_m12_a_ten_is_played_by_the_normal_rule_and_clears(pile: str) -> None:
    """M12: a ten clears the pile, and the same player plays again; not on J, Q, K or A."""
    at = table(pile=pile, hands=["Td 3c", "9s"])
    scenario(MOREHEAD, given=at, when=play(0, "Td"), then=refused("M12"))
    scenario(
        MOREHEAD,
        given=table(pile="9c", hands=["Td 3c", "9s"]),
        when=play(0, "Td"),
        then=[played(0, "Td", turn=0), burned(0, cause="rank", count=2)],
    )


def test_m13_four_of_one_rank_clear() -> None:
    """M13: four of one rank clear the pile, played at once or completed."""
    for pile, laid in (("4c", "9c 9d 9h 9s"), ("4c 9c 9d", "9h 9s")):
        scenario(
            MOREHEAD,
            given=table(pile=pile, hands=[f"{laid} 3c", "Ks"]),
            when=play(0, laid),
            then=[played(0, laid, turn=0), burned(0, cause="set", count=5)],
        )


def test_m14_the_loser_wears_a_paper_bag() -> None:
    """M14: the loser wears a paper bag until out in a later hand."""
    assert MOREHEAD.end.paper_bag
    assert not rules("shithead").end.paper_bag
