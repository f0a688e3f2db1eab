"""The bots that do not search, `random`, `lowest` and `greedy`, and their values of cards."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct

from service.bots.bot import Bot, Move, View
from service.domain.cards import JOKER, Rank
from service.domain.effects import Acts, Hint
from service.domain.ruleset import EFFECTS, Asks, Plays, Ruleset
from service.rulesets.catalogue import catalogue, custom_ruleset

DEFAULT_RULESET = "shithead"
"""The ruleset assumed if a view has neither settings nor a ruleset of the catalogue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Values:
    """The rules of a table, and the values of its ranks that follow from them."""

    rules: Ruleset
    heights: Mapping[str, int]
    worth: Mapping[str, int]


def rules_of(view: View) -> Ruleset:
    """Return the rules by which a bot values cards; its legal moves come with the view."""
    return _values_of(view).rules


def heights(view: View) -> Mapping[str, int]:
    """Return the place of each rank in the order of the table, jokers above all."""
    return _values_of(view).heights


def worth(view: View) -> Mapping[str, int]:
    """Return the worth of each rank to a bot, at most about 30; cheap ranks are played first."""
    return _values_of(view).worth


def _values_of(view: View) -> _Values:
    ruleset = view["ruleset"]
    own = None if ruleset["id"] in catalogue() else ruleset.get("settings")
    chosen = ruleset["options"]
    options = json.dumps(chosen, sort_keys=True) if chosen else "{}"
    settings = None if own is None else json.dumps(own, sort_keys=True)
    return _values(ruleset["id"], options, settings, view["hand"] % 2)


def own_seat(view: View) -> View:
    """Return the bot's own seat in a view."""
    seat: View = view["seats"][view["as"]]
    return seat


def of_type(moves: Sequence[Move], kind: str) -> list[Move]:
    """Return the moves of one type."""
    return [move for move in moves if move["type"] == kind]


@lru_cache(maxsize=256)
def _values(identity: str, options: str, settings: str | None, parity: int) -> _Values:
    """Return the values for options and the settings of a custom ruleset, both as JSON text."""
    rules = _rules(identity, options, settings, parity)
    heights: dict[str, int] = {rank: place for place, rank in enumerate(rules.order)}
    heights[JOKER] = len(rules.order)
    worth = MappingProxyType(worth_of_ranks(rules))
    return _Values(rules=rules, heights=MappingProxyType(heights), worth=worth)


def _rules(identity: str, options: str, settings: str | None, parity: int) -> Ruleset:
    definition, chosen = catalogue().get(identity), json.loads(options)
    if settings is not None:
        pinned = {"id": identity, "options": chosen, "settings": json.loads(settings)}
        return custom_ruleset(pinned, 2 - parity)
    if definition is None:
        return catalogue()[DEFAULT_RULESET].ruleset({})
    return definition.ruleset(chosen, hand=2 - parity)


def worth_of_ranks(ruleset: Ruleset) -> dict[str, int]:
    """Return the worth of each rank under a ruleset (`worth`)."""
    return {rank: _worth_of(ruleset, rank) for rank in (*ruleset.order, "X")}


def _worth_of(ruleset: Ruleset, rank: str) -> int:
    """Return the height of a rank, with a bonus for ranks that rescue a seat or burden others."""
    order = [str(r) for r in ruleset.order]
    worth = order.index(rank) if rank in order else len(order)
    rule = next((rule for name, rule in ruleset.ranks.items() if name == rank), None)
    if rule is None:
        return worth
    if rule.plays is Plays.ANYTHING:
        worth = max(worth, 8) + 6
    if rule.plays is Plays.WITH_COMPANION:
        worth = 9  # helps with another card, and is a burden as the last one
    hints = {EFFECTS[code].hint for code in rule.effects()}
    if rule.asks in (Asks.AT_MOST, Asks.BELOW):
        hints.add(Hint.HINDERS)
    return worth + sum(_BONUS[hint] for hint in hints if hint is not None)


_BONUS: Mapping[Hint, int] = {Hint.RESCUES: 8, Hint.HINDERS: 1, Hint.BURDENS: -6}


PLAY_PROBABILITY = 0.9
"""Probability of a play, if one is legal."""


def _random(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """
    Return any of `moves`, usually one that lays cards.

    If pick-ups were as likely as plays, hands would almost never end. In the exchange a card
    taken from the table never returns to it, so swapping ends.
    """
    if swaps := of_type(moves, "swap"):
        taken = set(own_seat(view)["hand"]["known"])
        swaps = [move for move in swaps if not taken.intersection(move["up"])]
        moves = [move for move in moves if move["type"] != "swap"]
    if swaps and rng.random() < 0.5:
        return rng.choice(swaps)
    plays = of_type(moves, "play")
    if plays and rng.random() < PLAY_PROBABILITY:
        return rng.choice(plays)
    return rng.choice(moves)


RANDOM = Bot(
    name="random",
    strength=1,
    choose=_random,
)


DEVIATION_PROBABILITY = 0.05
"""Probability of a random legal play instead of the lowest."""


def _lowest(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
    """
    Return the play of the lowest rank with the most cards; pick up only if nothing fits.

    With DEVIATION_PROBABILITY it makes a random play: two deterministic bots could pass the
    same cards back and forth without end.
    """
    height = heights(view)
    plays = of_type(moves, "play")
    if plays and rng.random() < DEVIATION_PROBABILITY:
        return rng.choice(plays)
    if plays:
        return min(plays, key=lambda play: _lowness(play, height))
    for kind in ("lay", "ready", "try_stock", "pick_up"):
        if found := of_type(moves, kind):
            return found[0]
    return rng.choice(list(moves))


def _lowness(play: Move, height: Mapping[str, int]) -> tuple[int, int, list[str]]:
    cards: list[str] = play["cards"]
    return max([height[card[0]] for card in cards]), -len(cards), cards


LOWEST = Bot(
    name="lowest",
    strength=2,
    choose=_lowest,
)


PICK_UP = 26
"""The cost of taking an empty pile, in units of `worth`; each card of the pile adds to it."""


def greedy_move(view: View, moves: Sequence[Move], rng: random.Random) -> Move:
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
    if table.rules.rank(Rank(top)).effects(Acts.PILE):
        return True
    last = [*table.pile[-size:], *cards][-size:] if size else []
    return len(last) == size > 0 and all(card[0] == top for card in last)


GREEDY = Bot(
    name="greedy",
    strength=3,
    choose=greedy_move,
)

ON_A_LINE = MappingProxyType({bot.name: bot for bot in (GREEDY, LOWEST)})
"""The bots that play a hypothetical line on: a hand takes them milliseconds."""
