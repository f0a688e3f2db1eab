"""The demand of the pile on the next play, and the ranks that satisfy it."""

from __future__ import annotations

from typing import assert_never

from msgspec import Struct

from service.domain.cards import Card, Rank, rank_of
from service.domain.events import BurnCause
from service.domain.ruleset import ALL_RANKS, Asks, Plays, Ruleset


class Demand(Struct, frozen=True, kw_only=True, gc=False):
    """
    The requirement of a pile on the next play.

    `asked_by` is the rank of the card that makes the demand, None on an empty pile; `rank`
    is the rank to compare with, None if anything may be played.
    """

    kind: Asks  # never TRANSPARENT
    rank: Rank | None = None
    asked_by: Rank | None = None
    setting: str = ""  # the setting that decides, for citations


ANYTHING = Demand(kind=Asks.ANYTHING, setting="model.empty_pile")


def demand_of(ruleset: Ruleset, pile: tuple[Card, ...]) -> Demand:
    """
    Return the demand of a pile, read from the top down past transparent cards (rules.md, Demand).

    >>> rules = Ruleset(id="plain", seats_min=2, seats_max=6)
    >>> demand = demand_of(rules, ("4c", "9d"))
    >>> demand.kind.value, demand.rank
    ('at_least', '9')
    >>> fits(rules, "7", demand), fits(rules, "9", demand), fits(rules, "A", demand)
    (False, True, True)
    """
    for card in reversed(pile):
        rank = rank_of(card)
        asks = ruleset.rank(rank).asks
        if asks is not Asks.TRANSPARENT:
            return _asked(ruleset, rank, asks, f"ranks.{rank}.asks")
    if not pile:
        return ANYTHING
    rank = rank_of(pile[0])
    return _asked(ruleset, rank, ruleset.rank(rank).alone, f"ranks.{rank}.alone")


def fits(ruleset: Ruleset, rank: Rank, demand: Demand) -> bool:
    """Return whether cards of `rank` alone may be played on `demand`."""
    return rank in fitting(ruleset, demand)


def fitting_on(ruleset: Ruleset, pile: tuple[Card, ...]) -> frozenset[Rank]:
    """Return the ranks that may be played alone on a pile, cached by the rank that asks."""
    known = ruleset.fitting_on
    for card in reversed(pile):
        rank = rank_of(card)
        if rank in known:
            return known[rank]
        if ruleset.rank(rank).asks is not Asks.TRANSPARENT:
            ranks = known[rank] = fitting(ruleset, demand_of(ruleset, (card,)))
            return ranks
    return fitting(ruleset, demand_of(ruleset, pile))


def fitting(ruleset: Ruleset, demand: Demand) -> frozenset[Rank]:
    """Return the ranks that may be played alone on `demand`; computed once for each ruleset."""
    known = ruleset.fitting.get(demand)
    if known is None:
        known = frozenset(rank for rank in ALL_RANKS if _fits(ruleset, rank, demand))
        ruleset.fitting[demand] = known
    return known


def _fits(ruleset: Ruleset, rank: Rank, demand: Demand) -> bool:
    rule = ruleset.rank(rank)
    forbidden = rule.plays is Plays.WITH_COMPANION or demand.asked_by in rule.not_on
    return not forbidden and (rule.plays is Plays.ANYTHING or satisfies(ruleset, rank, demand))


def satisfies(ruleset: Ruleset, rank: Rank, demand: Demand) -> bool:
    """
    Return whether `rank` is high or low enough for `demand`, or in `besides` of the rank that asks.

    The settings `plays` and `not_on` of `rank` are ignored.

    Raises ValueError for a transparent demand, which `demand_of` never returns.
    """
    if demand.kind is Asks.ANYTHING or demand.rank is None:
        return True
    if demand.asked_by is not None and rank in ruleset.rank(demand.asked_by).besides:
        return True
    return is_named(ruleset, rank, demand)


def is_named(ruleset: Ruleset, rank: Rank, demand: Demand) -> bool:
    """
    Return whether the words of a demand, as "seven or lower", name `rank`.

    Raises ValueError for a transparent demand, which `demand_of` never returns.
    """
    if demand.kind is Asks.ANYTHING or demand.rank is None:
        return True
    if rank not in ruleset.order:
        return False
    height, asked = ruleset.height(rank), ruleset.height(demand.rank)
    match demand.kind:
        case Asks.AT_LEAST:
            return height >= asked
        case Asks.AT_MOST:
            return height <= asked
        case Asks.BELOW:
            return height < asked
        case Asks.TRANSPARENT:
            raise ValueError("a demand is never transparent")
        case _:
            assert_never(demand.kind)


def fitting_ranks(ruleset: Ruleset, demand: Demand) -> tuple[Rank, ...]:
    """Return the ranks with which a play on `demand` may begin, low to high, the joker last."""
    found = fitting(ruleset, demand) | ruleset.accompanied
    return tuple([rank for rank in ruleset.all_ranks if rank in found])


def _asked(ruleset: Ruleset, rank: Rank, asks: Asks, setting: str) -> Demand:
    if asks is Asks.ANYTHING:
        return Demand(kind=asks, asked_by=rank, setting=setting)
    as_rank = ruleset.rank(rank).asks_as or rank
    if as_rank not in ruleset.order:  # a joker has no height
        return Demand(kind=Asks.ANYTHING, asked_by=rank, setting=setting)
    return Demand(kind=asks, rank=as_rank, asked_by=rank, setting=setting)


def burn_cause(ruleset: Ruleset, pile: tuple[Card, ...]) -> BurnCause | None:
    """
    Return why a pile (not empty) burns, None if it does not; RANK if both causes apply.

    >>> rules = Ruleset(id="plain", seats_min=2, seats_max=6)
    >>> burn_cause(rules, ("9c", "9d", "9h", "9s"))
    <BurnCause.SET: 'set'>
    """
    rank, size = rank_of(pile[-1]), ruleset.burn.set_size
    if ruleset.rank(rank).burns:
        return BurnCause.RANK
    if not 0 < size <= len(pile):
        return None
    for card in pile[-size:]:
        if rank_of(card) != rank:
            return None
    return BurnCause.SET
