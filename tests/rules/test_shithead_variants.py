"""Variants with special cards of their own: P30, P32, P33, P35, P36, P37."""

from __future__ import annotations

import pytest

from service.domain.ruleset import deck_of
from tests.rules.phrases import (
    burned,
    drew,
    failed,
    out,
    play,
    played,
    take,
    took,
    tried,
    try_failed,
    try_stock,
    turn_over,
    turned,
)
from tests.rules.scenario import moves, refused, scenario
from tests.rules.tables import all_ready, cards, dealt, rules, table

GULTNIEKS = rules("gultnieks")
SMEGHEAD = rules("smeghead")
WEST_KENT = rules("smeghead-west-kent")
FINNISH = rules("finnish-four")
SLIDE = rules("ten-two-slide")
EGILSSON = rules("egilsson")


@pytest.mark.parametrize("pile", ["7c", "7c 8c", "Kc 7c 8c 8h"])
def test_p30_after_a_seven_come_seven_or_lower_eight_or_ten(pile: str) -> None:
    """P30: after a seven, seven or lower, an eight or a ten, even if eights lie on the seven."""
    at = table(pile=pile, hands=["3d 7d 8d 9d Td Ad 2d", "9s"])
    assert moves(GULTNIEKS, at) == {"3d", "7d", "8d", "Td", "2d", "take"}
    scenario(GULTNIEKS, given=at, when=play(0, "9d"), then=refused("P30"))


def test_p30_an_eight_goes_on_anything_reverses_and_is_transparent() -> None:
    """P30: the next player must beat the card below the eight; two eights cancel out."""
    at = table(pile="Kc", hands=["8d 8h 4c", "9s As", "Qs Ks"])
    after = scenario(
        GULTNIEKS, given=at, when=play(0, "8d"), then=[played(0, "8d", turn=2, direction=-1)]
    )
    assert moves(GULTNIEKS, after, 2) == {"Ks", "take"}
    scenario(GULTNIEKS, given=at, when=play(0, "8d 8h"), then=[played(0, "8d 8h", turn=1)])


def test_p30_anything_beats_an_eight_on_an_empty_pile() -> None:
    """P30: an eight on an empty pile asks for nothing."""
    at = table(hands=["8d 8h", "3s 9s"])
    after = scenario(
        GULTNIEKS, given=at, when=play(0, "8d"), then=[played(0, "8d", turn=1, direction=-1)]
    )
    assert moves(GULTNIEKS, after, 1) == {"3s", "9s", "take"}


def test_p30_an_eight_on_a_seven_returns_the_seven_to_its_player() -> None:
    """P30: the player on turn must still play seven or lower, an eight or a ten."""
    at = table(pile="4c", hands=["7d 9d 3d 8s", "8h 4s", "Qs"])
    after = scenario(GULTNIEKS, given=at, when=[play(0, "7d"), play(1, "8h")])
    assert (after.turn, after.direction) == (0, -1)
    assert moves(GULTNIEKS, after, 0) == {"3d", "8s", "take"}


@pytest.mark.parametrize("pile", ["Kc", "7c", "Ac", "8c"])
def test_p30_a_ten_is_played_at_any_time(pile: str) -> None:
    """P30: a ten can be played on anything, even on a seven."""
    at = table(pile=pile, hands=["Td 3c", "9s"])
    assert "Td" in moves(GULTNIEKS, at)


def test_p30_four_eights_burn_and_reverse_nothing() -> None:
    """P13: the fourth eight burns the pile and does not reverse."""
    at = table(pile="Kc 8c 8s 8h", hands=["8d 4c", "9s", "9c"])
    scenario(
        GULTNIEKS,
        given=at,
        when=play(0, "8d"),
        then=[played(0, "8d", turn=0), burned(0, cause="set", count=5)],
    )


@pytest.mark.parametrize(
    ("seats", "decks"), [(2, 2), (3, 2), (4, 2), (5, 3), (6, 3), (7, 4), (8, 4), (9, 5), (12, 6)]
)
def test_p32_as_many_decks_as_leave_half_in_the_stock(seats: int, decks: int) -> None:
    """P32 (reading): at least two decks, and at least half of the cards left in the stock."""
    assert deck_of(SMEGHEAD, seats) == (decks, 0, ())
    game, _ = dealt(SMEGHEAD, seats=seats)
    assert len(game.stock) >= 26 * decks
    assert {(len(s.down), len(s.up), len(s.hand)) for s in game.seats} == {(4, 4, 4)}


def test_p32_the_hand_is_refilled_to_four() -> None:
    """P32 (reading): draw until there are four cards in the hand."""
    at = table(hands=["4c 4d 4h 9c", "9s"], stock="Kc Kd Kh Ks")
    scenario(
        SMEGHEAD, given=at, when=play(0, "4c 4d"), then=[played(0, "4c 4d", turn=1), drew(0, 2)]
    )


