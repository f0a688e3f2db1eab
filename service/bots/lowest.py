"""The bot `lowest`: plays the lowest rank that fits, all cards of it."""

from __future__ import annotations

import random
from collections.abc import Sequence

from service.bots.bot import Bot, Move, View
from service.bots.card_values import heights, of_type

WAVERS = 0.05
"""Probability of another play than the lowest."""


def choose(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """
    Return the play of the lowest rank with the most cards; pick up only if nothing fits.

    Now and then it plays any cards that fit: two bots without chance can pass the same
    cards back and forth without end.
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
