"""The kinds of effects of ranks: what each acts on, and what the other parts read of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Acts(StrEnum):
    """
    What an effect acts on, in the order of rules.md, Resolution.

    Of a play only effects of the first kind that applies take place. So a rank that always has
    one of them can have none of a later kind.
    """

    PILE = "pile"  # the pile burns, and the same seat plays again
    COVER = "cover"  # the same seat has to cover the card
    TURN = "turn"  # the turn passes on in another way


class Hint(StrEnum):
    """The worth of an effect to the seat that holds the card, for bots."""

    RESCUES = "rescues"
    HINDERS = "hinders"  # the next seat
    BURDENS = "burdens"  # the seat itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One effect of a rank, as a row of the table in `RankRule`."""

    acts: Acts
    statement: str  # the one that a ruleset without a statement of its own cites
    while_two: bool = False  # only while two seats are in play
    seats_from: int = 2  # with fewer seats it changes nothing
    turned: int = 0  # how often each card turns the direction of play
    skipped: int = 0  # how many seats each card skips
    hint: Hint | None = None
