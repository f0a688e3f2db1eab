"""The order in which the cards of a hand are shown."""

from __future__ import annotations

from service.domain.cards import HIDDEN, Card
from service.domain.view import ALL, seen_by
from tests.changed import replace
from tests.rules.tables import cards, game_of, rules, table


def test_seen_cards_are_in_code_order_and_hidden_ones_last() -> None:
    """The order of a hand would reveal when each card was drawn."""
    game = game_of(rules("shithead"), table(hands=["Kc 9c", "9d"]))
    hand = (Card("Kc"), HIDDEN, Card("9c"), HIDDEN)
    game = game.with_seat(0, replace(game.seats[0], hand=hand, known=cards("Kc")))
    assert seen_by(game, 0).seats[0].hand == (*cards("9c Kc"), HIDDEN, HIDDEN)
    assert seen_by(game, ALL).seats[0].hand == (*cards("9c Kc"), HIDDEN, HIDDEN)
    assert seen_by(game, 1).seats[0].hand == (Card("Kc"), HIDDEN, HIDDEN, HIDDEN)


def test_the_viewer_of_all_cards_is_named_all() -> None:
    """The word is used in URLs and is not a seat."""
    assert ALL == "all"
