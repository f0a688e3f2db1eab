"""Cards as players write them (`Th`, `7c/2`, `X1`), and the deck in order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Final, NewType

Card = NewType("Card", str)
Rank = NewType("Rank", str)
Suit = NewType("Suit", str)

RANKS: Final = tuple(Rank(r) for r in "23456789TJQKA")
SUITS: Final = tuple(Suit(s) for s in "cdhs")
JOKER: Final = Rank("X")

HIDDEN: Final = Card("??")
"""The mask of a card that the reader of the log or view cannot see."""


@lru_cache(maxsize=2048)  # more than the largest deck has cards
def rank_of(card: Card) -> Rank:
    """
    Return the rank of a card; a joker's is `X`.

    >>> rank_of(Card("Th")), rank_of(Card("7c/2")), rank_of(Card("X1"))
    ('T', '7', 'X')
    """
    return Rank(card[0])


def suit_of(card: Card) -> Suit:
    """
    Return the suit of a card that is not a joker.

    >>> suit_of(Card("Th"))
    'h'
    """
    return Suit(card[1])


def ordered_deck(*, decks: int, jokers: int, partial: Sequence[str] = ()) -> tuple[Card, ...]:
    """
    Return every card of a game in the order before shuffling (SHX/1, section 1).

    `partial` names the ranks of one more deck that is not whole.

    >>> deck = ordered_deck(decks=1, jokers=2, partial=["2"])
    >>> deck[:2], deck[51:]
    (('2c', '3c'), ('As', '2c/2', '2d/2', '2h/2', '2s/2', 'X1', 'X2'))
    """
    cards: list[Card] = []
    for number in range(1, decks + 1):
        cards += _one_deck(RANKS, number)
    if partial:
        cards += _one_deck([r for r in RANKS if r in partial], decks + 1)
    cards += [Card(f"X{n}") for n in range(1, jokers + 1)]
    return tuple(cards)


def nearest_code(text: str, codes: Collection[str]) -> Card | None:
    """
    Return the code of which `text` is another spelling, None if there is none.

    >>> deck = ordered_deck(decks=1, jokers=1)
    >>> nearest_code("10h", deck), nearest_code("tH", deck), nearest_code("x1", deck)
    ('Th', 'Th', 'X1')
    >>> nearest_code("7c/2", deck) is None
    True
    """
    typed = text.strip()
    typed = f"T{typed[2:]}" if typed.startswith("10") else typed
    code = Card(typed[:1].upper() + typed[1:].lower())
    return code if code in codes else None


def in_code_order(cards: Iterable[Card]) -> tuple[Card, ...]:
    """
    Return the cards sorted by their codes, which is not the order of ranks.

    >>> in_code_order([Card("Th"), Card("9d"), Card("9c/2"), Card("9c")])
    ('9c', '9c/2', '9d', 'Th')
    """
    return tuple(sorted(cards))


def _one_deck(ranks: Iterable[Rank], number: int) -> list[Card]:
    mark = "" if number == 1 else f"/{number}"
    return [Card(f"{rank}{suit}{mark}") for suit in SUITS for rank in ranks]
