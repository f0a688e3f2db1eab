"""A ruleset on one screen: the aim, and what each special rank does, as codes for words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from service.domain.cards import Rank
from service.domain.ruleset import ALL_RANKS, Asks, Plays, RankRule, Ruleset


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialRank:
    """A rank with rules of its own, and the codes of its effects, the most important first."""

    rank: Rank
    does: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InShort:
    """A ruleset for a newcomer; `burning_set` is 0 if sets do not burn."""

    played_for: str
    burning_set: int
    special: tuple[SpecialRank, ...]


def in_short(ruleset: Ruleset) -> InShort:
    """
    Return a ruleset in short: only what its settings state, so it is true for custom ones too.

    The codes are those of `short.*` in the words of the pages. Exceptions, such as the ranks on
    which a card never goes, are left to the statements.

    >>> from service.rulesets.catalogue import definition
    >>> in_short(definition("leeds").ruleset({})).special[0].does
    ('goes_on_anything', 'asks_anything')
    """
    found = ((rank, tuple(_does(ruleset.rank(rank)))) for rank in ALL_RANKS)
    has_jokers = ruleset.deck.jokers or ruleset.deck.jokers_then
    return InShort(
        played_for=ruleset.end.played_for.value,
        burning_set=ruleset.burn.set_size,
        special=tuple(
            SpecialRank(rank=rank, does=does)
            for rank, does in found
            if does and (rank in ruleset.order or has_jokers)
        ),
    )


def _does(rule: RankRule) -> Iterator[str]:
    """Yield the codes of a rank; a burned pile asks for nothing, so its demand is not named."""
    effects = rule.effects()
    yield from effects
    match rule.plays:
        case Plays.ANYTHING:
            yield "goes_on_anything"
        case Plays.WITH_COMPANION:
            yield "with_companion"
        case Plays.NORMAL:
            pass
    if "burns" in effects:
        return
    if rule.asks_as is not None:
        yield "asks_as_another"
    elif rule.asks is not Asks.AT_LEAST:
        yield f"asks_{rule.asks.value}"
