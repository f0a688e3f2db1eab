"""Flat Monte Carlo search: candidate moves compared by playouts in the same possible worlds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from service.search.playout import PlayoutPolicy, playout
from service.search.state import NOBODY, PLAY, TAKE, Move, State

Deal = Callable[[], State]
"""Returns a position in which the hidden cards lie at random."""

MOVES_OF_A_SAMPLE: Final = 90
"""
Moves that one sample may take on average.

With many seats playouts are long, and fewer of them are made: the time of a decision stays
about the same.
"""

BATCH: Final = 8
"""Candidates that are clearly behind are dropped each time this number of worlds is reached."""

DROP_FACTOR: Final = 1.8
"""
A candidate is dropped if its total is behind by this factor times the root of the number of worlds.

The difference of two results in one world has a standard deviation of at most 0.71 if the results
are independent and equally likely; comparison in the same worlds makes it smaller.
"""


def value_for(seat: int, decided: int, *, winner: bool) -> float:
    """Return the value of a hand to a seat: 1 won, 0 lost, a half if it is undecided."""
    if decided == NOBODY:
        return 0.5
    return float((decided == seat) is winner)


def make(state: State, seat: int, move: Move) -> None:
    """Make a move and every follow-up that its refill allows, as playouts do."""
    state.apply(seat, move)
    if state.rules.follow_up:
        while not state.over and state.turn != seat == state.last and state.drawn:
            state.apply(seat, (PLAY, ((state.last_rank, state.drawn),)))


def best_move(
    deal: Deal, seat: int, candidates: Sequence[Move], policy: PlayoutPolicy, *, samples: int
) -> Move:
    """Return the candidate with the best playouts, by `halving` of `samples` playouts."""
    winner = policy.rules.winner

    def tried(state: State, move: Move) -> tuple[float, int]:
        make(state, seat, move)
        decided, moves = playout(state, policy)
        return value_for(seat, decided, winner=winner), moves

    return halving(deal, candidates, tried, samples=samples)


def halving(
    deal: Deal,
    candidates: Sequence[Move],
    tried: Callable[[State, Move], tuple[float, int]],
    *,
    samples: int,
) -> Move:
    """
    Return the candidate with the highest mean value, by successive halving of `samples` trials.

    `tried` makes a move in a copy of a world and returns its value and its cost, in moves.
    In each round every candidate left is tried in the same worlds; the better half remains,
    and a candidate that is clearly behind is dropped at once. Of equal candidates the earlier
    one is returned. (Karnin, Koren and Somekh: Almost optimal exploration in multi-armed
    bandits, 2013.)
    """
    left = list(candidates)
    totals, worlds = dict.fromkeys(left, 0.0), 0
    rounds = max(1, math.ceil(math.log2(len(left))))
    for _ in range(rounds):
        moves_left = samples * MOVES_OF_A_SAMPLE // rounds
        for _ in range(max(1, samples // (rounds * len(left)))):
            world = deal()
            worlds += 1
            for move in left:
                value, moves = tried(world.copy(), move)
                totals[move] += value
                moves_left -= moves
            if worlds % BATCH == 0:
                least = max(totals[move] for move in left) - DROP_FACTOR * math.sqrt(worlds)
                left = [move for move in left if totals[move] >= least]
            if moves_left <= 0 or len(left) == 1:
                break
        left.sort(key=lambda move: -totals[move])
        left = left[: max(1, (len(left) + 1) // 2)]
        if len(left) == 1:
            break
    return left[0]


def narrowed(state: State, seat: int, policy: PlayoutPolicy) -> list[Move]:
    """
    Return the moves worth trying in a tree: plays, those of the least valuable cards first.

    Of a plain rank only the play of all cards is tried, of a special one also that of a single
    card; of the pick-ups only the first, with its choice of face-up cards.
    """
    single, worth = policy.single, policy.worth
    largest: dict[tuple[int, ...], Move] = {}
    others: list[Move] = []
    for move in state.moves(seat):
        kind, parts = move
        if kind != PLAY:
            if kind != TAKE or not any(other[0] == TAKE for other in others):
                others.append(move)
            continue
        ranks = tuple(dict.fromkeys(rank for rank, _ in parts))
        known = largest.get(ranks)
        if known is not None and single[ranks[-1]] and known[1][-1][1] == 1:
            others.append(known)
        largest[ranks] = move
    plays = sorted(largest.values(), key=lambda move: worth[move[1][-1][0]])
    return plays + others
