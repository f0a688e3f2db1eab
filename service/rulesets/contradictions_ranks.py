"""What is wrong with the rules of single ranks."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.cards import JOKER, Card, Rank
from service.domain.demand import demand_of, fits
from service.domain.ruleset import ALL_RANKS, Asks, Plays, RankRule, Ruleset

EFFECTS = ("covers", "covers_with_two", "reverses", "skips")


def rank_contradictions(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    """Yield the contradictions within and between the rules of single ranks."""
    for rank, rule in ruleset.ranks.items():
        yield from _effects(rule, f"/ranks/{rank}")
        yield from _asks(rule, f"/ranks/{rank}")
    yield from _jokers(ruleset)
    for rank in ALL_RANKS:
        if ruleset.rank(rank).plays is Plays.WITH_COMPANION:
            yield from _companions(ruleset, rank, f"/ranks/{rank}")
    for rank in _in_play(ruleset):
        if not _can_be_beaten(ruleset, rank):
            yield f"/ranks/{rank}/asks", "no card can be played on it"


def _effects(rule: RankRule, at: str) -> Iterator[tuple[str, str]]:
    """A burn takes the place of every other effect, and a cover that of those after it."""
    for effect in EFFECTS:
        if rule.burns and getattr(rule, effect):
            yield f"{at}/{effect}", "a rank that burns the pile has no other effect"
    if rule.burns:
        return
    for effect in ("reverses", "skips"):
        if rule.covers and getattr(rule, effect):
            yield f"{at}/{effect}", "the turn does not pass on from a card that has to be covered"


def _asks(rule: RankRule, at: str) -> Iterator[tuple[str, str]]:
    if rule.alone is Asks.TRANSPARENT:
        yield f"{at}/alone", "below the bottom card of a pile there is nothing that could ask"
    if rule.alone is not Asks.ANYTHING and rule.asks is not Asks.TRANSPARENT:
        yield f"{at}/alone", "says what a transparent card asks; this one is not transparent"
    if rule.asks_as == JOKER:
        yield f"{at}/asks_as", "a joker has no rank that could be asked for"


def _jokers(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    rule = ruleset.rank(JOKER)
    if rule.plays is Plays.WITH_COMPANION:
        yield "/ranks/X/plays", "no rank is higher than a joker, so it has no companion"
    if rule.plays is Plays.NORMAL and (ruleset.deck.jokers or ruleset.deck.jokers_then):
        yield "/ranks/X/plays", "a joker has no rank, so say that it is played on anything"


def _companions(ruleset: Ruleset, rank: Rank, at: str) -> Iterator[tuple[str, str]]:
    if rank == JOKER:
        return
    higher = ruleset.order[ruleset.height(rank) + 1 :]
    if all(ruleset.rank(other).plays is Plays.WITH_COMPANION for other in higher):
        yield f"{at}/plays", "no rank is higher that could be its companion"
    if ruleset.rank(rank).not_on:
        yield f"{at}/not_on", "a rank that comes with a companion is played on anything"
    if ruleset.turn.runs:
        yield "/turn/runs", f"in a run {rank} would be played without its companions"
    rules = [ruleset.rank(other) for other in _in_play(ruleset)]
    if any(rule.covers or rule.covers_with_two for rule in rules):
        yield f"{at}/plays", "whoever has nothing but this rank could not cover a card"


def _in_play(ruleset: Ruleset) -> Iterator[Rank]:
    jokers = ruleset.deck.jokers or ruleset.deck.jokers_then
    return (rank for rank in ALL_RANKS if rank != JOKER or jokers)


def _can_be_beaten(ruleset: Ruleset, rank: Rank) -> bool:
    """Return whether some card may be played on a pile of one card of `rank`."""
    rule = ruleset.rank(rank)
    if rule.burns or rule.alone is Asks.TRANSPARENT:
        return True  # it does not stay on the pile, or is refused as it is
    demand = demand_of(ruleset, (Card(f"{rank}1" if rank == JOKER else f"{rank}c"),))
    return any(
        fits(ruleset, other, demand) or ruleset.rank(other).plays is Plays.WITH_COMPANION
        for other in _in_play(ruleset)
    )
