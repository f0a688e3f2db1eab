"""The sample games of the corpus, entered into the database of a running service."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from service.store.database import Database
from service.store.events import StreamConflict
from service.store.postgres_events import PostgresStore
from tests.client import register
from tests.streams import THEN, append, bot, commit, game_summary

FOLDER: Final = Path(__file__).resolve().parents[1] / "golden" / "samples"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample: its name, its lines, and what is read from its first and last events."""

    name: str
    lines: tuple[bytes, ...]

    @property
    def created(self) -> dict[str, Any]:
        """Return the first event."""
        event: dict[str, Any] = json.loads(self.lines[0])
        return event

    @property
    def ruleset(self) -> str:
        """Return the id of the ruleset."""
        ruleset: str = self.created["data"]["ruleset"]["id"]
        return ruleset

    @property
    def result(self) -> dict[str, Any]:
        """Return how the hand ended, as its summary has it."""
        ends = [event for event in map(json.loads, self.lines) if event["type"] == "game_ended"]
        return ends[0]["data"] if ends else {}

    @property
    def game(self) -> UUID:
        """Return the id of the game."""
        return UUID(self.created["game"])


@cache
def samples() -> tuple[Sample, ...]:
    """Return all samples, in order of their names."""
    found = [path for path in sorted(FOLDER.glob("*.jsonl")) if "refusals" not in path.name]
    return tuple(
        Sample(name=path.stem, lines=tuple(path.read_bytes().splitlines())) for path in found
    )


@cache
def longest() -> tuple[Sample, ...]:
    """Return the sample with the most events of each ruleset."""
    found: dict[str, Sample] = {}
    for sample in samples():
        known = found.get(sample.ruleset)
        if known is None or len(known.lines) < len(sample.lines):
            found[sample.ruleset] = sample
    return tuple(found.values())


def enter(database_url: str, port: int, entered: tuple[Sample, ...]) -> None:
    """
    Enter samples as games of one public table, which is opened through the API.

    A sample that another file of tests has entered into this service stays as it is.

    All seats are entered as bots: there are no accounts for the people who once sat there.
    """
    host = register(port, "Host")
    body = {"ruleset": "leeds", "seats": ["me", {"bot": "lowest"}], "deal": False}
    table = UUID(host.post("/v1/tables", body)["id"])
    database = Database(database_url)
    store = PostgresStore(database)
    try:
        for sample in entered:
            summary = game_summary(
                table_id=table,
                ruleset_id=sample.ruleset,
                status="ended" if sample.result else "aborted",
                ended_at=THEN,
                **sample.result,
                seats=[bot(seat) for seat in range(len(sample.created["data"]["seats"]))],
            )
            with suppress(StreamConflict):
                store.commit(commit(append(sample.game, *sample.lines, summary=summary)))
    finally:
        database.close()
