"""What has to happen to a game without anybody asking, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from service.application.game_record import GameRecord
from service.domain.commands import Seat
from service.domain.events import Clock
from service.domain.game import EntropyState, Game, Status
from service.domain.legal import may_be_followed_up, opens_first_come
from service.record.times import parse_time

ENTROPY_SECONDS = 120
"""How long seats may take for their entropy at a table without a clock (protocol.md, section 3)."""

STAND_IN_AFTER = 2
"""Time-outs in a row after which a bot stands in (rules.md, Time-outs)."""


class WakeKind(StrEnum):
    """Who has to act."""

    BOT = "bot"  # a bot's turn, or one of a bot that stands in
    TIME_OUT = "time_out"  # a person's time is up
    ENTROPY = "entropy"  # a seat has not revealed in time


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """The next thing that time brings: not before `at`."""

    kind: WakeKind
    at: datetime


def next_wake(record: GameRecord, *, window_seconds: int, back: frozenset[Seat]) -> Wake | None:
    """
    Return what happens next without anybody asking; None where only people can go on.

    `back` are the seats that returned from a bot that stood in. It follows from public
    facts alone, for it stands in a row of the database and decides when jobs run: which
    bot may open, or go on with a follow-up, is found out when its time has come.
    """
    game = record.game
    match game.status:
        case Status.SHUFFLING:
            return _entropy_wake(record)
        case Status.SWAPPING:
            waiting = [s for s, seat in enumerate(game.seats) if not seat.ready]
            if any(played_by_bot(game, s, back=back) for s in waiting):
                return Wake(kind=WakeKind.BOT, at=parse_time(record.at))
            return _clock_wake(game, record.dealt_at, exchange=True)
        case Status.PLAYING:
            return _turn_wake(record, window_seconds, back)
        case Status.ENDED | Status.ABORTED:
            return None


def played_by_bot(game: Game, seat: Seat, *, back: frozenset[Seat]) -> bool:
    """Return whether a bot plays for the seat, its own or one that stands in."""
    return game.setup.seats[seat].kind == "bot" or stands_in(game, seat, back=back)


def stands_in(game: Game, seat: Seat, *, back: frozenset[Seat]) -> bool:
    """Return whether a bot stands in for a person who was silent twice in a row."""
    person = game.setup.seats[seat].kind == "human"
    return person and game.seats[seat].time_outs >= STAND_IN_AFTER and seat not in back


def window_until(record: GameRecord, *, window_seconds: int) -> datetime | None:
    """
    Return until when bots wait, as everybody can work out; None where they do not.

    A play that drew cards may be continued by a follow-up, and a first-come
    opening is open to people first. Where all seats are bots nobody waits.
    """
    game = record.game
    if window_seconds == 0 or all(seat.kind == "bot" for seat in game.setup.seats):
        return None
    first_come = game.opening and game.turn is None and opens_first_come(game)
    if game.status is not Status.PLAYING or not (first_come or may_be_followed_up(game)):
        return None
    since = record.turn_since if first_come else record.at
    return parse_time(since or record.at) + timedelta(seconds=window_seconds)


def _turn_wake(record: GameRecord, window_seconds: int, back: frozenset[Seat]) -> Wake | None:
    game, now = record.game, parse_time(record.at)
    wait = window_until(record, window_seconds=window_seconds)
    clock = clock_wake(record)
    # At a first-come opening every bot tries, whatever it holds: this is written to a row.
    acting = game.in_play() if game.turn is None else (game.turn,)
    if not any(played_by_bot(game, s, back=back) for s in acting):
        return clock
    tries = Wake(kind=WakeKind.BOT, at=wait or now)
    if game.turn is None and clock is not None and clock.at < tries.at:
        return clock
    return tries


def clock_wake(record: GameRecord) -> Wake | None:
    """Return when the time of whoever may act in play is up; None at a table without a clock."""
    return _clock_wake(record.game, record.turn_since, exchange=False)


def _clock_wake(game: Game, since: str | None, *, exchange: bool) -> Wake | None:
    clock = game.setup.clock
    if clock is None or since is None:
        return None
    seconds = clock.swap_seconds if exchange else clock.turn_seconds
    return Wake(kind=WakeKind.TIME_OUT, at=parse_time(since) + timedelta(seconds=seconds))


def _entropy_wake(record: GameRecord) -> Wake | None:
    missing = (EntropyState.WAITING, EntropyState.COMMITTED)
    if not any(seat.entropy in missing for seat in record.game.seats):
        return None
    since = parse_time(record.created_at)
    return Wake(kind=WakeKind.ENTROPY, at=since + entropy_time(record.game.setup.clock))


def entropy_time(clock: Clock | None) -> timedelta:
    """Return how long seats have for their entropy."""
    return timedelta(seconds=clock.swap_seconds if clock else ENTROPY_SECONDS)
