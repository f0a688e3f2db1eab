"""The opinion of `expert` about the legal moves of a seat: no evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from service.bots.bot import Move, View, bot_rng
from service.bots.worlds import Worlds, choices, model_move, searchable
from service.search.tree import judged

BOT: Final = "expert"

SAMPLES: Final = 1000
"""Hands played for one opinion, over all moves: about 0.1 s of processor time."""

PUBLIC_SEED: Final = b"opinion"
"""Opinions are not secret: all requests about the same move get the same answer."""

Z: Final = 1.96
"""Standard deviations of an interval of 95 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The chance of a seat not to be the shithead after a move, with an interval of 95 %."""

    move: Move
    chance: float
    low: float
    high: float
    made: bool  # whether the seat made this move, or one that differs only in suits


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """All moves of one turn, the best first, each judged in the same number of worlds."""

    worlds: int
    moves: tuple[Judgement, ...]


def opinion(
    view: View, moves: Sequence[Move], did: Move, *, game: str, version: int
) -> Opinion | None:
    """
    Return how `expert` judges the legal moves of a seat from its view before the move.

    The chance counts an undecided hand as a half; if the ruleset plays for a winner, it is the
    chance to win. None in the exchange phase, for a follow-up out of turn, and for a ruleset
    that the model does not support. Moves that differ only in suits count as one.
    """
    asked = {**view, "moves": list(moves)}
    if view["status"] != "playing" or not moves or not searchable(asked):
        return None
    rng, worlds = bot_rng(PUBLIC_SEED, game, version), Worlds(asked)
    found = choices(asked, [move for move in moves if move["type"] != "forfeit"], worlds)
    made = None if did["type"] == "forfeit" else model_move(asked, did, worlds.rules)
    count, means = judged(
        lambda: worlds.deal(rng), worlds.me, list(found), worlds.policy, samples=SAMPLES
    )
    judgements = []
    for move in sorted(found, key=lambda one: -means[one]):
        low, high = wilson(means[move], count)
        judgements.append(
            Judgement(move=found[move], chance=means[move], low=low, high=high, made=move == made)
        )
    return Opinion(worlds=count, moves=tuple(judgements))


def wilson(share: float, count: int) -> tuple[float, float]:
    """
    Return the interval of 95 % of a share of `count` trials, between 0 and 1.

    (Wilson: Probable inference, the law of succession, and statistical inference, 1927.)

    >>> [round(end, 3) for end in wilson(0.5, 100)]
    [0.404, 0.596]
    """
    centre = share + Z * Z / (2 * count)
    spread = Z * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
    scale = 1 + Z * Z / count
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
