"""Where cards lie in a game, card by card."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from service.domain.cards import HIDDEN, Card
from service.domain.commands import Seat
from service.domain.game import Game


class Area(StrEnum):
    """A zone of the table (rules.md, section 1)."""

    STOCK = "stock"  # before the deal the whole deck
    PILE = "pile"
    BURNED = "burned"
    HAND = "hand"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A zone, whose it is, and the slot in it."""

    area: Area
    seat: Seat | None = None
    slot: int | None = None


def places(game: Game) -> dict[Card, Place]:
    """Return where every card lies that `game`, folded with a deck or a part of it, shows."""
    return {card: place for card, place in _lying(game) if card != HIDDEN}


def face_places(game: Game) -> dict[Card, Place]:
    """Return where the cards lie that are not face down, in the stock or before a seat."""
    return {card: place for card, place in _faces(game) if card != HIDDEN}


def undealt(game: Game) -> bool:
    """Return whether the whole deck lies together still."""
    lying = any(seat.down or seat.up or seat.hand for seat in game.seats)
    return not (lying or game.stock or game.pile or game.burned)


def _lying(game: Game) -> Iterator[tuple[Card, Place]]:
    if undealt(game):
        yield from ((card, Place(area=Area.STOCK)) for card in game.deck)
        return
    yield from _faces(game)
    yield from ((game.deck[p], Place(area=Area.STOCK)) for p in game.stock)
    for number, seat in enumerate(game.seats):
        for slot, p in enumerate(seat.down):
            if p is not None:
                yield game.deck[p], Place(area=Area.DOWN, seat=number, slot=slot)


def _faces(game: Game) -> Iterator[tuple[Card, Place]]:
    yield from ((card, Place(area=Area.PILE)) for card in game.pile)
    yield from ((card, Place(area=Area.BURNED)) for card in game.burned)
    for number, seat in enumerate(game.seats):
        yield from ((card, Place(area=Area.HAND, seat=number)) for card in seat.hand)
        for slot, stack in enumerate(seat.up):
            yield from ((card, Place(area=Area.UP, seat=number, slot=slot)) for card in stack)
