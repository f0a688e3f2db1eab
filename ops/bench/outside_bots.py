"""
Bots of other open-source projects, written from the descriptions in these projects.

They are opponents for `ops.bench.strength` only. Nothing is taken from their code; where a
description leaves something open, the reading is stated.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Final

from service.bots.bot import Bot, Move, View
from service.bots.simple import heights, of_type, worth

GOOD: Final = frozenset("2T")
"""Ranks for which a pile is taken: the description says good cards; we read twos and tens."""

ENOUGH: Final = 2
"""Good cards that a pile must have to be taken: our reading."""


def straightforward(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """Return the play of all cards of the lowest rank that can be played, else the pick-up."""
    return _lowest(moves, heights(view), rng)


def cheap(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """Return the play of the rank that is valid least often; we read: all cards of it."""
    return _lowest(moves, worth(view), rng)


def taking(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """Return the pick-up of a pile with good cards, else the move of `cheap`."""
    pick_ups = of_type(moves, "pick_up")
    good = sum(card[0] in GOOD for card in view["pile"])
    if pick_ups and good >= ENOUGH and of_type(moves, "play"):
        return pick_ups[0]
    return cheap(view, moves, rng)


def _lowest(moves: Sequence[Move], order: Mapping[str, int], rng: random.Random) -> Move:
    plays = of_type(moves, "play")
    if plays:

        def cost(play: Move) -> tuple[int, int, list[str]]:
            cards: list[str] = play["cards"]
            return order[cards[-1][0]], -len(cards), cards

        return min(plays, key=cost)
    # No description mentions the exchange: nothing is exchanged.
    for kind in ("lay", "ready", "try_stock", "pick_up"):
        if found := of_type(moves, kind):
            return found[0]
    return rng.choice(list(moves))


OUTSIDE: Final[Mapping[str, Bot]] = {
    bot.name: bot
    for bot in (
        Bot(name="outside-straightforward", strength=1, choose=straightforward),
        Bot(name="outside-cheapshit", strength=1, choose=cheap),
        Bot(name="outside-takeshit", strength=1, choose=taking),
    )
}
"""The opponents by name."""

DESCRIPTIONS: Final[Mapping[str, str]] = {
    "outside-straightforward": "StraightforwardAI of rlefmann/Shithead: cards of the lowest rank.",
    "outside-cheapshit": "CheapShit of trachwo/masters-of-shithead: the least valid cards first.",
    "outside-takeshit": "TakeShit of trachwo/masters-of-shithead: as CheapShit, takes good piles.",
}
"""The source of each, by the name of the bot."""
