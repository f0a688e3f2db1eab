"""Moves as people type them, in words, and as the client chooses them by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

Move = Mapping[str, Any]

RANKS: Final = "3456789JQKA2TX"
"""From the rank one is glad to be rid of to the one that is worth keeping, by most rulesets."""

_WORDS: Final[Mapping[str, Move]] = {
    "ready": {"type": "ready"},
    "pass": {"type": "pass"},
    "stock": {"type": "try_stock"},
    "forfeit": {"type": "forfeit"},
}

HELP: Final = """\
number             the move of that number
7c 7h              play these cards; any that the rules allow, listed or not
Kd=4c Ks=5h        before play: Kd and Ks go up, 4c and 5h into the hand for them
ready              before play: keep the cards as they are
lay Kd Kh/Ac/Ts    in a layout deal: a stack for each slot
down 1             turn the face-down card in slot 1, counted from 0
stock              try the top card of the stock
take, take Kd      take the pile, with face-up cards where the rules have it
pass, forfeit      pass; give up
quit               leave the program; the game goes on, and you can come back
enter alone        look again"""


class Unclear(Exception):
    """What was typed is no move."""


def typed(text: str, moves: Sequence[Move], *, swapping: bool) -> Move:
    """Return the move that a number, cards or a word mean; raises Unclear."""
    first, *rest = text.split()
    if first.isdecimal() and not rest:
        if not 0 < int(first) <= len(moves):
            raise Unclear(f"there is no move {first}")
        return moves[int(first) - 1]
    match first:
        case "take":
            return {"type": "pick_up", "with": rest or _along(moves)}
        case "down" if len(rest) == 1 and rest[0].isdecimal():
            return {"type": "play_blind", "slot": int(rest[0])}
        case "lay":
            stacks = [stack.split() for stack in " ".join(rest).split("/")]
            return {"type": "lay", "stacks": stacks}
        case word if word in _WORDS and not rest:
            return _WORDS[word]
    if swapping:
        pairs = [word.partition("=") for word in (first, *rest)]
        if not all(up and hand for up, _, hand in pairs):
            raise Unclear("an exchange is typed as Kd=4c: Kd goes up, 4c into the hand")
        return {"type": "swap", "up": [p[0] for p in pairs], "hand": [p[2] for p in pairs]}
    return {"type": "play", "cards": [first, *rest]}


def words_of(move: Move) -> str:
    """Return a move in words."""
    match move["type"]:
        case "play":
            return "play " + " ".join(move["cards"])
        case "play_blind":
            return f"turn the face-down card in slot {move['slot']}"
        case "pick_up":
            along = " with " + " ".join(move["with"]) if move["with"] else ""
            return f"take the pile{along}"
        case "try_stock":
            return "try the top card of the stock"
        case "swap":
            pairs = zip(move["up"], move["hand"], strict=True)
            return "lay up " + ", ".join(f"{up} for {hand}" for up, hand in pairs)
        case "lay":
            return "lay " + " / ".join(" ".join(stack) or "-" for stack in move["stacks"])
        case "ready":
            return "ready: keep the cards as they are"
        case other:
            return str(other)


def _along(moves: Sequence[Move]) -> list[str]:
    """Return what goes along with the pile in the one such move there is, nothing where several."""
    takes = [list(move["with"]) for move in moves if move["type"] == "pick_up"]
    return takes[0] if len(takes) == 1 else []


def _first(moves: Sequence[Move]) -> Move:
    return next((move for move in moves if move["type"] != "swap"), moves[0])


def _lowest(moves: Sequence[Move]) -> Move:
    """Play the lowest rank, as many of it as there are; else whatever comes first."""
    plays = [move for move in moves if move["type"] == "play"]
    return min(plays, key=lambda m: (_rank(m), -len(m["cards"]))) if plays else _first(moves)


def _greedy(moves: Sequence[Move]) -> Move:
    """Play as many cards as can be, of these the lowest; else whatever comes first."""
    plays = [move for move in moves if move["type"] == "play"]
    return min(plays, key=lambda m: (-len(m["cards"]), _rank(m))) if plays else _first(moves)


def _rank(move: Move) -> int:
    return min(RANKS.index(card[0]) for card in move["cards"])


AUTOMATIC: Final[Mapping[str, Callable[[Sequence[Move]], Move]]] = {
    "first": _first,
    "greedy": _greedy,
    "lowest": _lowest,
}
"""What plays by itself, for scripts and tests; each takes the moves listed and returns one."""
