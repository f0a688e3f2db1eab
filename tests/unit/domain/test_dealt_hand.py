"""Hands of bots without a table, for simulations and searches."""

from __future__ import annotations

import pytest

from service.domain.cards import Card, ordered_deck
from service.domain.deal import dealt_hand, whole_deck
from service.domain.events import Entropy, SeatSetup
from service.domain.game import Status
from service.domain.ruleset import Ruleset
from tests.rules.tables import rules

PARTIAL = rules("covered-queen", partial=["2", "T"])


@pytest.mark.parametrize(
    ("ruleset", "seats", "deck"),
    [
        (rules("shithead"), 4, ordered_deck(decks=1, jokers=0)),
        (rules("shithead-six"), 6, ordered_deck(decks=1, jokers=2)),
        (rules("covered-queen"), 5, ordered_deck(decks=2, jokers=0)),
        (PARTIAL, 5, ordered_deck(decks=1, jokers=0, partial=["2", "T"])),
    ],
)
def test_the_whole_deck_has_the_cards_of_the_ruleset(
    ruleset: Ruleset, seats: int, deck: tuple[Card, ...]
) -> None:
    assert whole_deck(ruleset, seats) == deck


def test_a_hand_of_bots_is_dealt_from_the_deck_in_order() -> None:
    ruleset = rules("shithead-six")
    deck = whole_deck(ruleset, 6)
    game = dealt_hand(ruleset, deck, seats=6, dealer=4, turn_limit=77)
    assert (game.deck, game.dealer, game.status) == (deck, 4, Status.SWAPPING)
    setup = game.setup
    assert setup.ruleset == ruleset
    assert (setup.decks, setup.jokers, setup.partial) == (1, 2, ())
    assert (setup.hand, setup.turn_limit, setup.clock) == (1, 77, None)
    assert (setup.table, setup.commit, setup.prev_game, setup.dealer) == ("", "", None, None)
    bot = SeatSetup(kind="bot", bot=None, key=None, entropy=Entropy.NONE)
    assert setup.seats == (bot,) * 6
    assert game.seats[5].down[0] == 0, "the seat left of the dealer gets the first card"
    assert dealt_hand(ruleset, deck, seats=6, dealer=4, turn_limit=77, hand=2).setup.hand == 2


def test_a_hand_of_bots_has_the_throws_of_its_deal() -> None:
    """R: threes are thrown before the laying out."""
    ruleset = rules("reverse")
    deck = whole_deck(ruleset, 4)
    game = dealt_hand(ruleset, deck, seats=4, dealer=0, turn_limit=400)
    assert game.thrower is not None
    assert {card[0] for card in game.pile} == {"3"}
