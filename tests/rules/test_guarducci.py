"""Guarducci's switches 1 to 4 (P34), each alone and together, and the three kinds of joker."""

from __future__ import annotations

import pytest

from service.domain.ruleset import deck_of
from tests.rules.guarducci import ALL, NONE, only
from tests.rules.phrases import (
    burned,
    ended,
    out,
    play,
    played,
    take,
    turn_over,
    turned,
)
from tests.rules.scenario import moves, refused, scenario
from tests.rules.tables import rules, table


def test_p34_without_switches_it_is_shithead() -> None:
    """P34: each switch is usable alone; without switches the rules of `shithead` apply."""
    at = table(pile="8c", hands=["7d 8d 9d Td", "9s"])
    assert moves(NONE, at) == {"8d", "9d", "Td", "take"}
    assert moves(NONE, table(pile="7c", hands=["8d 6d", "9s"])) == {"8d", "take"}


@pytest.mark.parametrize("switches", [[], [1], [2], [3], [5], [6], [1, 2, 3, 5, 6]])
def test_p34_jokers_come_with_switch_4_alone(switches: list[int]) -> None:
    """Switch 4: two jokers are added; without it there are none."""
    assert deck_of(rules("guarducci", switches=switches), 3) == (1, 0, ())
    assert deck_of(rules("guarducci", switches=[*switches, 4]), 3) == (1, 2, ())


def test_p34_1_a_seven_is_glass() -> None:
    """Switch 1: a seven can be played on anything; the card below it must be beaten."""
    at = table(pile="Ac", hands=["7d 4d", "Ks As 7s"])
    assert moves(only(1), at) == {"7d", "take"}
    after = scenario(only(1), given=at, when=play(0, "7d"))
    assert moves(only(1), after, 1) == {"As", "7s", "take"}


def test_p34_1_a_pile_of_glass_alone_asks_for_its_bottom_card() -> None:
    """Switch 1: a seven at the bottom asks for seven or higher; on a joker anything goes."""
    hand = "3s 6s 7s 8s 2s Ts"
    seven = {"7s", "8s", "2s", "Ts", "take"}
    assert moves(only(1), table(pile="7c", hands=[hand, "9s"])) == seven
    assert moves(only(1), table(pile="7c 7d", hands=[hand, "9s"])) == seven
    both = only(1, 4)
    assert moves(both, table(pile="7c X1", hands=[hand, "9s"])) == seven
    assert moves(both, table(pile="7c 7d X1 7h", hands=[hand, "9s"])) == seven
    everything = {*hand.split(), "take"}
    assert moves(both, table(pile="X1", hands=[hand, "9s"])) == everything
    assert moves(both, table(pile="X1 7c", hands=[hand, "9s"])) == everything
    assert moves(both, table(pile="X1 X2", hands=[hand, "9s"])) == everything


def test_p34_1_four_sevens_burn() -> None:
    """P13: four of one rank burn, sevens of glass as well."""
    scenario(
        only(1),
        given=table(pile="Ac 7c 7d 7h", hands=["7s 4d", "Ks"]),
        when=play(0, "7s"),
        then=[played(0, "7s", turn=0), burned(0, cause="set", count=5)],
    )


def test_p34_2_an_eight_asks_for_a_lower_card_an_eight_or_a_joker() -> None:
    """Switch 2: no ten may follow an eight, even without switch 3."""
    at = table(pile="8c", hands=["3d 7d 8d 9d Ad 2d Td", "9s"])
    assert moves(only(2), at) == {"3d", "7d", "8d", "2d", "take"}
    for card in ("9d", "Td"):
        scenario(only(2), given=at, when=play(0, card), then=refused("P34"))
    with_jokers = table(pile="8c", hands=["X1 9d", "9s", "9h"])
    for kind in ("glass", "7", "2"):
        assert moves(only(2, 4, joker=kind), with_jokers) == {"X1", "take"}


def test_p34_2_an_eight_is_played_by_the_normal_rule() -> None:
    """P7: an eight cannot be played on a nine."""
    assert moves(only(2), table(pile="9c", hands=["8d", "9s"])) == {"take"}


def test_p34_3_a_ten_goes_on_anything_but_an_eight() -> None:
    """Switch 3: nor on an eight seen through glass; and not with switch 2 either."""
    for ruleset in (only(3), only(2, 3)):
        at = table(pile="8c", hands=["Td", "9s"])
        assert "Td" not in moves(ruleset, at)
        scenario(ruleset, given=at, when=play(0, "Td"), then=refused("P34"))
    for pile in ("Ac", "9c", "7c", "2c", ""):
        at = table(pile=pile, hands=["Td 3c", "9s"])
        scenario(
            only(3),
            given=at,
            when=play(0, "Td"),
            then=[
                played(0, "Td", turn=0),
                burned(0, cause="rank", count=len(pile.split()) + 1),
            ],
        )
    glass = only(1, 3, 4)
    for pile in ("8c 7c", "8c X1", "8c 7c X2"):
        assert "Td" not in moves(glass, table(pile=pile, hands=["Td", "9s", "9h"]))


