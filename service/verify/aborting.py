"""When a game may be aborted, and which seat may be named as the reason."""

from __future__ import annotations

from typing import Final, assert_never

from service.domain.commands import Seat
from service.domain.events import AbortCause, Entropy, GameAborted
from service.domain.game import EntropyState, Game, Status
from service.record.times import parse_time
from service.verify.finding import Failed
from service.verify.log import Log

ENTROPY_SECONDS: Final = 120
"""How long seats have for their entropy at a table without a clock (protocol.md, section 3)."""


def check_abort(game: Game, abort: GameAborted, seq: int) -> None:
    """
    Raise Failed unless `game` may be aborted for this cause, with this seat named.

    An operator who dislikes a deck can always abort; it cannot say that a player
    was the reason unless the log shows that the player was.
    """
    match abort.cause:
        case AbortCause.NO_ENTROPY:
            _check_silence(game, abort.seat, seq)
        case AbortCause.LEFT:
            if abort.seat is None:
                raise Failed(seq, "aborted because somebody left, and nobody is named")
            if game.setup.seats[abort.seat].kind == "bot":
                raise Failed(seq, f"seat {abort.seat} is a bot, which does not leave")
            if game.status is not Status.SHUFFLING:
                rule = game.ruleset.cite("model.forfeit")
                raise Failed(seq, "who leaves after the deal forfeits the hand", rule)
        case AbortCause.IDLE | AbortCause.OPERATOR:
            if abort.seat is not None and abort.seat not in _awaited(game):
                raise Failed(seq, f"the game was not waiting for seat {abort.seat}")
        case _:
            assert_never(abort.cause)


def hasty(log: Log) -> str | None:
    """
    Return in words that a seat was given less time for its entropy than it is promised.

    The protocol names no check that an early end of a set-up would fail, and
    logs of other programs have it; but whoever reads should know.
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
    Return the seats that everybody can see the game waits for.

    At a first-come opening that is nobody: who could open is hidden. A seat that
    has committed waits itself while another has not: reveals come after.
    """
    every = enumerate(game.seats)
    match game.status:
        case Status.SHUFFLING:
            modes = [seat.entropy for seat in game.setup.seats]
            open_seats = [seat for seat, state in every if state.entropy is EntropyState.WAITING]
            if any(modes[seat] is Entropy.COMMIT for seat in open_seats):
                return tuple(open_seats)
            held = (EntropyState.WAITING, EntropyState.COMMITTED)
            return tuple(s for s, state in enumerate(game.seats) if state.entropy in held)
        case Status.SWAPPING:
            return tuple(seat for seat, state in every if not state.ready)
        case Status.PLAYING:
            return () if game.turn is None else (game.turn,)
        case Status.ENDED | Status.ABORTED:
            return ()
        case _:
            assert_never(game.status)
