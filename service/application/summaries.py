"""What lists and the sweeper see of games and tables without folding them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from service.application.game_record import GameRecord
from service.application.table_record import TableRecord
from service.application.wake import Wake
from service.domain.commands import Seat
from service.domain.events import Clock
from service.record.times import format_time


def game_summary(
    record: GameRecord, wake: Wake | None, *, back: frozenset[Seat] | None = None
) -> dict[str, Any]:
    """Return the columns of a game's row that a move may have changed; `back` where it did."""
    game, result = record.game, record.game.result
    reason = None if result is None else result.reason or result.cause
    summary = {
        "status": game.status.value,
        "turn": game.turn,
        "dealer": game.dealer,
        "ended_at": record.at if record.sealed else None,
        "reason": None if reason is None else reason.value,
        "shithead": result.shithead if result else None,
        "places": list(result.places) if result else None,
        "wake_kind": wake.kind.value if wake else None,
        "wake_at": format_time(wake.at) if wake else None,
    }
    return summary if back is None else {**summary, "back": sorted(back)}


def new_game_summary(
    record: GameRecord, wake: Wake | None, table: TableRecord
) -> dict[str, Any]:
    """Return the whole row of a new game, with its seats."""
    conditions = table.table.conditions
    seats = [
        {"seat": n, "kind": seat.kind.value, "bot": seat.bot, "player_id": seat.player}
        for n, seat in enumerate(table.table.seats)
    ]
    return {
        **game_summary(record, wake),
        "table_id": str(table.identity),
        "hand": record.game.setup.hand,
        "ruleset_id": conditions.ruleset["id"],
        "created_at": record.created_at,
        "public": conditions.public,
        "seats": seats,
    }


def table_summary(record: TableRecord) -> dict[str, Any]:
    """Return the columns of a table's row that an event may have changed."""
    table = record.table
    return {
        "host": table.host,
        "status": table.status.value,
        "hand": table.hand,
        "game_id": table.game,
        "seats": [
            {"seat": n, "kind": seat.kind.value, "bot": seat.bot, "player_id": seat.player}
            for n, seat in enumerate(table.seats)
        ],
    }


def new_table_summary(
    record: TableRecord, *, created_at: str, invite_hash: bytes | None
) -> dict[str, Any]:
    """Return the whole row of a new table."""
    conditions = record.table.conditions
    return {
        **table_summary(record),
        "public": conditions.public,
        "ruleset_id": conditions.ruleset["id"],
        "invite_hash": None if invite_hash is None else "\\x" + invite_hash.hex(),
        "created_at": created_at,
    }


def clock_json(clock: Clock | None) -> dict[str, int] | None:
    """Return a clock as tables and games show it."""
    if clock is None:
        return None
    return {"turn_seconds": clock.turn_seconds, "swap_seconds": clock.swap_seconds}


def uuid_or_none(text: str | None) -> UUID | None:
    """Return the UUID that a stored text spells."""
    return None if text is None else UUID(text)
