"""One table in memory: its folded state, and where its chain of events stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import orjson

from schemas.table_events import table_data_of, table_event_of, table_type_of
from service.domain.table import Table, TableEvent, evolve_table, fold_table
from service.record.chain import encode_event, genesis, head


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


def load_table(identity: UUID, lines: Sequence[bytes]) -> TableRecord:
    """Return the record that stored lines make."""
    envelopes = [orjson.loads(line) for line in lines]
    table = fold_table(table_event_of(e["type"], e["data"]) for e in envelopes)
    return TableRecord(
        identity=identity, table=table, head=head(lines[-1]), at=envelopes[-1]["at"]
    )


def open_table(identity: UUID, event: TableEvent, *, at: str) -> tuple[TableRecord, bytes]:
    """Return a new table's record and its first line."""
    line = _line(identity, event, seq=0, prev=genesis(identity), at=at)
    table = fold_table([table_event_of(table_type_of(event), orjson.loads(line)["data"])])
    return TableRecord(identity=identity, table=table, head=head(line), at=at), line


def write_table(
    record: TableRecord, events: Iterable[TableEvent], *, at: str
) -> tuple[TableRecord, tuple[bytes, ...]]:
    """Return the record after further events, and their lines."""
    at, lines = max(at, record.at), []
    for event in events:
        line = _line(record.identity, event, seq=record.version, prev=record.head, at=at)
        table = evolve_table(record.table, event)
        record = replace(record, table=table, head=head(line), at=at)
        lines.append(line)
    return record, tuple(lines)


def _line(identity: UUID, event: TableEvent, *, seq: int, prev: bytes, at: str) -> bytes:
    # `by` is a seat in the format; who acted at a table stands in the data.
    return encode_event(
        game=identity,
        seq=seq,
        prev=prev,
        at=at,
        by=None,
        type=table_type_of(event),
        data=table_data_of(event),
    )
