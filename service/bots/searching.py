"""The bots `careful` and `expert`, which search possible deals, and their judgement of moves."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Protocol

from service.bots.bot import Bot, Move, View, bot_rng
from service.bots.simple import greedy_move, of_type, own_seat
from service.bots.worlds import Worlds, choices, model_move, searchable
from service.search import flat, tree
from service.search.flat import Deal, value_for
from service.search.intervals import wilson
from service.search.playout import PlayoutPolicy, opened, playout
from service.search.state import Move as ModelMove
from service.search.state import State
from service.search.tree import judged


class Search(Protocol):
    """Returns the best of several moves after a number of samples."""

    def __call__(
        self,
        deal: Deal,
        seat: int,
        candidates: Sequence[ModelMove],
        policy: PlayoutPolicy,
        *,
        samples: int,
    ) -> ModelMove:
        """Return the best candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBudget:
    """The numbers of simulated hands: for a move, and for a layout in the exchange."""

    samples: int
    exchange: int


CAREFUL_BUDGET: Final = SearchBudget(samples=140, exchange=200)
EXPERT_BUDGET: Final = SearchBudget(samples=1000, exchange=1500)


def careful(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """Return the move with the best results in playouts of possible deals."""
    return searched(view, moves, rng, search=flat.best_move, budget=CAREFUL_BUDGET)


def expert(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """Return the move with the best results in a tree search over possible deals."""
    return searched(view, moves, rng, search=tree.best_move, budget=EXPERT_BUDGET)


def searched(
    view: View,
    moves: Sequence[Move],
    rng: random.Random,
    *,
    search: Search,
    budget: SearchBudget,
) -> Move:
    """
    Return the best move by a search, or that of `greedy` if the model does not apply.

    The budget is a number of samples, not a time, so that a turn has the same move on every
    machine.
    """
    if not searchable(view):
        return greedy_move(view, moves, rng)
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
    strength=4,
    turn_intervals=5,
    choose=careful,
)
EXPERT = Bot(
    name="expert",
    strength=5,
    turn_intervals=25,
    choose=expert,
)


MAX_LAYOUTS: Final = 8
"""Maximum number of layouts compared by playouts: those with the most valuable cards."""

Layout = tuple[int, ...]
"""The ranks of a seat's face-up cards, low to high."""


def exchanged(view: View, moves: Sequence[Move], rng: random.Random, samples: int) -> Move:
    """Return the swap or lay that makes the best layout, or ready if the seat has it already."""
    lays, ready = of_type(moves, "lay"), of_type(moves, "ready")
    own = own_seat(view)
    if not lays and (not of_type(moves, "swap") or own["hand"]["known"]):
        return ready[0]  # cards known to be in the hand came from the table: the bot has swapped
    worlds = Worlds(view)
    hand: list[str] = own["hand"]["cards"]
    up = [card for stack in own["up"] for card in stack]
    slots = len(lays[0]["stacks"]) if lays else len(up)
    every = [worlds.rules.by_name[card[0]] for card in (*hand, *up)]
    layout = _best(worlds, every, slots, rng, samples)
    if lays:
        return _lay(layout, hand, worlds)
    return swap_to(layout, hand, up, worlds) or ready[0]


def _best(worlds: Worlds, every: list[int], slots: int, rng: random.Random, samples: int) -> Layout:
    """Return the layout with the best playouts, by successive halving."""
    value = worlds.policy.worth
    layouts = sorted(
        {tuple(sorted(some)) for some in combinations(every, slots)},
        key=lambda some: (-sum(value[rank] for rank in some), some),
    )[:MAX_LAYOUTS]
    totals = dict.fromkeys(layouts, 0.0)
    winner = worlds.rules.winner
    while len(layouts) > 1:
        for _ in range(max(1, samples // (3 * len(layouts)))):
            world = worlds.deal(rng)
            for layout in layouts:
                state = _laid_out(world, worlds, every, layout)
                decided, _ = playout(opened(state, worlds.policy), worlds.policy)
                totals[layout] += value_for(worlds.me, decided, winner=winner)
        layouts.sort(key=lambda one: -totals[one])
        layouts = layouts[: (len(layouts) + 1) // 2]
    return layouts[0]


def _laid_out(world: State, worlds: Worlds, every: list[int], layout: Layout) -> State:
    """Return a world in which the bot has laid out its cards, and play begins."""
    state, me = world.copy(), worlds.me
    state.hand[me] = state.hand_mask[me] = state.hand_size[me] = 0
    state.up[me] = state.up_mask[me] = 0
    state.slots[me] = []
    in_hand = Counter(every)
    in_hand.subtract(layout)
    for rank in layout:
        state.add_to_up(me, rank)
    for rank in in_hand.elements():
        state.add_to_hand(me, rank)
    if not world.up_mask[me]:
        for seat in range(worlds.rules.seats):
            if seat != me and not state.up_mask[seat]:
                _lay_strongest(state, seat, len(layout), worlds)
    state.first = True
    state.turn = worlds.opener(state)
    return state


def _lay_strongest(state: State, seat: int, slots: int, worlds: Worlds) -> None:
    """Let another seat lay the best cards of its hand in this world."""
    rules, value = worlds.rules, worlds.policy.worth
    held = [
        rank
        for rank in range(len(value))
        for _ in range(state.hand[seat] >> rules.shift[rank] & rules.field)
    ]
    held.sort(key=lambda rank: value[rank])
    state.hand[seat] = state.hand_mask[seat] = state.hand_size[seat] = 0
    for rank in held[-slots:]:
        state.add_to_up(seat, rank)
    for rank in held[:-slots]:
        state.add_to_hand(seat, rank)


def _lay(layout: Layout, hand: list[str], worlds: Worlds) -> Move:
    left = sorted(hand)
    stacks = []
    for rank in layout:
        card = next(card for card in left if worlds.rules.by_name[card[0]] == rank)
        left.remove(card)
        stacks.append([card])
    return {"type": "lay", "stacks": stacks}


def swap_to(layout: Layout, hand: list[str], up: list[str], worlds: Worlds) -> Move | None:
    """Return the one swap that makes a layout, None if the seat has it already."""
    by_name = worlds.rules.by_name
    wanted = Counter(layout)
    goes, comes = [], []
    for card in sorted(up):
        if wanted[by_name[card[0]]] > 0:
            wanted[by_name[card[0]]] -= 1
        else:
            comes.append(card)
    for card in sorted(hand):
        if wanted[by_name[card[0]]] > 0:
            wanted[by_name[card[0]]] -= 1
            goes.append(card)
    return {"type": "swap", "up": goes, "hand": comes} if goes else None


BOT: Final = "expert"
"""The bot whose opinion is returned."""

SAMPLES: Final = 1000
"""Hands played for one opinion, over all moves: about 0.1 s of processor time."""

PUBLIC_SEED: Final = b"opinion"
"""Opinions are not secret: all requests about the same move get the same answer."""


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
