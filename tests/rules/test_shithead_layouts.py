"""Small variants of the widespread game: statements P20 to P24."""

from __future__ import annotations

import pytest

from service.domain.legal import first_lay
from service.domain.ruleset import NextDealer, deck_of
from tests.rules.phrases import (
    burned,
    ended,
    lay,
    out,
    play,
    played,
    ready,
    swap,
    take,
    took,
)
from tests.rules.scenario import moves, refused, scenario
from tests.rules.tables import all_ready, cards, dealt, rules, table

SIX = rules("shithead-six")


def test_p20_six_play_with_two_jokers() -> None:
    """P20: six players, one deck and two jokers."""
    assert deck_of(SIX, 6) == (1, 2, ())
    assert (SIX.seats_min, SIX.seats_max) == (6, 6)


def test_p20_the_player_whose_own_play_comes_back_must_beat_it() -> None:
    """P20: a joker on a king reverses; the player of the king must beat it or take the pile."""
    hands = ["Kc 9c Ac", "X1 4d", "8s", "7s", "6s", "5s"]
    after = scenario(SIX, given=table(pile="Qc", hands=hands), when=[play(0, "Kc"), play(1, "X1")])
    assert (after.turn, after.direction) == (0, -1)
    assert moves(SIX, after) == {"Ac", "take"}


def test_p20_jokers_are_played_alone_or_together_but_with_no_other_card() -> None:
    """P20: jokers go on anything; two reverse twice; alone on the pile they ask for nothing."""
    hands = ["X1 X2 4d", "3s Ks", "8s", "7s", "6s", "5s"]
    at = table(pile="Ac", hands=hands)
    assert moves(SIX, at) == {"X1", "X2", "X1 X2", "take"}
    scenario(SIX, given=at, when=play(0, "X1 4d"), then=refused("P7", "P20"))
    scenario(SIX, given=at, when=play(0, "X1 X2"), then=[played(0, "X1 X2", turn=1)])
    empty = table(hands=hands, pile="")
    after = scenario(SIX, given=empty, when=play(0, "X1 X2"))
    assert moves(SIX, after, 1) == {"3s", "Ks", "take"}


def test_p20_a_joker_makes_no_player_the_first() -> None:
    """P20: two jokers lie face-up and no three does, so the first three dealt to a hand opens."""
    game, _ = dealt(SIX, seats=6, up=["X1", "X2", "", "", "", "4c"])
    assert [seat for seat in range(6) if "3" in str(game.seats[seat].up_cards)] == []
    assert game.seats[5].hand[1] == "3c"
    assert all_ready(game).turn == 5


def test_p21_three_of_six_are_laid() -> None:
    """P21: each player lays any three of six cards face-up, one on each slot."""
    layout = rules("shithead-layout")
    hands = ["4c 4d Kc Kd 9c 9d", "8c 8d"]
    game, _ = dealt(layout, seats=2, hands=hands)
    assert [len(s.hand) for s in game.seats] == [6, 6]
    for wrong in (("4c", "4d"), ("4c 4d", "Kc", "9c"), ("4c", "Kc", ""), ("4c", "4c", "Kc")):
        scenario(layout, given=game, when=lay(0, *wrong), then=refused("P21", "P7"))
    scenario(layout, given=game, when=lay(0, "4c", "4d", "8c"), then=refused("P21"))
    scenario(layout, given=game, when=ready(0), then=refused("P21"))
    scenario(layout, given=game, when=swap(0, "4c", "4d"), then=refused("P21"))
    after = scenario(layout, given=game, when=lay(0, "Kd", "9c", "4c"))
    assert after.seats[0].up == (cards("Kd"), cards("9c"), cards("4c"))
    assert len(after.seats[0].hand) == 3
    scenario(layout, given=after, when=lay(0, "4d", "Kc", "9d"), then=refused("P21"))


@pytest.mark.parametrize(
    ("hands", "opener"),
    [
        (["Kc Qc Jc 9c 8c 3d", "Kd Qd Jd 9d 3c"], 1),
        (["Kc 3c", "Kd Qd 3d"], 0),
        (["Kc Qc Jc 4c", "Kd Qd Jd 4d"], 1),
    ],
)
def test_p21_the_first_three_among_the_six_opens(hands: list[str], opener: int) -> None:
    """P21: the first three dealt among the six opens, else the first four, whatever was laid."""
    layout = rules("shithead-layout")
    game, _ = dealt(layout, seats=2, dealer=0, hands=hands)
    for seat in (0, 1):
        game = scenario(layout, given=game, when=[first_lay(game, seat), ready(seat)])
    assert game.turn == opener


def test_p22_the_first_to_go_out_wins() -> None:
    """P22: the hand ends when the first player is out, and only this player has a place."""
    scenario(
        rules("shithead-winner"),
        given=table(pile="7c", hands=["8c", "9s", "9d"]),
        when=play(0, "8c"),
        then=[played(0, "8c", turn=None), out(0, 1), *ended("winner", None, 0)],
    )
    scenario(
        rules("shithead-winner"),
        given=table(pile="7c", hands=["8c", "9s"]),
        when=play(0, "8c"),
        then=[played(0, "8c", turn=None), out(0, 1), *ended("winner", None, 0)],
    )
    assert rules("shithead-winner").end.next_dealer is NextDealer.ROTATE


def test_p23_a_ten_is_played_by_the_normal_rule_and_burns() -> None:
    """P23: a ten cannot be played on a jack, queen, king or ace."""
    in_rank = rules("shithead-ten-in-rank")
    for pile in ("Jc", "Qc", "Kc", "Ac"):
        at = table(pile=pile, hands=["Td 4d", "9s"])
        assert moves(in_rank, at) == {"take"}
        scenario(in_rank, given=at, when=play(0, "Td"), then=refused("P23"))
    scenario(
        in_rank,
        given=table(pile="9c", hands=["Td 4d", "9s"]),
        when=play(0, "Td"),
        then=[played(0, "Td", turn=0), burned(0, cause="rank", count=2)],
    )


def test_p24_only_the_pile_is_taken() -> None:
    """P24: a player who cannot play from the table takes the pile; the face-up cards stay."""
    keep = rules("shithead-keep-table")
    at = table(pile="9c", hands=["", "9s"], up=["Kh 4h"], down=["5c 5d"])
    assert moves(keep, at) == {"Kh", "take"}
    scenario(keep, given=at, when=take(0, "4h"), then=refused("P24"))
    after = scenario(keep, given=at, when=take(0), then=[took(0, 1, turn=1)])
    assert after.seats[0].up_cards == cards("Kh 4h")
