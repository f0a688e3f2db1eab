"""The state of a game: the value that folding its events gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from service.domain.cards import HIDDEN, Card, Rank, rank_of
from service.domain.commands import Seat
from service.domain.events import AbortCause, Direction, EndReason, Entropy, GameCreated, Zone
from service.domain.replacing import replace
from service.domain.ruleset import Ruleset


class Status(StrEnum):
    """Where a game stands."""

    SHUFFLING = "shuffling"
    SWAPPING = "swapping"
    PLAYING = "playing"
    ENDED = "ended"
    ABORTED = "aborted"


class EntropyState(StrEnum):
    """How far a seat's entropy is."""

    NONE = "none"
    WAITING = "waiting"
    COMMITTED = "committed"
    REVEALED = "revealed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatState:
    """One seat's cards and standing; hidden cards stand as `HIDDEN`."""

    hand: tuple[Card, ...] = ()
    known: tuple[Card, ...] = ()  # cards of the hand that everybody saw go there
    up: tuple[tuple[Card, ...], ...] = ()  # a tuple of cards a slot
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
            return Zone.HAND
        if any(self.up):
            return Zone.UP
        return None if self.empty else Zone.DOWN

    @property
    def up_cards(self) -> tuple[Card, ...]:
        """Return the face-up cards of all slots."""
        return tuple(card for stack in self.up for card in stack)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastPlay:
    """The play that lies on top of the pile, with its follow-ups taken together."""

    seat: Seat
    cards: tuple[Card, ...]
    drawn: tuple[Card, ...]  # in the refills of this play
    direction: Direction  # before it

    @property
    def rank(self) -> Rank:
        """Return the rank of the play's top card."""
        return rank_of(self.cards[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a finished game ended."""

    reason: EndReason | None  # None: aborted
    cause: AbortCause | None
    shithead: Seat | None
    places: tuple[Seat, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    """One hand from shuffle to shithead, after `version` events."""

    setup: GameCreated
    ruleset: Ruleset
    version: int
    status: Status
    seats: tuple[SeatState, ...]
    deck: tuple[Card, ...] = ()  # in order; HIDDEN where the folder does not see
    stock: tuple[int, ...] = ()  # deck positions, top first
    pile: tuple[Card, ...] = ()  # bottom first
    burned: tuple[Card, ...] = ()
    dealer: Seat | None = None
    direction: Direction = 1
    turn: Seat | None = None
    opening: bool = True  # nobody has acted yet
    covering: bool = False  # the seat on turn has to cover its own play
    last_play: LastPlay | None = None
    thrower: Seat | None = None  # the last seat that threw (R)
    flusher: Seat | None = None
    passes: int = 0  # in a row
    actions: int = 0  # counted against the turn limit
    timed_out: Seat | None = None  # the seat for which the present move is made
    result: Result | None = None

    def in_play(self) -> tuple[Seat, ...]:
        """Return the seats that still hold cards, in order."""
        return tuple(s for s, seat in enumerate(self.seats) if seat.place is None)

    def with_seat(self, seat: Seat, state: SeatState) -> Game:
        """Return this game with one seat changed."""
        return replace(self, seats=(*self.seats[:seat], state, *self.seats[seat + 1 :]))

    def top(self, count: int) -> tuple[Card, ...]:
        """Return the next `count` cards of the stock, or what is left of them."""
        return tuple(self.deck[p] for p in self.stock[:count])

    def places(self) -> tuple[Seat, ...]:
        """Return the seats that are out, in the order in which they went out."""
        out = [(seat.place, s) for s, seat in enumerate(self.seats) if seat.place is not None]
        return tuple(s for _, s in sorted(out))

    def following(self, seat: Seat, direction: Direction) -> Iterator[Seat]:
        """Yield the seats in play after `seat`, round and round, `seat` itself included."""
        count, at = len(self.seats), seat
        while True:
            at = (at + direction) % count
            if self.seats[at].place is None:
                yield at

    @property
    def over(self) -> bool:
        """Return whether the game is sealed or aborted, or waits only for its seal."""
        return self.status in (Status.ENDED, Status.ABORTED)


def without(cards: tuple[Card, ...], gone: tuple[Card, ...]) -> tuple[Card, ...]:
    """
    Return `cards` less `gone`.

    A card that is not among them takes a hidden one away: whoever does not see
    a hand learns what was in it when it is played. Raises ValueError where neither is there.
    """
    left = list(cards)
    for card in gone:
        try:
            left.remove(card if card in left else HIDDEN)
        except ValueError:
            raise ValueError("a card is not among those that it leaves") from None
    return tuple(left)


def new_game(event: GameCreated) -> Game:
    """Return the game that a `game_created` begins."""
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
