"""What a seat asked for, read back from the event that answered it."""

from __future__ import annotations

from service.domain.commands import (
    Forfeit,
    Lay,
    Move,
    Pass,
    PickUp,
    Play,
    PlayBlind,
    Ready,
    Swap,
    TryStock,
)
from service.domain.events import (
    BlindFailed,
    CardsPlayed,
    CardsSwapped,
    Event,
    GameEnded,
    PilePickedUp,
    SeatReady,
    StockFailed,
    TableLaid,
    TurnPassed,
    Zone,
)


def move_behind(event: Event) -> Move | None:
    """Return the move that an action answers; None for what only follows from one."""
    match event:
        case CardsPlayed(zone=Zone.DOWN, slot=slot) if slot is not None:
            return PlayBlind(seat=event.seat, slot=slot)
        case CardsPlayed(zone=Zone.STOCK) | StockFailed():
            return TryStock(seat=event.seat)
        case CardsPlayed():
            return Play(seat=event.seat, cards=event.cards)
        case PilePickedUp():
            return PickUp(seat=event.seat, along=event.along)
        case BlindFailed():
            return PlayBlind(seat=event.seat, slot=event.slot)
        case TurnPassed():
            return Pass(seat=event.seat)
        case CardsSwapped():
            return Swap(seat=event.seat, up=event.up, hand=event.hand)
        case TableLaid():
            return Lay(seat=event.seat, stacks=event.stacks)
        case SeatReady():
            return Ready(seat=event.seat)
        case GameEnded(shithead=seat, reason="forfeit") if seat is not None:
            return Forfeit(seat=seat)
        case _:
            return None
