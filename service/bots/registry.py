"""All bots that can be seated, by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from service.bots.bot import Bot
from service.bots.searching import CAREFUL, EXPERT
from service.bots.simple import GREEDY, LOWEST, RANDOM


@cache
def bots() -> Mapping[str, Bot]:
    """Return the bots by name, weakest first."""
    return {bot.name: bot for bot in (RANDOM, LOWEST, GREEDY, CAREFUL, EXPERT)}


def quick_bots() -> tuple[str, ...]:
    """Return the names of the bots that do not search, weakest first."""
    return tuple(name for name, bot in bots().items() if bot.turn_intervals == 1)
