"""Schedule of a game: clocks, windows, constant-time bots, abandoned games."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from service.application.games.record import GameRecord
from service.application.ports import Doubt, no_doubt
from service.domain.commands import Seat
from service.domain.events import AbortCause, Clock
from service.domain.game import EntropyState, Game, Status
from service.domain.legal import may_be_followed_up, opens_first_come, waits_for_people
from service.runtime.config import Setting, whole_number
from service.shx.canonical import parse_time
from service.store.games import GameRepository, IdleGame
from service.store.summaries import Cursor

INTERVAL_SECONDS = 0.02
"""
Length of an interval: longer than almost all decisions of bots that do not search.

The turn of a bot that searches lasts several (`Bot.turn_intervals`). Measured in
ops/bench/results/bot-timing.md.
"""

Rest = Callable[[], None]
"""Sleeps until the end of the turn."""

BeginTurn = Callable[[int], Rest]
"""Begins a turn; its length is a number of intervals."""


CARDS_AN_INTERVAL: Final = 20
"""Cards in the largest hand of a game for which a turn is one interval longer."""

IDLE_DAYS: Final = Setting(
    name="idle_days",
    default=30,
    read=whole_number(0, 36_500),
    section="Retention",
    unit="days; 0: never",
    effect="Idle time after which a game that waits for a person is closed",
)


def turn_intervals(game: Game, usual: int = 1) -> int:
    """
    Return the length of a bot's turn in intervals: `usual`, and more in a game with large hands.

    A decision takes longer with more legal moves, of which a large hand can have a thousand. The
    sizes of hands are public, their cards and so their moves are not.
    """
    return usual + max(len(seat.hand) for seat in game.seats) // CARDS_AN_INTERVAL


class ConstantTime:
    """
    Pads the time of a bot's move, so that it reveals nothing about the bot's cards.

    A decision among many legal moves takes longer than one among few. Each move is written at
    the end of a turn of fixed length; a move that takes longer, after a multiple of that length.
    """

    def __init__(
        self,
        seconds: float = INTERVAL_SECONDS,
        *,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep

    def begin(self, intervals: int = 1) -> Rest:
        """Begin a turn of so many intervals; return a function that sleeps until its end."""
        begun, seconds = self._clock(), intervals * self._seconds

        def rest() -> None:
            past = self._clock() - begun
            turns = max(1, math.ceil(past / seconds))
            self._sleep(max(0.0, turns * seconds - past))

        return rest


def at_once() -> None:
    """Return at once: the `Rest` of a turn of length 0."""


def no_padding(intervals: int = 1) -> Rest:
    """Begin a turn of length 0, for tables with bots only and for tests."""
    del intervals
    return at_once


ENTROPY_SECONDS = 120
"""Time limit for a seat's entropy at a table without a clock (SHX/1, section 3)."""

STAND_IN_AFTER = 2
"""Time-outs in a row after which a bot stands in (rules.md, Time-outs)."""


class WakeKind(StrEnum):
    """The action at a wake-up."""

    BOT = "bot"  # a bot's turn, or a stand-in's
    TIME_OUT = "time_out"  # a person's time is up
    ENTROPY = "entropy"  # a seat's entropy is overdue


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """The next scheduled action of a game, not before `at`."""

    kind: WakeKind
    at: datetime


GIVEN_BACK: Final = timedelta(seconds=60)
"""Most time that a clock has after an outage; the rest of a longer turn has passed."""


def end_of_wait(since: str, wait: timedelta, able_since: datetime | None) -> datetime:
    """
    Return when a wait from an event at `since` ends.

    After an outage, which ended at `able_since`, it lasts as long again, at most GIVEN_BACK: no
    move could be made during the outage. A wait that began later is not changed by this.
    """
    end = parse_time(since) + wait
    return end if able_since is None else max(end, able_since + min(wait, GIVEN_BACK))


def next_wake(
    record: GameRecord,
    *,
    window_seconds: int,
    back: frozenset[Seat],
    able_since: datetime | None = None,
) -> Wake | None:
    """
    Return the next scheduled action; None if the game waits for people only.

    `back` are the seats whose players came back from a stand-in bot, `able_since` is the end of
    the last outage. The result depends on public data only, because it is stored in a database
    row and decides when jobs run: which bot may open, or may follow up its play, is determined at
    the wake-up.
    """
    game = record.game
    match game.status:
        case Status.SHUFFLING:
            return entropy_wake(record, able_since=able_since)
        case Status.SWAPPING:
            waiting = [s for s, seat in enumerate(game.seats) if not seat.ready]
            if any(played_by_bot(game, s, back=back) for s in waiting):
                return Wake(kind=WakeKind.BOT, at=parse_time(record.at))
            return clock_wake(record, able_since=able_since)
        case Status.PLAYING:
            return _turn_wake(record, window_seconds, back, able_since)
        case Status.ENDED | Status.ABORTED:
            return None


def played_by_bot(game: Game, seat: Seat, *, back: frozenset[Seat]) -> bool:
    """Return whether a bot plays for the seat: its own, or a stand-in."""
    return game.setup.seats[seat].kind == "bot" or stands_in(game, seat, back=back)


def stands_in(game: Game, seat: Seat, *, back: frozenset[Seat]) -> bool:
    """Return whether a bot stands in for a person: after two time-outs in a row, or a claim."""
    if game.setup.seats[seat].kind != "human" or seat in back:
        return False
    return game.seats[seat].time_outs >= STAND_IN_AFTER or seat in game.absent


