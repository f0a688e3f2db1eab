"""Small variants of the widespread game: statements P20 to P24."""

from __future__ import annotations

import pytest

from service.domain.ruleset import NextDealer, deck_of
from tests.rules.phrases import (
    burned,
    ended,
    out,
    play,
    played,
    swap,
    take,
    took,
)
from tests.rules.scenario import moves, refused, scenario
from tests.rules.tables import all_ready, cards, dealt, rules, table

SHITHEAD = rules("shithead")
HIGH = "KQJ98"  # fillers of deals where no low card may come by chance


SIX = rules("shithead-six")


def six(hand: str, **given: object) -> object:
    """Return a table of six where seat 0 has this hand."""
    others = ["9s", "8s", "7s", "6s", "5s"]
    return table(hands=[hand, *others], **given)  # type: ignore[arg-type] # as table takes them


def test_p20_six_players_two_jokers() -> None:
    """P20: a deck of 54."""
    assert deck_of(SIX, 6) == (1, 2, ())
    assert (SIX.seats_min, SIX.seats_max) == (6, 6)


def test_p20_the_player_whose_own_play_comes_back_must_beat_it() -> None:
    """P20: seat 0 plays a king, seat 1 a joker: seat 0 must beat its king or take the pile."""
    hands = ["Kc 9c Ac", "X1 4d", "8s", "7s", "6s", "5s"]
    after = scenario(SIX, given=table(pile="Qc", hands=hands), when=[play(0, "Kc"), play(1, "X1")])
    assert (after.turn, after.direction) == (0, -1)
    assert moves(SIX, after) == {"Ac", "take"}


def test_p20_jokers_go_alone_or_together_and_with_no_other_card() -> None:
    """P20: two jokers reverse twice; on an empty pile they ask nothing."""
    hands = ["X1 X2 4d", "3s Ks", "8s", "7s", "6s", "5s"]
    at = table(pile="Ac", hands=hands)
    assert moves(SIX, at) == {"X1", "X2", "X1 X2", "take"}
    scenario(SIX, given=at, when=play(0, "X1 4d"), then=refused("P7", "P20"))
    scenario(SIX, given=at, when=play(0, "X1 X2"), then=[played(0, "X1 X2", turn=1)])
    empty = table(hands=hands, pile="")
    after = scenario(SIX, given=empty, when=play(0, "X1 X2"))
    assert moves(SIX, after, 1) == {"3s", "Ks", "take"}


def test_p20_jokers_qualify_nobody() -> None:
    """P20: the first four opens although jokers were dealt before it."""
    up = ["X1", "X2", "", "", "", "4c"]
    game, _ = dealt(SIX, seats=6, up=up)
    assert all_ready(game).turn != 1
    none = {rank for state in game.seats for card in state.up_cards for rank in card[0]}
    assert "X" in none


def test_p21_three_of_six_are_laid() -> None:
    """P21: three down and a hand of six; one card on each slot."""
    layout = rules("shithead-layout")
    hands = ["4c 4d Kc Kd 9c 9d", "8c 8d"]
    game, _ = dealt(layout, seats=2, hands=hands)
    assert [len(s.hand) for s in game.seats] == [6, 6]
    from tests.rules.phrases import lay, ready

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
    """P21: in the order of the deal, else fours; whatever was laid."""
    layout = rules("shithead-layout")
    from service.domain.commands import Ready
    from service.domain.decide import decide
    from service.domain.evolve import evolve
    from service.domain.legal import first_lay

    game, _ = dealt(layout, seats=2, dealer=0, hands=hands)
    for seat in (0, 1):
        for command in (first_lay(game, seat), Ready(seat=seat)):
            for event in decide(command, game):
                game = evolve(game, event)
    assert game.turn == opener


def test_p22_the_first_to_go_out_wins() -> None:
    """P22: the hand ends at once; the winner alone has a place."""
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


def test_p23_a_ten_goes_by_the_normal_rule() -> None:
    """P12b: so not on J, Q, K, A; it burns all the same."""
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
    """P14b: all face-up cards stay."""
    keep = rules("shithead-keep-table")
    at = table(pile="9c", hands=["", "9s"], up=["Kh 4h"], down=["5c 5d"])
    assert moves(keep, at) == {"Kh", "take"}
    scenario(keep, given=at, when=take(0, "4h"), then=refused("P24"))
    after = scenario(keep, given=at, when=take(0), then=[took(0, 1, turn=1)])
    assert after.seats[0].up_cards == cards("Kh 4h")
