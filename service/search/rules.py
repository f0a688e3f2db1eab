"""Rulesets compiled into small tables of integers for the fast model."""

from __future__ import annotations

from typing import Final

from service.domain.cards import JOKER, Card, Rank
from service.domain.demand import demand_of, fitting
from service.domain.effects import Acts
from service.domain.plays import FIRST_COME
from service.domain.ruleset import (
    ALL_RANKS,
    EFFECTS,
    After,
    Along,
    Asks,
    Layout,
    Obligation,
    Opener,
    OpeningPlay,
    PlayedFor,
    Plays,
    RefillTo,
    Ruleset,
    Taker,
    TryStockWhen,
    deck_of,
)

RANK_COUNT: Final = 14
"""Thirteen ranks in the order of the ruleset, and the joker as the last one."""

EMPTY: Final = 2 * RANK_COUNT
"""
The demand of an empty pile.

Demands below `RANK_COUNT` are the rank that asks; those from there to `EMPTY` are
`RANK_COUNT` plus the bottom rank of a pile of transparent cards.
"""

NO_RANK: Final = 15
"""The top rank of an empty pile; its bit is set in no mask."""

NEVER_BURNS: Final = 1 << 30
"""A set size that no pile reaches."""


class Rules:
    """
    One ruleset for one number of seats, as tables indexed by rank.

    A rank is its place in the order of the ruleset, the joker's is 13. A mask has bit r set
    for rank r. Counts of all ranks are packed into one integer: those of rank r begin at bit
    `shift[r]` and are `field` wide.
    """

    __slots__ = (
        "after_mode",
        "along",
        "as_played",
        "burning",
        "by_name",
        "companions",
        "cover_fit",
        "covered",
        "covered_two",
        "field",
        "first_come",
        "first_come_table",
        "fit",
        "follow_up",
        "full",
        "may_pick_up",
        "names",
        "next_demand",
        "opening_play",
        "opening_ranks",
        "refill_size",
        "ruleset",
        "seats",
        "set_size",
        "shift",
        "skipped",
        "special",
        "stacks",
        "taker_previous",
        "transparent",
        "try_stock",
        "turned",
        "winner",
        "with_companion",
    )

    def __init__(self, ruleset: Ruleset, seats: int) -> None:
        """Compile `ruleset` for `seats` seats."""
        self.ruleset = ruleset
        self.seats = seats
        self.names = (*ruleset.order, JOKER)
        self.by_name = {str(rank): place for place, rank in enumerate(self.names)}
        self._pack(seats)
        self._ranks()
        self._demands()
        self._turns()

    def mask_of(self, ranks: frozenset[Rank] | tuple[Rank, ...]) -> int:
        """Return the mask of some ranks."""
        return sum(1 << self.by_name[rank] for rank in set(ranks))

    def packed(self, ranks: list[int]) -> int:
        """Return the packed counts of a list of ranks."""
        return sum(1 << self.shift[rank] for rank in ranks)

    def _pack(self, seats: int) -> None:
        decks, jokers, partial = deck_of(self.ruleset, seats)
        most = max(4 * (decks + bool(partial)), jokers, 1)
        width = most.bit_length()
        self.shift = [width * rank for rank in range(RANK_COUNT)] + [0, 0]
        self.field = (1 << width) - 1
        self.full = [0] * RANK_COUNT
        for rank, name in enumerate(self.names):
            whole = jokers if name == JOKER else 4 * (decks + (name in partial))
            self.full[rank] = whole

    def _ranks(self) -> None:
        rules = [self.ruleset.rank(name) for name in self.names]
        effects = [[EFFECTS[code] for code in rule.effects()] for rule in rules]
        covers = [[effect for effect in some if effect.acts is Acts.COVER] for some in effects]
        self.burning = [bool(rule.effects(Acts.PILE)) for rule in rules]
        self.covered = [any(not effect.while_two for effect in some) for some in covers]
        self.covered_two = [any(effect.while_two for effect in some) for some in covers]
        self.turned = [rule.turned for rule in rules]
        self.skipped = [rule.skipped for rule in rules]
        self.transparent = [rule.asks is Asks.TRANSPARENT for rule in rules]
        self.special = [bool(some) for some in effects]
        paired = [rule.plays is Plays.WITH_COMPANION for rule in rules]
        self.with_companion = sum(1 << rank for rank, pair in enumerate(paired) if pair)
        higher = [
            sum(1 << r for r in range(rank + 1, RANK_COUNT - 1) if not paired[r])
            for rank in range(RANK_COUNT)
        ]
        self.companions = [h if pair else 0 for h, pair in zip(higher, paired, strict=True)]

    def _demands(self) -> None:
        ruleset = self.ruleset
        single = [
            fitting(ruleset, demand_of(ruleset, (Card(f"{name}{'1' if name == JOKER else 'c'}"),)))
            for name in self.names
        ]
        masks = [self.mask_of(ranks) for ranks in single]
        anything = self.mask_of(fitting(ruleset, demand_of(ruleset, ())))
        # A pile of one transparent card has the demand of its setting `alone`.
        self.fit = [*masks, *masks, anything]
        self.cover_fit = sum(1 << r for r in range(RANK_COUNT)) & ~self.with_companion
        self.next_demand = [
            [self._next(demand, rank) for rank in range(RANK_COUNT)] for demand in range(EMPTY + 1)
        ]

    def _next(self, demand: int, rank: int) -> int:
        if not self.transparent[rank]:
            return rank
        return RANK_COUNT + rank if demand == EMPTY else demand

    def _turns(self) -> None:
        rules = self.ruleset
        self.as_played = rules.refill.to is RefillTo.AS_MANY_AS_PLAYED
        self.refill_size = rules.refill.size
        self.set_size = rules.burn.set_size or NEVER_BURNS
        self.may_pick_up = rules.turn.obligation is Obligation.MAY_PICK_UP
        self.try_stock = list(TryStockWhen).index(rules.turn.try_stock)  # never, unable, always
        self.follow_up = rules.turn.follow_up
        self.taker_previous = rules.pick_up.taker is Taker.PREVIOUS
        self.after_mode = list(After).index(rules.pick_up.after)  # next, previous, above two
        self.along = list(Along).index(rules.pick_up.along)  # nothing, one slot, one rank
        self.winner = rules.end.played_for is PlayedFor.WINNER
        self.stacks = rules.deal.layout is Layout.STACKS
        self.first_come = rules.opening.opener in FIRST_COME
        self.first_come_table = rules.opening.opener is Opener.FIRST_COME_TABLE
        self.opening_play = rules.opening.play is not OpeningPlay.ANY
        self.opening_ranks = [self.by_name[rank] for rank in rules.opening.ranks]


def can_be_modelled(ruleset: Ruleset) -> bool:
    """
    Return whether the model can play this ruleset; it leaves out runs (`State.moves`).

    It cannot if single cards of a stack may go along with a pick-up: counts do not record
    which of two stacks of one rank a card leaves.

    >>> can_be_modelled(Ruleset(id="plain", seats_min=2, seats_max=6))
    True
    """
    stacks = ruleset.deal.layout is Layout.STACKS
    return not (stacks and ruleset.pick_up.along is Along.ONE_RANK)


assert len(ALL_RANKS) == RANK_COUNT  # noqa: S101 -- the tables rely on it
