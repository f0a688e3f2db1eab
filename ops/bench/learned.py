"""
The learned net as a bot, against the others at equal time: python -m ops.bench.learned NET.

NET is a file that `ops.bench.learn` made. Searching bots play with budgets that take about as long
for a move as the net, and with their usual ones; times are means of processor time for a move,
without the listing of legal moves. It needs the extra `rl`.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from ops.bench.learn import (
    RULESET,
    Hand,
    Net,
    Option,
    after_move,
    considered,
    layouts,
    load,
    marks,
    rules,
)
from ops.bench.strength import Cell, hand, share
from service.bots.bot import Chooser, Move, View
from service.bots.registry import bots
from service.bots.searching import CAREFUL_BUDGET, EXPERT_BUDGET, Budget, searched, swap_to
from service.bots.simple import of_type, own_seat
from service.bots.worlds import Worlds, choices
from service.search import flat, tree

OPPONENTS: Final = (
    ("greedy", 0),
    ("careful", 4),
    ("expert", 4),
    ("careful", CAREFUL_BUDGET.samples),
)
"""The other bots, each with its samples for a move."""

NAME: Final = "learned"


@dataclass(slots=True)
class Clock:
    """A bot's moves and their processor time."""

    moves: int = 0
    seconds: float = 0.0

    def timed(self, choose: Chooser) -> Chooser:
        """Return a chooser that makes the same moves and counts them here."""

        def chosen(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
            begun = time.process_time()
            move = choose(view, moves, rng)
            self.seconds += time.process_time() - begun
            self.moves += 1
            return move

        return chosen

    def __str__(self) -> str:
        return f"{1000 * self.seconds / self.moves:.2f} ms"


def main() -> None:
    """Play and print a row for each opponent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("net", type=Path)
    parser.add_argument("--hands", type=int, default=400)
    options = parser.parse_args()
    print(_COLUMNS)
    for name, samples in OPPONENTS:
        print(row(load(options.net), name, samples, options.hands), flush=True)


def row(net: Net, name: str, samples: int, hands: int) -> str:
    """Return a line of the table: the shares and times against one opponent."""
    own, other = Clock(), Clock()
    players = {
        NAME: replace(bots()["greedy"], name=NAME, choose=own.timed(partial(learned, net))),
        name: replace(bots()[name], choose=other.timed(_with_budget(name, samples))),
    }
    cell = Cell(ruleset=RULESET, seats=2, first=NAME, second=name, samples=(0, samples))
    found = share(cell, {number: hand(cell, number, players) for number in range(hands)})
    return (
        f"| `{name}` | {samples or ''} | {own} | {other} | {found.share:.3f} ± {found.error:.3f} "
        f"| {found.hands} | {found.stalemates} |"
    )


def _with_budget(name: str, samples: int) -> Chooser:
    """Return the chooser of a bot, with `samples` if it searches."""
    usual = {"careful": (flat, CAREFUL_BUDGET), "expert": (tree, EXPERT_BUDGET)}
    if name not in usual:
        return bots()[name].choose
    search, budget = usual[name]
    exchange = max(1, budget.exchange * samples // budget.samples)
    return partial(
        searched, search=search.best_move, budget=Budget(samples=samples, exchange=exchange)
    )


def learned(net: Net, view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """
    Return the move after which the net gives the seat's knowledge the best estimate.

    One possible deal of the hidden cards is enough: none of them is in that knowledge.
    Only `shithead` heads-up was learned.
    """
    worlds, me = Worlds(view), view["as"]
    if view["status"] == "swapping":
        return _exchanged(net, view, moves, worlds, rng)
    found = choices(view, moves, worlds)
    state, other = worlds.deal(rng), 1 - me
    likely = [move for move in considered(state, me) if move in found]
    if len(likely) == 1:
        return rng.choice(list(moves)) if moves[0]["type"] == "play_blind" else found[likely[0]]
    known = [0, 0]
    known[other] = _packed(view["seats"][other]["hand"]["known"])
    table = Hand(state, me, known, _packed(view["burned"]), [])
    return found[likely[best(net, [after_move(table, me, move) for move in likely])]]


def _exchanged(
    net: Net, view: View, moves: Sequence[Move], worlds: Worlds, rng: random.Random
) -> Move:
    ready, own = of_type(moves, "ready")[0], own_seat(view)
    if not of_type(moves, "swap") or own["hand"]["known"]:
        return ready  # known cards in the hand came from the table: the exchange is done
    me = view["as"]
    some = list(layouts(Hand(worlds.deal(rng), me, laying=[me, 1 - me])))
    laid = some[best(net, some)].laid
    up = [card for stack in own["up"] for card in stack]
    return swap_to(laid, own["hand"]["cards"], up, worlds) or ready


def best(net: Net, some: Sequence[Option]) -> int:
    """Return the index of the option that the net chooses; going out is better than any other."""
    odds = net.odds(np.array([option.row for option in some], dtype=np.int64)).tolist()
    found = marks(some, odds)
    return found.index(max(found))


def _packed(cards: Sequence[str]) -> int:
    return rules().packed([rules().by_name[card[0]] for card in cards])


_COLUMNS = """\
| against | samples | a move of `learned` | a move of the other | shithead, 95 % interval | hands \
| stalemates |
| --- | --- | --- | --- | --- | --- | --- |"""


if __name__ == "__main__":
    main()