def test_p32_the_first_to_burn_clears_every_later_pile() -> None:
    """P32: the first player to burn a pile is the flusher; the turn order does not change."""
    at = table(pile="9c", hands=["Td 4d 6h", "Th 5d Tc 6d", "Kd 7h"], turn=1)
    after = scenario(
        SMEGHEAD,
        given=at,
        when=play(1, "Th"),
        then=[played(1, "Th", turn=1), burned(1, cause="rank", count=2)],
    )
    after = scenario(SMEGHEAD, given=after, when=[play(1, "5d"), play(2, "Kd")])
    after = scenario(
        SMEGHEAD,
        given=after,
        when=play(0, "Td"),
        then=[played(0, "Td", turn=0), burned(0, cause="rank", count=3, cleared_by=1)],
    )
    scenario(
        SMEGHEAD,
        given=after,
        when=[play(0, "4d"), play(1, "Tc")],
        then=[played(1, "Tc", turn=1), burned(1, cause="rank", count=2, cleared_by=1)],
    )


def test_p32_the_flusher_clears_even_after_going_out() -> None:
    """P32 (reading): the flusher clears every later pile, whatever burned it."""
    at = table(pile="9c 9d 9h", hands=["9s 4d", "", "Kd"], out=[1], flusher=1)
    scenario(
        SMEGHEAD,
        given=at,
        when=play(0, "9s"),
        then=[played(0, "9s", turn=0), burned(0, cause="set", count=4, cleared_by=1)],
    )


def test_p33_two_or_three_play_with_five_cards_in_each_zone() -> None:
    """P33: one deck; five cards down, five up, five in hand; draw to five; no flusher."""
    assert (WEST_KENT.seats_min, WEST_KENT.seats_max) == (2, 3)
    assert deck_of(WEST_KENT, 3) == (1, 0, ())
    game, _ = dealt(WEST_KENT, seats=3)
    assert {(len(s.down), len(s.up), len(s.hand)) for s in game.seats} == {(5, 5, 5)}
    at = table(hands=["4c 4d 4h 9c 9d", "9s"], stock="Kc Kd Kh Ks")
    scenario(
        WEST_KENT, given=at, when=play(0, "4c 4d"), then=[played(0, "4c 4d", turn=1), drew(0, 2)]
    )
    assert not WEST_KENT.burn.flusher


def test_p33_the_seat_that_burns_clears() -> None:
    """P33: there is no flusher."""
    at = table(pile="9c", hands=["Td Th 4d", "9s Tc"])
    after = scenario(WEST_KENT, given=at, when=[play(0, "Td"), play(0, "4d")])
    scenario(
        WEST_KENT,
        given=after,
        when=play(1, "Tc"),
        then=[played(1, "Tc", turn=1), burned(1, cause="rank", count=2, cleared_by=1)],
    )


def test_p35_four_down_four_up_and_a_hand_of_three() -> None:
    """P35: four cards down, four up, three in hand; no jokers."""
    game, _ = dealt(FINNISH, seats=4)
    assert {(len(s.down), len(s.up), len(s.hand)) for s in game.seats} == {(4, 4, 3)}
    assert len(game.deck) == 52
    assert (FINNISH.seats_min, FINNISH.seats_max) == (2, 4)
    at = table(hands=["4c 4d 4h", "9s"], stock="Kc Kd Kh Ks")
    scenario(FINNISH, given=at, when=play(0, "4c"), then=[played(0, "4c", turn=1), drew(0, 1)])


def test_p36_hands_of_four() -> None:
    """P36: three cards down, three up, four in hand; draw to four."""
    game, _ = dealt(SLIDE, seats=5)
    assert {(len(s.down), len(s.up), len(s.hand)) for s in game.seats} == {(3, 3, 4)}
    at = table(hands=["4c 4d 4h 5c", "9s"], stock="Kc Kd Kh Ks")
    scenario(SLIDE, given=at, when=play(0, "4c"), then=[played(0, "4c", turn=1), drew(0, 1)])


@pytest.mark.parametrize("pile", ["Ac", "9c", "6c", "4c", "3c", "2c", ""])
def test_p37_a_five_goes_on_any_higher_and_on_lower_cards(pile: str) -> None:
    """P37: a five can be played on any card except a five."""
    assert "5d" in moves(EGILSSON, table(pile=pile, hands=["5d 4h", "9s"]))