def test_p34_3_a_joker_of_value_seven_or_two_covers_the_eight() -> None:
    """Switch 3: a joker of value 7 or 2 hides the eight, so a ten can be played."""
    for kind in ("7", "2"):
        at = table(pile="8c X1", hands=["Td", "9s", "9h"])
        assert "Td" in moves(only(3, 4, joker=kind), at)


def test_p34_4_a_joker_goes_on_anything_and_skips_a_seat() -> None:
    """Switch 4: after a joker the next player misses a turn; after two jokers the next two do."""
    at = table(pile="Ac", hands=["X1 X2 4d", "9s", "9h", "9c"])
    assert moves(only(4), at) == {"X1", "X2", "X1 X2", "take"}
    scenario(only(4), given=at, when=play(0, "X1"), then=[played(0, "X1", turn=2)])
    scenario(only(4), given=at, when=play(0, "X1 X2"), then=[played(0, "X1 X2", turn=3)])


@pytest.mark.parametrize(
    ("kind", "pile", "legal"),
    [
        ("glass", "Qc X1", "Kd"),
        ("7", "Qc X1", "7d 8d Kd"),
        ("2", "Qc X1", "3d 7d 8d Kd"),
        ("7", "X1", "7d 8d Kd"),
        ("2", "X1", "3d 7d 8d Kd"),
        ("glass", "X1", "3d 7d 8d Kd"),
    ],
)
def test_p34_4_a_joker_is_glass_or_has_the_value_7_or_2(kind: str, pile: str, legal: str) -> None:
    """Switch 4: the table chooses one of the three before the deal."""
    at = table(pile=pile, hands=["3d 7d 8d Kd", "9s", "9h"])
    assert moves(only(4, joker=kind), at) == {*legal.split(), "take"}


def test_p34_4_with_two_left_the_player_of_jokers_plays_any_card() -> None:
    """Switch 4: after one joker, or two at once, the same player plays any card."""
    for laid in ("X1", "X1 X2"):
        at = table(pile="Ac", hands=["X1 X2 4d 3d", "9s"])
        after = scenario(only(4), given=at, when=play(0, laid))
        assert after.turn == 0
        assert {"4d", "3d"} <= moves(only(4), after)
        assert "take" not in moves(only(4), after)
        scenario(only(4), given=after, when=take(0), then=refused("P34"))
        scenario(only(4), given=after, when=play(0, "4d"), then=[played(0, "4d", turn=1)])


def test_p34_4_a_cover_may_be_a_ten_on_an_eight_or_another_joker() -> None:
    """Any cards of one rank cover, and they follow their own rules."""
    at = table(pile="8c", hands=["X1 X2 Td 4d 4c", "9s"])
    after = scenario(ALL, given=at, when=play(0, "X1"))
    assert {"Td", "X2", "4c 4d"} <= moves(ALL, after)
    scenario(
        ALL,
        given=after,
        when=play(0, "Td"),
        then=[played(0, "Td", turn=0), burned(0, cause="rank", count=3)],
    )
    scenario(ALL, given=after, when=play(0, "X2"), then=[played(0, "X2", turn=0)])


def test_p34_4_a_joker_is_covered_from_the_next_zone() -> None:
    """If the hand is empty, a face-up card covers, then a face-down card."""
    at = table(pile="Ac", hands=["X1", "9s"], up=["3d 3h"], down=["4c 4d"])
    after = scenario(only(4), given=at, when=play(0, "X1"))
    assert moves(only(4), after) == {"3d", "3h", "3d 3h"}
    blind = table(pile="Ac", hands=["X1", "9s"], down=["3d 3h"])
    after = scenario(only(4), given=blind, when=play(0, "X1"))
    scenario(only(4), given=after, when=turn_over(0, 1), then=[turned(0, 1, "3h", turn=1)])


def test_p34_4_a_joker_as_last_card_skips_the_next_seat() -> None:
    """Switch 4: a player may go out on a joker; with two players left the hand is over."""
    at = table(pile="Ac", hands=["X1", "9s", "9h"])
    scenario(only(4), given=at, when=play(0, "X1"), then=[played(0, "X1", turn=2), out(0, 1)])
    four = table(pile="Ac", hands=["X1 X2", "9s", "9h", "9c"])
    scenario(
        only(4), given=four, when=play(0, "X1 X2"), then=[played(0, "X1 X2", turn=3), out(0, 1)]
    )
    two = table(pile="Ac", hands=["X1", "9s", ""], out=[2])
    scenario(
        only(4),
        given=two,
        when=play(0, "X1"),
        then=[played(0, "X1", turn=None), out(0, 2), *ended("shithead", 1, 2, 0, 1)],
    )
