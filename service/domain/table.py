"""A table, which deals hand after hand: its events, and its state, folded from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal, assert_never

from service.domain.commands import Seat
from service.domain.events import AbortCause, Clock, EndReason, Entropy
from service.domain.game import Game
from service.domain.ruleset import NextDealer


class SeatKind(StrEnum):
    """The occupant of a seat: a person, a bot, or none."""

    HUMAN = "human"
    BOT = "bot"
    OPEN = "open"


class TableStatus(StrEnum):
    """The phase of a table."""

    OPEN = "open"  # seats are free
    BETWEEN = "between"  # full, no hand running
    PLAYING = "playing"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSeat:
    """One seat of a table, with its results so far."""

    kind: SeatKind = SeatKind.OPEN
    player: str | None = None  # the player's internal id; the stream has no names
    bot: str | None = None
    entropy: Entropy = Entropy.NONE
    key: str | None = None
    key_sig: str | None = None  # signature of the present key by the previous one
    hands: int = 0  # finished
    shithead: int = 0  # hands lost; if a match has two hands, matches lost
    bag: bool = False  # wears the paper bag (M14)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions of all hands of a table, with the complete ruleset."""

    ruleset: Mapping[str, Any]  # {id, options, settings}, as each hand's first event has it
    next_dealer: NextDealer
    paper_bag: bool
    public: bool
    clock: Clock | None
    window_seconds: int  # that bots leave people to open or to follow up a play
    turn_limit: int
    # Whether the first hand begins as soon as the seats are full; "always": and each next one by
    # itself, some seconds after the seal of the one before.
    deal: bool | Literal["always"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOpened:
    """A player opened a table, with the rules and conditions of all its hands."""

    host: str
    conditions: Conditions
    seats: tuple[TableSeat, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatTaken:
    """A player sat down."""

    seat: Seat
    player: str
    entropy: Entropy
    key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatFilled:
    """The host gave an open seat to a bot."""

    seat: Seat
    bot: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatLeft:
    """A player left between hands."""

    seat: Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatChanged:
    """A player chose another entropy or key for later hands."""

    seat: Seat
    entropy: Entropy
    key: str | None
    sig: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatPaused:
    """A player asked that no hand is dealt by itself until the seat resumes."""

    seat: Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatResumed:
    """A player ended the own pause."""

    seat: Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class HandDealt:
    """A hand began."""

    game: str
    hand: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HandFinished:
    """A hand was sealed or aborted."""

    game: str
    dealer: Seat | None
    reason: EndReason | None
    cause: AbortCause | None
    shithead: Seat | None
    places: tuple[Seat, ...]
    # Whether a person moved; only in tables that deal by themselves, which need it.
    moved: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandDisputed:
    """A dispute about a hand was opened; this event shows if the dispute is deleted later."""

    game: str
    dispute: str
    head: str  # of the stream of the dispute after its first event, in hex


@dataclass(frozen=True, slots=True, kw_only=True)
class TableClosed:
    """No further hand will be dealt."""


TableEvent = (
    TableOpened
    | SeatTaken
    | SeatFilled
    | SeatLeft
    | SeatChanged
    | SeatPaused
    | SeatResumed
    | HandDealt
    | HandFinished
    | HandDisputed
    | TableClosed
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The state of a table after `version` events."""

    host: str
    conditions: Conditions
    version: int
    seats: tuple[TableSeat, ...]
    hand: int = 0  # the last hand's number
    repeat: bool = False  # the last attempt was aborted: its number is used again
    game: str | None = None  # the hand being played
    last_game: str | None = None  # the newest hand, running or over
    next_dealer: Seat | None = None  # None: drawn
    closed: bool = False
    seated: int = 0  # the version after the last player sat down, 0 before
    paused: frozenset[Seat] = frozenset()
    idle: bool = True  # no person has moved, sat down or resumed since the last deal, or its abort

    @property
    def status(self) -> TableStatus:
        """Return the phase of the table."""
        if self.closed:
            return TableStatus.CLOSED
        if self.game is not None:
            return TableStatus.PLAYING
        open_seats = any(seat.kind is SeatKind.OPEN for seat in self.seats)
        return TableStatus.OPEN if open_seats else TableStatus.BETWEEN

    @property
    def deals_itself(self) -> bool:
        """Return whether the next hand is dealt without a request, some seconds from now."""
        wants = self.conditions.deal == "always" and not self.idle
        return wants and self.status is TableStatus.BETWEEN and not self.paused

    @property
    def next_hand(self) -> int:
        """Return the number of the next hand; an aborted hand is dealt again under its own."""
        return self.hand if self.repeat else self.hand + 1

    def seat_of(self, player: str) -> Seat | None:
        """Return the seat of a player, None if the player has none here."""
        for seat, state in enumerate(self.seats):
            if state.player == player:
                return seat
        return None


def fold_table(events: Iterable[TableEvent]) -> Table:
    """
    Return the table after `events`, the first of which opens it.

    Raises ValueError if `events` is empty, or if another event than the first opens the table.
    """
    steps = iter(events)
    opened = next(steps, None)
    if not isinstance(opened, TableOpened):
        raise ValueError("a table begins with table_opened")
    table = Table(host=opened.host, conditions=opened.conditions, version=1, seats=opened.seats)
    for event in steps:
        table = evolve_table(table, event)
    return table


def evolve_table(table: Table, event: TableEvent) -> Table:
    """
    Return `table` after `event`.

    Raises ValueError for a second `TableOpened`.
    """
    return replace(_changed(table, event), version=table.version + 1)


def _changed(table: Table, event: TableEvent) -> Table:
    match event:
        case TableOpened():
            raise ValueError("a table is opened once")
        case SeatTaken(seat=seat, player=player, entropy=entropy, key=key):
            taken = TableSeat(kind=SeatKind.HUMAN, player=player, entropy=entropy, key=key)
            table = replace(table, seated=table.version + 1, idle=False)
            return _with_seat(table, seat, taken)
        case SeatFilled(seat=seat, bot=bot):
            return _with_seat(table, seat, TableSeat(kind=SeatKind.BOT, bot=bot))
        case SeatLeft(seat=seat):
            table = replace(table, paused=table.paused - {seat})
            return _with_seat(table, seat, TableSeat())
        case SeatPaused(seat=seat):
            return replace(table, paused=table.paused | {seat})
        case SeatResumed(seat=seat):
            return replace(table, paused=table.paused - {seat}, idle=False)
        case SeatChanged(seat=seat, entropy=entropy, key=key, sig=sig):
            state = replace(table.seats[seat], entropy=entropy, key=key, key_sig=sig)
            return _with_seat(table, seat, state)
        case HandDealt(game=game, hand=hand):
            return replace(table, game=game, last_game=game, hand=hand, repeat=False, idle=True)
        case HandFinished():
            return _finished(table, event)
        case HandDisputed():
            return table
        case TableClosed():
            return replace(table, closed=True)
        case _:
            assert_never(event)


def hand_finished(identity: str, game: Game, *, moved: bool | None = None) -> HandFinished:
    """
    Return the table's event for the finished hand `identity`; `moved`: whether a person moved.

    Raises ValueError for a running one.
    """
    if game.result is None:
        raise ValueError("the hand is not over")
    return HandFinished(
        game=identity,
        dealer=game.dealer,
        reason=game.result.reason,
        cause=game.result.cause,
        shithead=game.result.shithead,
        places=game.result.places,
        moved=moved,
    )


def _finished(table: Table, event: HandFinished) -> Table:
    if event.reason is None:
        return replace(table, game=None, repeat=True, idle=True)
    # A match of two hands is decided by its second one.
    match_of_two = "second_hand" in (table.conditions.ruleset["settings"] or {})
    decides = not match_of_two or table.hand % 2 == 0
    seats = tuple(
        replace(
            state,
            hands=state.hands + 1,
            shithead=state.shithead + (decides and seat == event.shithead),
            bag=table.conditions.paper_bag and _wears_bag(state, seat, event),
        )
        for seat, state in enumerate(table.seats)
    )
    next_dealer = dealer_after(table, event)
    return replace(
        table, game=None, seats=seats, next_dealer=next_dealer, idle=table.idle and not event.moved
    )


def dealer_after(table: Table, event: HandFinished) -> Seat | None:
    """
    Return the seat that deals after a finished hand (rules.md, Next dealer).

    After a stalemate the same seat deals again, after a forfeit the seat that gave up;
    else the loser or, if the rules rotate the deal or there is no loser, the next seat. None if
    the hand had no dealer.
    """
    if event.dealer is None:
        return None
    if event.reason is EndReason.STALEMATE:
        return event.dealer
    loses = table.conditions.next_dealer is NextDealer.LOSER or event.reason is EndReason.FORFEIT
    if loses and event.shithead is not None:
        return event.shithead
    return (event.dealer + 1) % len(table.seats)


def _wears_bag(state: TableSeat, seat: Seat, event: HandFinished) -> bool:
    """Return whether a seat wears the paper bag: a loser, until it goes out in a hand (M14)."""
    if event.shithead == seat:
        return True
    return state.bag and seat not in event.places


def _with_seat(table: Table, seat: Seat, state: TableSeat) -> Table:
    return replace(table, seats=(*table.seats[:seat], state, *table.seats[seat + 1 :]))
