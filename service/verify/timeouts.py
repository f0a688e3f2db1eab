"""Checks whether time-outs and aborts were due."""

from __future__ import annotations

from typing import Final, assert_never

from service.domain.commands import Seat
from service.domain.events import AbortCause, Entropy, GameAborted
from service.domain.game import PLAYING, SWAPPING, EntropyState, Game, Status
from service.domain.legal import default_opener
from service.replay.history import MoveKind, RecordedMove
from service.shx.canonical import parse_time
from service.verify.finding import Failed
from service.verify.log import Log

_ACTIONS: Final = (MoveKind.PLAY, MoveKind.EXCHANGE)

STAND_IN: Final = 2  # time-outs in a row from which on a stand-in bot plays


class TurnTimes:
    """The start of each seat's present turn, and its number of valid time-outs in a row."""

    def __init__(self, game: Game) -> None:
        self.clock = game.setup.clock
        self.since: dict[int, str] = {}
        self.time_outs_in_row = dict.fromkeys(range(len(game.seats)), 0)

    def follow(
        self, before: Game, after: Game, move: RecordedMove, at: str, *, valid: bool = True
    ) -> None:
        """
        Record a move at time `at` that led from the game `before` to the game `after`.

        An invalid time-out neither counts towards a stand-in bot, nor is it a move of the seat.
        """
        if move.kind in _ACTIONS and move.seat is not None:
            self.time_outs_in_row[move.seat] = (
                self.time_outs_in_row[move.seat] + valid if move.timed_out else 0
            )
        started = after.status is not before.status
        if after.status is SWAPPING and started:
            self.since = dict.fromkeys(self.time_outs_in_row, at)
        elif after.status is PLAYING:
            if started and after.turn is None:
                self.since = dict.fromkeys(self.time_outs_in_row, at)
            elif after.turn is not None and (
                started or after.turn != before.turn or move.seat == after.turn
            ):
                self.since[after.turn] = at

    def check_time_out(self, game: Game, move: RecordedMove, at: str, *, hidden: bool) -> None:
        """
        Raise Failed unless the seat's time was up, or a stand-in bot plays for it.

        The turn of a seat begins with the event that gives it the turn, which may be its own;
        before the first play of a first-come opening all seats have the turn.
        """
        rule = game.ruleset.cite("model.time_out")
        if self.clock is None or move.seat is None:
            raise Failed(move.first, "a time-out at a table without a clock", rule)
        if self.time_outs_in_row[move.seat] >= STAND_IN:
            return
        swapping = game.status is Status.SWAPPING
        first_come = game.first_turn and game.turn is None
        if not swapping and not first_come and game.turn != move.seat:
            raise Failed(move.first, f"it is not the turn of seat {move.seat}", rule)
        if not swapping and first_come and not hidden and default_opener(game) != move.seat:
            raise Failed(move.first, "another seat opens after the opening time-out", rule)
        allowed = self.clock.swap_seconds if swapping else self.clock.turn_seconds
        had = parse_time(at) - parse_time(self.since[move.seat])
        if had.total_seconds() < allowed:
            reason = f"timed out after {had.total_seconds():.6f} s of {allowed}"
            raise Failed(move.first, reason, rule)


ENTROPY_SECONDS: Final = 120
"""How long seats have for their entropy at a table without a clock (SHX/1, section 3)."""


def check_abort(game: Game, abort: GameAborted, seq: int) -> None:
    """
    Raise Failed unless `game` may be aborted for this cause, with this seat named.

    The operator can always abort, for example because of a bad deck, but can name a player as
    the reason only if the log shows that the game waited for this player.
    """
    match abort.cause:
        case AbortCause.NO_ENTROPY:
            _check_silence(game, abort.seat, seq)
        case AbortCause.LEFT:
            if abort.seat is None:
                raise Failed(seq, "aborted because a player left, and no seat is named")
            if game.setup.seats[abort.seat].kind == "bot":
                raise Failed(seq, f"seat {abort.seat} is a bot, which does not leave")
            if game.status is not Status.SHUFFLING:
                rule = game.ruleset.cite("model.forfeit")
                raise Failed(seq, "a player who leaves after the deal forfeits the hand", rule)
        case AbortCause.IDLE | AbortCause.OPERATOR:
            if abort.seat is not None and abort.seat not in _awaited(game):
                raise Failed(seq, f"the game was not waiting for seat {abort.seat}")
        case _:
            assert_never(abort.cause)


def short_entropy_time(log: Log) -> str | None:
    """
    Return a note if a seat had less time for its entropy than the protocol promises, else None.

    This fails no check, because logs written by other programs may have it. The report mentions
    it for readers to judge.
    """
    seal = log.seal
    if seal is None or seal["data"].get("cause") != AbortCause.NO_ENTROPY:
        return None
    clock = log.created["clock"]
    allowed = clock["swap_seconds"] if clock else ENTROPY_SECONDS
    had = (parse_time(seal["at"]) - parse_time(log.events[0]["at"])).total_seconds()
    return f"aborted after {had:.6f} s of {allowed}" if had < allowed else None


def _check_silence(game: Game, seat: Seat | None, seq: int) -> None:
    if game.status is not Status.SHUFFLING or seat is None or seat not in _awaited(game):
        raise Failed(seq, "aborted for entropy that was not outstanding")


def _awaited(game: Game) -> tuple[Seat, ...]:
    """
    Return the seats for which the game waits, as far as the log shows it.

    At a first-come opening there are none, because the log does not show which seats could open.
    A seat that has committed is listed only after all seats have: until then it cannot reveal.
    """
    every = enumerate(game.seats)
    match game.status:
        case Status.SHUFFLING:
            modes = [seat.entropy for seat in game.setup.seats]
            open_seats = [seat for seat, state in every if state.entropy is EntropyState.WAITING]
            if any(modes[seat] is Entropy.COMMIT for seat in open_seats):
                return tuple(open_seats)
            missing = (EntropyState.WAITING, EntropyState.COMMITTED)
            return tuple(s for s, state in enumerate(game.seats) if state.entropy in missing)
        case Status.SWAPPING:
            return tuple(seat for seat, state in every if not state.ready)
        case Status.PLAYING:
            return () if game.turn is None else (game.turn,)
        case Status.ENDED | Status.ABORTED:
            return ()
        case _:
            assert_never(game.status)
