"""The commands to a game: one class for each kind of move, and one for time-outs."""

from __future__ import annotations

from msgspec import Struct

from service.domain.cards import Card

Seat = int
"""The number of a seat, from 0."""


class Play(Struct, frozen=True, kw_only=True, gc=False):
    """Play these cards from the source zone."""

    seat: Seat
    cards: tuple[Card, ...]


class PlayBlind(Struct, frozen=True, kw_only=True, gc=False):
    """Turn the face-down card of this slot."""

    seat: Seat
    slot: int


class PickUp(Struct, frozen=True, kw_only=True, gc=False):
    """Take the pile, and the face-up cards `along` if the ruleset requires some."""

    seat: Seat
    along: tuple[Card, ...] = ()


class TryStock(Struct, frozen=True, kw_only=True, gc=False):
    """Try the top card of the stock."""

    seat: Seat


class Pass(Struct, frozen=True, kw_only=True, gc=False):
    """Pass; allowed only if the pile is empty and no card can be played."""

    seat: Seat


class Swap(Struct, frozen=True, kw_only=True, gc=False):
    """Exchange cards pair by pair: `up` go from the hand to face up, `hand` the other way."""

    seat: Seat
    up: tuple[Card, ...]
    hand: tuple[Card, ...]


class Lay(Struct, frozen=True, kw_only=True, gc=False):
    """Lay hand cards face-up; `stacks` has the cards added to each slot."""

    seat: Seat
    stacks: tuple[tuple[Card, ...], ...]


class Ready(Struct, frozen=True, kw_only=True, gc=False):
    """Finish the exchange."""

    seat: Seat


class Forfeit(Struct, frozen=True, kw_only=True, gc=False):
    """Give up the hand and become its shithead."""

    seat: Seat


Move = Play | PlayBlind | PickUp | TryStock | Pass | Swap | Lay | Ready | Forfeit
"""A command that a player can post."""


class TimeOut(Struct, frozen=True, kw_only=True, gc=False):
    """The seat's time is up: make `move` for it, or the default move if that is None."""

    seat: Seat
    move: Move | None = None


Command = Move | TimeOut
