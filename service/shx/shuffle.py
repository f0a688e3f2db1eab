"""The verifiable shuffle (SHX/1, section 3): commitments, transcript, deck."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from uuid import UUID

from service.shx.canonical import canonical, tagged_hash, tagged_mac, u8, u16, u64


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle:
    """
    A deck in order, position 0 dealt first, and the keys that determine its salts and dealer.

    All of it is secret until the game is sealed, so the repr shows none of it.
    """

    game: UUID
    deck: tuple[str, ...] = field(repr=False)
    salt_key: bytes = field(repr=False)
    deal_key: bytes = field(repr=False)

    def salt(self, p: int) -> bytes:
        """Return the 32 bytes that hide the card at position `p` in its commitment."""
        return tagged_mac(self.salt_key, "shx/1/card-salt", u16(p))

    def commitment(self, p: int) -> bytes:
        """Return c_p, the commitment to the card at position `p`."""
        return card_commitment(self.game, p, self.deck[p], self.salt(p))

    def commitments(self) -> tuple[bytes, ...]:
        """Return every c_p in order, as `deck_committed` publishes them in hex."""
        return tuple(self.commitment(p) for p in range(len(self.deck)))

    def dealer(self, seats: int) -> int:
        """Return the seat that deals in a game whose dealer is drawn by chance."""
        return uniform(seats, _words(self.deal_key))

    def opening(self, p: int) -> dict[str, str | int]:
        """Return the opening of c_p as events carry it."""
        return {"p": p, "card": self.deck[p], "salt": self.salt(p).hex()}


def server_commit(game: UUID, seed: bytes) -> bytes:
    """Return C_S, the server's commitment to its seed."""
    return tagged_hash("shx/1/server-seed", game.bytes, seed)


def client_commit(game: UUID, seat: int, value: bytes) -> bytes:
    """Return C_i, a seat's commitment to its entropy."""
    return tagged_hash("shx/1/client-seed", game.bytes, u8(seat), value)


def card_commitment(game: UUID, p: int, card: str, salt: bytes) -> bytes:
    """Return the commitment to `card` at position `p`, with which an opening is checked."""
    return tagged_hash("shx/1/card", game.bytes, u16(p), card.encode("ascii"), salt)


def transcript(
    game: UUID, head0: bytes, codes: Sequence[str], entropy: Sequence[bytes | None]
) -> bytes:
    """
    Return T, which binds the deck to `game_created` and to the entropy of every seat.

    `entropy` has one value for each seat, None for a seat that contributes none.
    """
    values = (value or b"" for value in entropy)
    return tagged_hash("shx/1/transcript", game.bytes, head0, canonical(list(codes)), *values)


def derive(
    game: UUID, seed: bytes, head0: bytes, codes: Sequence[str], entropy: Sequence[bytes | None]
) -> Shuffle:
    """Return the shuffle that follows from the seed, the first event and the entropy."""
    bound = transcript(game, head0, codes, entropy)
    words = _words(tagged_mac(seed, "shx/1/deck", bound))
    deck = list(codes)
    for last in range(len(deck) - 1, 0, -1):
        other = uniform(last + 1, words)
        deck[last], deck[other] = deck[other], deck[last]
    return Shuffle(
        game=game,
        deck=tuple(deck),
        salt_key=tagged_mac(seed, "shx/1/salt", bound),
        deal_key=tagged_mac(seed, "shx/1/dealer", bound),
    )


def uniform(n: int, words: Iterator[int]) -> int:
    """
    Return a uniform number below `n` from 32-bit words.

    Words from the largest multiple of `n` on are skipped: they would make small numbers
    more likely.

    >>> uniform(10, iter([2**32 - 1, 123]))
    3
    """
    limit = 2**32 - 2**32 % n
    return next(word for word in words if word < limit) % n


def stream_block(key: bytes, number: int) -> bytes:
    """Return block `number` (32 bytes) of stream(key)."""
    return tagged_mac(key, "shx/1/stream", u64(number))


def _words(key: bytes) -> Iterator[int]:
    """Yield stream(key) as big-endian 32-bit words, without end."""
    for number in count():
        block = stream_block(key, number)
        for start in range(0, len(block), 4):
            yield int.from_bytes(block[start : start + 4], "big")
