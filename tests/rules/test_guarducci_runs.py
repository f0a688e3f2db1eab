"""Guarducci's switches 5 and 6 (P34): runs, and the previous player."""

from __future__ import annotations

from tests.rules.guarducci import ALL, NONE, legal_runs, only
from tests.rules.phrases import (
    burned,
    failed,
    play,
    played,
    take,
    took,
    try_stock,
    turn_over,
)
from tests.rules.scenario import moves, refused, scenario
from tests.rules.tables import table


def test_p34_5_runs_of_one_suit() -> None:
    """Switch 5: a run is two or more consecutive cards of one suit; they are laid ascending."""
    at = table(pile="3c", hands=["4d 5d 6d 6h 8d", "9s"])
    assert legal_runs(only(5), "3c", "4d 5d 6d 6h 8d") == {"4d 5d", "5d 6d", "4d 5d 6d"}
    scenario(only(5), given=at, when=play(0, "6d 4d 5d"), then=[played(0, "4d 5d 6d", turn=1)])
    for wrong in ("5d 6h", "4d 6d", "4d 5d 6d 8d", "6d 8d", "5d 6d 6h"):
        scenario(only(5), given=at, when=play(0, wrong), then=refused("P7", "P34"))
    scenario(NONE, given=at, when=play(0, "4d 5d"), then=refused("P7"))


def test_p34_5_the_first_card_must_beat_the_pile() -> None:
    """Switch 5: it is not enough that a later card beats the pile."""
    assert legal_runs(only(5), "5c", "4d 5d 6d") == {"5d 6d"}
    at = table(pile="5c", hands=["4d 5d 6d", "9s"])
    scenario(only(5), given=at, when=play(0, "4d 5d 6d"), then=refused("P7", "P34"))


def test_p34_5_a_run_ends_at_an_eight_if_switch_2_is_on() -> None:
    """Switches 2 and 5: each card must be legal on the one before, and no nine is on an eight."""
    assert legal_runs(only(2, 5), "", "7d 8d 9d Jd") == {"7d 8d"}
    assert legal_runs(only(5), "", "7d 8d 9d") == {"7d 8d", "8d 9d", "7d 8d 9d"}
    at = table(hands=["7d 8d 9d", "9s"])
    scenario(only(2, 5), given=at, when=play(0, "7d 8d 9d"), then=refused("P34"))


def test_p34_5_glass_in_a_run_is_transparent() -> None:
    """Switches 1 and 5: an eight on a glass seven must beat the card below the seven."""
    assert legal_runs(only(1, 5), "Ac", "7d 8d") == set()
    assert legal_runs(only(1, 5), "8c", "7d 8d") == {"7d 8d"}
    assert legal_runs(only(1, 5), "", "7d 8d") == {"7d 8d"}


def test_p34_5_a_run_ends_at_the_ten_and_burns() -> None:
    """Switch 5 (reading): no card before the last may burn."""
    at = table(pile="8c", hands=["9d Td Jd 4d", "9s"])
    assert legal_runs(only(5), "8c", "9d Td Jd 4d") == {"9d Td"}
    scenario(
        only(5),
        given=at,
        when=play(0, "9d Td"),
        then=[played(0, "9d Td", turn=0), burned(0, cause="rank", count=3)],
    )
    scenario(only(5), given=at, when=play(0, "9d Td Jd"), then=refused("P34"))


def test_p34_5_a_run_has_no_two_after_an_ace_and_no_joker() -> None:
    """P7: the ace is the highest rank and the two the lowest."""
    assert legal_runs(only(5), "", "Ad 2d 3d") == {"2d 3d"}
    assert legal_runs(only(4, 5), "", "4d X1 6d") == set()


def test_p34_5_the_last_card_of_a_run_counts_towards_a_set() -> None:
    """P13: four of one rank on top burn, even if they come from different plays."""
    twice = table(pile="2c", hands=["5d 6d 4c", "6c 6h 6s 4d"])
    scenario(
        only(5),
        given=twice,
        when=[play(0, "5d 6d"), play(1, "6c 6h 6s")],
        then=[played(1, "6c 6h 6s", turn=1), burned(1, cause="set", count=6)],
    )


