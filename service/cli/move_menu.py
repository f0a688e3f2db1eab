"""The menu of a player's moves: their words, order and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from service.cli.screen import coloured

Move = Mapping[str, Any]

MAX_MOVES: Final = 30
"""Maximum number of listed moves; plays and exchanges beyond it can still be typed."""

ROWS: Final = 6
"""Rows of a column of moves, as long as more columns fit."""


def moves_of(moves: Sequence[Mapping[str, Any]], width: int = 80) -> RenderableType:
    """Return numbered moves in columns; plays and exchanges beyond MAX_MOVES are not listed."""
    plays = [n for n, move in enumerate(moves) if move["type"] in ("play", "swap")]
    omitted = set(plays[MAX_MOVES - (len(moves) - len(plays)) :]) if plays else set()
    shown = [n for n in range(len(moves)) if n not in omitted]
    longest = max((len(words_of(moves[n])) for n in shown), default=0)
    columns = max(1, min(-(-len(shown) // ROWS), width // (longest + 7)))
    rows = -(-len(shown) // columns)
    table = Table.grid(padding=(0, 2, 0, 0))
    for row in range(rows):
        table.add_row(*(_numbered(n + 1, moves[n]) for n in shown[row::rows]))
    more = f"and {len(omitted)} more; type the cards"
    return Group(table, Text(more, style="dim")) if omitted else table


def _numbered(number: int, move: Mapping[str, Any]) -> Text:
    return Text.assemble((f"{number:>3}", "bold cyan"), "  ", coloured(words_of(move)))


def words_of(move: Move) -> str:
    """Return a move in words, as the menu lists it."""
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
            return "ready: change no more cards"
        case other:
            return str(other)


def in_rank_order(cards: Sequence[str], order: Sequence[str]) -> list[str]:
    """
    Return cards by the ranks of a ruleset, low to high; hidden cards and jokers come last.

    >>> in_rank_order(["X1", "Th", "2s", "3c", "3d"], "23456789TJQKA")
    ['2s', '3c', '3d', 'Th', 'X1']
    """
    return sorted(cards, key=lambda card: (_height(card, order), card))


def moves_in_order(moves: Sequence[Move], order: Sequence[str]) -> list[Move]:
    """Return moves in the order of the menu: ready, plays and exchanges by rank, then others."""
    return sorted(moves, key=lambda move: _place(move, order))


def _place(move: Move, order: Sequence[str]) -> tuple[int, ...]:
    match move["type"]:
        case "ready":
            return (0,)
        case "play":
            ranks = [_height(card, order) for card in move["cards"]]
            return (1, min(ranks), len(ranks))
        case "swap":
            pairs = [*move["up"], *move["hand"]]
            return (1, *(_height(card, order) for card in pairs))
        case _:
            return (2,)


def _height(card: str, order: Sequence[str]) -> int:
    ranks = [*order]
    return ranks.index(card[0]) if card[0] in ranks else len(ranks)
