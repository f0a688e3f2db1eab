"""Tables as streams of events, and a table's folded record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from schemas.table_events import table_data_of, table_event_of, table_type_of
from service.application.streams import Envelope, Stream
from service.domain.table import Table, TableEvent, evolve_table, fold_table
from service.store.events import StreamKind


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
    encode=lambda _, event: {"type": table_type_of(event), "data": table_data_of(event)},
    decode=table_event_of,
    begin=_begun,
    evolve=_evolved,
)
"""Tables. `by` is a seat in the format and stays null: the data names the player."""
