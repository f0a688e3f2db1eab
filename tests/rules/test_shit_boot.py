"""Shit-Boot: the statement B."""

from __future__ import annotations

import pytest

from service.domain.commands import Ready
from service.domain.decide import decide
from service.domain.evolve import evolve
from service.domain.legal import first_lay
from tests.rules.phrases import (
    burned,
    lay,
    play,
    take,
    took,
    tried,
    try_failed,
    try_stock,
)
from tests.rules.scenario import moves, refused, scenario
from tests.rules.tables import cards, dealt, rules, table

BOOT = rules("shit-boot")


def test_b_each_seat_gets_nine_cards_and_lays_three_of_six() -> None:
    """B: three cards are dealt face-down, and three of the other six are laid, not stacked."""
    game, _ = dealt(BOOT, seats=3, hands=["Kc Kd Qc Qd Jc 9c"], stock="8c")
    assert {(len(s.down), len(s.hand)) for s in game.seats} == {(3, 6)}
    scenario(BOOT, given=game, when=lay(0, "Kc Kd", "Qc", "Jc"), then=refused("B"))
    after = scenario(BOOT, given=game, when=lay(0, "Kc", "Kd", "Jc"))
    assert len(after.seats[0].hand) == 3


@pytest.mark.parametrize(
    ("top", "starter", "under"),
    [("8c 4c", "8c", ""), ("2c 8c 4c", "8c", "2c"), ("Tc 2d Td 3c 4c", "3c", "Tc 2d Td")],
)
def test_b_a_special_card_turned_goes_under_the_stock(top: str, starter: str, under: str) -> None:
    """B: a special card turned as starter goes to the bottom, and another is turned."""
    game, _ = dealt(BOOT, seats=3, stock=top)
    assert game.pile == cards(starter)
    below = tuple(game.deck[p] for p in game.stock)
    assert below[0] == "4c"
    assert below[len(below) - len(under.split()) :] == cards(under)
    assert len(game.stock) == 52 - 27 - 1


def test_b_the_seat_left_of_the_dealer_starts_onto_the_starter() -> None:
    """B: the player left of the dealer starts, and must beat the starter."""
    game, _ = dealt(BOOT, seats=3, dealer=2, hands=["Kc Kd Qc Qd Jc 4c"], stock="Qh")
    for seat in range(3):
        for command in (first_lay(game, seat), Ready(seat=seat)):
            for event in decide(command, game):
                game = evolve(game, event)
    assert game.turn == 0
    legal = moves(BOOT, game)
    assert "4c" not in legal
    assert "Qd" in legal


def test_b_a_seat_that_can_play_must_play() -> None:
    """B (reading): a player who can play may neither try the stock nor pick up."""
    at = table(pile="9c", hands=["4d Kc 2d", "9s"], stock="5c")
    assert moves(BOOT, at) == {"Kc", "2d"}
    scenario(BOOT, given=at, when=take(0), then=refused("B"))
    scenario(BOOT, given=at, when=try_stock(0), then=refused("B"))


def test_b_a_seat_that_cannot_play_may_try_the_top_card_of_the_stock() -> None:
    """B: a player who cannot play tries the top card of the stock or takes the pile."""
    at = table(pile="9c", hands=["4d 5d 6d", "9s"], stock="Jc 3c")
    assert moves(BOOT, at) == {"trystock", "take"}
    scenario(BOOT, given=at, when=try_stock(0), then=[tried(0, "Jc", turn=1)])
    scenario(BOOT, given=at, when=take(0), then=[took(0, 1, turn=1)])


def test_b_a_try_that_fails_takes_the_pile_and_the_card() -> None:
    """B: if the try fails, the player takes the pile and the card."""
    at = table(pile="8c 9c", hands=["4d 5d 6d", "9s"], stock="3c Jc")
    after = scenario(BOOT, given=at, when=try_stock(0), then=[try_failed(0, "3c", 2, turn=1)])
    assert set(after.seats[0].hand) == set(cards("4d 5d 6d 8c 9c 3c"))
    assert after.pile == ()


def test_b_a_tried_ten_burns() -> None:
    """B: a ten burns, as in `shithead`."""
    at = table(pile="Kc", hands=["4d 5d 6d", "9s"], stock="Tc 3c")
    then = (tried(0, "Tc", turn=0), burned(0, cause="rank", count=2))
    scenario(BOOT, given=at, when=try_stock(0), then=then)


def test_b_without_a_stock_a_seat_that_cannot_play_picks_up() -> None:
    """P14: from the face-up cards, the pile is taken with one of them."""
    at = table(pile="9c", hands=["", "9s"], up=["4d 5d"], down=["6c 6d"])
    assert moves(BOOT, at) == {"take 4d", "take 5d"}
    scenario(BOOT, given=at, when=take(0, "4d"), then=[took(0, 1, turn=1, along="4d")])


def test_b_a_card_of_another_seat_is_refused() -> None:
    """P10: cards are played from the own hand while there is one."""
    ace = table(pile="9c", hands=["As", "9s"])
    scenario(BOOT, given=ace, when=play(0, "9s"), then=refused("P10"))
