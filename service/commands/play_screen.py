"""A game as its player sees it in the terminal: the table, the moves, and what just happened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from schemas.views import Json
from service.client.choosing import words_of
from service.commands.screen import printable, result_lines, seats_table, situation

NOTHING_NEW: frozenset[str] = frozenset()
MOST_MOVES = 30
"""Moves that are listed; any other can be typed."""


def table_of(view: Json) -> RenderableType:
    """Return the table as the player sees it, fit for 80 columns."""
    title = f"{printable(view['ruleset']['id'])}, hand {view['hand']}, you are seat {view['as']}"
    if view["status"] == "shuffling":
        return Group(Rule(title, style="dim"), _setup(view))
    head = [Rule(title, style="dim"), *situation(view, NOTHING_NEW), Text()]
    return Group(*head, seats_table(view, NOTHING_NEW, names=True), *result_lines(view))


def moves_of(moves: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Return the moves with their numbers, in as many columns as there is room for."""
    table = Table.grid(padding=(0, 2, 0, 0))
    shown = moves[:MOST_MOVES]
    columns = 2 if len(shown) > 8 else 1
    rows = -(-len(shown) // columns)
    for row in range(rows):
        cells = [shown[n] for n in range(row, len(shown), rows)]
        table.add_row(*(_numbered(row + rows * n + 1, move) for n, move in enumerate(cells)))
    more = len(moves) - len(shown)
    return Group(table, Text(f"and {more} more", style="dim")) if more else table


def _numbered(number: int, move: Mapping[str, Any]) -> Text:
    return Text.assemble((f"{number:>3}", "bold cyan"), "  ", printable(words_of(move)))


def happened(captions: Iterable[str]) -> RenderableType:
    """Return what happened since the last look."""
    return Group(*(Text(f"  {printable(said)}", style="italic") for said in captions))


def _setup(view: Json) -> Text:
    """Return how far the shuffle is, seat by seat."""
    states = (f"seat {s['seat']}: {s['entropy']}, {s['state']}" for s in view["setup"] or ())
    return Text("shuffling   " + "   ".join(states))
