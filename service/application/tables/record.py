"""Tables as streams of events: the folded record and its summary row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from schemas.strict_fields import plain_data
from schemas.tables import table_event_of, table_type_of
from service.application.streams import Envelope, Stream
from service.domain.table import Table, TableEvent, evolve_table, fold_table
from service.store.events import StreamKind
from service.store.summaries import NewTableSummary, SeatSummary, TableSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRecord:
    """A table's state together with the head of its stream and the time of its last event."""

    identity: UUID
    table: Table
    head: bytes
    at: str

    @property
    def version(self) -> int:
        """Return the number of events."""
        return self.table.version


def _begun(identity: UUID, event: TableEvent, envelope: Envelope, head: bytes) -> TableRecord:
    table = fold_table([event])
    return TableRecord(identity=identity, table=table, head=head, at=envelope["at"])


def _evolved(
    record: TableRecord, event: TableEvent, envelope: Envelope, head: bytes
) -> TableRecord:
    table = evolve_table(record.table, event)
    return replace(record, table=table, head=head, at=envelope["at"])


TABLES: Final[Stream[TableRecord, TableEvent]] = Stream(
    kind=StreamKind.TABLE,
    encode=lambda _, event: {"type": table_type_of(event), "data": plain_data(event)},
    decode=table_event_of,
    begin=_begun,
    evolve=_evolved,
)
"""Tables. `by` is a seat in the format and stays null: the data names the player."""


def table_summary(record: TableRecord) -> TableSummary:
    """Return the columns of a table's row that an event may change."""
    table = record.table
    return TableSummary(
        host=table.host,
        status=table.status.value,
        hand=table.hand,
        game_id=table.game,
        seats=seat_summaries(record),
    )


def new_table_summary(
    record: TableRecord, *, created_at: str, invite_hash: bytes | None
) -> NewTableSummary:
    """Return the whole row of a new table."""
    conditions = record.table.conditions
    return NewTableSummary(
        **table_summary(record),
        public=conditions.public,
        ruleset_id=conditions.ruleset["id"],
        invite_hash=None if invite_hash is None else "\\x" + invite_hash.hex(),
        created_at=created_at,
    )


def seat_summaries(record: TableRecord) -> list[SeatSummary]:
    """Return the columns of a table's seats."""
    return [
        SeatSummary(seat=number, kind=seat.kind.value, bot=seat.bot, player_id=seat.player)
        for number, seat in enumerate(record.table.seats)
    ]
