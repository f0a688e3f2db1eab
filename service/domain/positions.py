"""The positions of the deck that the deal gives to each seat."""

from __future__ import annotations

from dataclasses import dataclass

from service.domain.commands import Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealt:
    """Deck positions by seat, in the order of the deal; `used` counts the cards dealt."""

    down: tuple[tuple[int, ...], ...]
    up: tuple[tuple[int, ...], ...]
    hand: tuple[tuple[int, ...], ...]
    used: int


def positions(*, seats: int, dealer: Seat, down: int, up: int, hand: int) -> Dealt:
    """
    Return the deck positions that each seat is dealt (rules.md, The deal).

    One card at a time, beginning left of the dealer: all rounds face down, then
    all rounds face up, then all rounds to the hands.

    >>> dealt = positions(seats=2, dealer=0, down=1, up=1, hand=2)
    >>> dealt.down, dealt.up, dealt.hand
    (((1,), (0,)), ((3,), (2,)), ((5, 7), (4, 6)))
    """

    def rounds(start: int, count: int) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tuple(start + r * seats + (seat - dealer - 1) % seats for r in range(count))
            for seat in range(seats)
        )

    return Dealt(
        down=rounds(0, down),
        up=rounds(seats * down, up),
        hand=rounds(seats * (down + up), hand),
        used=seats * (down + up + hand),
    )


def seat_dealt(p: int, *, seats: int, dealer: Seat) -> Seat:
    """
    Return the seat that was dealt position `p`.

    >>> [seat_dealt(p, seats=3, dealer=0) for p in range(4)]
    [1, 2, 0, 1]
    """
    return (dealer + 1 + p) % seats
