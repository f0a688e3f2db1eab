"""A table as text and as a picture, both from the public view."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np

Picture: TypeAlias = Any
"""An array of `np.uint8`: rows, columns, and red, green and blue."""

WIDTH, HEIGHT = 640, 96
"""Pixels of the row of a seat; one more row shows the pile and the stock."""

_SCALE: Final = 3
_CARD: Final = (24, 33)
_TABLE = (31, 92, 62)
_PAPER = (245, 243, 235)
_BACK = (120, 40, 48)
_COLOURS: Final = {"c": (20, 20, 20), "s": (20, 20, 20), "d": (190, 30, 40), "h": (190, 30, 40)}

_GLYPHS: Final = {
    "2": "110 001 010 100 111",
    "3": "110 001 010 001 110",
    "4": "101 101 111 001 001",
    "5": "111 100 110 001 110",
    "6": "011 100 110 101 010",
    "7": "111 001 010 010 010",
    "8": "010 101 010 101 010",
    "9": "010 101 011 001 110",
    "0": "010 101 101 101 010",
    "1": "010 110 010 010 111",
    "T": "111 010 010 010 010",
    "J": "001 001 001 101 010",
    "Q": "010 101 101 110 011",
    "K": "101 101 110 101 101",
    "A": "010 101 111 101 101",
    "X": "101 101 010 101 101",
}
"""Glyphs of three by five pixels."""


def written(view: dict[str, Any]) -> str:
    """Return the table as lines of text: the pile, the stock, and a line for each seat."""
    pile = " ".join(view["pile"]) or "empty"
    counts = f"stock {view['stock']}, burned {len(view['burned'])}"
    lines = [f"{view['ruleset']['id']}: {view['status']}, {counts}", f"pile: {pile}"]
    for seat in view["seats"]:
        turn = ">" if seat["seat"] == view["turn"] else " "
        up = " ".join("+".join(stack) or "--" for stack in seat["up"])
        known = f" ({' '.join(seat['hand']['known'])})" if seat["hand"]["known"] else ""
        out = f", out {seat['out']}" if seat["out"] is not None else ""
        lines.append(
            f"{turn}{seat['seat']}: hand {seat['hand']['count']}{known}, "
            f"up {up or '--'}, down {sum(seat['down'])}{out}"
        )
    result = view["result"]
    if result is not None:
        lines.append(f"{result['reason']}: {result['shithead']}")
    return "\n".join(lines)


def drawn(view: dict[str, Any]) -> Picture:
    """Return the table as rows of cards: the pile and the stock on top, then each seat."""
    seats = view["seats"]
    picture = np.empty((HEIGHT * (len(seats) + 1), WIDTH, 3), dtype=np.uint8)
    picture[:] = _TABLE
    _cards(picture, view["pile"][-14:], top=8, left=120)
    _number(picture, view["stock"], top=8, left=12)
    for row, seat in enumerate(seats, start=1):
        top = row * HEIGHT
        if seat["seat"] == view["turn"]:
            picture[top : top + HEIGHT, :6] = _PAPER
        _number(picture, seat["hand"]["count"], top=top + 8, left=12)
        _cards(picture, seat["hand"]["known"][:14], top=top + 8, left=120)
        up = [card for stack in seat["up"] for card in stack]
        _cards(picture, up[:14], top=top + 50, left=120)
        _cards(picture, ["??"] * sum(seat["down"]), top=top + 50, left=12)
    return picture


def _cards(picture: Picture, cards: list[str], *, top: int, left: int) -> None:
    width, height = _CARD
    for place, card in enumerate(cards):
        at = left + place * (width + 6)
        if at + width > WIDTH:
            return
        hidden = card[0] == "?"
        picture[top : top + height, at : at + width] = _BACK if hidden else _PAPER
        if not hidden:
            colour = _COLOURS.get(card[1], (60, 60, 160))
            _glyph(picture, card[0], colour, top=top + 9, left=at + 7)


def _number(picture: Picture, number: int, *, top: int, left: int) -> None:
    for place, digit in enumerate(str(number)):
        _glyph(picture, digit, _PAPER, top=top, left=left + place * 4 * _SCALE)


def _glyph(
    picture: Picture, letter: str, colour: tuple[int, int, int], *, top: int, left: int
) -> None:
    for row, line in enumerate(_GLYPHS[letter].split()):
        for column, bit in enumerate(line):
            if bit == "1":
                y, x = top + row * _SCALE, left + column * _SCALE
                picture[y : y + _SCALE, x : x + _SCALE] = colour