def test_p37_after_a_five_a_play_must_be_lower_than_five() -> None:
    """P37: after a five, lower than five; twos and tens as always."""
    at = table(pile="5c", hands=["3d 4d 5d 6d Td 2d Ad", "9s"], stock="9h")
    assert moves(EGILSSON, at) == {"3d", "4d", "Td", "2d", "trystock", "take"}
    scenario(EGILSSON, given=at, when=play(0, "5d"), then=refused("P37"))
    scenario(EGILSSON, given=at, when=play(0, "6d"), then=refused("P37"))


def test_p37_four_fives_burn_only_in_one_play() -> None:
    """P37: a five cannot follow a five, so four fives burn only if played at once."""
    three = table(pile="5c 5d 5h", hands=["5s 4d", "9s"])
    scenario(EGILSSON, given=three, when=play(0, "5s"), then=refused("P37"))
    at = table(pile="Kc", hands=["5c 5d 5h 5s 4d", "9s"])
    scenario(
        EGILSSON,
        given=at,
        when=play(0, "5c 5d 5h 5s"),
        then=[played(0, "5c 5d 5h 5s", turn=0), burned(0, cause="set", count=5)],
    )


def test_p37_the_top_of_the_stock_may_always_be_tried() -> None:
    """P37: even with a card that fits; a tried card that fits is played."""
    at = table(pile="9c", hands=["Kd 4d 4h", "9s"], stock="Jc 3c")
    scenario(EGILSSON, given=at, when=try_stock(0), then=[tried(0, "Jc", turn=1)])
    two = table(pile="9c", hands=["Kd 4d", "9s"], stock="Jc 3c")
    scenario(EGILSSON, given=two, when=try_stock(0), then=[tried(0, "Jc", turn=1), drew(0, 1)])


def test_p37_a_failed_try_takes_the_pile() -> None:
    """P37: a tried card that does not fit goes to the hand with the pile."""
    at = table(pile="8c 9c", hands=["Kd 4d 4h", "9s"], stock="3c Jc")
    after = scenario(EGILSSON, given=at, when=try_stock(0), then=[try_failed(0, "3c", 2, turn=1)])
    assert set(after.seats[0].hand) == set(cards("Kd 4d 4h 8c 9c 3c"))


def test_p37_the_opening_may_be_a_try_on_the_empty_pile() -> None:
    """P37: a try is always allowed, on an empty pile and as the opening; a ten burns."""
    game, _ = dealt(EGILSSON, seats=2, up=["3c"], stock="Tc 4c")
    game = all_ready(game)
    assert "trystock" in moves(EGILSSON, game)
    scenario(
        EGILSSON,
        given=game,
        when=try_stock(0),
        then=[tried(0, "Tc", turn=0), burned(0, cause="rank", count=1)],
    )


def test_p37_a_tried_card_that_completes_a_set_burns() -> None:
    """P13: four of one rank burn, even if the fourth comes from the stock."""
    at = table(pile="Jd Jh Js", hands=["Kd 4d 4h", "9s"], stock="Jc 3c")
    scenario(
        EGILSSON,
        given=at,
        when=try_stock(0),
        then=[tried(0, "Jc", turn=0), burned(0, cause="set", count=4)],
    )


def test_tries_are_refused_without_a_stock_and_in_other_rulesets() -> None:
    at = table(pile="9c", hands=["Kd 4d 4h", "9s"])
    scenario(EGILSSON, given=at, when=try_stock(0), then=refused())
    scenario(
        rules("shithead"),
        given=table(pile="9c", hands=["Kd 4d 4h", "9s"], stock="3c"),
        when=try_stock(0),
        then=refused(),
    )


def test_p37_a_blind_five_on_a_five_fails_and_on_a_king_fits() -> None:
    """P37: a five goes on any card except a five; P15: a face-down card must fit."""
    at = table(pile="5c", hands=["", "9s"], down=["5d 4d"])
    scenario(EGILSSON, given=at, when=turn_over(0, 0), then=[failed(0, 0, "5d", 1, turn=1)])
    king = table(pile="Kc", hands=["", "9s 8s", "7s"], down=["5d"])
    scenario(
        EGILSSON,
        given=king,
        when=turn_over(0, 0),
        then=[turned(0, 0, "5d", turn=1), out(0, 1)],
    )


def test_variants_keep_the_pick_up_of_shithead() -> None:
    """P9: a player who can play may take the pile; P14: a face-up card goes along."""
    for ruleset in (GULTNIEKS, SMEGHEAD, WEST_KENT, FINNISH, SLIDE, EGILSSON):
        at = table(pile="6c", hands=["", "9s"], up=["Kh 4h"], down=["3c 3d"])
        scenario(ruleset, given=at, when=take(0, "4h"), then=[took(0, 1, turn=1, along="4h")])
        scenario(ruleset, given=at, when=take(0), then=refused("P14"))
