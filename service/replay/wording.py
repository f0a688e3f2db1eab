"""Small pieces of English: lists, counts, whose turn it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from service.domain.cards import Card
from service.domain.commands import Seat


def listed(words: Iterable[str]) -> str:
    """Return words as a list: `a`, `a and b`, `a, b and c`."""
    *most, last = list(words)
    return f"{', '.join(most)} and {last}" if most else last


def counted(count: int, thing: str) -> str:
    """Return a number of things: `1 card`, `3 cards`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def drawn(count: int, cards: Sequence[Card]) -> str:
    """Return what was drawn, with the cards where the viewer sees them."""
    return f"{counted(count, 'card')}: {listed(cards)}" if cards else counted(count, "card")


def pile_of(count: int) -> str:
    """Return the pile with its size."""
    return f"the pile of {counted(count, 'card')}"


def and_then(seat: Seat, turn: Seat | None) -> str:
    """Return who acts next, as the end of a sentence about `seat`; a stop where nobody does."""
    if turn is None:
        return "."
    return "; it acts again." if turn == seat else f"; seat {turn} is next."
