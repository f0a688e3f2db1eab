"""Before the seal a seat gets the openings of its own cards and no others."""

from __future__ import annotations

import pytest

from service.domain.cards import HIDDEN
from service.domain.commands import Seat
from service.domain.events import (
    BlindFailed,
    CardsDealt,
    CardsDrawn,
    CardsPlayed,
    CardsThrown,
    DeckCommitted,
    Event,
    Opening,
    PilePickedUp,
    StockFailed,
    TableLaid,
    Zone,
)
from service.domain.evolve import fold
from service.domain.view import masked_deck, openings_of, seat_openings
from tests.changed import replace
from tests.unit.playing import RULESETS, cards, created, play, rules


def dealt(*, seats: int = 2, dealer: Seat = 0) -> list[Event]:
    """Return the events of a deal: with dealer 0 seat 1 gets even positions, seat 0 odd ones."""
    first = replace(created(rules("leeds"), seats), dealer=dealer)
    up = [[Opening(p=p, card=cards("2c")[0]) for p in range(6 + s, 12, 2)] for s in (1, 0)]
    deal = CardsDealt(
        dealer=dealer,
        down=3,
        up=3,
        hand=3,
        stock=33,
        face_up=(tuple(up[0]), tuple(up[1])),
        starter=Opening(p=18, card=cards("9c")[0]),
        returned=(),
    )
    return [first, DeckCommitted(cards=("00" * 32,) * 52), deal]


def test_a_seat_opens_its_hand_and_its_face_up_cards() -> None:
    assert seat_openings(dealt(), 1) == (6, 8, 10, 12, 14, 16)
    assert seat_openings(dealt(), 0) == (7, 9, 11, 13, 15, 17)


def test_the_starter_has_no_owner_and_the_next_card_belongs_to_its_drawer() -> None:
    events = [*dealt(), CardsDrawn(seat=1, count=2)]
    assert seat_openings(events, 1)[-2:] == (19, 20)
    assert 18 not in seat_openings(events, 1) + seat_openings(events, 0)


def test_a_card_from_another_seats_play_has_no_opening() -> None:
    played = CardsPlayed(
        seat=1,
        zone=Zone.HAND,
        cards=cards("4d"),
        slot=None,
        opening=None,
        turn=0,
        direction=1,
    )
    taken = PilePickedUp(seat=0, taker=0, count=2, along=(), turn=1, direction=1)
    before, after = dealt(), [*dealt(), played, taken]
    assert seat_openings(after, 0) == seat_openings(before, 0)


@pytest.mark.parametrize("shown", [True, False])
def test_a_turned_face_down_card_has_an_opening_even_if_not_shown(shown: bool) -> None:
    opening = Opening(p=2, card=cards("4d")[0]) if shown else None
    failed = BlindFailed(seat=1, taker=1, slot=1, opening=opening, count=1, turn=0, direction=1)
    events = [*dealt(), failed]
    assert seat_openings(events, 1) == (2, *seat_openings(dealt(), 1)), "in order"
    assert seat_openings(events, 0) == seat_openings(dealt(), 0)


def test_a_face_down_card_that_was_played_has_an_opening() -> None:
    played = CardsPlayed(
        seat=1,
        zone=Zone.DOWN,
        cards=cards("4d"),
        slot=2,
        opening=Opening(p=4, card=cards("4d")[0]),
        turn=0,
        direction=1,
    )
    assert 4 in seat_openings([*dealt(), played], 1)
    assert seat_openings([*dealt(), played], 0) == seat_openings(dealt(), 0)


def test_a_card_of_the_stock_that_was_tried_has_an_opening() -> None:
    failed = StockFailed(
        seat=1,
        taker=1,
        opening=Opening(p=19, card=cards("4d")[0]),
        count=1,
        turn=0,
        direction=1,
    )
    assert 19 in seat_openings([*dealt(), failed], 1)
    assert seat_openings([*dealt(), failed], 0) == seat_openings(dealt(), 0)


def test_a_card_of_the_stock_that_was_played_has_an_opening() -> None:
    played = CardsPlayed(
        seat=1,
        zone=Zone.STOCK,
        cards=cards("4d"),
        slot=None,
        opening=Opening(p=19, card=cards("4d")[0]),
        turn=0,
        direction=1,
    )
    game = fold(dealt())
    assert list(openings_of([(game, played)], 1)) == [19]
    assert list(openings_of([(game, played)], 0)) == []


@pytest.mark.parametrize(
    "event",
    [
        CardsDrawn(seat=1, count=2),
        CardsThrown(seat=1, cards=cards("3c 3d"), count=2),
        TableLaid(seat=1, stacks=(cards("4c"), cards("4d"), cards("5c")), count=2),
    ],
    ids=lambda event: type(event).__name__,
)
def test_only_the_drawer_opens_the_cards_drawn_and_no_further_one(event: Event) -> None:
    """Also for throws and layouts, which draw cards themselves."""
    game = fold(dealt())
    assert list(openings_of([(game, event)], 1)) == [19, 20]
    assert list(openings_of([(game, event)], 0)) == []


@pytest.mark.parametrize("identity", ["shithead-layout", "karma-radford", "reverse", "shit-boot"])
def test_in_a_layout_deal_a_seat_opens_its_six_hand_cards(identity: str) -> None:
    events = play(rules(identity), 2, 3).events[:3]
    assert len(seat_openings(events, 0)) == 6


@pytest.mark.parametrize("identity", RULESETS)
def test_a_hand_follows_from_its_openings_and_public_events(identity: str) -> None:
    game = play(rules(identity), max(2, rules(identity).seats_min), 9)
    seen = masked_deck(game.deck, seat_openings(game.events, 1))
    assert HIDDEN not in fold(game.events, seen).seats[1].hand
