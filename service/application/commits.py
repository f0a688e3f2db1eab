"""What one change of a game writes: the game's events, and at its end the table's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from service.application.entries import Entries, GameEntry
from service.application.game_record import GameRecord
from service.application.summaries import game_summary, table_summary
from service.application.table_record import write_table
from service.application.wake import STAND_IN_AFTER, next_wake
from service.domain.commands import Seat
from service.domain.table import HandFinished
from service.event_store.disputes import STATISTICS_TOPIC
from service.event_store.protocol import (
    Commit,
    EventStore,
    OutboxRow,
    StoredAnswer,
    StoreError,
    StreamAppend,
    StreamKind,
)

GAME_TOPIC = "game"
"""Outbox rows for the relay: wake workers, tell live readers."""

LOG_TOPIC = "log"
"""Outbox rows for the sequencer of the public log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The events of one move of a game, written but not yet committed."""

    before: GameEntry
    after: GameRecord
    lines: tuple[bytes, ...]


def commit_change(
    store: EventStore, entries: Entries, change: Change, answer: StoredAnswer | None = None
) -> GameEntry:
    """
    Commit a change and return the game as it is then.

    A hand that is over is entered at its table in the same commit. Raises
    StreamConflict where the game, or its table, has moved on: read and decide again.
    """
    entry, record = change.before, change.after
    game = record.identity
    after = replace(entry, record=record, back=_still_back(entry, record))
    appends = [_game_append(after, change)]
    if record.sealed:
        appends.append(_table_append(entries, after))
    store.commit(
        Commit(
            appends=tuple(appends),
            answer=answer,
            forget_secret=game if record.sealed else None,
            outbox=outbox_rows(record, since=entry.record.version),
        )
    )
    entries.keep(after)
    return after


def _still_back(before: GameEntry, after: GameRecord) -> frozenset[Seat]:
    """A seat that moves needs no mark that it came back; one that is silent again loses it."""
    seats = before.record.game.seats
    return frozenset(
        seat
        for seat in before.back
        if 0 < seats[seat].time_outs == after.game.seats[seat].time_outs
    )


def _back_ends(change: Change) -> bool:
    """
    Return whether a seat for which a bot could stand in moved, or was silent again.

    Only then may the row be written: coming back changes no version, so this
    process may know the game without it, and would take it from another seat.
    """
    both = zip(change.before.record.game.seats, change.after.game.seats, strict=True)
    return any(STAND_IN_AFTER <= was.time_outs != now.time_outs for was, now in both)


def outbox_rows(record: GameRecord, *, since: int) -> tuple[OutboxRow, ...]:
    """Return what is to be told of a game's events from `since` on."""
    rows = [OutboxRow(stream=record.identity, version=record.version, topic=GAME_TOPIC)]
    dealt = since < 1 or (record.shuffle is not None and record.last_action < 0)
    if record.sealed or dealt:
        rows.append(OutboxRow(stream=record.identity, version=record.version, topic=LOG_TOPIC))
    if record.sealed:
        rows.append(
            OutboxRow(stream=record.identity, version=record.version, topic=STATISTICS_TOPIC)
        )
    return tuple(rows)


def _game_append(after: GameEntry, change: Change) -> StreamAppend:
    record = after.record
    wake = next_wake(record, window_seconds=after.window_seconds, back=after.back)
    return StreamAppend(
        stream=record.identity,
        kind=StreamKind.GAME,
        expected=change.before.record.version,
        events=change.lines,
        head=record.head,
        summary=game_summary(record, wake, back=after.back if _back_ends(change) else None),
    )


def _table_append(entries: Entries, after: GameEntry) -> StreamAppend:
    table = entries.table(after.table)
    if table is None:
        raise StoreError(f"the table of game {after.record.identity} is not there")
    finished = hand_finished(after.record)
    done, lines = write_table(table, [finished], at=after.record.at)
    return StreamAppend(
        stream=after.table,
        kind=StreamKind.TABLE,
        expected=table.version,
        events=lines,
        head=done.head,
        summary=table_summary(done),
    )


def hand_finished(record: GameRecord) -> HandFinished:
    """Return what a table keeps of a hand that is over."""
    result = record.game.result
    if result is None:
        raise ValueError("the hand is not over")
    return HandFinished(
        game=str(record.identity),
        dealer=record.game.dealer,
        reason=result.reason,
        cause=result.cause,
        shithead=result.shithead,
        places=result.places,
    )


