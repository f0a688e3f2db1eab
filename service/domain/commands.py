"""The commands to a game, one class for each kind, and their refusals."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from service.domain.cards import Card

if TYPE_CHECKING:
    from service.domain.ruleset import Ruleset

Seat = int
"""The number of a seat, from 0."""


class Play(Struct, frozen=True, kw_only=True, gc=False):
    """Play these cards from the hand or, if it is empty, from the face-up cards."""

    seat: Seat
    cards: tuple[Card, ...]


class PlayBlind(Struct, frozen=True, kw_only=True, gc=False):
    """Turn the face-down card of this slot."""

    seat: Seat
    slot: int


class PickUp(Struct, frozen=True, kw_only=True, gc=False):
    """Take the pile, and the face-up cards `along` if the ruleset requires some."""

    seat: Seat
    along: tuple[Card, ...] = ()


class TryStock(Struct, frozen=True, kw_only=True, gc=False):
    """Try the top card of the stock."""

    seat: Seat


class Pass(Struct, frozen=True, kw_only=True, gc=False):
    """Pass; allowed only if the pile is empty and the seat can neither play nor try the stock."""

    seat: Seat


class Swap(Struct, frozen=True, kw_only=True, gc=False):
    """Exchange cards pair by pair: lay hand cards `up` face up, take face-up cards `hand`."""

    seat: Seat
    up: tuple[Card, ...]
    hand: tuple[Card, ...]


class Lay(Struct, frozen=True, kw_only=True, gc=False):
    """Lay hand cards face-up; `stacks` has the cards added to each slot."""

    seat: Seat
    stacks: tuple[tuple[Card, ...], ...]


class Ready(Struct, frozen=True, kw_only=True, gc=False):
    """Finish the exchange or the laying of face-up cards."""

    seat: Seat


class Forfeit(Struct, frozen=True, kw_only=True, gc=False):
    """Give up the hand and become its shithead."""

    seat: Seat


class AgreeEnd(Struct, frozen=True, kw_only=True, gc=False):
    """Agree that the hand ends without a result, which it does once all people have agreed."""

    seat: Seat


class AfterAbsence(StrEnum):
    """The consequence that a player claims for one who is away."""

    STAND_IN = "stand_in"
    END = "end"


class ClaimAbsence(Struct, frozen=True, kw_only=True, gc=False):
    """State that the player at `absent` is away: a bot stands in, or the hand ends unrated."""

    seat: Seat
    absent: Seat
    then: AfterAbsence


Leave = Forfeit | AgreeEnd | ClaimAbsence
"""A command about the hand as a whole, possible on turn or not."""

Move = Play | PlayBlind | PickUp | TryStock | Pass | Swap | Lay | Ready | Leave
"""A command that a player can post."""


class TimeOut(Struct, frozen=True, kw_only=True, gc=False):
    """
    The seat's time is up: make `move` for it, or the default moves if `move` is None.

    In the exchange the default moves are made in any case: the seat is made ready.
    """

    seat: Seat
    move: Move | None = None


Command = Move | TimeOut


class CommandRefused(Exception):
    """
    The command is refused and the game unchanged.

    `reason` is the code of a sentence, and `values` are those in it.
    """

    code = "refused"

    def __init__(self, reason: str, **values: int | str) -> None:
        super().__init__(reason, *values.values())
        self.reason = reason
        self.values = values


class GameOver(CommandRefused):
    """The game has ended or was aborted."""

    code = "game-over"


class NotYourTurn(CommandRefused):
    """The seat may not act now."""

    code = "not-your-turn"


class UnknownCard(CommandRefused):
    """The command names a card that is not in this game's deck."""

    code = "unknown-card"

    def __init__(self, card: str, *, nearest: str | None = None) -> None:
        if nearest:
            super().__init__("refused.unknown_card.nearest", name=card, nearest=nearest)
        else:
            super().__init__("refused.unknown_card", name=card)
        self.card = card


class RuleRefused(CommandRefused):
    """A rule forbids the command; `rule` is the id of its statement."""

    code = "rule-refused"

    def __init__(self, rule: str, reason: str, **values: int | str) -> None:
        super().__init__(reason, **values)
        self.rule = rule


class RuleReason(Struct, frozen=True, gc=False):
    """
    The reason why the rules forbid a move: the code of its sentence, and the settings behind it.

    `decide` and predicates such as `may_pick_up` call the same function for the reason, so they
    cannot disagree.
    """

    code: str
    settings: tuple[str, ...]  # dotted paths; the first that has a statement is cited
    values: dict[str, str] = {}

    def error(self, ruleset: Ruleset) -> RuleRefused:
        """Return the exception to raise, with the statement of `ruleset` behind the refusal."""
        return RuleRefused(ruleset.cite(*self.settings), self.code, **self.values)
