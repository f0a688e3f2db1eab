"""Cards as players write them: `Th`, `7c/2`, `X1`; the ordered deck; comparisons of codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NewType

Card = NewType("Card", str)
Rank = NewType("Rank", str)
Suit = NewType("Suit", str)

RANKS: Final = tuple(Rank(r) for r in "23456789TJQKA")
SUITS: Final = tuple(Suit(s) for s in "cdhs")
JOKER: Final = Rank("X")

HIDDEN: Final = Card("??")
"""Stands for a card that the one who folds the events cannot see."""


def rank_of(card: Card) -> Rank:
    """Return the rank of a card; a joker's is `X`."""
    return Rank(card[0])


def suit_of(card: Card) -> Suit:
    """Return the suit of a card that is not a joker."""
    return Suit(card[1])


def ordered_deck(*, decks: int, jokers: int, partial: Sequence[str] = ()) -> tuple[Card, ...]:
    """Return every card of a game in the order before shuffling (SHX/1, section 1)."""
    cards: list[Card] = []
    for number in range(1, decks + 1):
        cards += _one_deck(RANKS, number)
    if partial:
        cards += _one_deck([r for r in RANKS if r in partial], decks + 1)
    cards += [Card(f"X{n}") for n in range(1, jokers + 1)]
    return tuple(cards)


def in_code_order(cards: Iterable[Card]) -> tuple[Card, ...]:
    """Return the cards sorted by their codes."""
    return tuple(sorted(cards))


def _one_deck(ranks: Iterable[Rank], number: int) -> list[Card]:
    mark = "" if number == 1 else f"/{number}"
    return [Card(f"{rank}{suit}{mark}") for suit in SUITS for rank in ranks]
