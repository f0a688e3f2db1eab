"""Moves that the rules refused: stored encrypted, named in the seal, shown after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from schemas.moves import move_json
from service.application.games.record import GameRecord
from service.application.ports import World
from service.application.rulesets import Rulebook
from service.domain.commands import Move, Seat
from service.keys import Keys
from service.shx.bundle import REFUSALS
from service.shx.canonical import canonical, format_time
from service.shx.moves import (
    UNPROVEN,
    SealedRefusals,
    refusals_file,
    seal_of,
)
from service.store.directory import Directory
from service.store.events import EventStore
from service.store.games import RefusedMove

PADDED_TO = 512
"""Refused moves are padded to a multiple of this number of bytes before they are encrypted."""


class Refusals:
    """Stores refused moves, and returns the texts of the rules that refused them."""

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

    def store(self, record: GameRecord, seat: Seat, move: Move, rule: str | None) -> bool:
        """
        Store a refused move; `rule` is None if it was not the seat's turn.

        Returns False and stores nothing if the game has been sealed in the meantime. Moves with
        and without a rule have the same stored length, because the rule depends on the seat's
        cards.
        """
        content = orjson.dumps({"move": move_json(move), "rule": rule})
        content = content.ljust(-(-len(content) // PADDED_TO) * PADDED_TO)
        identity, at = self._world.identity(), self._world.now()
        key_id, sealed = self._keyring.seal(
            content, _associated(record.identity, seat=seat, at=at, identity=identity)
        )
        refused = RefusedMove(id=identity, at=at, seat=seat, key_id=key_id, sealed=sealed)
        return self._directory.record_refusal(record.identity, refused)

    def seal_entry(self, game: UUID, stored: Sequence[RefusedMove]) -> SealedRefusals:
        """
        Return count and hash of a game's refused attempts for its seal, without moves out of turn.

        Raises KeyringError if an attempt cannot be decrypted.
        """
        return seal_of(refusals_file(opened(self._keyring, game, stored)))

    def of(self, game: UUID) -> list[dict[str, Any]]:
        """
        Return the moves of a game that a rule refused, as JSON: at, seat, move, rule.

        Those of an archived game are read from its bundle. Raises KeyringError if one cannot be
        decrypted.
        """
        return opened(self._keyring, game, self._directory.refusals(game)) or self._archived(game)

    def shown(self, record: GameRecord) -> list[dict[str, Any]]:
        """
        Return all refused moves, or none if the seal names others: a part proves nothing.

        A seal of version 1 names none, and then all are returned.
        """
        rows = self.of(record.identity)
        return rows if _fits(record, rows) else []

    def is_complete(self, record: GameRecord) -> bool:
        """Return whether the seal names no other attempts than those stored, or all are deleted."""
        rows = self.of(record.identity)
        return not rows or _fits(record, rows)

    def file(self, record: GameRecord) -> Mapping[str, bytes]:
        """Return the bundle file `refusals.jsonl` by its name; none before the seal."""
        rows = self.shown(record) if record.sealed else []
        return {REFUSALS: refusals_file(rows)} if rows else {}

    def _archived(self, game: UUID) -> list[dict[str, Any]]:
        bundle = self._store.bundle(game)
        lines = bundle.files.get(REFUSALS, b"") if bundle is not None else b""
        return [orjson.loads(line) for line in lines.splitlines()]

    def text(self, record: GameRecord, rule: str) -> str:
        """Return the text of the rule behind a refusal."""
        return self._rulebook.text(record.created["ruleset"]["id"], rule)


def opened(keyring: Keys, game: UUID, stored: Iterable[RefusedMove]) -> list[dict[str, Any]]:
    """
    Return the decrypted attempts of a game that a rule refused, as JSON.

    Raises KeyringError if a row cannot be decrypted, also because its seat, time, id or game was
    changed.
    """
    rows = []
    for refused in stored:
        associated = _associated(game, seat=refused.seat, at=refused.at, identity=refused.id)
        content = orjson.loads(keyring.open(refused.key_id, refused.sealed, associated))
        if content["rule"] is not None:
            row = {"at": format_time(refused.at), **content, "seat": refused.seat}
            # Members in the order of a bundle, so that archiving changes no byte of an answer.
            rows.append(orjson.loads(canonical(row)))
    return rows


def unproven(record: GameRecord) -> str | None:
    """Return why the refused attempts of a game prove nothing; None if its seal names them."""
    return UNPROVEN if record.refusals is None else None


def _fits(record: GameRecord, rows: Iterable[Mapping[str, Any]]) -> bool:
    return record.refusals in (None, seal_of(refusals_file(rows)))


def _associated(game: UUID, *, seat: Seat, at: datetime, identity: UUID) -> bytes:
    """Return the associated data of a refused move, which binds it to its row."""
    where = b"%s/%d/%s" % (game.bytes, seat, format_time(at).encode())
    return b"refusal/2" + where + identity.bytes
