"""A bot that plays like a beginner: the lowest cards that fit, all it has of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from service.bots.bot import Bot, Move, View
from service.bots.knowledge import heights, of_type

WAVERS = 0.05
"""How often it plays something else."""


def choose(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """
    Return the play of the lowest rank with the most cards; picks up only where nothing fits.

    Now and then it plays any cards that fit: two that never waver can send the
    same cards round for ever.
    """
    height = heights(view)
    plays = of_type(moves, "play")
    if plays and rng.random() < WAVERS:
        return rng.choice(plays)
    if plays:
        return min(plays, key=lambda play: _lowness(play, height))
    for kind in ("lay", "ready", "try_stock", "pick_up"):
        if found := of_type(moves, kind):
            return found[0]
    return rng.choice(list(moves))


def _lowness(play: Move, height: dict[str, int]) -> tuple[int, int, list[str]]:
    cards: list[str] = play["cards"]
    return max(height[card[0]] for card in cards), -len(cards), cards


LOWEST = Bot(
    name="lowest",
    description="Plays its lowest cards first, never exchanges, never plans.",
    strength=2,
    choose=choose,
)
