"""The seat and zone of each position of the deck."""

from __future__ import annotations

import pytest

from service.domain.cards import ordered_deck
from service.domain.game import positions, seat_dealt


@pytest.mark.parametrize("dealer", [0, 1, 3])
def test_each_position_is_dealt_once_one_card_at_a_time(dealer: int) -> None:
    """The deal: beginning left of the dealer, going clockwise, zone after zone."""
    dealt = positions(seats=4, dealer=dealer, down=3, up=2, hand=1)
    zones = (dealt.down, dealt.up, dealt.hand)
    assert sorted(p for zone in zones for seat in zone for p in seat) == list(range(24))
    assert dealt.used == 24
    for zone in zones:
        for seat, places in enumerate(zone):
            assert {seat_dealt(p, seats=4, dealer=dealer) for p in places} == {seat}
            assert list(places) == sorted(places)
    left = (dealer + 1) % 4
    assert (dealt.down[left], dealt.up[left], dealt.hand[left]) == ((0, 4, 8), (12, 16), (20,))


def test_the_ordered_deck_is_suit_by_suit_deck_by_deck() -> None:
    """Cards: the second deck's end in /2, a partial deck comes last, then the jokers."""
    deck = ordered_deck(decks=2, jokers=2, partial=["K", "3"])
    assert deck[:3] == ("2c", "3c", "4c")
    assert deck[51:54] == ("As", "2c/2", "3c/2")
    assert deck[104:] == (
        *("3c/3", "Kc/3", "3d/3", "Kd/3", "3h/3", "Kh/3", "3s/3", "Ks/3"),
        *("X1", "X2"),
    )
    assert len(set(deck)) == len(deck)
