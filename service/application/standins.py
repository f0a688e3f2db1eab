"""Coming back from a bot that stood in."""

from __future__ import annotations

from uuid import UUID

import orjson

from service.application.access import visible
from service.application.answers import Answers
from service.application.callers import Answered, Caller, Idempotency
from service.application.entries import Entries, GameEntry
from service.application.errors import Refusal
from service.application.names import Names
from service.application.showing import shown
from service.application.wake import next_wake, stands_in
from service.domain.commands import Seat
from service.event_store.directory import Directory

ATTEMPTS = 20


class StandIns:
    """Lets a person play again where a bot had taken over; any move does the same."""

    def __init__(
        self, *, entries: Entries, directory: Directory, names: Names, answers: Answers
    ) -> None:
        self._answers = answers
        self._entries = entries
        self._directory = directory
        self._names = names

    def back(self, caller: Caller, game: UUID, request: Idempotency | None = None) -> Answered:
        """
        Give the caller's seat back to its player, and answer with the view.

        The log says nothing of it, the seat's next move does. Doing it twice
        changes nothing, so the answer may be kept after the effect.
        """
        for _ in range(ATTEMPTS):
            entry = visible(self._entries.fresh(game), caller, self._entries.lets_judge)
            seat = entry.seat_of(caller.player)
            if caller.player is None or seat is None:
                raise Refusal("not-seated", "you do not sit in this game")
            if entry.record.sealed:
                raise Refusal("game-over", "the game is over")
            if stands_in(entry.record.game, seat, back=entry.back):
                if not self._set(entry, seat):
                    continue
                entry = visible(self._entries.fresh(game), caller)
            view = orjson.dumps(shown(entry, seat, self._names))
            answer = Answered(body=view, version=entry.record.version)
            return self._answers.keep(caller.player, request, answer)
        raise Refusal("unavailable", "too many moves at once, try again")

    def _set(self, entry: GameEntry, seat: Seat) -> bool:
        back = entry.back | {seat}
        wake = next_wake(entry.record, window_seconds=entry.window_seconds, back=back)
        return self._directory.come_back(
            entry.record.identity,
            version=entry.record.version,
            back=sorted(back),
            wake_kind=wake.kind.value if wake else None,
            wake_at=wake.at if wake else None,
        )
