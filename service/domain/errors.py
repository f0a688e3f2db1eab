"""Why a command is not carried out; one exception, one reason, one stable code."""

from __future__ import annotations


class CommandRefused(Exception):
    """The command is not carried out; nothing has changed."""

    code = "refused"


class GameOver(CommandRefused):
    """The game has ended or was aborted."""

    code = "game-over"


class NotYourTurn(CommandRefused):
    """The seat may not act now."""

    code = "not-your-turn"


class UnknownCard(CommandRefused):
    """A card is named that is not in this game's deck."""

    code = "unknown-card"

    def __init__(self, card: str) -> None:
        super().__init__(f"there is no card {card} in this game")
        self.card = card


class RuleRefused(CommandRefused):
    """A rule says no; `rule` is its statement."""

    code = "rule-refused"

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(detail)
        self.rule = rule
        self.detail = detail
