"""Short constructors of commands and events for scenarios: `play(0, "Th")`, `burned(0, …)`."""

from __future__ import annotations

from service.domain.cards import Card
from service.domain.commands import (
    Forfeit,
    Lay,
    Pass,
    PickUp,
    Play,
    PlayBlind,
    Ready,
    Seat,
    Swap,
    TimeOut,
    TryStock,
)
from service.domain.events import (
    BlindFailed,
    BurnCause,
    CardsDrawn,
    CardsPlayed,
    Direction,
    EndReason,
    Event,
    GameEnded,
    GameSealed,
    Opening,
    PileBurned,
    PilePickedUp,
    SeatOut,
    StockFailed,
    TurnPassed,
    TurnTimedOut,
    Zone,
)
from tests.changed import replace
from tests.rules.tables import cards

ANYWHERE = -1  # stands for the deck position in an expected opening; the scenario looks it up


def play(seat: Seat, text: str) -> Play:
    """Play these cards."""
    return Play(seat=seat, cards=cards(text))


def turn_over(seat: Seat, slot: int) -> PlayBlind:
    """Turn the face-down card of a slot."""
    return PlayBlind(seat=seat, slot=slot)


def take(seat: Seat, along: str = "") -> PickUp:
    """Take the pile, with these face-up cards."""
    return PickUp(seat=seat, along=cards(along))


def try_stock(seat: Seat) -> TryStock:
    """Try the top card of the stock."""
    return TryStock(seat=seat)


def pass_(seat: Seat) -> Pass:
    """Pass."""
    return Pass(seat=seat)


def swap(seat: Seat, up: str, hand: str) -> Swap:
    """Exchange the hand cards `up` for the face-up cards `hand`."""
    return Swap(seat=seat, up=cards(up), hand=cards(hand))


def lay(seat: Seat, *stacks: str) -> Lay:
    """Lay these cards face-up, slot by slot."""
    return Lay(seat=seat, stacks=tuple(cards(stack) for stack in stacks))


def ready(seat: Seat) -> Ready:
    """Be ready."""
    return Ready(seat=seat)


def forfeit(seat: Seat) -> Forfeit:
    """Give up."""
    return Forfeit(seat=seat)


def time_out(seat: Seat) -> TimeOut:
    """The seat's time is up."""
    return TimeOut(seat=seat)


def played(
    seat: Seat, text: str, *, turn: Seat | None, direction: Direction = 1, zone: str = "hand"
) -> CardsPlayed:
    """These cards were laid on the pile."""
    return CardsPlayed(
        seat=seat,
        zone=Zone(zone),
        cards=cards(text),
        slot=None,
        opening=None,
        turn=turn,
        direction=direction,
    )


def tried(seat: Seat, text: str, *, turn: Seat | None, direction: Direction = 1) -> CardsPlayed:
    """The top card of the stock was played."""
    event = played(seat, text, turn=turn, direction=direction, zone="stock")
    return replace(event, opening=_opening(text))


def turned(
    seat: Seat, slot: int, text: str, *, turn: Seat | None, direction: Direction = 1
) -> CardsPlayed:
    """A face-down card was turned and played."""
    event = played(seat, text, turn=turn, direction=direction, zone="down")
    return replace(event, slot=slot, opening=_opening(text))


def drew(seat: Seat, count: int) -> CardsDrawn:
    """`count` cards were drawn from the stock."""
    return CardsDrawn(seat=seat, count=count)


def burned(seat: Seat, *, cause: str, count: int, cleared_by: Seat | None = None) -> PileBurned:
    """The pile burned."""
    clearer = seat if cleared_by is None else cleared_by
    return PileBurned(seat=seat, cause=BurnCause(cause), count=count, cleared_by=clearer)


def took(
    seat: Seat,
    count: int,
    *,
    turn: Seat | None,
    along: str = "",
    taker: Seat | None = None,
    direction: Direction = 1,
) -> PilePickedUp:
    """The pile of `count` cards was taken."""
    return PilePickedUp(
        seat=seat,
        taker=seat if taker is None else taker,
        count=count,
        along=cards(along),
        turn=turn,
        direction=direction,
    )


def failed(
    seat: Seat,
    slot: int,
    text: str,
    count: int,
    *,
    turn: Seat | None,
    taker: Seat | None = None,
    direction: Direction = 1,
) -> BlindFailed:
    """A face-down card did not fit; no `text` if it stays hidden."""
    return BlindFailed(
        seat=seat,
        taker=seat if taker is None else taker,
        slot=slot,
        opening=_opening(text) if text else None,
        count=count,
        turn=turn,
        direction=direction,
    )


def try_failed(
    seat: Seat, text: str, count: int, *, turn: Seat | None, direction: Direction = 1
) -> StockFailed:
    """The top card of the stock did not fit."""
    return StockFailed(
        seat=seat,
        taker=seat,
        opening=_opening(text),
        count=count,
        turn=turn,
        direction=direction,
    )


def passed(seat: Seat, *, turn: Seat | None) -> TurnPassed:
    """The seat passed."""
    return TurnPassed(seat=seat, turn=turn)


def timed_out(seat: Seat) -> TurnTimedOut:
    """The seat's time was up."""
    return TurnTimedOut(seat=seat)


def out(seat: Seat, place: int) -> SeatOut:
    """The seat has no card left."""
    return SeatOut(seat=seat, place=place)


def ended(reason: str, shithead: Seat | None, *places: Seat) -> tuple[Event, Event]:
    """The hand is over."""
    done = GameEnded(reason=EndReason(reason), shithead=shithead, places=places)
    return done, GameSealed()


def _opening(text: str) -> Opening:
    return Opening(p=ANYWHERE, card=Card(text))
