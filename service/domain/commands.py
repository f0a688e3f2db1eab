"""What a seat can ask for; imperative, one class a command."""

from __future__ import annotations

from dataclasses import dataclass

from service.domain.cards import Card

Seat = int


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """Play these cards from the source zone."""

    seat: Seat
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayBlind:
    """Turn the face-down card of this slot."""

    seat: Seat
    slot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PickUp:
    """Take the pile, with these face-up cards where the rules ask for some."""

    seat: Seat
    along: tuple[Card, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TryStock:
    """Try the top card of the stock."""

    seat: Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Pass: nothing can be played on an empty pile."""

    seat: Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Lay hand cards `up` and take the face-up cards `hand` for them, pair by pair."""

    seat: Seat
    up: tuple[Card, ...]
    hand: tuple[Card, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lay:
    """Lay hand cards face-up: for each slot the cards that are added to it."""

    seat: Seat
    stacks: tuple[tuple[Card, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Be done with the exchange."""

    seat: Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class Forfeit:
    """Give up the hand and be its shithead."""

    seat: Seat


Move = Play | PlayBlind | PickUp | TryStock | Pass | Swap | Lay | Ready | Forfeit
"""What a player posts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOut:
    """The seat's time is up: do for it `move`, or what the rules do for a silent seat."""

    seat: Seat
    move: Move | None = None


Command = Move | TimeOut
