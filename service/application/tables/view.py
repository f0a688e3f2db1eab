"""Tables as JSON (api.md, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from service.application.callers import Caller
from service.application.names import Names
from service.application.summaries import clock_json, uuid_or_none
from service.application.tables.dealing import DealtHand
from service.application.tables.record import TableRecord
from service.domain.table import Conditions
from service.shx.hashing import ruleset_hash
from service.store.games import GameRow

NEWEST = 20
"""Number of hands shown with a table."""


def table_json(
    record: TableRecord,
    caller: Caller,
    names: Names,
    *,
    games: Sequence[GameRow],
    dealt: DealtHand | None = None,
) -> dict[str, Any]:
    """Return a table as the caller sees it; `games` are its newest hands, `dealt` one more."""
    table, conditions = record.table, record.table.conditions
    named = names.of([uuid_or_none(seat.player) for seat in table.seats])
    return {
        "id": str(record.identity),
        "host": table.host,
        "version": record.version,
        "status": table.status.value,
        "visibility": "public" if conditions.public else "private",
        "ruleset": ruleset_json(conditions),
        "turn_limit": conditions.turn_limit,
        "clock": clock_json(conditions.clock),
        "window_seconds": conditions.window_seconds,
        "seats": [
            {
                "seat": number,
                "kind": seat.kind.value,
                "name": name,
                "player": seat.player,
                "bot": seat.bot,
                "entropy": seat.entropy.value,
                "key": seat.key,
                "hands": seat.hands,
                "shithead": seat.shithead,
                "bag": seat.bag,
            }
            for number, (seat, name) in enumerate(zip(table.seats, named, strict=True))
        ],
        "hand": table.hand,
        "game": table.game,
        "games": _hands(games, dealt),
        "next_dealer": table.next_dealer,
        "as": _seat(record, caller.player),
    }


def ruleset_json(conditions: Conditions) -> dict[str, Any]:
    """Return the ruleset of a table as shown with the table, its games and in lists."""
    ruleset = conditions.ruleset
    return {
        "id": ruleset["id"],
        "hash": ruleset_hash(ruleset).hex(),
        "options": ruleset["options"],
    }


def _hands(games: Sequence[GameRow], dealt: DealtHand | None) -> list[dict[str, Any]]:
    """Return the newest hands; the hand dealt by this request is in no row yet."""
    hands: list[dict[str, Any]] = [
        {
            "id": str(row.id),
            "hand": row.hand,
            "status": row.status,
            "shithead": row.shithead,
            "dealer": row.dealer,
        }
        for row in games
    ]
    if dealt is not None:
        game = dealt.record.game
        first = {
            "id": str(dealt.record.identity),
            "hand": game.setup.hand,
            "status": game.status.value,
            "shithead": None,
            "dealer": game.dealer,
        }
        hands = [first, *hands]
    return hands[:NEWEST]


def _seat(record: TableRecord, player: UUID | None) -> int | None:
    return None if player is None else record.table.seat_of(str(player))
