"""What is wrong with an opening: one that nobody can make, or that nobody is sure to make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from service.domain.cards import JOKER, RANKS
from service.domain.ruleset import Layout, Opener, OpeningPlay, Plays, Ruleset, Starter

QUALIFIED: Final = {
    Opener.FIRST_DEALT,
    Opener.WORST_CARD,
    Opener.FIRST_COME_HAND,
    Opener.FIRST_COME_TABLE,
}
"""Openers whom a card makes the first player."""


def opening_contradictions(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    """Yield the contradictions of the settings that say who opens, and how."""
    opening, deal = ruleset.opening, ruleset.deal
    if opening.opener in QUALIFIED:
        yield from _ranks(ruleset)
    if opening.opener is Opener.NEXT_TO_THROWER and not deal.throws:
        yield "/opening/opener", "nobody throws cards, so nobody is next to the thrower"
    no_up = not deal.up and deal.layout is Layout.NONE
    if opening.opener is Opener.FIRST_COME_TABLE and no_up:
        yield "/opening/opener", "there are no face-up cards that could qualify anybody"
    if opening.opener is Opener.WORST_CARD:
        if len(opening.suits) != 4:
            yield "/opening/suits", "to find the worst card, name the four suits, worst first"
        if _hands_may_be_empty(ruleset):
            yield "/opening/opener", "all hands may be laid out, so nobody may hold a worst card"
    yield from _play(ruleset)


def _ranks(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    ranks = ruleset.opening.ranks
    if JOKER in ranks:
        yield "/opening/ranks", "a joker makes nobody the first player"
    if missing := [rank for rank in RANKS if rank not in ranks]:
        yield (
            "/opening/ranks",
            f"it may be that nobody has one of these; name {' '.join(missing)} too",
        )


def _play(ruleset: Ruleset) -> Iterator[tuple[str, str]]:
    """An opening that must hold a certain card has to be possible for whoever opens."""
    opening, deal, at = ruleset.opening, ruleset.deal, "/opening/play"
    match opening.play:
        case OpeningPlay.ANY:
            return
        case OpeningPlay.THAT_CARD:
            fitting = opening.opener is Opener.WORST_CARD
        case OpeningPlay.THAT_RANK:
            fitting = opening.opener in (Opener.FIRST_COME_HAND, Opener.WORST_CARD)
    if not fitting:
        yield at, "whoever opens need not hold such a card in the hand"
    if deal.starter is not Starter.NONE:
        yield at, "the card that has to be played may not fit on the starter"
    if deal.throws:
        yield at, "the card that has to be played may not fit on the cards thrown"
    if _hands_may_be_empty(ruleset):
        yield at, "the card that has to be played may have been laid out face-up"
    jokers = max(ruleset.deck.jokers, ruleset.deck.jokers_then)
    if ruleset.seats_min * deal.hand <= jokers:
        yield at, "all hands may hold jokers only"
    for rank in RANKS:
        if ruleset.rank(rank).plays is Plays.WITH_COMPANION:
            yield at, f"a {rank} has to be played, and may be without a companion"


def _hands_may_be_empty(ruleset: Ruleset) -> bool:
    """Return whether every seat may lay out its whole hand; a stock to refill it may be short."""
    deal = ruleset.deal
    if deal.layout is Layout.NONE:
        return False
    return deal.layout is Layout.STACKS or deal.hand <= deal.down
