"""A move, by whomever: read, decide, append, tell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson

from schemas.moves import move_json, move_of
from service.application.access import visible
from service.application.answers import Answers
from service.application.beat import Rest, at_once
from service.application.callers import Answered, Caller, Idempotency
from service.application.commits import Change, commit_change
from service.application.entries import Entries, GameEntry
from service.application.errors import Refusal, not_found
from service.application.game_record import GameRecord, write
from service.application.hands import deal_when_ready
from service.application.names import Names
from service.application.ports import Bell, World
from service.application.receipts import Receipts
from service.application.refusals import Refusals
from service.application.seen import still_holds
from service.application.showing import shown
from service.application.signatures import check_signature
from service.application.wake import WakeKind, next_wake
from service.domain.commands import Command, Move, Seat
from service.domain.decide import decide
from service.domain.errors import GameOver, NotYourTurn, RuleRefused, UnknownCard
from service.domain.events import Event
from service.domain.game import Status
from service.domain.legal import along_choices, legal_moves
from service.event_store.protocol import AnswerConflict, EventStore, StreamConflict
from service.measures import CONFLICTS, MOVES
from service.record.times import format_time

ATTEMPTS = 20
"""How often a move is decided again when others move at the same moment."""

Decision = Callable[[GameEntry], tuple[Event, ...]]


class Moves:
    """The one road by which games change."""

    def __init__(
        self,
        *,
        store: EventStore,
        entries: Entries,
        answers: Answers,
        receipts: Receipts,
        refusals: Refusals,
        names: Names,
        world: World,
        bell: Bell,
    ) -> None:
        self._store = store
        self._entries = entries
        self._answers = answers
        self._receipts = receipts
        self._refusals = refusals
        self._names = names
        self._world = world
        self._bell = bell

    def move(
        self,
        caller: Caller,
        game: UUID,
        body: Mapping[str, Any],
        *,
        expected: Collection[int] | None = None,
        request: Idempotency | None = None,
    ) -> Answered:
        """
        Do what the body asks for and return the answer of api.md, section 4.

        `body` is a checked move, with `auth` where its player signed it; `expected`
        are the versions that If-Match names: one of them has to hold. Raises Refusal.
        """
        player, seat = self._seated(caller, game)
        auth = body.get("auth")

        def decision(entry: GameEntry) -> tuple[Event, ...]:
            record = entry.record
            move = _completed(record, body, seat)
            if record.sealed:
                raise Refusal("game-over", "the game is over")
            check_signature(record, seat, move, auth)
            stale = expected is not None and not any(
                still_holds(record, seat, move, seen_seq=version - 1) for version in expected
            )
            if stale:
                raise Refusal("stale-version", "the game has moved on", version=record.version)
            return self._decided(record, move)

        return self._carried_out(player, game, seat, decision, auth=auth, request=request)

    def change(
        self, caller: Caller, game: UUID, decision: Decision, request: Idempotency | None
    ) -> Answered:
        """Carry out a decision of the caller's seat that is not a move (entropy)."""
        player, seat = self._seated(caller, game)
        return self._carried_out(player, game, seat, decision, request=request)

    def by_server_at(
        self, entry: GameEntry, command: Command, *, rest: Rest = at_once
    ) -> GameEntry:
        """
        Carry out what the server does for a seat; StreamConflict where the game moved on.

        It waits for `rest` before it writes: the time in the events is part of what is told.
        """
        events = decide(command, entry.record.game)
        rest()
        return self.apply(entry, events)

    def apply(self, entry: GameEntry, events: tuple[Event, ...]) -> GameEntry:
        """
        Commit events that the server decided on at this entry; StreamConflict where late.

        Nobody is woken: whoever calls goes on with what is due.
        """
        try:
            after = commit_change(self._store, self._entries, self._changed(entry, events))
        except StreamConflict:
            CONFLICTS.labels("server").inc()
            raise
        MOVES.labels("server").inc()
        self._tell(after, wake=False)
        return after

    def _carried_out(
        self,
        player: UUID,
        game: UUID,
        seat: Seat,
        decision: Decision,
        *,
        auth: Mapping[str, Any] | None = None,
        request: Idempotency | None = None,
    ) -> Answered:
        entry = self._entries.cached(game)
        for _ in range(ATTEMPTS):
            if entry is None:
                raise not_found("game")
            try:
                events = decision(entry)
            except (Refusal, _RefusedMove) as refusal:
                # What this process knows may be old: the present decides.
                present = self._entries.fresh(game)
                if present is None or present.record.version == entry.record.version:
                    # A twin of this request may have come first: its answer holds for both.
                    if first := self._answers.kept(player, request):
                        return first
                    raise self._refused(entry.record, seat, refusal) from None
                entry = present
                continue
            change = self._changed(entry, events, auth=auth)
            answer = self._answer(change, seat)
            kept = self._answers.to_keep(player, request, answer)
            try:
                self._tell(commit_change(self._store, self._entries, change, kept))
            except StreamConflict:
                CONFLICTS.labels("player").inc()
                entry = self._entries.fresh(game)
            except AnswerConflict:
                return self._first_answer(player, request)
            else:
                MOVES.labels("player").inc()
                return answer
        raise Refusal("unavailable", "too many moves at once, try again")

    def _first_answer(self, player: UUID, request: Idempotency | None) -> Answered:
        kept = self._answers.kept(player, request)
        if kept is None:
            raise Refusal("unavailable", "the first answer is gone, try again")
        return kept

    def _changed(
        self,
        entry: GameEntry,
        events: tuple[Event, ...],
        *,
        auth: Mapping[str, Any] | None = None,
    ) -> Change:
        at = format_time(self._world.now())
        after, lines = write(entry.record, events, at=at, auth=auth)
        if after.game.status is Status.SHUFFLING:
            after, dealt = deal_when_ready(after, at=after.at)
            lines += dealt
        return Change(before=entry, after=after, lines=lines)

    def _tell(self, after: GameEntry, *, wake: bool = True) -> None:
        record = after.record
        coming = next_wake(record, window_seconds=after.window_seconds, back=after.back)
        due = (
            wake
            and coming is not None
            and coming.kind is WakeKind.BOT
            and format_time(coming.at) <= record.at
        )
        self._bell.moved(record.identity, record.version, wake=due)
        if record.sealed:
            self._bell.table_moved(after.table, 0)

    def _answer(self, change: Change, seat: Seat) -> Answered:
        record = change.after
        after = replace(change.before, record=record)
        body = b"".join(
            (
                b'{"version":%d,"events":[' % record.version,
                b",".join(change.lines),
                b'],"receipt":',
                orjson.dumps(self._receipts.issue(record).decode()),
                b',"game":',
                orjson.dumps(shown(after, seat, self._names)),
                b"}",
            )
        )
        return Answered(body=body, version=record.version)

    def _seated(self, caller: Caller, game: UUID) -> tuple[UUID, Seat]:
        entry = visible(self._entries.cached(game), caller, self._entries.lets_judge)
        seat = entry.seat_of(caller.player)
        if caller.player is None or seat is None:
            raise Refusal("not-seated", "you do not sit in this game")
        return caller.player, seat

    def _decided(self, record: GameRecord, move: Move) -> tuple[Event, ...]:
        try:
            return decide(move, record.game)
        except GameOver:
            raise Refusal("game-over", "the game is over") from None
        except UnknownCard as error:
            raise Refusal("unknown-card", str(error)) from None
        except (NotYourTurn, RuleRefused) as error:
            raise _RefusedMove(move, error) from None

    def _refused(
        self, record: GameRecord, seat: Seat, refusal: Refusal | _RefusedMove
    ) -> Refusal:
        """Return what the caller is told; a move that a rule refused is kept (protocol.md, 5)."""
        if isinstance(refusal, Refusal):
            return refusal
        error = refusal.error
        if isinstance(error, NotYourTurn):
            self._refusals.keep(record, seat, refusal.move, None)
            return Refusal("not-your-turn", "you may not act now")
        rule = error.rule
        self._refusals.keep(record, seat, refusal.move, rule)
        return Refusal(
            "rule-refused",
            error.detail,
            rule=rule,
            rule_text=self._refusals.text(record, rule),
            legal=[move_json(legal) for legal in legal_moves(record.game, seat)],
            version=record.version,
        )


class _RefusedMove(Exception):
    """The game said no; whether that holds is known when it is known to be the present one."""

    def __init__(self, move: Move, error: NotYourTurn | RuleRefused) -> None:
        super().__init__(str(error))
        self.move = move
        self.error = error


def _completed(record: GameRecord, body: Mapping[str, Any], seat: Seat) -> Move:
    """Return the move; where nothing goes along with a pick-up the server says so itself."""
    move = {name: value for name, value in body.items() if name != "auth"}
    if move["type"] == "pick_up" and move.get("with") is None:
        choices = [] if record.sealed else list(along_choices(record.game, seat))
        if choices and choices != [()]:
            raise Refusal(
                "invalid-body",
                "say which face-up cards go along",
                errors=[{"at": "/with", "message": "is missing"}],
            )
        move["with"] = []
    return move_of(move, seat)

