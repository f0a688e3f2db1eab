"""Commits of moves: events, summary row, outbox rows, and the table's event after a hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from service.application.games.entry import GameEntry
from service.application.games.record import GAMES, GameRecord
from service.application.games.schedule import (
    STAND_IN_AFTER,
    Wake,
    next_wake,
    seats_left,
    stands_in,
)
from service.application.streams import Folded
from service.application.tables.record import TABLES, TableRecord, seat_summaries, table_summary
from service.domain.commands import Seat
from service.domain.table import hand_finished
from service.shx.canonical import format_time
from service.store.disputes import STATISTICS_TOPIC
from service.store.events import (
    Commit,
    OutboxRow,
    StreamAppend,
)
from service.store.summaries import GameSummary, NewGameSummary

GAME_TOPIC = "game"
"""Topic of outbox rows for the relay, which notifies live readers of a game, table or dispute."""

LOG_TOPIC = "log"
"""Topic of outbox rows for the sequencer of the public log."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """The events of one move of a game, encoded but not yet committed."""

    before: GameEntry
    record: GameRecord
    lines: tuple[bytes, ...]
    refused: int | None = None  # number of recorded attempts that the seal names
    table: TableRecord | None = None  # the game's table, if the game is over

    @cached_property
    def after(self) -> GameEntry:
        """Return the game after the move."""
        back = _still_back(self.before, self.record)
        return replace(self.before, record=self.record, returned_seats=back)

    @cached_property
    def wake(self) -> Wake | None:
        """Return the next scheduled action after the move, None if the game waits for people."""
        after = self.after
        return next_wake(
            self.record,
            window_seconds=after.window_seconds,
            back=after.returned_seats,
            able_since=after.able_since,
        )


def commit_of(change: Change) -> Commit:
    """
    Return the commit of a change; a finished hand is added to its table in the same commit.

    The store raises StreamConflict if the game or its table has moved on, or if another
    attempt was refused since the seal was made.
    """
    record, after = change.record, change.after
    appends = [_game_append(after, change)]
    if change.table is not None:
        appends.append(_table_append(change.table, record))
    return Commit(
        appends=tuple(appends),
        forget_secret=record.identity if record.sealed else None,
        refused=change.refused,
        outbox=outbox_rows(record, since=change.before.version),
    )


def _still_back(before: GameEntry, after: GameRecord) -> frozenset[Seat]:
    """Return the seats taken back from a bot without a move, a time-out or a claim since."""
    old, new = before.record.game, after.game
    return frozenset(
        seat
        for seat in before.returned_seats
        if old.seats[seat].time_outs == new.seats[seat].time_outs
        and old.replaced.issuperset(one for one in new.replaced if one[0] == seat)
        and stands_in(new, seat, back=frozenset())
    )


def _back_ends(change: Change) -> bool:
    """
    Return whether a seat with a stand-in bot moved, timed out again, or was claimed to be away.

    Only then is the column `back` written. A player's return changes no version, so this process
    may not have read the newest value, and writing it would undo the return of another seat.
    """
    before, after = change.before.record.game, change.record.game
    if before.replaced != after.replaced:
        return True
    both = zip(before.seats, after.seats, strict=True)
    return any(STAND_IN_AFTER <= was.time_outs != now.time_outs for was, now in both)


def outbox_rows(record: GameRecord, *, since: int) -> tuple[OutboxRow, ...]:
    """Return the outbox rows for the commit of a game's events with seq ≥ `since`."""
    rows = [relayed(record)]
    dealt = since < 1 or (record.shuffle is not None and record.last_action < 0)
    if record.sealed or dealt:
        rows.append(OutboxRow(stream=record.identity, version=record.version, topic=LOG_TOPIC))
    if record.sealed:
        rows.append(
            OutboxRow(stream=record.identity, version=record.version, topic=STATISTICS_TOPIC)
        )
    return tuple(rows)


def relayed(record: Folded) -> OutboxRow:
    """Return the outbox row by which the relay repeats the notification of a stream's version."""
    return OutboxRow(stream=record.identity, version=record.version, topic=GAME_TOPIC)


def _game_append(after: GameEntry, change: Change) -> StreamAppend:
    record = after.record
    back = after.returned_seats if _back_ends(change) else None
    summary = game_summary(record, change.wake, back=back)
    return GAMES.append(record, change.lines, expected=change.before.version, summary=summary)


def _table_append(table: TableRecord, record: GameRecord) -> StreamAppend:
    moved = record.moved if table.table.conditions.deal == "always" else None
    finished = hand_finished(str(record.identity), record.game, moved=moved)
    done, lines = TABLES.write(table, [finished], at=record.at)
    return TABLES.append(done, lines, expected=table.version, summary=table_summary(done))


def game_summary(
    record: GameRecord, wake: Wake | None, *, back: frozenset[Seat] | None = None
) -> GameSummary:
    """Return the columns of a game's row that a move may change; `back` only if it changed."""
    game, result = record.game, record.game.result
    reason = None if result is None else result.reason or result.cause
    summary = GameSummary(
        status=game.status.value,
        turn=game.turn,
        dealer=game.dealer,
        ended_at=record.at if record.sealed else None,
        reason=None if reason is None else reason.value,
        shithead=result.shithead if result else None,
        places=list(result.places) if result else None,
        left_by=seats_left(game) if result else None,
        wake_kind=wake.kind.value if wake else None,
        wake_at=format_time(wake.at) if wake else None,
    )
    if back is not None:
        summary["back"] = sorted(back)
    return summary


def new_game_summary(record: GameRecord, wake: Wake | None, table: TableRecord) -> NewGameSummary:
    """Return the whole row of a new game, with its seats."""
    return NewGameSummary(
        **game_summary(record, wake),
        table_id=str(table.identity),
        hand=record.game.setup.hand,
        ruleset_id=table.table.conditions.ruleset["id"],
        created_at=record.created_at,
        public=table.table.conditions.public,
        seats=seat_summaries(table),
    )
