"""When a time-out is right: how long the turn has been with a seat, and whether a bot stands in."""

from __future__ import annotations

from typing import Final

from service.domain.game import Game, Status
from service.domain.silence import silent_opener
from service.record.times import parse_time
from service.verify.finding import Failed
from service.verify.moves import Kind, Move

STAND_IN: Final = 2  # right time-outs in a row from which on a bot stands in


class Turns:
    """Since when each seat has had its turn, and how many right time-outs it has in a row."""

    def __init__(self, game: Game) -> None:
        self.clock = game.setup.clock
        self.since: dict[int, str] = {}
        self.row = dict.fromkeys(range(len(game.seats)), 0)

    def follow(self, before: Game, after: Game, move: Move, at: str, *, right: bool = True) -> None:
        """
        Take note of a move, made at `at`, that led from one game to the other.

        A time-out that was not `right` brings no bot nearer, and is no move of the seat's own.
        """
        if move.kind in (Kind.EXCHANGE, Kind.PLAY) and move.seat is not None:
            self.row[move.seat] = self.row[move.seat] + right if move.timed_out else 0
        started = after.status is not before.status
        if after.status is Status.SWAPPING and started:
            self.since = dict.fromkeys(self.row, at)
        elif after.status is Status.PLAYING:
            if started and after.turn is None:
                self.since = dict.fromkeys(self.row, at)
            elif after.turn is not None and (
                started or after.turn != before.turn or move.seat == after.turn
            ):
                self.since[after.turn] = at

    def check_time_out(self, game: Game, move: Move, at: str, *, hidden: bool) -> None:
        """
        Raise Failed unless the seat's time was up, or a bot stands in for it.

        The turn is with a seat since the first event that left it there, its own
        included; before the first play of a first-come opening it is with all.
        """
        rule = game.ruleset.cite("model.time_out")
        if self.clock is None or move.seat is None:
            raise Failed(move.first, "a time-out at a table without a clock", rule)
        if self.row[move.seat] >= STAND_IN:
            return
        swapping = game.status is Status.SWAPPING
        first_come = game.opening and game.turn is None
        if not swapping and not first_come and game.turn != move.seat:
            raise Failed(move.first, f"it is not the turn of seat {move.seat}", rule)
        if not swapping and first_come and not hidden and silent_opener(game) != move.seat:
            raise Failed(move.first, "another seat opens when nobody comes", rule)
        allowed = self.clock.swap_seconds if swapping else self.clock.turn_seconds
        had = parse_time(at) - parse_time(self.since[move.seat])
        if had.total_seconds() < allowed:
            reason = f"timed out after {had.total_seconds():.6f} s of {allowed}"
            raise Failed(move.first, reason, rule)
