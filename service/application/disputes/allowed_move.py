"""Finds the rule statements that allow a move, as far as its cards are known."""

from __future__ import annotations

from collections.abc import Sequence

from service.application.disputes.accused_move import AccusedMove
from service.domain.commands import (
    Forfeit,
    Lay,
    Move,
    Pass,
    PickUp,
    Play,
    PlayBlind,
    Ready,
    Swap,
    TryStock,
)
from service.domain.events import BlindFailed, TurnTimedOut, Zone
from service.domain.evolve import evolve
from service.domain.game import Game
from service.domain.ruleset import Obligation, OpeningPlay
from service.domain.ruleset import TryStock as Trying
from service.replay.history import RecordedEvent, decode_line, move_behind
from service.rulesets.citations import Rules, cited, rules_allowing, rules_behind

TIME_OUT = "model.time_out"


def rules_of_move(
    before: Game | None, lines: Sequence[bytes], move: AccusedMove, *, sealed: bool
) -> Rules | None:
    """
    Return the statements that allow a move, the deciding one first.

    `before` is the game before the move, None before the first event, which needs no
    statement. Before the seal returns None for a step of the server, and if the move depends
    on hidden cards or the ruleset leaves the seat a choice.
    """
    if before is None:
        return ()
    action = decode_line(lines[move.first])
    timed_out = isinstance(action.event, TurnTimedOut)
    if timed_out:
        before = evolve(before, action.event)
        action = decode_line(lines[min(move.first + 1, move.last)])
    made = move_behind(action.event)
    if made is None:
        return rules_behind(before, action.event) if sealed else None
    if not sealed and (timed_out or not _is_public(before, made, action)):
        return None
    rules = rules_allowing(before, made)
    if timed_out:
        rules = (*cited(before.ruleset, (TIME_OUT,)), *rules)
    return tuple(dict.fromkeys(rules))


def _is_public(game: Game, move: Move, action: RecordedEvent) -> bool:
    """Return whether public data and the ruleset decide that a move is legal."""
    match move:
        case Play():
            opening = game.first_turn and game.ruleset.opening.play is not OpeningPlay.ANY
            return game.turn == move.seat and not opening
        case PlayBlind():
            event = action.event
            return not isinstance(event, BlindFailed) or event.opening is not None
        case PickUp():
            free = game.ruleset.turn.obligation is Obligation.MAY_PICK_UP
            return _is_open(game, move) and not free
        case TryStock():
            free = game.ruleset.turn.try_stock is Trying.ALWAYS
            return _is_open(game, move) and not free
        case Pass():
            return _is_open(game, move)
        case Swap() | Lay() | Ready() | Forfeit():
            return True


def _is_open(game: Game, move: Move) -> bool:
    """Return whether all cards that a seat can play are public."""
    return game.seats[move.seat].zone is Zone.UP
