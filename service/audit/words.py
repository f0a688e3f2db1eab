"""Pieces of the sentences in which an audit speaks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from service.domain.commands import Seat
from service.domain.events import (
    DeckCommitted,
    EntropyCommitted,
    EntropyRevealed,
    GameCreated,
    SetupEvent,
)


def cards_of(cards: Iterable[str]) -> str:
    """Return cards as players read them out."""
    return " ".join(cards)


def count_of(count: int) -> str:
    """Return a number of cards."""
    return _counted(count, "card")


def seats_of(count: int) -> str:
    """Return a number of seats."""
    return _counted(count, "seat")


def and_next(seat: Seat, turn: Seat | None) -> str:
    """Return the end of a sentence about `seat`: who acts next, if anybody does."""
    if turn is None:
        return "; the hand is over."
    return f"; seat {turn} acts again." if turn == seat else f"; seat {turn} is next."


def sets_up(event: SetupEvent) -> str:
    """Return what a step before the deal did."""
    match event:
        case GameCreated():
            seats, parts = seats_of(len(event.seats)), [_counted(event.decks, "whole deck")]
            if event.partial:
                parts.append("part of one more")
            if event.jokers:
                parts.append(_counted(event.jokers, "joker"))
            cards = " and ".join(parts)
            return f"Hand {event.hand} begins by {event.ruleset.id}: {seats}, {cards}."
        case EntropyCommitted(seat=seat):
            return f"Seat {seat} binds itself to its share of the shuffle."
        case EntropyRevealed(seat=seat):
            return f"Seat {seat} shows its share of the shuffle."
        case DeckCommitted(cards=cards):
            return f"The order of {count_of(len(cards))} is fixed before anyone sees one."
        case _:
            assert_never(event)


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
