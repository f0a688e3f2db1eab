"""The state of a game, folded from its events, and the positions of the deal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from service.domain.cards import HIDDEN, Card, Rank, rank_of
from service.domain.commands import Seat
from service.domain.events import AbortCause, Direction, EndReason, Entropy, GameCreated, Zone
from service.domain.ruleset import Ruleset


class Status(StrEnum):
    """The phase of a game."""

    SHUFFLING = "shuffling"
    SWAPPING = "swapping"
    PLAYING = "playing"
    ENDED = "ended"
    ABORTED = "aborted"


# Python 3.11 reads a member of an enum five times as slowly as a constant.
SWAPPING, PLAYING = Status.SWAPPING, Status.PLAYING
HAND, UP, DOWN = Zone.HAND, Zone.UP, Zone.DOWN
_ENDED, _ABORTED = Status.ENDED, Status.ABORTED


class EntropyState(StrEnum):
    """The progress of a seat's contribution to the shuffle."""

    NONE = "none"
    WAITING = "waiting"
    COMMITTED = "committed"
    REVEALED = "revealed"


class SeatState(Struct, frozen=True, kw_only=True, gc=False):
    """The cards and progress of one seat; cards that the reader cannot see are HIDDEN."""

    hand: tuple[Card, ...] = ()
    known: tuple[Card, ...] = ()  # cards of the hand that all seats saw go there
    up: tuple[tuple[Card, ...], ...] = ()  # for each slot a tuple of cards
    down: tuple[int | None, ...] = ()  # the deck position of the card in each slot
    laid: bool = False  # has laid its face-up cards (layout deals)
    drawn_laying: tuple[Card, ...] = ()  # drawn while laying, may still be added to a stack (P31)
    ready: bool = False
    place: int | None = None
    time_outs: int = 0  # in a row
    entropy: EntropyState = EntropyState.NONE

    @property
    def empty(self) -> bool:
        """Return whether no card is left in any zone."""
        return not self.hand and not any(self.up) and all(p is None for p in self.down)

    @property
    def zone(self) -> Zone | None:
        """Return the zone this seat plays from (rules.md, Source zone)."""
        if self.hand:
            return HAND
        if any(self.up):
            return UP
        return None if self.empty else DOWN

    @property
    def up_cards(self) -> tuple[Card, ...]:
        """Return the face-up cards of all slots."""
        return tuple(card for stack in self.up for card in stack)

    @property
    def count(self) -> int:
        """Return the number of cards left in all zones, which is public."""
        return len(self.hand) + len(self.up_cards) + sum(p is not None for p in self.down)


class LastPlay(Struct, frozen=True, kw_only=True, gc=False):
    """The play on top of the pile, together with its follow-ups."""

    seat: Seat
    cards: tuple[Card, ...]
    drawn: tuple[Card, ...]  # after this play; without those already added as follow-ups
    direction: Direction  # before the play

    @property
    def rank(self) -> Rank:
        """Return the rank of the play's top card."""
        return rank_of(self.cards[-1])


class GameResult(Struct, frozen=True, kw_only=True, gc=False):
    """How a finished game ended."""

    reason: EndReason | None  # None: aborted
    cause: AbortCause | None
    shithead: Seat | None
    places: tuple[Seat, ...]
    awaited: Seat | None = None  # the seat that an abort names, except by the operator


class Game(Struct, frozen=True, kw_only=True, gc=False):
    """The state of one hand after `version` events."""

    setup: GameCreated
    ruleset: Ruleset
    version: int
    status: Status
    seats: tuple[SeatState, ...]
    deck: tuple[Card, ...] = ()  # in order; HIDDEN for cards that the reader cannot see
    stock: tuple[int, ...] = ()  # deck positions, top first
    pile: tuple[Card, ...] = ()  # bottom first
    burned: tuple[Card, ...] = ()
    dealer: Seat | None = None
    direction: Direction = 1
    turn: Seat | None = None
    first_turn: bool = True  # no seat has played, picked up, tried the stock or passed yet
    covering: bool = False  # the seat on turn has to cover its own play
    last_play: LastPlay | None = None
    thrower: Seat | None = None  # the last seat that threw (rule R)
    flusher: Seat | None = None  # the first seat that burned a pile: it clears all later ones (P32)
    passes: int = 0  # in a row
    actions: int = 0  # counted against the turn limit
    timed_out: Seat | None = None  # the seat for which the current move is made
    agreed: frozenset[Seat] = frozenset()  # to the end of the hand, and without a move since
    replaced: frozenset[tuple[Seat, int]] = frozenset()  # absent, and the version of the claim
    asked: frozenset[tuple[Seat, Seat]] = frozenset()  # who asks for the end, and who is absent
    result: GameResult | None = None

    def people(self) -> tuple[Seat, ...]:
        """Return the seats of people, also of those who are out."""
        return tuple([s for s, setup in enumerate(self.setup.seats) if setup.kind == "human"])

    @property
    def absent(self) -> frozenset[Seat]:
        """Return the seats for which a bot stands in because somebody claimed their absence."""
        return frozenset(seat for seat, _ in self.replaced)

    def in_play(self) -> tuple[Seat, ...]:
        """Return the seats that are not out, in order."""
        return tuple([s for s, seat in enumerate(self.seats) if seat.place is None])

    def with_seat(self, seat: Seat, state: SeatState) -> Game:
        """Return this game with `state` at one seat."""
        seats = list(self.seats)
        seats[seat] = state
        return replace(self, seats=tuple(seats))

    def top(self, count: int) -> tuple[Card, ...]:
        """Return the next `count` cards of the stock, or as many as are left."""
        return tuple(self.deck[p] for p in self.stock[:count])

    def places(self) -> tuple[Seat, ...]:
        """Return the seats that are out, in the order in which they went out."""
        out = [(seat.place, s) for s, seat in enumerate(self.seats) if seat.place is not None]
        return tuple(s for _, s in sorted(out))

    @property
    def over(self) -> bool:
        """Return whether the hand has ended or was aborted."""
        return self.status is _ENDED or self.status is _ABORTED


def without(cards: tuple[Card, ...], gone: tuple[Card, ...]) -> tuple[Card, ...]:
    """
    Return `cards` less `gone`.

    If a card is not in `cards`, a hidden one is removed in its place: a reader who cannot see
    a hand learns its cards only when they are played.

    Raises ValueError if `cards` has neither the card nor a hidden one.

    >>> without((Card("9c"), Card("Th"), HIDDEN), (Card("Th"), Card("4d")))
    ('9c',)
    """
    left = list(cards)
    for card in gone:
        try:
            left.remove(card)
        except ValueError:
            if HIDDEN not in left:
                raise ValueError("a card to remove is missing") from None
            left.remove(HIDDEN)
    return tuple(left)


def new_game(event: GameCreated) -> Game:
    """Return the game that its first event creates."""
    states = {
        Entropy.NONE: EntropyState.NONE,
        Entropy.VALUE: EntropyState.WAITING,
        Entropy.COMMIT: EntropyState.WAITING,
    }
    return Game(
        setup=event,
        ruleset=event.ruleset,
        version=1,
        status=Status.SHUFFLING,
        seats=tuple(SeatState(entropy=states[seat.entropy]) for seat in event.seats),
        dealer=event.dealer,
    )


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
