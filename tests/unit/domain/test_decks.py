"""The number of decks for each number of seats, at the limits."""

from __future__ import annotations

import pytest

from service.domain.cards import Rank
from service.domain.ruleset import DealSettings, Ruleset, Starter, cards_dealt, deck_of
from tests.changed import replace
from tests.rules.tables import rules

LEEDS, SMEGHEAD, QUEEN = rules("leeds"), rules("smeghead"), rules("covered-queen")


def one_card_each(ruleset: Ruleset, starter: Starter = Starter.NONE) -> Ruleset:
    """Return the rules with a deal of one face-down card a seat."""
    deal = DealSettings(down=1, up=0, hand=0, starter=starter)
    return replace(ruleset, deal=deal)


def test_the_starter_is_one_of_the_cards_that_a_deal_takes() -> None:
    """L1: nine cards for each seat, and the starter."""
    assert cards_dealt(LEEDS, 5) == 46
    assert cards_dealt(rules("shithead"), 5) == 45
    assert cards_dealt(rules("shit-boot"), 5) == 46


@pytest.mark.parametrize(("seats", "decks"), [(51, 1), (52, 1), (53, 2), (104, 2), (105, 3)])
def test_a_deck_is_added_if_the_deal_needs_more_cards(seats: int, decks: int) -> None:
    """L1: as many decks as the cards of all seats and the starter need."""
    assert deck_of(one_card_each(LEEDS), seats) == (decks, 0, ())
    assert deck_of(one_card_each(LEEDS, Starter.ANY), seats - 1) == (decks, 0, ())


@pytest.mark.parametrize(("seats", "decks"), [(26, 2), (52, 2), (53, 3), (78, 3), (79, 4)])
def test_half_of_all_cards_stay_in_the_stock(seats: int, decks: int) -> None:
    """P32: the smallest number of decks, two or more, that leaves half of them undealt."""
    assert deck_of(one_card_each(SMEGHEAD), seats) == (decks, 0, ())


def test_one_deck_for_every_four_players_or_part_of_four() -> None:
    """S1: a partial deck may replace the last one, but not the only one."""
    assert [deck_of(QUEEN, seats)[0] for seats in (2, 4, 5, 8, 9, 12)] == [1, 1, 2, 2, 3, 3]
    partial = rules("covered-queen", partial=["9"])
    assert deck_of(partial, 4) == (1, 0, ())
    assert deck_of(partial, 5) == (1, 0, (Rank("9"),))
    assert deck_of(partial, 9) == (2, 0, (Rank("9"),))
