"""The widespread game: statements P1 to P16."""

from __future__ import annotations

import pytest

from service.domain.ruleset import NextDealer, deck_of
from tests.rules.phrases import (
    burned,
    drew,
    ended,
    failed,
    out,
    play,
    played,
    swap,
    take,
    took,
    turn_over,
    turned,
)
from tests.rules.scenario import moves, refused, scenario
from tests.rules.tables import all_ready, cards, dealt, rules, table

SHITHEAD = rules("shithead")


def test_p1_two_to_five_play_with_one_deck_and_two_is_high_and_low() -> None:
    """P1: two to five players, one deck of 52; a two beats an ace, and anything beats a two."""
    assert (SHITHEAD.seats_min, SHITHEAD.seats_max) == (2, 5)
    assert {deck_of(SHITHEAD, n) for n in range(2, 6)} == {(1, 0, ())}
    assert "2d" in moves(SHITHEAD, table(pile="Ac", hands=["2d", "9s"]))
    assert "3d" in moves(SHITHEAD, table(pile="2c", hands=["3d", "9s"]))


def test_p2_the_loser_deals_and_rotation_is_an_option() -> None:
    """P2 (reading): the loser deals the next hand; a table may let the deal rotate."""
    assert SHITHEAD.end.next_dealer is NextDealer.LOSER
    assert rules("shithead", next_dealer="rotate").end.next_dealer is NextDealer.ROTATE


def test_p3_three_down_three_up_three_in_the_hand() -> None:
    """P3: deal three cards down, three up, and three to the hand."""
    game, _ = dealt(SHITHEAD, seats=4)
    for state in game.seats:
        assert (len(state.down), len(state.up), len(state.hand)) == (3, 3, 3)
    assert len(game.stock) == 16
    assert game.pile == ()


def test_p4_hand_cards_may_be_exchanged_with_own_face_up_cards() -> None:
    """P4: before play any number of hand cards may be exchanged with own face-up cards."""
    game, _ = dealt(SHITHEAD, seats=2, up=["4c 5c 6c"], hands=["Kc Qc Jc"])
    after = scenario(SHITHEAD, given=game, when=swap(0, "Kc Qc Jc", "4c 5c 6c"))
    assert after.seats[0].up_cards == cards("Kc Qc Jc")
    scenario(SHITHEAD, given=game, when=swap(0, "Kc", "Qc"), then=refused("P4"))
    scenario(SHITHEAD, given=game, when=play(0, "Kc"), then=refused("P4"))


@pytest.mark.parametrize(
    ("up", "hands", "opener"),
    [
        (["Kc Kd 3c", "Qc 3d Qd", "Jc Jd Jh"], ["3h", "", ""], 1),  # dealt before the 3c
        (["Kc 3c", "Qc 3d", "Jc Jd"], ["", "", "3h"], 1),  # left of the dealer, so dealt first
        (["Kc", "4d", "Jc"], ["9c 3h", "", "9s 9d 3s"], 0),  # no face-up three: the hands
        (["Kc Kd 4c", "Qc Qd", "4d"], ["", "4h", ""], 2),  # no three at all: fours
        (["Kc", "Qd", "Jc"], ["", "", "9c 4h"], 2),
    ],
)
def test_p5_the_first_three_dealt_opens(up: list[str], hands: list[str], opener: int) -> None:
    """P5: the first face-up three dealt opens; else the first three in a hand; else fours."""
    game, _ = dealt(SHITHEAD, seats=3, dealer=0, up=up, hands=hands)
    assert all_ready(game).turn == opener


def test_p5_a_queen_in_a_hand_opens_before_face_up_aces_and_twos() -> None:
    """P5: three, four, and so on up to the ace, then two; each face-up first, then in a hand."""
    up, hands = ["2c 2d 2h", "2s Ac Ad"], ["Kc Kd Kh", "Ks Qc Qd"]
    game, _ = dealt(SHITHEAD, seats=2, dealer=1, up=up, hands=hands)
    assert all_ready(game).turn == 1


def test_p5_the_opener_is_judged_before_exchanges() -> None:
    """P5 (reading): the cards count as they were dealt."""
    game, _ = dealt(SHITHEAD, seats=2, up=["3c Kd Kh", "Kc"], hands=["Ks Jh Jd", "3d"])
    game = scenario(SHITHEAD, given=game, when=swap(0, "Ks", "3c"))
    assert all_ready(game).turn == 0


def test_p5_face_down_cards_open_nothing() -> None:
    """P5: a three dealt face down does not count."""
    game, _ = dealt(SHITHEAD, seats=2, down=["3c 3d 3h", "3s"], up=["Kc", "Kd"], hands=["", "4c"])
    assert all_ready(game).turn == 1


