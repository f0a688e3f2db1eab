"""The bot `random`: plays any legal move, usually one that lays cards."""

from __future__ import annotations

import random
from collections.abc import Sequence

from service.bots.bot import Bot, Move, View
from service.bots.card_values import of_type, own_seat

PLAY_PROBABILITY = 0.9
"""Probability of a play, if one is legal."""


def choose(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """
    Return any of `moves`, usually one that lays cards.

    If pick-ups were as likely as plays, hands would almost never end. In the exchange a card
    taken from the table never returns to it, so swapping ends.
    """
    taken = own_seat(view)["hand"]["known"]
    swaps = [move for move in of_type(moves, "swap") if not set(move["up"]) & set(taken)]
    others = [move for move in moves if move["type"] != "swap"]
    if swaps and rng.random() < 0.5:
        return rng.choice(swaps)
    plays = of_type(others, "play")
    if plays and rng.random() < PLAY_PROBABILITY:
        return rng.choice(plays)
    return rng.choice(others)


RANDOM = Bot(
    name="random",
    description="Lays any cards that fit. Good for seeing every rule at work.",
    strength=1,
    choose=choose,
)
