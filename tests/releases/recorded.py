"""Calls of a database as a release made them, to be made again on the schema of a later one."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from service.store.database import Database, query


@dataclass(kw_only=True)
class Session:
    """The statements that were sent, by name, and the calls in their order."""

    statements: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, Any, Any]] = field(default_factory=list)

    def encode(self) -> bytes:
        """Return the session as a file keeps it."""
        return json.dumps({"statements": self.statements, "calls": self.calls}).encode()

    @classmethod
    def decode(cls, data: bytes) -> Session:
        """Return the session that a file holds."""
        value = json.loads(data)
        return cls(statements=value["statements"], calls=[tuple(c) for c in value["calls"]])


class Recorder(Database):
    """A database that remembers what was asked of it and what it answered."""

    def __init__(self, url: str) -> None:
        super().__init__(url, size=1)
        self.session = Session()

    def change(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        """Send a query, and remember it with its answer; what was refused is not remembered."""
        rows = super().change(name, *values)
        self.session.statements[name] = query(name).decode()
        self.session.calls.append((name, plain(values), plain(rows)))
        return rows


def plain(value: Any) -> Any:
    """Return a value as JSON has it, its type kept."""
    match value:
        case UUID():
            return {"uuid": str(value)}
        case datetime():
            return {"time": value.isoformat()}
        case bytes() | memoryview() | bytearray():
            return {"bytes": b64encode(bytes(value)).decode()}
        case list() | tuple() | set() | frozenset():
            return {"list": [plain(one) for one in value]}
        case dict():
            return {"json": value}
        case _:
            return value


def value_of(value: Any) -> Any:
    """Return the value that `plain` wrote."""
    match value:
        case {"uuid": text}:
            return UUID(text)
        case {"time": text}:
            return datetime.fromisoformat(text)
        case {"bytes": text}:
            return b64decode(text)
        case {"list": items}:
            return [value_of(one) for one in items]
        case {"json": inner}:
            return inner
        case _:
            return value


def kept_apart(value: Any) -> str:
    """Return an answer in a form to compare, less the times that the server itself put in."""
    return re.sub(r'"time": "[^"]*"', '"time"', json.dumps(value))
