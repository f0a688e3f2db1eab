"""What a table commits: its own lines, and a hand that has just been dealt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from service.application.commits import outbox_rows
from service.application.entries import GameEntry
from service.application.game_record import GameRecord
from service.application.summaries import new_game_summary, table_summary
from service.application.table_record import TableRecord
from service.application.wake import next_wake
from service.domain.table import HandDealt
from service.event_store.protocol import Commit, SealedSecret, StreamAppend, StreamKind
from service.key_file import Keys


class DealtHand:
    """A hand that is part of the commit of its table."""

    def __init__(
        self,
        record: GameRecord,
        lines: tuple[bytes, ...],
        table: TableRecord,
        *,
        invite_hash: bytes | None,
    ) -> None:
        self.record = record
        self.lines = lines
        conditions = table.table.conditions
        self.events = [
            HandDealt(game=str(record.identity), hand=record.game.setup.hand),
        ]
        self.entry = GameEntry(
            record=record,
            table=table.identity,
            host=UUID(table.table.host),
            public=conditions.public,
            invite_hash=invite_hash,
            window_seconds=conditions.window_seconds,
            players=tuple(UUID(seat.player) if seat.player else None for seat in table.table.seats),
            back=frozenset(),
        )

    def added_to(self, commit: Commit, table: TableRecord, keyring: Keys) -> Commit:
        """Return the commit with the hand's stream, its sealed seed, and its outbox rows."""
        record, seed = self.record, self.record.seed
        if seed is None:
            raise ValueError("a new hand has its seed")
        wake = next_wake(record, window_seconds=self.entry.window_seconds, back=frozenset())
        key_id, ciphertext = keyring.seal(seed, record.identity.bytes)
        append = StreamAppend(
            stream=record.identity,
            kind=StreamKind.GAME,
            expected=0,
            events=self.lines,
            head=record.head,
            summary=new_game_summary(record, wake, table),
        )
        return replace(
            commit,
            appends=(*commit.appends, append),
            secret=SealedSecret(game=record.identity, key_id=key_id, ciphertext=ciphertext),
            outbox=outbox_rows(record, since=0),
        )


def table_append(
    record: TableRecord,
    lines: tuple[bytes, ...],
    *,
    expected: int,
    summary: dict[str, Any] | None = None,
) -> StreamAppend:
    """Return lines to append to a table's stream, with what its row then says."""
    return StreamAppend(
        stream=record.identity,
        kind=StreamKind.TABLE,
        expected=expected,
        events=lines,
        head=record.head,
        summary=summary or table_summary(record),
    )
