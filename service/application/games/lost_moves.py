"""Moves that a declared restore lost: a receipt of one ends its game."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from service.application.calls import Answered, Caller, Idempotency
from service.application.errors import Refusal
from service.application.games.cache import GameCache
from service.application.games.entry import GameEntry
from service.application.games.moves import OVER, Moves
from service.application.quotas import work
from service.application.signing import handed_in
from service.domain.commands import Seat
from service.domain.events import AbortCause, Event, GameAborted
from service.replay.sentences import Sentence
from service.shx.canonical import parse_time
from service.shx.chain import decode_event, head
from service.shx.event_shapes import ACTIONS
from service.shx.receipts import Receipt
from service.shx.restores import Restore
from service.shx.tlog.notes import NoteVerifier


@dataclass(frozen=True, slots=True, kw_only=True)
class LostMoves:
    """
    Ends running games of which a receipt proves that they lost moves in a declared restore.

    Nothing else is left of a lost move: the public log is never ahead of what a restore finds.
    Such a game cannot be finished fairly: its players have seen cards that are hidden again.
    """

    game_cache: GameCache
    moves: Moves
    server_keys: Callable[[], Sequence[NoteVerifier]]
    restores: Callable[[], Sequence[Restore]]  # declared ones, oldest first

    def hand_in(
        self,
        caller: Caller,
        game: UUID,
        text: str,
        *,
        seat: Seat | None = None,
        request: Idempotency | None = None,
    ) -> Answered:
        """
        End a game with the receipt of the caller; return what a move returns.

        Once the caller's seat has moved after the restore, its receipt ends nothing: a player who
        sees a loss coming has no receipt in reserve. `seat` is that of the caller, if it was found.

        Raises Refusal `not-found`, `not-seated`, `invalid-body` unless this server signed a receipt
        of this game, `game-over`, `not-lost`, and those of `Handler.handle`.
        """
        _, receipt = handed_in(text, game, tuple(self.server_keys()))

        def decision(entry: GameEntry, seat: Seat) -> tuple[Event, ...]:
            if entry.record.sealed:
                raise Refusal("game-over", OVER)
            with work(entry.record.version):
                self.check(receipt, seat=seat)
            return (GameAborted(cause=AbortCause.OPERATOR, seat=None),)

        return self.moves.change(caller, game, decision, request, seat=seat)

    def check(self, receipt: Receipt, *, seat: Seat | None = None) -> None:
        """
        Raise Refusal `not-lost` unless a declared restore lost the move that a receipt names.

        With `seat` also if that seat has moved after the restore.
        """
        lines = self.game_cache.lines(receipt.game)
        if receipt.seq < len(lines) and head(lines[receipt.seq]) == receipt.head:
            raise Refusal("not-lost", Sentence(code="refused.lost_not"))
        events = [decode_event(line) for line in lines]
        restore = self._explaining(receipt, events)
        if restore is None:
            raise Refusal("not-lost", Sentence(code="refused.lost_undeclared"))
        if seat is not None and _has_moved(events, seat, since=parse_time(restore.at)):
            values = {"at": restore.at}
            raise Refusal("not-lost", Sentence(code="refused.lost_accepted", values=values))

    def _explaining(self, receipt: Receipt, events: Sequence[Mapping[str, Any]]) -> Restore | None:
        """Return the newest restore after whose begin the game lacks what a receipt names."""
        begun = parse_time(events[0]["at"])
        beyond = receipt.seq >= len(events)
        recorded = None if beyond else parse_time(events[receipt.seq]["at"])
        for restore in reversed(self.restores()):
            at = parse_time(restore.at)
            if begun <= at and (recorded is None or at <= recorded):
                return restore
        return None


def _has_moved(events: Sequence[Mapping[str, Any]], seat: Seat, *, since: datetime) -> bool:
    """Return whether the player of a seat acted after a time; a move made at a time-out is none."""
    return any(
        event["type"] in ACTIONS and event["by"] == seat and parse_time(event["at"]) > since
        for event in events
    )
