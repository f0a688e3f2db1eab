"""The exchange phase by search: which cards to lay face-up, and which to keep in the hand."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Final

from service.bots.bot import Move, View
from service.bots.card_values import of_type, own_seat
from service.bots.worlds import Worlds
from service.search.flat import value_for
from service.search.playout import opened, playout
from service.search.state import State

MOST_LAYOUTS: Final = 8
"""Maximum of layouts compared by playouts: those with the most valuable cards."""

Layout = tuple[int, ...]
"""Ranks that lie face-up, low to high."""


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
    )[:MOST_LAYOUTS]
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
