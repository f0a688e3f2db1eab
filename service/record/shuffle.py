"""The shuffle (section 3): commitments, transcript, and the deck that follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final
from uuid import UUID

from service.record.canonical import canonical
from service.record.hashing import th, tm, u8, u16, u64

_RANKS: Final = "23456789TJQKA"
_SUITS: Final = "cdhs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle:
    """
    A deck in order, position 0 dealt first, with what opens its commitments.

    All of it is secret until the game is sealed, so nothing shows in a repr.
    """

    game: UUID
    deck: tuple[str, ...] = field(repr=False)
    salt_key: bytes = field(repr=False)
    deal_key: bytes = field(repr=False)

    def salt(self, p: int) -> bytes:
        """Return the 32 bytes that hide the card at position `p` in its commitment."""
        return tm(self.salt_key, "shx/1/card-salt", u16(p))

    def commitment(self, p: int) -> bytes:
        """Return c_p, the commitment to the card at position `p`."""
        return card_commitment(self.game, p, self.deck[p], self.salt(p))

    def commitments(self) -> tuple[bytes, ...]:
        """Return every c_p in order, as `deck_committed` publishes them in hex."""
        return tuple(self.commitment(p) for p in range(len(self.deck)))

    def dealer(self, seats: int) -> int:
        """Return the seat that deals, for a game whose dealer is drawn."""
        return uniform(seats, _words(self.deal_key))

    def opening(self, p: int) -> dict[str, str | int]:
        """Return the opening of c_p as events carry it."""
        return {"p": p, "card": self.deck[p], "salt": self.salt(p).hex()}


def deck_codes(decks: int, jokers: int, partial: Sequence[str] = ()) -> tuple[str, ...]:
    """
    Return the codes of all cards in the order before the shuffle.

    `partial` are the ranks of a deck that is not whole: it comes after the whole
    ones and carries the next number. The jokers come last.
    """
    part = [rank for rank in _RANKS if rank in partial]
    stacks = [list(_RANKS)] * decks + ([part] if part else [])
    cards = [
        f"{rank}{suit}" if number == 1 else f"{rank}{suit}/{number}"
        for number, ranks in enumerate(stacks, start=1)
        for suit in _SUITS
        for rank in ranks
    ]
    return (*cards, *(f"X{number}" for number in range(1, jokers + 1)))


def server_commit(game: UUID, seed: bytes) -> bytes:
    """Return C_S, the server's commitment to its seed."""
    return th("shx/1/server-seed", game.bytes, seed)


def client_commit(game: UUID, seat: int, value: bytes) -> bytes:
    """Return C_i, a seat's commitment to its entropy."""
    return th("shx/1/client-seed", game.bytes, u8(seat), value)


def card_commitment(game: UUID, p: int, card: str, salt: bytes) -> bytes:
    """Return the commitment to `card` at position `p`; an opening is checked with it."""
    return th("shx/1/card", game.bytes, u16(p), card.encode("ascii"), salt)


def transcript(
    game: UUID, head0: bytes, codes: Sequence[str], entropy: Sequence[bytes | None]
) -> bytes:
    """
    Return T, which binds the deck to `game_created` and to what every seat gave.

    `entropy` has one value a seat, None for a seat that gives none.
    """
    given = (value or b"" for value in entropy)
    return th("shx/1/transcript", game.bytes, head0, canonical(list(codes)), *given)


def derive(
    game: UUID, seed: bytes, head0: bytes, codes: Sequence[str], entropy: Sequence[bytes | None]
) -> Shuffle:
    """Return the shuffle that the seed, the first event and the entropy leave no choice about."""
    bound = transcript(game, head0, codes, entropy)
    words = _words(tm(seed, "shx/1/deck", bound))
    deck = list(codes)
    for last in range(len(deck) - 1, 0, -1):
        other = uniform(last + 1, words)
        deck[last], deck[other] = deck[other], deck[last]
    return Shuffle(
        game=game,
        deck=tuple(deck),
        salt_key=tm(seed, "shx/1/salt", bound),
        deal_key=tm(seed, "shx/1/dealer", bound),
    )


def uniform(n: int, words: Iterator[int]) -> int:
    """Return a number below `n`, each as likely: words at the uneven end are thrown away."""
    limit = 2**32 - 2**32 % n
    return next(word for word in words if word < limit) % n


def stream_block(key: bytes, number: int) -> bytes:
    """Return block `number` (32 bytes) of stream(key)."""
    return tm(key, "shx/1/stream", u64(number))


def _words(key: bytes) -> Iterator[int]:
    """Return stream(key) read as big-endian 32-bit words, without end."""
    for number in count():
        block = stream_block(key, number)
        for start in range(0, len(block), 4):
            yield int.from_bytes(block[start : start + 4], "big")
