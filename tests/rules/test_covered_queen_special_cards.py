"""The computer version: statements S5 to S14, the turn and its special cards."""

from __future__ import annotations

import pytest

from tests.rules.phrases import (
    burned,
    drew,
    ended,
    failed,
    out,
    play,
    played,
    ready,
    swap,
    take,
    took,
    turn_over,
    turned,
)
from tests.rules.scenario import moves, not_your_turn, refused, scenario
from tests.rules.tables import dealt, rules, table

QUEEN = rules("covered-queen")


def test_s5_a_seat_that_can_play_must_play() -> None:
    """S5: equal or higher; if unable, take the pile, and the next player starts a new one."""
    at = table(pile="9c", hands=["4d Kc", "9s 4s"])
    scenario(QUEEN, given=at, when=take(0), then=refused("S5"))
    unable = table(pile="9c", hands=["4d", "9s 4s"])
    after = scenario(QUEEN, given=unable, when=take(0), then=[took(0, 1, turn=1)])
    assert moves(QUEEN, after, 1) == {"9s", "4s"}
    scenario(QUEEN, given=unable, when=play(0, "4d"), then=refused("S5"))


def test_s6_four_of_a_rank_kill_the_pile() -> None:
    """S6: four or more of one rank on top kill the pile; the same player starts a new one."""
    at = table(pile="6c 9c 9d", hands=["9h 9s 4d", "Ks"])
    scenario(
        QUEEN,
        given=at,
        when=play(0, "9h 9s"),
        then=[played(0, "9h 9s", turn=0), burned(0, cause="set", count=5)],
    )


def test_s7_one_table_card_or_several_of_a_rank_go_along() -> None:
    """S7: unable to play from the table: take the pile and one table card, or several of a rank."""
    at = table(pile="Ac", hands=["", "9s"], up=["4c 4d 5h"], down=["6c 6d 6h"])
    assert moves(QUEEN, at) == {"take 4c", "take 4d", "take 4c 4d", "take 5h"}
    for wrong in ("", "4c 5h", "6c", "9s"):
        scenario(QUEEN, given=at, when=take(0, wrong), then=refused("S7"))
    scenario(QUEEN, given=at, when=take(0, "4d 4c"), then=[took(0, 1, turn=1, along="4d 4c")])


def test_s8_a_two_goes_on_anything_and_anything_on_it() -> None:
    """S8: a two can be played on anything, and anything on a two."""
    assert "2d" in moves(QUEEN, table(pile="Ac", hands=["2d", "9s"]))
    assert moves(QUEEN, table(pile="Ac 2c", hands=["4d Td", "9s"])) == {"4d", "Td"}


@pytest.mark.parametrize(
    ("pile", "legal"),
    [
        ("Kc 3c", "Kd Ad 3d 2d Td"),
        ("7c 3c", "4d 7d 3d 2d"),
        ("3c", "4d 7d 8d Kd Ad 3d 2d Td"),
        ("3c 3h", "4d 7d 8d Kd Ad 3d 2d Td"),
        ("2c 3c", "4d 7d 8d Kd Ad 3d 2d Td"),
        ("Qc 3c 3h", "Kd Ad 3d 2d Td"),
    ],
)
def test_s9_a_three_is_transparent(pile: str, legal: str) -> None:
    """S9: a three can be played on anything; the card below it must be beaten."""
    hand = "4d 7d 8d Kd Ad 3d 2d Td"
    assert moves(QUEEN, table(pile=pile, hands=[hand, "9s"])) == set(legal.split())


def test_s10_a_seven_asks_for_seven_or_lower_and_no_ten() -> None:
    """S10: after a seven the next play must be seven or lower, and no ten."""
    at = table(pile="7c", hands=["4d 7d 8d 3d 2d Td Kd", "9s"])
    assert moves(QUEEN, at) == {"4d", "7d", "3d", "2d"}
    scenario(QUEEN, given=at, when=play(0, "8d"), then=refused("S10"))
    scenario(QUEEN, given=at, when=play(0, "Td"), then=refused("S10", "S12"))


def test_s11_an_eight_skips_the_next_player() -> None:
    """S11: two eights skip two seats."""
    at = table(pile="4c", hands=["8c 8d 4d", "9s", "9h", "9d"])
    scenario(QUEEN, given=at, when=play(0, "8c"), then=[played(0, "8c", turn=2)])
    scenario(QUEEN, given=at, when=play(0, "8c 8d"), then=[played(0, "8c 8d", turn=3)])


def test_s12_a_ten_kills_the_pile() -> None:
    """S12: a ten on anything but a seven kills the pile; the same player plays again."""
    for pile in ("Ac", "Qc", "2c", "8c", ""):
        scenario(
            QUEEN,
            given=table(pile=pile, hands=["Td 4d", "9s"]),
            when=play(0, "Td"),
            then=[
                played(0, "Td", turn=0),
                burned(0, cause="rank", count=len(pile.split()) + 1),
            ],
        )
    seen = table(pile="7c 3c", hands=["Td 9d", "9s"])
    scenario(QUEEN, given=seen, when=play(0, "Td"), then=refused("S10", "S12"))


def test_s13_a_queen_must_be_covered_by_any_further_card() -> None:
    """S13: the same player draws, then plays any further card on the queen; no picking up."""
    at = table(pile="9c", hands=["Qd 4d 5d", "9s", "8s"], stock="6h 6d")
    after = scenario(
        QUEEN, given=at, when=play(0, "Qd"), then=[played(0, "Qd", turn=0), drew(0, 1)]
    )
    assert moves(QUEEN, after) == {"4d", "5d", "6h"}
    scenario(QUEEN, given=after, when=take(0), then=refused("S13"))
    scenario(QUEEN, given=after, when=play(0, "6h"), then=[played(0, "6h", turn=1), drew(0, 1)])


