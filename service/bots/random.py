"""A bot that plays by chance: any legal move is as good as another."""

from __future__ import annotations

import random
from collections.abc import Sequence

from service.bots.bot import Bot, Move, View
from service.bots.knowledge import of_type, own_seat


def choose(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """
    Return any of `moves`.

    In the exchange a card that came from the table never goes back to it: so
    each swap leaves one fewer to make, and swapping ends.
    """
    taken = own_seat(view)["hand"]["known"]
    swaps = [move for move in of_type(moves, "swap") if not set(move["up"]) & set(taken)]
    others = [move for move in moves if move["type"] != "swap"]
    if swaps and rng.random() < 0.5:
        return rng.choice(swaps)
    return rng.choice(others)


RANDOM = Bot(
    name="random",
    description="Plays any legal move. Good for seeing every rule at work.",
    strength=1,
    choose=choose,
)