def seats_left(game: Game) -> list[Seat]:
    """
    Return the seats whose people had left a hand by its end.

    A bot stood in for them, or the hand was aborted because it waited for them in vain. Who gives
    up has not left: that is a loss like any other; nor has who agreed to the end, as all did. A
    return without a move is in no event: readers subtract it.
    """
    if game.result is not None and game.result.cause is AbortCause.AGREED:
        return []
    awaited = None if game.result is None else game.result.awaited
    seats = range(len(game.seats))
    return [s for s in seats if s == awaited or stands_in(game, s, back=frozenset())]


def window_until(
    record: GameRecord, *, window_seconds: int, able_since: datetime | None = None
) -> datetime | None:
    """
    Return until when bots wait for people, computed from public data; None if they do not.

    A play that drew cards may be followed up, and a first-come opening is open to people
    first. At a table of bots only there is no window.
    """
    game = record.game
    if window_seconds == 0 or all(seat.kind == "bot" for seat in game.setup.seats):
        return None
    first_come = game.first_turn and game.turn is None and opens_first_come(game)
    if game.status is not Status.PLAYING or not (first_come or may_be_followed_up(game)):
        return None
    since = record.turn_since if first_come else record.at
    return end_of_wait(since or record.at, timedelta(seconds=window_seconds), able_since)


def _turn_wake(
    record: GameRecord, window_seconds: int, back: frozenset[Seat], able_since: datetime | None
) -> Wake | None:
    game, now = record.game, parse_time(record.at)
    wait = window_until(record, window_seconds=window_seconds, able_since=able_since)
    clock = clock_wake(record, able_since=able_since)
    # At a first-come opening every bot tries, whatever its cards: the result is stored in a row.
    acting = game.in_play() if game.turn is None else (game.turn,)
    if not any(played_by_bot(game, s, back=back) for s in acting):
        return clock
    tries = Wake(kind=WakeKind.BOT, at=wait or now)
    if game.turn is None and clock is not None and clock.at < tries.at:
        return clock
    return tries


def clock_wake(record: GameRecord, *, able_since: datetime | None) -> Wake | None:
    """
    Return the time-out of the exchange or the turn; None at a table without a clock.

    A turn times out once its seat has used its reserve as well.
    """
    clock, since = record.game.setup.clock, record.turn_since
    if clock is None:
        return None
    wait = timedelta(seconds=clock.turn_seconds)
    if record.game.status is Status.SWAPPING:
        since, wait = record.dealt_at, timedelta(seconds=clock.swap_seconds)
    elif record.game.turn is not None:
        wait += reserve_left(record, clock, record.game.turn)
    if since is None:
        return None
    return Wake(kind=WakeKind.TIME_OUT, at=end_of_wait(since, wait, able_since))


def reserve_left(record: GameRecord, clock: Clock, seat: Seat) -> timedelta:
    """Return what a seat had left of its reserve when the present turn began."""
    used = timedelta(microseconds=record.reserve_used.get(seat, 0))
    return timedelta(seconds=clock.reserve_seconds) - used


def reserve_from(record: GameRecord, *, able_since: datetime | None) -> datetime | None:
    """Return when the seat on turn begins to use its reserve; None if it has none left."""
    clock, seat, since = record.game.setup.clock, record.game.turn, record.turn_since
    if clock is None or seat is None or since is None or not reserve_left(record, clock, seat):
        return None
    return end_of_wait(since, timedelta(seconds=clock.turn_seconds), able_since)


def entropy_wake(record: GameRecord, *, able_since: datetime | None) -> Wake | None:
    """Return the end of the time for entropy; None if no seat owes any."""
    missing = (EntropyState.WAITING, EntropyState.COMMITTED)
    if not any(seat.entropy in missing for seat in record.game.seats):
        return None
    wait = entropy_time(record.game.setup.clock)
    at = end_of_wait(record.created_at, wait, able_since)
    return Wake(kind=WakeKind.ENTROPY, at=at)


def entropy_time(clock: Clock | None) -> timedelta:
    """Return the time limit for a seat's entropy."""
    return timedelta(seconds=clock.swap_seconds if clock else ENTROPY_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleGames:
    """
    Finds abandoned games: those that have waited for people longer than `after` (None: never).

    No game is closed while the clock is in doubt: a clock that is a month ahead makes all games
    look abandoned. The rows only select candidates; the game's own log decides.
    """

    directory: GameRepository
    now: Callable[[], datetime]
    after: timedelta | None
    clock_doubt: Doubt = no_doubt

    def found(self, *, limit: int, beyond: IdleGame | None = None) -> Sequence[IdleGame]:
        """Return candidates to close, oldest first, beginning after `beyond`; none if in doubt."""
        if self.after is None or self.clock_doubt() is not None:
            return ()
        now = self.now()
        return self.directory.idle_games(
            now=now,
            untouched_since=now - self.after,
            limit=limit,
            after=None if beyond is None else Cursor(at=beyond.created_at, id=beyond.id),
        )

    def is_idle(self, record: GameRecord, *, able_since: datetime | None) -> bool:
        """
        Return whether a game has waited for people longer than allowed.

        It has waited since its last event: without a clock only people delay a game, because bots
        move at once.
        """
        if self.after is None or not waits_for_people(record.game):
            return False
        if end_of_wait(record.at, self.after, able_since) > self.now():
            return False
        return self.clock_doubt() is None  # checked last: it takes a query
