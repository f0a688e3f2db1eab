"""The bots `careful` and `expert`, which search in possible deals of the hidden cards."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from service.bots import greedy
from service.bots.bot import Bot, Move, View
from service.bots.layouts import exchanged
from service.bots.worlds import Worlds, choices, searchable
from service.search import flat, tree
from service.search.flat import Deal
from service.search.playout import Policy
from service.search.state import Move as ModelMove


class Search(Protocol):
    """Returns the best of several moves after a number of samples."""

    def __call__(
        self,
        deal: Deal,
        seat: int,
        candidates: Sequence[ModelMove],
        policy: Policy,
        *,
        samples: int,
    ) -> ModelMove:
        """Return the best candidate."""


@dataclass(slots=True, kw_only=True)
class Budget:
    """The numbers of simulated hands: for a move, and for a layout in the exchange."""

    samples: int
    exchange: int


CAREFUL_BUDGET: Final = Budget(samples=140, exchange=200)
EXPERT_BUDGET: Final = Budget(samples=1000, exchange=1500)


def careful(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """Return the move with the best playouts, after a flat search."""
    return searched(view, moves, rng, search=flat.best_move, budget=CAREFUL_BUDGET)


def expert(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """Return the move that a tree search tries most often."""
    return searched(view, moves, rng, search=tree.best_move, budget=EXPERT_BUDGET)


def searched(
    view: View,
    moves: Sequence[Move],
    rng: random.Random,
    *,
    search: Search,
    budget: Budget,
) -> Move:
    """
    Return the best move by a search, or that of `greedy` if the model does not apply.

    The budget is a number of samples, not a time, so that a turn has the same move on every
    machine.
    """
    if not searchable(view):
        return greedy.choose(view, moves, rng)
    if view["status"] == "swapping":
        return exchanged(view, moves, rng, budget.exchange)
    worlds = Worlds(view)
    found = choices(view, moves, worlds)
    if len(found) == 1:
        return rng.choice(list(moves)) if moves[0]["type"] == "play_blind" else moves[0]
    best = search(
        lambda: worlds.deal(rng), worlds.me, list(found), worlds.policy, samples=budget.samples
    )
    return found[best]


CAREFUL = Bot(
    name="careful",
    description="Plays each move to the end in possible deals of the hidden cards.",
    strength=4,
    beats=5,
    choose=careful,
)
EXPERT = Bot(
    name="expert",
    description="Searches a tree of moves over possible deals and solves small endgames.",
    strength=5,
    beats=25,
    choose=expert,
)
