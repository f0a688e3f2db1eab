"""Information-set tree search over many possible worlds; endgames of two seats are solved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from service.search.flat import MOVES_OF_A_SAMPLE, Deal, halving, make, narrowed, value_for
from service.search.playout import PlayoutPolicy, playout
from service.search.rules import RANK_COUNT
from service.search.state import NOBODY, Move, State

EXPLORATION: Final = 0.3
"""The weight of exploring rarely tried moves, compared with repeating successful ones."""

VISITS_TO_EXPAND: Final = 24
"""Visits of a position before its moves are counted separately; until then it is played out."""

PRIOR_LOSS: Final = 0.08
"""Expected loss of an untried move, unless it is the one that playouts would make."""

MAX_DEPTH: Final = 12
"""Moves of the tree on one path below the root, forced ones included."""


class _Node:
    """A position in the tree, for all worlds in which it is reached."""

    __slots__ = ("available", "children", "decided", "visits")

    def __init__(self, seats: int) -> None:
        self.children: dict[Move, _Node] = {}
        self.visits = self.available = 0
        self.decided = [0] * (seats + 1)  # outcomes by seat as in `playout`; the last: NOBODY

    def value(self, seat: int, *, winner: bool) -> float:
        """Return the mean value for a seat, a half if there were no visits."""
        if not self.visits:
            return 0.5
        share = self.decided[seat] / self.visits
        return (share if winner else 1 - share) + self.decided[-1] / self.visits * (
            0.5 if winner else -0.5
        )


def best_move(
    deal: Deal, seat: int, candidates: Sequence[Move], policy: PlayoutPolicy, *, samples: int
) -> Move:
    """
    Return the best candidate, by `halving` of `samples` descents into a tree.

    Moves below the candidates are chosen by upper confidence bounds; a move counts as
    available only in worlds that allow it. Positions that few descents reach are played out,
    small endgames solved. (Cowling, Powley and Whitehouse: Information set Monte Carlo tree
    search, 2012.)
    """
    nodes = {move: _Node(policy.rules.seats) for move in candidates}
    winner = policy.rules.winner

    def tried(state: State, move: Move) -> tuple[float, int]:
        make(state, seat, move)
        decided, moves = _descend(nodes[move], state, policy)
        return value_for(seat, decided, winner=winner), moves

    return halving(deal, candidates, tried, samples=samples)


def judged(
    deal: Deal, seat: int, candidates: Sequence[Move], policy: PlayoutPolicy, *, samples: int
) -> tuple[int, dict[Move, float]]:
    """
    Return the number of worlds tried, and the mean value of each candidate over all of them.

    Unlike in `best_move`, no candidate is dropped: each is tried in every world. There is at
    least one world.
    """
    nodes = {move: _Node(policy.rules.seats) for move in candidates}
    totals, worlds = dict.fromkeys(nodes, 0.0), 0
    winner = policy.rules.winner
    moves_left = samples * MOVES_OF_A_SAMPLE
    while worlds == 0 or (moves_left > 0 and (worlds + 1) * len(nodes) <= samples):
        world = deal()
        worlds += 1
        for move, node in nodes.items():
            state = world.copy()
            make(state, seat, move)
            decided, moves = _descend(node, state, policy)
            totals[move] += value_for(seat, decided, winner=winner)
            moves_left -= moves
    return worlds, {move: total / worlds for move, total in totals.items()}


def _descend(node: _Node, state: State, policy: PlayoutPolicy) -> tuple[int, int]:
    """Add a hand to the tree; return its outcome as `playout` does, and the cost in moves."""
    path = [node]
    for _ in range(MAX_DEPTH):
        if state.over or node.visits < VISITS_TO_EXPAND or is_small(state):
            break
        seat = state.turn
        moves = narrowed(state, seat, policy)
        if not moves:
            break
        move, node = _selected(node, moves, seat, policy)
        path.append(node)
        make(state, seat, move)
    decided, length = solved(state, policy) if is_small(state) else playout(state, policy)
    for one in path:
        one.visits += 1
        one.decided[decided] += 1
    return decided, length


def _selected(
    node: _Node, moves: Sequence[Move], seat: int, policy: PlayoutPolicy
) -> tuple[Move, _Node]:
    """
    Return the move to follow, and its node.

    Each move begins with one imagined visit: for the first move, which playouts would make, with
    the mean value of the position, for the others with a slightly lower value.
    """
    winner, children = policy.rules.winner, node.children
    expected = node.value(seat, winner=winner)
    best, chosen = -math.inf, moves[0]
    for place, move in enumerate(moves):
        child = children.get(move)
        if child is None:
            child = children[move] = _Node(policy.rules.seats)
        child.available += 1
        visits = child.visits + 1
        mean = (child.value(seat, winner=winner) * child.visits + expected) / visits
        bound = mean + EXPLORATION * math.sqrt(math.log(child.available + 1) / visits)
        if bound > best:
            best, chosen = bound, move
        if not place:
            expected -= PRIOR_LOSS
    return chosen, children[chosen]


MAX_SOLVED_CARDS: Final = 8
"""Maximum number of cards, of both seats and the pile, in an endgame that is solved."""

MAX_POSITIONS: Final = 50
"""Maximum number of positions of one solution; if it needs more, a playout decides."""

MOVES_OF_A_POSITION: Final = 15
"""Moves of a playout that take as long as one position of a solution."""

MAX_SOLVED_DEPTH: Final = 24
"""Moves after which a line counts as undecided, because cards may go back and forth for ever."""


class _Exhausted(Exception):
    """The solution takes too many positions."""


def is_small(state: State) -> bool:
    """Return whether two seats are left, the stock is empty, and few cards are in play."""
    if state.left != 2 or state.stock or state.over:
        return False
    cards = state.pile_size + sum(state.hand_size) + sum(map(len, state.down))
    if cards > MAX_SOLVED_CARDS:
        return False
    shift, field = state.rules.shift, state.rules.field
    cards += sum(up >> at & field for up in state.up if up for at in shift[:RANK_COUNT])
    return cards <= MAX_SOLVED_CARDS


def solved(state: State, policy: PlayoutPolicy) -> tuple[int, int]:
    """
    Return the outcome of a small world under perfect play, and the cost in moves of a playout.

    The outcome is the shithead, or the winner if the hand is played for a winner; NOBODY if
    neither seat can force the end. Both seats know all cards of the world. If a solution takes
    too many positions, a playout decides.
    """
    mover, budget = state.turn, [MAX_POSITIONS]
    try:
        value = _value(state, policy, budget, MAX_SOLVED_DEPTH)
    except _Exhausted:
        decided, moves = playout(state, policy)
        return decided, moves + MAX_POSITIONS * MOVES_OF_A_POSITION
    spent = (MAX_POSITIONS - budget[0]) * MOVES_OF_A_POSITION
    if value == 0:
        return NOBODY, spent
    other = next(s for s, out in enumerate(state.out) if not out and s != mover)
    ahead, behind = (mover, other) if value > 0 else (other, mover)
    return ahead if state.rules.winner else behind, spent


def _value(state: State, policy: PlayoutPolicy, budget: list[int], depth: int) -> int:
    """Return 1 if the seat on turn wins, -1 if it loses, 0 if `depth` moves can force neither."""
    if not depth:
        return 0
    seat, best = state.turn, -1
    for move in narrowed(state, seat, policy):
        budget[0] -= 1
        if budget[0] < 0:
            raise _Exhausted
        after = state.copy()
        after.apply(seat, move)
        if after.over:
            value = _result(after, seat)
        else:
            value = _value(after, policy, budget, depth - 1)
            if after.turn != seat:
                value = -value
        if value > best:
            best = value
            if best == 1:
                break
    return best


def _result(state: State, seat: int) -> int:
    """Return 1 if a finished hand is won by `seat`, -1 if it is lost, 0 if it is undecided."""
    if state.rules.winner:
        decided = state.places[0] if state.places else NOBODY
    else:
        decided = state.loser
    if decided == NOBODY:
        return 0
    return 1 if (decided == seat) is state.rules.winner else -1