def test_p6_the_opening_is_any_number_of_cards_of_one_rank() -> None:
    """P6: the opener may play another rank than the three that made it the opener."""
    game, _ = dealt(SHITHEAD, seats=2, up=["3c", ""], hands=["4c 4d Kc"])
    game = all_ready(game)
    assert moves(SHITHEAD, game) == {"4c", "4d", "4c 4d", "Kc"}


def test_p7_a_play_is_cards_of_one_rank_equal_or_higher() -> None:
    """P7: equal or higher, one or more cards of one rank; the ace is high."""
    at = table(pile="9c", hands=["9d 8d Jd Jh Ad", "9s"])
    assert moves(SHITHEAD, at) == {"9d", "Jd", "Jh", "Jd Jh", "Ad", "take"}
    scenario(SHITHEAD, given=at, when=play(0, "8d"), then=refused("P7"))
    scenario(SHITHEAD, given=at, when=play(0, "Jd Ad"), then=refused("P7"))
    scenario(SHITHEAD, given=at, when=play(0, "9s"), then=refused("P10", "P7"))


@pytest.mark.parametrize(
    ("hand", "stock", "laid", "drawn"),
    [
        ("4c 4d 4h", "Kc Kd Kh Ks", "4c 4d", 2),
        ("4c 4d 4h", "Kc", "4c 4d", 1),
        ("4c 4d 4h 5c 6c", "Kc Kd", "4c 4d", 0),
        ("4c 4d 4h 5c 6c", "Kc Kd", "4c 4d 4h", 1),
        ("4c 5c", "Kc Kd Kh Ks", "4c", 2),
        ("4c 4d 4h", "", "4c", 0),
    ],
)
def test_p8_the_hand_is_refilled_to_three(hand: str, stock: str, laid: str, drawn: int) -> None:
    """P8: draw to a hand of three if it has fewer, or as many as the stock has."""
    after = scenario(
        SHITHEAD,
        given=table(hands=[hand, "9s"], stock=stock),
        when=play(0, laid),
        then=[played(0, laid, turn=1), *([drew(0, drawn)] if drawn else [])],
    )
    assert after.seats[0].hand[-drawn or 99 :] == cards(stock)[:drawn]


def test_p9_a_seat_that_does_not_play_takes_the_pile() -> None:
    """P9: a player who cannot or will not play takes the pile; the next plays anything."""
    at = table(pile="4c 9c", hands=["Kd 3d", "3s Ks", "8s"])
    after = scenario(SHITHEAD, given=at, when=take(0), then=[took(0, 2, turn=1)])
    assert moves(SHITHEAD, after, 1) == {"3s", "Ks"}
    scenario(SHITHEAD, given=table(hands=["Kd", "3s"]), when=take(0), then=refused())
    scenario(SHITHEAD, given=at, when=take(0, "Kd"), then=refused("P14"))


def test_p10_a_turn_that_begins_with_a_hand_uses_no_table_card() -> None:
    """P10: not even a face-up card of the same rank may be added."""
    at = table(pile="9c", hands=["Kd", "3s"], up=["Kh 4h"], down=["5c 5d"])
    assert moves(SHITHEAD, at) == {"Kd", "take"}
    scenario(SHITHEAD, given=at, when=play(0, "Kd Kh"), then=refused("P10"))
    scenario(SHITHEAD, given=at, when=play(0, "Kh"), then=refused("P10"))
    scenario(SHITHEAD, given=at, when=take(0, "Kh"), then=refused("P14"))
    scenario(SHITHEAD, given=at, when=turn_over(0, 0), then=refused("P10", "P15"))


def test_p10_a_burn_begins_a_new_turn() -> None:
    """P10: a hand emptied by a burn lets the face-up cards be played at once."""
    at = table(pile="9c", hands=["Td", "3s"], up=["Kh 4h"], down=["5c 5d"])
    after = scenario(SHITHEAD, given=at, when=play(0, "Td"))
    assert moves(SHITHEAD, after) == {"Kh", "4h"}
    last = table(pile="9c", hands=["", "3s"], up=["Th -"], down=["5c 5d"])
    after = scenario(SHITHEAD, given=last, when=play(0, "Th"))
    assert moves(SHITHEAD, after) == {"turn 0", "turn 1"}


def test_p11_twos_go_on_anything_and_anything_on_twos() -> None:
    """P11: a two can be played on anything, and anything on a two."""
    assert "2d" in moves(SHITHEAD, table(pile="Ac", hands=["2d 3d", "9s"]))
    at = table(pile="Ac 2c", hands=["3d 2d", "9s"])
    assert moves(SHITHEAD, at) == {"3d", "2d", "take"}


