"""Changes of a seat's key (section 5), each signed by the key before it, as they are handed on."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import orjson

from service.record.canonical import RecordError
from service.record.moves import key_change_holds
from service.record.shapes import SEAT, Check, base64, each, one_of, record, uuid
from service.record.weak_keys import is_weak

MAX_CHANGES: Final = 1000

_CHANGE: Final[Check] = record(
    {
        "change": record({"v": one_of(1), "table": uuid, "seat": SEAT, "key": base64(32)}),
        "sig": base64(64),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChange:
    """What the old key of a seat signed: that `key` follows it. Not checked by itself."""

    table: UUID
    seat: int
    key: bytes
    sig: str  # standard base64

    def as_json(self) -> dict[str, Any]:
        """Return the change as it is handed on: the signed object, and the signature."""
        key = b64encode(self.key).decode("ascii")
        change = {"v": 1, "table": str(self.table), "seat": self.seat, "key": key}
        return {"change": change, "sig": self.sig}


def read_key_changes(data: bytes, *, most: int = MAX_CHANGES) -> tuple[KeyChange, ...]:
    """
    Return the changes in a file: one object, a list of them, or a saved answer of the service.

    It need not be canonical: what is signed is written anew from the values.
    Raises RecordError where it is none, or where there are more than `most`.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise RecordError("bad_key_change", "not JSON") from None
    if type(value) is dict and "items" in value:
        value = value["items"]
    items = value if type(value) is list else [value]
    if len(items) > most:
        raise RecordError("bad_key_change", f"more than {most} changes")
    each(_CHANGE)(items, "/changes")
    return tuple(_change(item) for item in items)


def key_follows(
    old: bytes, new: bytes, changes: Iterable[KeyChange], *, table: UUID, seat: int
) -> bool:
    """
    Return whether changes lead from one key of a seat to another, each signed by the one before.

    Nobody has to be believed for it: a change that the old key did not sign leads
    nowhere, whoever hands it on. A key that anybody can sign for leads nowhere either.
    """
    own = [change for change in changes if (change.table, change.seat) == (table, seat)]
    known, reached = [old], {old}
    for key in known:
        for change in own:
            if change.key in reached or is_weak(key):
                continue
            if key_change_holds(key, change.sig, table=table, seat=seat, key=change.key):
                reached.add(change.key)
                known.append(change.key)  # followed in its turn
    return new in reached


def _change(item: dict[str, Any]) -> KeyChange:
    said = item["change"]
    return KeyChange(
        table=UUID(said["table"]),
        seat=said["seat"],
        key=b64decode(said["key"]),
        sig=item["sig"],
    )
