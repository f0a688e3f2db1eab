"""Endgames of two seats without a stock: small worlds are solved instead of played out."""

from __future__ import annotations

from typing import Final

from service.search.flat import narrowed
from service.search.playout import Policy, playout
from service.search.rules import RANK_COUNT
from service.search.state import NOBODY, State

MOST_CARDS: Final = 8
"""Cards of both seats and the pile together in an endgame that is solved."""

MOST_POSITIONS: Final = 50
"""Most positions of one solution; if it needs more, a playout decides."""

MOVES_OF_A_POSITION: Final = 15
"""Moves of a playout that take as long as one position of a solution."""

MAX_DEPTH: Final = 24
"""Moves after which a line counts as undecided, because cards may go back and forth for ever."""


class _Exhausted(Exception):
    """The solution takes too many positions."""


def is_small(state: State) -> bool:
    """Return whether two seats are left, the stock is empty, and few cards are in play."""
    if state.left != 2 or state.stock or state.over:
        return False
    cards = state.pile_size + sum(state.hand_size) + sum(map(len, state.down))
    if cards > MOST_CARDS:
        return False
    shift, field = state.rules.shift, state.rules.field
    cards += sum(up >> at & field for up in state.up if up for at in shift[:RANK_COUNT])
    return cards <= MOST_CARDS


def solved(state: State, policy: Policy) -> tuple[int, int]:
    """
    Return the outcome of a small world under perfect play, and the cost in moves of a playout.

    The outcome is the shithead, or the winner if the hand is played for a winner; NOBODY if
    neither seat can force the end. Both seats know all cards of the world. If a solution takes
    too many positions, a playout decides.
    """
    mover, budget = state.turn, [MOST_POSITIONS]
    try:
        value = _value(state, policy, budget, MAX_DEPTH)
    except _Exhausted:
        decided, moves = playout(state, policy)
        return decided, moves + MOST_POSITIONS * MOVES_OF_A_POSITION
    spent = (MOST_POSITIONS - budget[0]) * MOVES_OF_A_POSITION
    if value == 0:
        return NOBODY, spent
    other = next(s for s, out in enumerate(state.out) if not out and s != mover)
    ahead, behind = (mover, other) if value > 0 else (other, mover)
    return ahead if state.rules.winner else behind, spent


def _value(state: State, policy: Policy, budget: list[int], depth: int) -> int:
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
