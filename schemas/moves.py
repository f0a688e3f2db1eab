"""Moves as JSON objects (SHX/1, section 5), and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from service.domain.cards import Card
from service.domain.commands import (
    Forfeit,
    Lay,
    Move,
    Pass,
    PickUp,
    Play,
    PlayBlind,
    Ready,
    Seat,
    Swap,
    TryStock,
)


def move_json(move: Move) -> dict[str, Any]:
    """Return a move as its player would post it."""
    match move:
        case Play(cards=cards):
            return {"type": "play", "cards": list(cards)}
        case PlayBlind(slot=slot):
            return {"type": "play_blind", "slot": slot}
        case PickUp(along=along):
            return {"type": "pick_up", "with": list(along)}
        case TryStock():
            return {"type": "try_stock"}
        case Pass():
            return {"type": "pass"}
        case Swap(up=up, hand=hand):
            return {"type": "swap", "up": list(up), "hand": list(hand)}
        case Lay(stacks=stacks):
            return {"type": "lay", "stacks": [list(stack) for stack in stacks]}
        case Ready():
            return {"type": "ready"}
        case Forfeit():
            return {"type": "forfeit"}
        case _:
            assert_never(move)


def move_of(data: Mapping[str, Any], seat: Seat) -> Move:
    """Return the move that a checked object asks for; raises KeyError for an unknown type."""
    kind = data["type"]
    match kind:
        case "play":
            return Play(seat=seat, cards=_cards(data["cards"]))
        case "play_blind":
            return PlayBlind(seat=seat, slot=data["slot"])
        case "pick_up":
            return PickUp(seat=seat, along=_cards(data.get("with", [])))
        case "try_stock":
            return TryStock(seat=seat)
        case "pass":
            return Pass(seat=seat)
        case "swap":
            return Swap(seat=seat, up=_cards(data["up"]), hand=_cards(data["hand"]))
        case "lay":
            return Lay(seat=seat, stacks=tuple(_cards(stack) for stack in data["stacks"]))
        case "ready":
            return Ready(seat=seat)
        case "forfeit":
            return Forfeit(seat=seat)
        case _:
            raise KeyError(kind)


def _cards(codes: list[str]) -> tuple[Card, ...]:
    return tuple(Card(code) for code in codes)
