"""Refused commands: the reason as a value, and the exceptions that `decide` raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from service.domain.ruleset import Ruleset


class CommandRefused(Exception):
    """The command is refused and the game unchanged."""

    code = "refused"


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
        hint = f"; its code is {nearest}" if nearest else ""
        super().__init__(f"there is no card {card} in this game{hint}")
        self.card = card


class RuleRefused(CommandRefused):
    """A rule forbids the command; `rule` is the id of its statement."""

    code = "rule-refused"

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(detail)
        self.rule = rule
        self.detail = detail


class Refusal(Struct, frozen=True):
    """
    Why the rules forbid something: the sentence for the player, and the settings behind it.

    Predicates such as `may_pick_up` and `decide` get it from the same function, so they cannot
    disagree.
    """

    detail: str
    settings: tuple[str, ...]  # dotted paths; the first that has a statement is cited

    def error(self, ruleset: Ruleset) -> RuleRefused:
        """Return the exception to raise, with the statement of `ruleset` behind the refusal."""
        return RuleRefused(ruleset.cite(*self.settings), self.detail)
