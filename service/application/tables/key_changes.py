"""Signed key changes at a table, which link a seat's keys from hand to hand."""

from __future__ import annotations

from base64 import b64decode
from typing import Any
from uuid import UUID

import orjson

from schemas.table_events import table_event_of
from service.application.access import visible_table
from service.application.access_log import Readings
from service.application.callers import Caller
from service.application.errors import not_found
from service.domain.table import SeatChanged
from service.shx.keys import MAX_CHANGES, KeyChange
from service.store.directory import Directory
from service.store.events import EventStore, StreamKind


class KeyChanges:
    """Reads the signed key changes from a table's stream; each can be verified on its own."""

    def __init__(self, store: EventStore, directory: Directory, readings: Readings) -> None:
        self._store = store
        self._directory = directory
        self._readings = readings

    def of_table(self, caller: Caller, table: UUID) -> list[dict[str, Any]]:
        """Return a table's signed key changes, newest first; raises Refusal `not-found`."""
        row = visible_table(self._directory.table(table), caller)
        self._readings.note_table(row, caller)
        found = self._store.read(table)
        if found is None or found.kind is not StreamKind.TABLE:
            raise not_found("table")
        changes = [change for line in found.events if (change := _change(table, line))]
        return [change.as_json() for change in reversed(changes)][:MAX_CHANGES]


def _change(table: UUID, line: bytes) -> KeyChange | None:
    envelope = orjson.loads(line)
    event = table_event_of(envelope["type"], envelope["data"])
    if not isinstance(event, SeatChanged) or event.sig is None or event.key is None:
        return None
    return KeyChange(table=table, seat=event.seat, key=b64decode(event.key), sig=event.sig)
