"""The bot `greedy`: plays low, saves special cards, exchanges for strong face-up cards."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from msgspec import Struct

from service.bots.bot import Bot, Move, View
from service.bots.card_values import heights, of_type, own_seat, rules_of, worth
from service.domain.cards import Rank
from service.domain.ruleset import Ruleset

PICK_UP = 26
"""The cost of taking an empty pile, in units of `worth`; each card of the pile adds to it."""


def choose(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """Return the cheapest move: good cards spent are a cost, cards shed and burns a gain."""
    if view["status"] == "swapping":
        return _exchange(view, moves)
    blind = of_type(moves, "play_blind")
    if blind:
        return rng.choice(blind)
    table = _table(view)
    return min(moves, key=lambda move: _cost(move, table))


def _exchange(view: View, moves: Sequence[Move]) -> Move:
    """Return the best swap or lay, or ready if no swap makes the face-up cards stronger."""
    value = worth(view)
    lays = of_type(moves, "lay")
    if lays:
        return _strong_table(view, lays[0], value)

    def gain(swap: Move) -> int:
        return sum(value[c[0]] for c in swap["up"]) - sum(value[c[0]] for c in swap["hand"])

    best = max(of_type(moves, "swap"), key=gain, default=None)
    # Every swap raises the worth of the face-up cards, so swapping ends.
    if best is not None and gain(best) > 0:
        return best
    return of_type(moves, "ready")[0]


def _strong_table(view: View, listed: Move, value: Mapping[str, int]) -> Move:
    """Return the move that lays the best cards of the hand, one on each slot."""
    cards: list[str] = own_seat(view)["hand"]["cards"]
    best = sorted(cards, key=lambda card: (-value[card[0]], card))
    return {"type": "lay", "stacks": [[card] for card in best[: len(listed["stacks"])]]}


class _Table(Struct, frozen=True, kw_only=True):
    """The parts of a view on which the cost of a move depends, read once for all moves."""

    rules: Ruleset
    value: Mapping[str, int]  # the worth of each rank
    special: int  # from this worth on a card is special
    pile: list[str]
    in_hand: int  # cards
    late: bool  # whether the stock is empty


def _table(view: View) -> _Table:
    return _Table(
        rules=rules_of(view),
        value=worth(view),
        special=len(heights(view)) - 1,
        pile=view["pile"],
        in_hand=len(own_seat(view)["hand"]["cards"]),
        late=not view["stock"],
    )


def _cost(move: Move, table: _Table) -> tuple[float, list[str]]:
    value = table.value
    match move["type"]:
        case "play":
            return _play_cost(move["cards"], table), move["cards"]
        case "pick_up":
            specials = sum(value[card[0]] > len(value) for card in table.pile)
            along = sum(value[card[0]] for card in move["with"]) / 10
            return PICK_UP + 2 * len(table.pile) - 5 * specials + along, move["with"]
        case "try_stock":
            return PICK_UP, []
        case _:
            return 0, []


def _play_cost(cards: list[str], table: _Table) -> float:
    """Return the cost of a play: the worth of its best card, less what else it gains."""
    best, *others = sorted([table.value[card[0]] for card in cards], reverse=True)
    cost: float = best
    for other in others:
        cost += -2 if other < table.special or table.late else other / 2
    if _burns(cards, table):
        cost -= 3 + len(table.pile) / 2
    if table.late and table.in_hand <= len(cards):
        cost -= 10  # the hand is empty: the face-up cards are next
    return cost


def _burns(cards: list[str], table: _Table) -> bool:
    """Return whether a play clears the pile, by its rank or by completing a set."""
    top, size = cards[-1][0], table.rules.burn.set_size
    if table.rules.rank(Rank(top)).burns:
        return True
    last = [*table.pile[-size:], *cards][-size:] if size else []
    return len(last) == size > 0 and all(card[0] == top for card in last)


GREEDY = Bot(
    name="greedy",
    description="Plays low, keeps twos, tens and their like, builds a strong table, burns piles.",
    strength=3,
    choose=choose,
)
