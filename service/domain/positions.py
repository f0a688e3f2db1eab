"""Which position of the deck goes to whom in the deal."""

from __future__ import annotations

from dataclasses import dataclass

from service.domain.commands import Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealt:
    """Deck positions, per seat in the order of the deal; `used` is how many are gone."""

    down: tuple[tuple[int, ...], ...]
    up: tuple[tuple[int, ...], ...]
    hand: tuple[tuple[int, ...], ...]
    used: int


def positions(*, seats: int, dealer: Seat, down: int, up: int, hand: int) -> Dealt:
    """
    Return who gets which position (rules.md, The deal).

    One card at a time, beginning left of the dealer: all rounds face down, then
    all rounds face up, then all rounds to the hands.
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
    """Return the seat that was dealt position `p`."""
    return (dealer + 1 + p) % seats
