"""Refused moves: kept beside the log, encrypted; for their player, and after the seal for all."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson

from schemas.moves import move_json
from service.application.game_record import GameRecord
from service.application.ports import World
from service.application.rulebook import Rulebook
from service.domain.commands import Move, Seat
from service.event_store.directory import Directory
from service.event_store.protocol import EventStore
from service.key_file import Keys
from service.record.bundle import REFUSALS
from service.record.canonical import canonical
from service.record.times import format_time

ROUND = 512
"""Bytes to a multiple of which a refused move is filled up."""


class Refusals:
    """Keeps what was refused, and finds the text of the rule that refused it."""

    def __init__(
        self,
        store: EventStore,
        directory: Directory,
        keyring: Keys,
        rulebook: Rulebook,
        world: World,
    ) -> None:
        self._store = store
        self._directory = directory
        self._keyring = keyring
        self._rulebook = rulebook
        self._world = world

    def keep(self, record: GameRecord, seat: Seat, move: Move, rule: str | None) -> None:
        """
        Keep one refused move; without a rule where it was not the seat's turn.

        Whether a seat has a turn out of turn, and which rule refuses it, depends on its
        cards: so both are kept, and alike in length.
        """
        content = orjson.dumps({"move": move_json(move), "rule": rule})
        content = content.ljust(-(-len(content) // ROUND) * ROUND)
        key_id, sealed = self._keyring.seal(content, _associated(record.identity))
        self._directory.record_refusal(
            game=record.identity,
            at=self._world.now(),
            seat=seat,
            key_id=key_id,
            sealed=sealed,
        )

    def of(self, game: UUID) -> list[dict[str, Any]]:
        """
        Return the moves of a game that a rule refused as plain values: at, seat, move, rule.

        Those of an archived game are in its bundle.
        """
        kept = []
        for refusal in self._directory.refusals(game):
            content = self._keyring.open(refusal.key_id, refusal.sealed, _associated(game))
            at = format_time(refusal.at)
            kept.append({"at": at, "seat": refusal.seat, **orjson.loads(content)})
        # Members in the order of a bundle, so that archiving a game changes no byte of an answer.
        rows = [orjson.loads(canonical(row)) for row in kept if row["rule"] is not None]
        return rows or self._archived(game)

    def _archived(self, game: UUID) -> list[dict[str, Any]]:
        bundle = self._store.bundle(game)
        lines = bundle.files.get(REFUSALS, b"") if bundle is not None else b""
        return [orjson.loads(line) for line in lines.splitlines()]

    def text(self, record: GameRecord, rule: str) -> str:
        """Return the statement behind a refusal, in words."""
        return self._rulebook.text(record.created["ruleset"]["id"], rule)


def _associated(game: UUID) -> bytes:
    return b"refusal" + game.bytes
