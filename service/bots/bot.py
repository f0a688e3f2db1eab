"""The interface of a bot, and its seeded generator."""

from __future__ import annotations

import hmac
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schemas.moves import move_json, move_of
from schemas.views import (
    VIEW_PARTS,
    LazySeats,
    LazyView,
    Parts,
    ViewFacts,
    ViewSource,
    ruleset_json,
)
from service.domain.commands import Move as Command
from service.domain.commands import Ready, Seat, Swap
from service.domain.game import Game
from service.domain.legal import legal_moves
from service.domain.view import seen_by


def bot_rng(secret: bytes, game: str, version: int) -> random.Random:
    """
    Return the generator for the turn of a bot at `version` of a game.

    Its seed depends only on the arguments, so a job that runs twice plays the same move. The
    secret prevents players from predicting the moves of a bot.
    """
    turn = f"shithead/bot\n{game}\n{version}".encode()
    seed = hmac.digest(secret, turn, "sha256")
    return random.Random(seed)  # noqa: S311 -- must be reproducible; no secret is drawn from it


View = Mapping[str, Any]
"""The view of the bot's own seat, as the API sends it to a person, with the settings."""

Move = dict[str, Any]
"""A move as a player posts it."""

Chooser = Callable[[View, Sequence[Move], random.Random], Move]
"""Returns a legal move, usually one of those listed; the list is never empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """One kind of bot; `choose` depends only on its arguments, so a retry plays the same move."""

    name: str
    strength: int  # from 1, no better than chance, to 5
    turn_intervals: int = 1  # length of its turn (`ConstantTime`): it seldom needs more
    choose: Chooser


def bot_view(game: Game, seat: Seat, facts: ViewFacts) -> View:
    """
    Return the view of a seat for its bot: that of a person after `with_settings`.

    Its parts are made when the bot reads them, from the masked game.
    """
    moves = legal_moves(game, seat)
    seen = ViewSource(game=seen_by(game, seat), viewer=seat, facts=facts, moves=moves)
    return LazyView(seen, _BOT_PARTS)


_BOT_PARTS: Final[Parts] = {
    **VIEW_PARTS,
    "ruleset": lambda seen: {**ruleset_json(seen), "settings": seen.facts.settings},
    "seats": LazySeats,
}


def with_settings(view: View, settings: Mapping[str, Any] | None) -> View:
    """Return a view with the settings of its ruleset, which are public."""
    return {**view, "ruleset": {**view["ruleset"], "settings": settings}}


MAX_SWAPS: Final = 6
"""Maximum number of swaps of a bot in the exchange; then its move is `ready`."""

_LINE_SEED: Final = b"what if"
"""In place of the bots' secret: equal lines of a hand are played on alike."""


def every_seat(bot: Bot, facts: ViewFacts) -> Callable[[Game, Seat], Command]:
    """
    Return the function by which a bot makes the moves of all seats in a hypothetical line.

    It sees the view of the seat that moves. `facts` have the id of the hand, which the moves
    depend on, and the settings of its ruleset.
    """
    swaps = Counter[Seat]()

    def choose(game: Game, seat: Seat) -> Command:
        legal = [move_json(one) for one in legal_moves(game, seat)]
        rng = bot_rng(_LINE_SEED, facts.id, game.version)
        move = move_of(bot.choose(bot_view(game, seat, facts), legal, rng), seat)
        swaps[seat] += isinstance(move, Swap)
        return Ready(seat=seat) if swaps[seat] > MAX_SWAPS else move

    return choose
