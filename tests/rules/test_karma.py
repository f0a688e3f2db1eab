"""Karma from Radford: the statement P31, sentence by sentence."""

from __future__ import annotations

import pytest

from service.domain.events import TableLaid
from service.domain.game import Game
from tests.rules.phrases import (
    burned,
    failed,
    lay,
    play,
    played,
    ready,
    swap,
    take,
    took,
    turn_over,
)
from tests.rules.scenario import moves, not_your_turn, refused, scenario
from tests.rules.tables import cards, dealt, rules, table

KARMA = rules("karma-radford")


def laying(hand: str, stock: str = "") -> Game:
    """Return the game after the deal; seat 0 has these six cards."""
    return dealt(KARMA, seats=2, hands=[hand, "Qd Qh Qs Th 9h 8h"], stock=stock)[0]


def test_p31_the_example_of_the_source() -> None:
    """Lay an ace, two kings and two jacks; a drawn jack is added; the hand is then 9 6 6."""
    game = laying("Ac Kc Kd Jc Jh 9c", stock="Js 6c 6d 4c")
    game = scenario(
        KARMA,
        given=game,
        when=lay(0, "Ac", "Kc Kd", "Jc Jh"),
        then=[TableLaid(seat=0, stacks=(cards("Ac"), cards("Kc Kd"), cards("Jc Jh")), count=2)],
    )
    assert set(game.seats[0].hand) == set(cards("9c Js 6c"))
    game = scenario(
        KARMA,
        given=game,
        when=lay(0, "", "", "Js"),
        then=[TableLaid(seat=0, stacks=((), (), cards("Js")), count=1)],
    )
    assert game.seats[0].up[2] == cards("Jc Jh Js")
    assert set(game.seats[0].hand) == set(cards("9c 6c 6d"))


@pytest.mark.parametrize(
    "stacks",
    [
        ("Ac", "Kc Kd", ""),  # every slot gets at least one card
        ("Ac Kc", "Kd", "Jc"),  # one rank on one slot
        ("Ac", "Kc"),  # name all slots
        ("Ac", "Kc", "Jc", "9c"),
        ("Ac", "Kc", "Kc"),  # one card twice
        ("Ac", "Kc", "Qd"),  # a card of another seat
        (),
    ],
)
def test_p31_every_slot_gets_cards_of_one_rank(stacks: tuple[str, ...]) -> None:
    """P31: cards of one rank may be stacked on one slot, and every slot gets at least one."""
    scenario(KARMA, given=laying("Ac Kc Kd Jc Jh 9c"), when=lay(0, *stacks), then=refused())


def test_p31_the_hand_is_refilled_to_three_and_no_more() -> None:
    """P31: after the laying out the hand is refilled to three cards, if it has fewer."""
    game = laying("Ac Kc Kd Jc Jh 9c")
    after = scenario(KARMA, given=game, when=lay(0, "Ac", "Kc", "Jc"))
    assert after.stock == game.stock
    whole = scenario(KARMA, given=laying("Ac Kc Kd Jc Jh 9c"), when=lay(0, "Ac", "Kc Kd", "Jc"))
    assert len(whole.seats[0].hand) == 3


def test_p31_all_six_may_be_laid() -> None:
    """P31: three pairs may be laid, and three cards are drawn."""
    after = scenario(
        KARMA, given=laying("Ac Ad Kc Kd Jc Jh"), when=lay(0, "Ac Ad", "Kc Kd", "Jc Jh")
    )
    assert len(after.seats[0].hand) == 3
    assert len(after.seats[0].up_cards) == 6


def test_p31_only_cards_drawn_while_laying_out_may_be_added() -> None:
    """P31: a drawn card may be added to a stack of its rank; a card kept in hand may not."""
    game = scenario(
        KARMA,
        given=laying("Ac Kc Kd Jc Jh Js", stock="Jd 6c Kh"),
        when=lay(0, "Ac", "Kc Kd", "Jc Jh"),
    )
    assert set(cards("Js Jd 6c")) == set(game.seats[0].hand)
    for wrong in (("", "", "Js"), ("", "", "Jd Js"), ("", "Jd", ""), ("6c", "", ""), ("", "", "")):
        scenario(KARMA, given=game, when=lay(0, *wrong), then=refused())
    after = scenario(KARMA, given=game, when=lay(0, "", "", "Jd"))
    assert set(after.seats[0].hand) == set(cards("Js 6c Kh"))
    after = scenario(KARMA, given=after, when=lay(0, "", "Kh", ""))
    assert after.seats[0].up[1] == cards("Kc Kd Kh")


