"""Tables and their signed key changes as JSON (api.md, section 3)."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import orjson

from schemas.tables import table_event_of
from schemas.views import clock_json
from schemas.visible_text import told_apart
from service.application.access import AccessLog, visible_table
from service.application.calls import Caller
from service.application.errors import not_found
from service.application.games.cache import Names
from service.application.tables.dealing import DealtHand
from service.application.tables.record import TableRecord, deals_at
from service.domain.table import Conditions, SeatChanged
from service.shx.canonical import format_time, ruleset_hash
from service.shx.keys import MAX_CHANGES, KeyChange
from service.store.events import EventStore, StreamKind
from service.store.games import GameRepository, GameRow

NEWEST = 20
"""Maximum number of hands shown with a table, newest first."""


def table_json(
    record: TableRecord,
    caller: Caller,
    names: Names,
    *,
    games: Sequence[GameRow],
    dealt: DealtHand | None = None,
) -> dict[str, Any]:
    """
    Return a table as the caller sees it.

    `games` are its newest hands, `dealt` is the hand dealt by this request.
    """
    table, conditions = record.table, record.table.conditions
    next_deal = deals_at(record)
    ids = [uuid_or_none(seat.player) for seat in table.seats]
    named = told_apart(names.of(ids), ids)
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
                "paused": number in table.paused,
            }
            for number, (seat, name) in enumerate(zip(table.seats, named, strict=True))
        ],
        "hand": table.hand,
        "game": table.game,
        "games": _hands(games, dealt),
        "next_dealer": table.next_dealer,
        "deal": conditions.deal,
        "next_deal_at": None if next_deal is None else format_time(next_deal),
        "as": _seat(record, caller.player),
    }


def ruleset_json(conditions: Conditions) -> dict[str, Any]:
    """Return the ruleset of a table as shown with the table, its games and in lists."""
    ruleset = conditions.ruleset
    return {
        "id": ruleset["id"],
        "ruleset_hash": ruleset_hash(ruleset).hex(),
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


class KeyChanges:
    """Reads the signed key changes from a table's stream; each can be verified on its own."""

    def __init__(self, store: EventStore, directory: GameRepository, access_log: AccessLog) -> None:
        self._store = store
        self._directory = directory
        self._access_log = access_log

    def of_table(self, caller: Caller, table: UUID) -> list[dict[str, Any]]:
        """Return the newest MAX_CHANGES signed key changes; raises Refusal `not-found`."""
        row = visible_table(self._directory.table(table), caller)
        self._access_log.note_table(row, caller)
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


def uuid_or_none(text: str | None) -> UUID | None:
    """Return the UUID of a stored text, None for None."""
    return None if text is None else UUID(text)
