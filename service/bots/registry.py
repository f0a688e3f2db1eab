"""All bots that can be seated, by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from service.bots.bot import Bot
from service.bots.greedy import GREEDY
from service.bots.lowest import LOWEST
from service.bots.random import RANDOM


@cache
def bots() -> Mapping[str, Bot]:
    """Return the bots by name, weakest first."""
    return {bot.name: bot for bot in (RANDOM, LOWEST, GREEDY)}