@pytest.mark.parametrize("pile", ["Ac", "Jc", "7c", "2c", "", "8c"])
def test_p12_a_ten_goes_on_anything_and_burns(pile: str) -> None:
    """P12: a ten on anything, or on an empty pile, burns; the same player plays again."""
    count = len(pile.split()) + 1
    scenario(
        SHITHEAD,
        given=table(pile=pile, hands=["Td 4d", "9s"], stock="6c 6d 6h"),
        when=play(0, "Td"),
        then=[played(0, "Td", turn=0), drew(0, 2), burned(0, cause="rank", count=count)],
    )


def test_p12_four_tens_burn_by_their_rank() -> None:
    """P12 and P13 both apply; the ten's own burn is the recorded cause."""
    scenario(
        SHITHEAD,
        given=table(pile="9c", hands=["Td Tc Th Ts 4d", "9s"]),
        when=play(0, "Td Tc Th Ts"),
        then=[played(0, "Td Tc Th Ts", turn=0), burned(0, cause="rank", count=5)],
    )


def test_p13_four_of_one_rank_on_top_burn() -> None:
    """P13: four of one rank on top of the pile burn, twos as well."""
    for rank in "2568K":
        scenario(
            SHITHEAD,
            given=table(pile=f"3c {rank}c {rank}d {rank}h", hands=[f"{rank}s 4d", "9s"]),
            when=play(0, f"{rank}s"),
            then=[played(0, f"{rank}s", turn=0), burned(0, cause="set", count=5)],
        )


def test_p14_one_face_up_card_goes_along_with_the_pile() -> None:
    """P14: unable or unwilling: take the pile and one face-up card of the player's choice."""
    at = table(pile="9c", hands=["", "9s"], up=["Kh 4h 4d"], down=["5c 5d 5h"])
    assert moves(SHITHEAD, at) == {"Kh", "take Kh", "take 4h", "take 4d"}
    for wrong in ("", "4h 4d", "9s", "9c", "5c"):
        scenario(SHITHEAD, given=at, when=take(0, wrong), then=refused("P14"))
    after = scenario(SHITHEAD, given=at, when=take(0, "4h"), then=[took(0, 1, turn=1, along="4h")])
    assert set(after.seats[0].hand) == set(cards("9c 4h"))
    assert after.seats[0].up == (cards("Kh"), (), cards("4d"))


def test_p14_after_the_pick_up_the_seat_plays_from_its_hand_again() -> None:
    """P10: cards in the hand are played before the cards on the table."""
    at = table(pile="9c", hands=["", "3s 3d"], up=["Kh 4h"], down=["5c 5d"])
    after = scenario(SHITHEAD, given=at, when=[take(0, "Kh"), play(1, "3s")])
    assert moves(SHITHEAD, after) == {"9c", "Kh", "take"}


def test_p15_a_failed_face_down_card_is_shown_and_taken() -> None:
    """P15: a face-down card that does not fit goes to the hand with the pile; everyone sees it."""
    at = table(pile="3c 9c", hands=["", "9s"], down=["5c 8d"])
    after = scenario(SHITHEAD, given=at, when=turn_over(0, 1), then=[failed(0, 1, "8d", 2, turn=1)])
    assert set(after.seats[0].known) == set(cards("3c 9c 8d"))
    assert after.seats[0].down[1] is None
    scenario(SHITHEAD, given=at, when=take(0), then=refused("P15"))


def test_p15_a_face_down_card_that_fits_is_played() -> None:
    """P15: a face-down card is turned openly and played if it fits; a ten burns."""
    at = table(pile="Kc", hands=["", "9s"], down=["Td 8d"])
    scenario(
        SHITHEAD,
        given=at,
        when=turn_over(0, 0),
        then=[turned(0, 0, "Td", turn=0), burned(0, cause="rank", count=2)],
    )


def test_p16_a_player_goes_out_only_by_playing_the_last_card() -> None:
    """P16: the last player with cards is the loser."""
    scenario(
        SHITHEAD,
        given=table(pile="Kc", hands=["", "9s"], down=["8d"]),
        when=turn_over(0, 0),
        then=[failed(0, 0, "8d", 1, turn=1)],
    )
    scenario(
        SHITHEAD,
        given=table(pile="7c", hands=["", "9s"], down=["8d"]),
        when=turn_over(0, 0),
        then=[turned(0, 0, "8d", turn=None), out(0, 1), *ended("shithead", 1, 0, 1)],
    )