def test_p34_5_a_run_may_cover_even_if_its_first_card_does_not_fit() -> None:
    """Switches 4 and 5: a run may cover a joker; only its later cards must fit on one another."""
    at = table(pile="Ac", hands=["X1 3d 4d 9h Th", "9s"])
    after = scenario(only(4, 5), given=at, when=play(0, "X1"))
    assert {"3d 4d", "9h Th"} <= moves(only(4, 5), after)
    scenario(only(4, 5), given=after, when=play(0, "4d 3d"), then=[played(0, "3d 4d", turn=1)])


def test_p34_5_a_run_may_be_played_from_the_table() -> None:
    """P10: a run of face-up cards is legal, but not one of hand and face-up cards together."""
    at = table(pile="3c", hands=["", "9s"], up=["4d 5d"], down=["3d 3h"])
    assert moves(only(5), at) >= {"4d 5d"}
    mixed = table(pile="3c", hands=["4d", "9s"], up=["5d 6d"], down=["3d 3h"])
    scenario(only(5), given=mixed, when=play(0, "4d 5d"), then=refused("P10"))


def test_p34_6_the_previous_player_plays_after_a_pick_up() -> None:
    """Switch 6: with more than two players left, the previous one plays after a pick-up."""
    at = table(hands=["9c 4c", "3c 4d", "5d"])
    scenario(only(6), given=at, when=[play(0, "9c"), take(1)], then=[took(1, 1, turn=0)])
    scenario(NONE, given=at, when=[play(0, "9c"), take(1)], then=[took(1, 1, turn=2)])
    blind = table(pile="9c", hands=["", "5d", "6d"], down=["4c"], last=2)
    scenario(only(6), given=blind, when=turn_over(0, 0), then=[failed(0, 0, "4c", 1, turn=2)])


def test_p34_6_the_next_seat_plays_if_two_are_left_or_the_previous_one_is_out() -> None:
    two = table(pile="9c", hands=["3c", "4d", ""], out=[2], last=1, direction=-1)
    scenario(only(6), given=two, when=take(0), then=[took(0, 1, turn=1, direction=-1)])
    gone = table(pile="9c", hands=["3c", "4d", "", "5d"], out=[2], last=2)
    scenario(only(6), given=gone, when=take(0), then=[took(0, 1, turn=1)])


def test_p34_6_a_seat_may_be_its_own_previous_player() -> None:
    """The previous player is the one whose play lies on top, even if skips returned the turn."""
    at = table(pile="Qc", hands=["X1 X2 4c", "3c", "4d"])
    after = scenario(only(4, 6), given=at, when=play(0, "X1 X2"))
    assert after.turn == 0
    scenario(only(4, 6), given=after, when=take(0), then=[took(0, 3, turn=0)])


def test_p34_has_no_tries_from_the_stock() -> None:
    """P37: only `egilsson` has tries from the stock."""
    at = table(pile="Qc", hands=["4c", "3c"], stock="5c")
    scenario(ALL, given=at, when=try_stock(0), then=refused())


def test_p34_5_no_card_of_a_run_before_the_last_may_complete_a_set() -> None:
    """Switch 5 (reading): no card before the last may burn, and the fourth five would."""
    assert legal_runs(only(5), "5c 5d 5h", "5s 6s") == set()
    assert legal_runs(only(5), "6c 6d 6h", "5s 6s") == set()
    assert legal_runs(only(5), "5c 5d", "5s 6s") == {"5s 6s"}


def test_p34_5_the_opening_play_may_be_a_run() -> None:
    """P6: the opening play is any play; with switch 5 also a run."""
    at = table(hands=["4d 5d 9c", "9s Js Qs"], first_turn=True)
    scenario(only(5), given=at, when=play(0, "4d 5d"), then=[played(0, "4d 5d", turn=1)])
    scenario(NONE, given=at, when=play(0, "4d 5d"), then=refused("P7"))
