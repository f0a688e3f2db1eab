"""The bots that do not plan: `random` plays any legal move, `lowest` the lowest rank that fits."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from service.bots.bot import Bot, Move, View
from service.bots.card_values import heights, of_type, own_seat

PLAY_PROBABILITY = 0.9
"""Probability of a play, if one is legal."""


def _random(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """
    Return any of `moves`, usually one that lays cards.

    If pick-ups were as likely as plays, hands would almost never end. In the exchange a card
    taken from the table never returns to it, so swapping ends.
    """
    if swaps := of_type(moves, "swap"):
        taken = set(own_seat(view)["hand"]["known"])
        swaps = [move for move in swaps if not taken.intersection(move["up"])]
        moves = [move for move in moves if move["type"] != "swap"]
    if swaps and rng.random() < 0.5:
        return rng.choice(swaps)
    plays = of_type(moves, "play")
    if plays and rng.random() < PLAY_PROBABILITY:
        return rng.choice(plays)
    return rng.choice(moves)


RANDOM = Bot(
    name="random",
    description="Lays any cards that fit. Good for seeing every rule at work.",
    strength=1,
    choose=_random,
)


DEVIATION_PROBABILITY = 0.05
"""Probability of a random legal play instead of the lowest."""


def _lowest(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """
    Return the play of the lowest rank with the most cards; pick up only if nothing fits.

    With DEVIATION_PROBABILITY it makes a random play: two deterministic bots could pass the
    same cards back and forth without end.
    """
    height = heights(view)
    plays = of_type(moves, "play")
    if plays and rng.random() < DEVIATION_PROBABILITY:
        return rng.choice(plays)
    if plays:
        return min(plays, key=lambda play: _lowness(play, height))
    for kind in ("lay", "ready", "try_stock", "pick_up"):
        if found := of_type(moves, kind):
            return found[0]
    return rng.choice(list(moves))


def _lowness(play: Move, height: Mapping[str, int]) -> tuple[int, int, list[str]]:
    cards: list[str] = play["cards"]
    return max([height[card[0]] for card in cards]), -len(cards), cards


LOWEST = Bot(
    name="lowest",
    description="Plays its lowest cards first, never exchanges, never plans.",
    strength=2,
    choose=_lowest,
)