def test_p31_a_ready_seat_adds_nothing() -> None:
    """P31: the laying out ends when the player is ready; there is no exchange."""
    game = laying("Ac Kc Kd Jc Jh 9c", stock="Js")
    scenario(KARMA, given=game, when=ready(0), then=refused("P31"))
    scenario(KARMA, given=game, when=swap(0, "Ac", "Kc"), then=refused("P31"))
    laid = (lay(0, "Ac", "Kc Kd", "Jc Jh"), ready(0))
    after = scenario(KARMA, given=game, when=laid)
    scenario(KARMA, given=after, when=lay(0, "", "", "Js"), then=not_your_turn())


def test_p31_a_stack_is_played_whole() -> None:
    """P31: in the endgame a stack is played as one group, never in part."""
    at = table(pile="9c", hands=["", "9s"], up=["Kc+Kd 4h Kh"], down=["3c 3d 3h"])
    assert moves(KARMA, at) == {"Kc Kd", "Kh", "Kc Kd Kh", "take Kc Kd", "take 4h", "take Kh"}
    for wrong in ("Kc", "Kd", "Kc Kh"):
        scenario(KARMA, given=at, when=play(0, wrong), then=refused("P31"))
    scenario(
        KARMA,
        given=at,
        when=play(0, "Kh Kd Kc"),
        then=[played(0, "Kh Kd Kc", turn=1, zone="up")],
    )


def test_p31_a_stack_of_four_clears() -> None:
    """P13: a stack of four jacks burns the pile."""
    at = table(pile="9c", hands=["", "9s"], up=["Jc+Jd+Jh+Js 4h"], down=["3c 3d"])
    scenario(
        KARMA,
        given=at,
        when=play(0, "Jc Jd Jh Js"),
        then=[
            played(0, "Jc Jd Jh Js", turn=0, zone="up"),
            burned(0, cause="set", count=5),
        ],
    )


def test_p31_a_stack_goes_along_whole() -> None:
    """P14: one face-up card or stack of the player's choice is picked up with the pile."""
    at = table(pile="9c", hands=["", "9s"], up=["4c+4d 5h"], down=["3c 3d"], last=1)
    scenario(KARMA, given=at, when=take(0, "4c"), then=refused("P14"))
    scenario(KARMA, given=at, when=take(0, "4c 4d 5h"), then=refused("P14"))
    after = scenario(
        KARMA, given=at, when=take(0, "4d 4c"), then=[took(0, 1, turn=1, along="4d 4c")]
    )
    assert set(after.seats[0].hand) == set(cards("9c 4c 4d"))


def test_p31_the_previous_player_plays_after_a_pick_up() -> None:
    """P31: when a player picks up, the player whose card lies on top of the pile plays next."""
    hands = ["9c 4c", "3c 4d", "5d"]
    at = table(hands=hands)
    scenario(KARMA, given=at, when=[play(0, "9c"), take(1)], then=[took(1, 1, turn=0)])


def test_p31_the_previous_player_plays_after_a_failed_blind_card() -> None:
    """P31: a failed blind card counts as a pick-up."""
    at = table(pile="9c", hands=["", "5d", "6d"], down=["4c 4d"], last=2)
    scenario(KARMA, given=at, when=turn_over(0, 0), then=[failed(0, 0, "4c", 1, turn=2)])


def test_p31_without_a_previous_player_the_next_seat_plays() -> None:
    """P31: if the previous player is out, or the pile has no play, the next player plays."""
    gone = table(pile="9c", hands=["4c", "5d", ""], out=[2], last=2)
    scenario(KARMA, given=gone, when=take(0), then=[took(0, 1, turn=1)])
    after = table(pile="9c", hands=["4c", "5d", "6d"], direction=-1)
    scenario(KARMA, given=after, when=take(0), then=[took(0, 1, turn=2, direction=-1)])
