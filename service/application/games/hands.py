"""A player's finished hands in bulk: as lines, and their bundles as a tar file, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

import orjson

from schemas.visible_text import told_apart
from service.application.access import AccessLog
from service.application.calls import Caller, digest
from service.application.errors import not_found
from service.application.games.evidence import Evidence
from service.application.games.queries import cursor_of
from service.application.quotas import rows_of, work
from service.shx.canonical import format_time
from service.shx.tar_files import END, member
from service.store.directory import Directory
from service.store.games import GameFilter, GameRow
from service.store.summaries import Cursor, ListName, Page

BATCH: Final = 500
"""Hands in one read; they wait in memory while the client takes the lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """
    Reads of all hands of a player that are over, newest first.

    Between two batches no connection of the database is held. `admit` is called before each batch
    and each bundle: it raises Refusal if the token has expired meanwhile.
    """

    directory: Directory
    evidence: Evidence
    access_log: AccessLog

    def lines(
        self, caller: Caller, which: GameFilter, cursor: str | None, admit: Callable[[], None]
    ) -> Iterator[bytes]:
        """
        Return the hands of `which.player` that the caller may see, as batches of lines.

        Raises Refusal `not-found` for an unknown player, `invalid-body` for a cursor of another
        list; both before the first batch.
        """
        player = self._known(which)
        return self._lines(caller, which, player, cursor_of(cursor, ListName.HANDS), admit)

    def bundles(
        self,
        caller: Caller,
        which: GameFilter,
        cursor: str | None,
        limit: int,
        admit: Callable[[], None],
    ) -> tuple[Iterator[bytes], str | None]:
        """
        Return a tar file with the public bundles of `limit` of these hands, and the next cursor.

        Raises as `lines`. The pieces of one bundle are in memory at a time. Which hands follow a
        cursor does not change, so that a part that was cut off can be asked for again.
        """
        self._known(which)
        start = cursor_of(cursor, ListName.HANDS)
        page = next(self._pages(caller, which, start, admit, limit=limit))
        next_ = None if page.next is None else page.next.encode(ListName.HANDS)
        return self._tar(caller, page.items, admit), next_

    def _known(self, which: GameFilter) -> UUID:
        if which.player is None or self.directory.player(which.player) is None:
            raise not_found("player")
        return which.player

    def _lines(
        self,
        caller: Caller,
        which: GameFilter,
        player: UUID,
        start: Cursor | None,
        admit: Callable[[], None],
    ) -> Iterator[bytes]:
        for page in self._pages(caller, which, start, admit):
            with work(max(1, rows_of(sum(len(row.seats) for row in page.items)))):
                lines = b"".join(orjson.dumps(_line(row, player)) + b"\n" for row in page.items)
            yield lines

    def _tar(
        self, caller: Caller, rows: Sequence[GameRow], admit: Callable[[], None]
    ) -> Iterator[bytes]:
        for row in rows:
            admit()
            with work(max(1, row.version)):
                name, content = self.evidence.bundle(caller, row.id, "public")
            sealed_at = (row.ended_at or row.created_at).timestamp()
            yield member(name, content, at=int(sealed_at))
        yield END

    def _pages(
        self,
        caller: Caller,
        which: GameFilter,
        cursor: Cursor | None,
        admit: Callable[[], None],
        *,
        limit: int | None = None,
    ) -> Iterator[Page[GameRow]]:
        """Yield pages, each read when it is taken, and record the reads of private hands."""
        invite = None if caller.invite is None else digest(caller.invite)
        over = replace(which, over=True)
        while True:
            admit()
            page = self.directory.list_games(
                over, viewer=caller.player, invite=invite, cursor=cursor, limit=limit or BATCH
            )
            self.access_log.note_listed(page.items, caller)
            yield page
            cursor = page.next
            if cursor is None:
                return


def _line(row: GameRow, player: UUID) -> dict[str, Any]:
    """Return a hand as one line: what happened, where its evidence is, and its cursor."""
    names = told_apart([seat.name for seat in row.seats], [seat.player for seat in row.seats])
    ended = row.status == "ended"
    return {
        "id": str(row.id),
        "table": str(row.table),
        "hand": row.hand,
        "ruleset": row.ruleset,
        "status": row.status,
        "version": row.version,
        "created_at": format_time(row.created_at),
        "ended_at": format_time(row.ended_at) if row.ended_at else None,
        "seat": next(seat.seat for seat in row.seats if seat.player == player),
        "seats": [
            {
                "seat": seat.seat,
                "name": seat.bot if seat.kind == "bot" else name,
                "kind": seat.kind,
                "player": str(seat.player) if seat.player else None,
            }
            for seat, name in zip(row.seats, names, strict=True)
        ],
        "result": {
            "reason": row.reason,
            "shithead": row.shithead,
            "places": list(row.places or ()),
        }
        if ended
        else None,
        "links": {
            "game": f"/v1/games/{row.id}",
            "evidence": f"/v1/games/{row.id}/evidence",
            "replay": f"/replay/{row.id}",
        },
        "cursor": Cursor(at=row.created_at, id=row.id).encode(ListName.HANDS),
    }