def test_s13_the_cover_follows_its_own_rules() -> None:
    """S13: as a cover an eight skips, a king reverses, a seven limits, a three is transparent."""
    at = table(pile="9c", hands=["Qd 8d Kd 3d 7d 4d", "9s Ks 6s", "8s"])
    for laid, turn, direction in (("8d", 2, 1), ("Kd", 2, -1)):
        then = [played(0, laid, turn=turn, direction=direction)]
        scenario(QUEEN, given=at, when=[play(0, "Qd"), play(0, laid)], then=then)
    after = scenario(QUEEN, given=at, when=[play(0, "Qd"), play(0, "3d")])
    assert moves(QUEEN, after, 1) == {"Ks"}
    after = scenario(QUEEN, given=at, when=[play(0, "Qd"), play(0, "7d")])
    assert moves(QUEEN, after, 1) == {"6s"}


def test_s13_a_queen_is_covered_from_the_next_zone() -> None:
    """S13: if the hand is empty, a table card covers, or any face-down card."""
    at = table(pile="9c", hands=["Qd", "9s"], up=["4d 4h"], down=["5c 5d"])
    after = scenario(QUEEN, given=at, when=play(0, "Qd"))
    assert moves(QUEEN, after) == {"4d", "4h", "4d 4h"}
    blind = table(pile="9c", hands=["Qd", "9s", "8s"], down=["5c 5d"])
    after = scenario(QUEEN, given=blind, when=play(0, "Qd"))
    scenario(QUEEN, given=after, when=turn_over(0, 0), then=[turned(0, 0, "5c", turn=1)])


def test_s13_a_queen_as_last_card_takes_its_player_out() -> None:
    """S13: a player without a card to cover the queen is out, and the next must beat it."""
    at = table(pile="9c", hands=["Qd", "Js Ks", "8s"])
    after = scenario(QUEEN, given=at, when=play(0, "Qd"), then=[played(0, "Qd", turn=1), out(0, 1)])
    assert moves(QUEEN, after, 1) == {"Ks"}
    two = table(pile="9c", hands=["Qd", "Js Ks"])
    scenario(
        QUEEN,
        given=two,
        when=play(0, "Qd"),
        then=[played(0, "Qd", turn=None), out(0, 1), *ended("shithead", 1, 0, 1)],
    )


def test_s13_four_queens_are_killed_and_need_no_cover() -> None:
    """S6: four queens kill the pile, so there is nothing to cover."""
    at = table(pile="9c Qc Qh Qs", hands=["Qd 4d", "9s"])
    after = scenario(
        QUEEN,
        given=at,
        when=play(0, "Qd"),
        then=[played(0, "Qd", turn=0), burned(0, cause="set", count=5)],
    )
    assert not after.covering
    assert moves(QUEEN, after) == {"4d"}


def test_s13_several_queens_are_covered_once() -> None:
    """S13: the same player plays any further card on the queens."""
    at = table(pile="9c", hands=["Qd Qh 4d 5d", "9s 8s"])
    scenario(
        QUEEN,
        given=at,
        when=[play(0, "Qd Qh"), play(0, "4d")],
        then=[played(0, "4d", turn=1)],
    )


def test_s14_a_king_reverses() -> None:
    """S14: a king reverses the direction; two kings cancel out."""
    at = table(pile="9c", hands=["Kd Kc 4d", "9s", "8s"])
    then = [played(0, "Kd", turn=2, direction=-1)]
    scenario(QUEEN, given=at, when=play(0, "Kd"), then=then)
    scenario(QUEEN, given=at, when=play(0, "Kd Kc"), then=[played(0, "Kd Kc", turn=1)])


def test_s13_without_a_queen_to_cover_a_face_down_card_must_fit() -> None:
    """Blind play: if it does not fit, it goes to the hand with the pile, and all see it."""
    at = table(pile="9c", hands=["", "9s"], down=["5c 5d"])
    after = scenario(QUEEN, given=at, when=turn_over(0, 0), then=[failed(0, 0, "5c", 1, turn=1)])
    assert "5c" in after.seats[0].known


def test_s2_a_swap_after_ready_is_not_accepted() -> None:
    """S2: players exchange until they are ready."""
    game, _ = dealt(QUEEN, seats=2, up=["4c 5c 6c"], hands=["Kc Qc Jc"])
    game = scenario(QUEEN, given=game, when=ready(0))
    scenario(QUEEN, given=game, when=swap(0, "Kc", "4c"), then=not_your_turn())


def test_s13_a_queen_covered_by_a_ten_and_by_a_queen() -> None:
    """S13: a ten kills the pile; a queen must be covered again."""
    at = table(pile="9c", hands=["Qd Qh Td 4d", "9s 8s"])
    after = scenario(QUEEN, given=at, when=play(0, "Qd"))
    killed = (played(0, "Td", turn=0), burned(0, cause="rank", count=3))
    scenario(QUEEN, given=after, when=play(0, "Td"), then=killed)
    again = scenario(QUEEN, given=after, when=play(0, "Qh"), then=[played(0, "Qh", turn=0)])
    assert again.covering
    scenario(QUEEN, given=again, when=play(0, "4d"), then=[played(0, "4d", turn=1)])
