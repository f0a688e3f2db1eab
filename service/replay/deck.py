"""The cards as SVG symbols, made from the drawings of the deck that the pages use."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from service.domain.cards import HIDDEN, JOKER, Card, rank_of

WIDTH: Final = 100
HEIGHT: Final = 140
"""The size of a symbol in its own units."""

_FILE: Final = Path(__file__).parents[1] / "api" / "static" / "app" / "deck.js"
_COLOURS: Final = {
    "c": "#16211b",
    "s": "#16211b",
    "d": "#b71c1c",
    "h": "#b71c1c",
    "x": "#5b3b8c",
    "gold": "#d9a321",
    "skin": "#f3d7b0",
    "red": "#b71c1c",
    "emblem": "#f7e3b0",
}
_PAPER, _BACK, _LATTICE, _BAG = "#fffdf8", "#23487a", "#4a6fa3", "#e9cfa0"
_LINE: Final = 'fill="none" stroke-width="5" stroke-linejoin="round" stroke-linecap="round"'


def card_id(card: Card) -> str:
    """Return the id of a symbol: one for equal cards of several decks, and for both jokers."""
    if card == HIDDEN:
        return "back"
    return f"card-{JOKER if rank_of(card) == JOKER else card[:2]}"


def symbol(identity: str) -> str:
    """Return the symbol with an id that `card_id` returned."""
    drawn = _back() if identity == "back" else _face(identity.removeprefix("card-"))
    paper = (
        f'<rect x="1.5" y="1.5" width="97" height="137" rx="10" fill="{_PAPER}" '
        'stroke="#000000" stroke-opacity="0.35"/>'
    )
    return f'<symbol id="{identity}" viewBox="0 0 {WIDTH} {HEIGHT}">{paper}{drawn}</symbol>'


@cache
def drawings() -> dict[str, Any]:
    """Return the drawings: JSON in a script of the pages."""
    text = _FILE.read_text("utf-8")
    found: dict[str, Any] = json.loads(text[text.index("= {") + 2 : text.rindex("}") + 1])
    return found


def _face(card: str) -> str:
    rank = card[0]
    suit = "x" if rank == JOKER else card[1]
    shapes = drawings()["faces"][rank]
    parts = (_part(shape, suit, is_court=rank in ("J", "Q", "K")) for shape in shapes)
    if rank == JOKER:
        return _suit(suit, 21, 24, 32, _COLOURS[suit]) + "".join(parts)
    line = (
        f'<path d="{drawings()["ranks"][rank]}" {_LINE} stroke="{_COLOURS[suit]}" '
        f'transform="translate(7 9) scale({0.98 if rank == "T" else 1.15} 1.15)"/>'
    )
    return line + _suit(suit, 21, 65, 24, _COLOURS[suit]) + "".join(parts)


def _part(shape: list[Any], suit: str, *, is_court: bool) -> str:
    colour, *rest = shape
    if colour == "suit":
        x, y, size = rest
        return _suit(suit, x, y, size, _COLOURS["emblem" if is_court else suit])
    return f'<path d="{rest[0]}" fill="{_COLOURS.get(colour, _COLOURS[suit])}"/>'


def _suit(suit: str, x: float, y: float, size: float, fill: str) -> str:
    """Return a suit around its centre."""
    place = f"translate({x - size / 2:g} {y - size / 2:g}) scale({size / 32:g})"
    return f'<path d="{drawings()["suits"][suit]}" fill="{fill}" transform="{place}"/>'


def _back() -> str:
    mark = drawings()["mark"]
    return (
        f'<rect x="8" y="8" width="84" height="124" rx="6" fill="{_BACK}"/>'
        f'<path d="{drawings()["lattice"]}" fill="none" stroke="{_LATTICE}" stroke-width="2"/>'
        f'<circle cx="50" cy="70" r="29" fill="{_BACK}"/>'
        f'<g transform="translate(28 48) scale(1.375)"><path d="{mark["paper"]}" fill="{_BAG}"/>'
        f'<path d="{mark["ink"]}" fill="{_BACK}"/></g>'
    )
