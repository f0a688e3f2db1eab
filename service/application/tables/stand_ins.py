"""Stand-in bots: a player comes back to the seat."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from uuid import UUID

import orjson

from service.application.access import visible
from service.application.callers import Answered, Caller, Idempotency
from service.application.errors import Refusal
from service.application.games.cache import Entries, GameEntry
from service.application.games.schedule import next_wake, stands_in
from service.application.games.view import shown
from service.application.handler import Accepted, Handler, nothing
from service.application.names import Names
from service.store.directory import Directory
from service.store.events import StreamConflict


class StandIns:
    """Gives seats back to their players after a bot stood in; any move does the same."""

    def __init__(
        self, *, handler: Handler, entries: Entries, directory: Directory, names: Names
    ) -> None:
        self._handler = handler
        self._entries = entries
        self._directory = directory
        self._names = names

    def back(self, caller: Caller, game: UUID, request: Idempotency | None = None) -> Answered:
        """
        Give the caller's seat back to its player, and answer with the view.

        The log has no event for it before the seat's next move. It is safe to repeat. Raises
        Refusal `not-found`, `not-seated` or `game-over`.
        """
        return self._handler.handle(
            lambda _fresh: visible(self._entries.fresh(game), caller, self._entries.sits_or_judges),
            lambda entry: self._decided(entry, caller),
            caller=caller.player,
            request=request,
        )

    def _decided(self, entry: GameEntry, caller: Caller) -> Accepted:
        seat = entry.seat_of(caller.player)
        if seat is None:
            raise Refusal("not-seated", "you do not sit in this game")
        if entry.record.sealed:
            raise Refusal("game-over", "the game is over")
        effect = nothing
        if stands_in(entry.record.game, seat, back=entry.back):
            entry = replace(entry, back=entry.back | {seat})
            effect = partial(self._come_back, entry)
        view = orjson.dumps(shown(entry, seat, self._names))
        return Accepted(answer=Answered(body=view, version=entry.version), effect=effect)

    def _come_back(self, entry: GameEntry) -> None:
        """Update the game's row; raises StreamConflict if the game has moved on."""
        game, back = entry.record.identity, entry.back
        wake = next_wake(entry.record, window_seconds=entry.window_seconds, back=back)
        done = self._directory.come_back(
            game,
            version=entry.version,
            back=sorted(back),
            wake_kind=wake.kind.value if wake else None,
            wake_at=wake.at if wake else None,
        )
        if not done:
            raise StreamConflict(game, entry.version)
