"""What events show to everybody of the deck's order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from service.domain.cards import Card
from service.domain.events import BlindFailed, CardsDealt, CardsPlayed, Event, Opening, StockFailed


def openings_shown(events: Iterable[Event]) -> dict[Card, int]:
    """Return the cards whose position in the deck the events publish before the seal."""
    return {opening.card: opening.p for event in events for opening in _openings(event)}


def put_under(event: Event) -> dict[Card, int]:
    """Return the starters that the deal put under the stock, seen by all, with their positions."""
    if not isinstance(event, CardsDealt):
        return {}
    return {opening.card: opening.p for opening in event.returned}


def _openings(event: Event) -> Iterator[Opening]:
    match event:
        case CardsDealt(starter=starter):
            for opened in event.face_up:
                yield from opened
            yield from event.returned
            if starter is not None:
                yield starter
        case CardsPlayed(opening=opening) | BlindFailed(opening=opening) if opening is not None:
            yield opening
        case StockFailed(opening=opening):
            yield opening
        case _:
            return
