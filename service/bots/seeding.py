"""The chance that a bot may use: the same for every attempt at the same turn."""

from __future__ import annotations

import hashlib
import hmac
import random


def bot_rng(secret: bytes, game: str, version: int) -> random.Random:
    """
    Return the generator for the turn that a bot has at `version` of a game.

    A job that runs twice thus plays the same move. The secret keeps people from
    working out what a bot will do.
    """
    turn = f"shithead/bot\n{game}\n{version}".encode()
    seed = hmac.new(secret, turn, hashlib.sha256).digest()
    return random.Random(seed)  # noqa: S311 -- has to repeat itself; nothing secret is drawn from it
