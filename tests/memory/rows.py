"""Rows of the directory made of the summaries that a memory store keeps."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from service.store.rows import GameRow, SeatRow, TableRow


def game_row(game: UUID, row: Mapping[str, Any], seats: tuple[SeatRow, ...]) -> GameRow:
    """Return the summary of a game."""
    places, ended_at = row.get("places"), row.get("ended_at")
    return GameRow(
        id=game,
        table=UUID(row["table_id"]),
        hand=row["hand"],
        ruleset=row["ruleset_id"],
        status=row["status"],
        version=row["version"],
        turn=row.get("turn"),
        dealer=row.get("dealer"),
        created_at=datetime.fromisoformat(row["created_at"]),
        ended_at=None if ended_at is None else datetime.fromisoformat(ended_at),
        reason=row.get("reason"),
        shithead=row.get("shithead"),
        places=None if places is None else tuple(places),
        public=row["public"],
        back=tuple(row.get("back") or ()),
        seats=seats,
    )


def table_row(table: UUID, row: Mapping[str, Any], seats: tuple[SeatRow, ...]) -> TableRow:
    """Return the summary of a table."""
    invite_hash, game = row.get("invite_hash"), row.get("game_id")
    return TableRow(
        id=table,
        host=UUID(row["host"]),
        version=row["version"],
        status=row["status"],
        public=row["public"],
        ruleset=row["ruleset_id"],
        invite_hash=None if invite_hash is None else bytes.fromhex(invite_hash.removeprefix("\\x")),
        created_at=datetime.fromisoformat(row["created_at"]),
        hand=row.get("hand", 0),
        game=None if game is None else UUID(game),
        seats=seats,
    )


def change_row(
    rows: Mapping[UUID, dict[str, Any]], game: UUID, version: int, columns: Mapping[str, Any]
) -> bool:
    """Set columns of a game's row; return False where it has moved on from `version`."""
    row = rows.get(game)
    if row is None or row["version"] != version:
        return False
    row |= columns
    return True
