"""Summary rows of games and tables, for lists and the sweeper."""

from __future__ import annotations

from uuid import UUID

from service.application.games.record import GameRecord
from service.application.games.schedule import Wake
from service.application.tables.record import TableRecord
from service.domain.commands import Seat
from service.domain.events import Clock
from service.shx.canonical import format_time
from service.store.summaries import (
    GameSummary,
    NewGameSummary,
    NewTableSummary,
    SeatSummary,
    TableSummary,
)


def game_summary(
    record: GameRecord, wake: Wake | None, *, back: frozenset[Seat] | None = None
) -> GameSummary:
    """Return the columns of a game's row that a move may change; `back` only if it changed."""
    game, result = record.game, record.game.result
    reason = None if result is None else result.reason or result.cause
    summary = GameSummary(
        status=game.status.value,
        turn=game.turn,
        dealer=game.dealer,
        ended_at=record.at if record.sealed else None,
        reason=None if reason is None else reason.value,
        shithead=result.shithead if result else None,
        places=list(result.places) if result else None,
        wake_kind=wake.kind.value if wake else None,
        wake_at=format_time(wake.at) if wake else None,
    )
    if back is not None:
        summary["back"] = sorted(back)
    return summary


def new_game_summary(record: GameRecord, wake: Wake | None, table: TableRecord) -> NewGameSummary:
    """Return the whole row of a new game, with its seats."""
    return NewGameSummary(
        **game_summary(record, wake),
        table_id=str(table.identity),
        hand=record.game.setup.hand,
        ruleset_id=table.table.conditions.ruleset["id"],
        created_at=record.created_at,
        public=table.table.conditions.public,
        seats=_seats(table),
    )


def table_summary(record: TableRecord) -> TableSummary:
    """Return the columns of a table's row that an event may change."""
    table = record.table
    return TableSummary(
        host=table.host,
        status=table.status.value,
        hand=table.hand,
        game_id=table.game,
        seats=_seats(record),
    )


def new_table_summary(
    record: TableRecord, *, created_at: str, invite_hash: bytes | None
) -> NewTableSummary:
    """Return the whole row of a new table."""
    conditions = record.table.conditions
    return NewTableSummary(
        **table_summary(record),
        public=conditions.public,
        ruleset_id=conditions.ruleset["id"],
        invite_hash=None if invite_hash is None else "\\x" + invite_hash.hex(),
        created_at=created_at,
    )


def _seats(record: TableRecord) -> list[SeatSummary]:
    return [
        SeatSummary(seat=number, kind=seat.kind.value, bot=seat.bot, player_id=seat.player)
        for number, seat in enumerate(record.table.seats)
    ]


def clock_json(clock: Clock | None) -> dict[str, int] | None:
    """Return a clock as JSON."""
    if clock is None:
        return None
    return {"turn_seconds": clock.turn_seconds, "swap_seconds": clock.swap_seconds}


def uuid_or_none(text: str | None) -> UUID | None:
    """Return the UUID of a stored text, None for None."""
    return None if text is None else UUID(text)
