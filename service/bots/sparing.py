"""How much each decision of a seat harms the next seat, beside its other legal moves."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from schemas.moves import move_json
from schemas.views import ViewFacts
from service.bots.bot import View, bot_rng, bot_view
from service.bots.worlds import Worlds, choices, model_move, searchable
from service.domain.commands import Pass, PickUp, Play, Seat, TryStock
from service.domain.game import Game
from service.replay.history import History, RecordedMove
from service.search.flat import make
from service.search.playout import PlayoutPolicy
from service.search.state import Move as ModelMove
from service.search.state import State

WORLDS: Final = 24
"""Possible deals of the hidden cards in which every move of a decision is made."""

MAX_CHOICES: Final = 8
"""Decisions among more moves are left out: those of a seat that holds most of the cards."""

MIN_SPREAD: Final = 0.05
"""
Smallest difference between the least and the most harmful move of a decision that counts.

About the harm of a pick-up that one of twenty worlds leads to.
"""

TURN: Final = 0.3
"""Harm to a seat that loses its turn, in pick-ups of an empty pile."""

CARD: Final = 0.1
"""Harm of each card of the pile that a seat takes."""

SPENT: Final = 0.01
"""Harm of each unit of `worth` that the cheapest card costs which a seat can play."""

PUBLIC_SEED: Final = b"collusion"
"""A constant, so that each reader of the log computes the same numbers."""

Stratum = tuple[str | int, ...]
"""The rules and the kind of position: only decisions with the same one are compared."""


class Decision(Struct, frozen=True, kw_only=True):
    """
    A decision of a seat, and the place of its move among the legal ones by the harm to `next_seat`.

    `harm` is 0 for the move that harms the next seat least, 1 for the one that harms it most, and
    between them for equal moves the middle of their places.
    """

    version: int  # of the game before the move
    seat: Seat
    next_seat: Seat
    stratum: Stratum
    harm: float


def decisions(history: History, seat: Seat, *, game: str) -> Iterator[Decision]:
    """
    Yield the decisions of a seat in a sealed hand, in their order (statistics.md, section 3).

    Left out are moves of the clock and of bots that stand in, choices of a face-down card,
    decisions among one or more than MAX_CHOICES moves, and those whose moves differ by less than
    MIN_SPREAD. A ruleset that the model of the search does not support has none.
    """
    created = history.log[0].fields["data"]
    for move in history.moves:
        if move.seat == seat and _is_choice(history, move):
            before = history.games[move.first - 1]
            facts = ViewFacts(
                id=game,
                head="",
                ruleset_hash=created["ruleset_hash"],
                settings=created["ruleset"]["settings"],
            )
            found = _decision(before, move, facts)
            if found is not None:
                yield found


def next_in_play(game: Game, seat: Seat) -> Seat | None:
    """Return the seat that follows in the present direction; None if no other seat is left."""
    count = len(game.seats)
    for step in range(1, count):
        other = (seat + step * game.direction) % count
        if game.seats[other].place is None:
            return other
    return None


def mean_harms(
    worlds: Worlds, found: Iterable[ModelMove], other: Seat, rng: random.Random
) -> dict[ModelMove, float]:
    """Return for each move the mean harm to another seat, in pick-ups of an empty pile."""
    total = dict.fromkeys(found, 0.0)
    for _ in range(WORLDS):
        world = worlds.deal(rng)
        for move in total:
            state = world.copy()
            make(state, worlds.me, move)
            total[move] += _harm(state, other, worlds.policy)
    return {move: round(value / WORLDS, 6) for move, value in total.items()}


def _is_choice(history: History, move: RecordedMove) -> bool:
    """Return whether the seat itself, on its turn, chose among cards that it saw."""
    by_seat = history.log[move.action].by == move.seat  # None at a time-out
    if not by_seat or not isinstance(move.command, Play | PickUp | TryStock | Pass):
        return False
    return history.games[move.first - 1].turn == move.seat


def _decision(before: Game, move: RecordedMove, facts: ViewFacts) -> Decision | None:
    if move.seat is None or move.command is None:
        return None
    other, view = next_in_play(before, move.seat), bot_view(before, move.seat, facts)
    if other is None or not searchable(view):
        return None
    worlds = Worlds(view)
    found = choices(view, view["moves"], worlds)
    made = model_move(view, move_json(move.command), worlds.rules)
    if not 2 <= len(found) <= MAX_CHOICES or made not in found:
        return None
    harm = mean_harms(worlds, found, other, bot_rng(PUBLIC_SEED, facts.id, before.version))
    if max(harm.values()) - min(harm.values()) < MIN_SPREAD:
        return None
    less = sum(value < harm[made] for value in harm.values())
    equal = sum(value == harm[made] for value in harm.values()) - 1
    return Decision(
        version=before.version,
        seat=move.seat,
        next_seat=other,
        stratum=_stratum(view, other, len(found)),
        harm=(less + equal / 2) / (len(found) - 1),
    )


def _harm(state: State, other: Seat, policy: PlayoutPolicy) -> float:
    """Return the harm of a position to a seat: what its next turn costs it."""
    if state.over or state.out[other]:
        return 0.0
    if state.turn != other:
        return TURN
    fitting, pick_up = state.fitting(), 1 + CARD * state.pile_size
    held = state.hand_mask[other] if state.hand_size[other] else state.up_mask[other]
    if held:
        fits = held & fitting
        return SPENT * policy.worth[policy.cheapest[fits]] if fits else pick_up
    down = state.down[other]
    return pick_up * sum(not fitting >> rank & 1 for rank in down) / max(1, len(down))


def _stratum(view: View, other: Seat, moves: int) -> Stratum:
    """Return the stage of the hand, and coarsely the moves and the cards of the next seat."""
    own, theirs = view["seats"][view["as"]]["hand"], view["seats"][other]["hand"]
    return (
        view["ruleset"]["ruleset_hash"],
        sum(seat["out"] is None for seat in view["seats"]),
        bool(view["stock"]),
        own["count"] > 0,
        bool(view["pile"]),
        _coarse(moves),
        _coarse(theirs["count"]),
    )


def _coarse(count: int) -> int:
    """Return the class of a number: 0 for 0 to 2, then 1 for 3 and 4, 2 for 5 and 6, 3 above."""
    return min(3, max(0, (count - 1) // 2))
