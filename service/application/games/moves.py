"""Moves, from top to bottom: seat, events, commit, answer, notifications; refused attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

from msgspec.structs import replace

from schemas.moves import listed_moves, move_of
from service.application.access import visible
from service.application.calls import (
    Answered,
    Caller,
    Expected,
    Idempotency,
    MadeMove,
    ReadOnce,
    any_version,
)
from service.application.errors import Refusal, fault, not_found, stale
from service.application.games.absences import Absences
from service.application.games.cache import GameCache, Names
from service.application.games.commits import Change, commit_of
from service.application.games.entry import GameEntry
from service.application.games.queries import move_answer
from service.application.games.record import GameRecord, seals, write
from service.application.games.refused_moves import Refusals
from service.application.games.schedule import Rest, WakeKind, at_once
from service.application.games.signatures import check_signature, is_current
from service.application.handler import Accepted, Attempt, Handler, StreamCommand
from service.application.ports import Notifier, World
from service.application.quotas import MAX_SWAPS, listing, work
from service.application.signing import Receipts
from service.application.tables.dealing import deal_when_ready
from service.domain.commands import (
    ClaimAbsence,
    Command,
    GameOver,
    Move,
    NotYourTurn,
    RuleRefused,
    Seat,
    Swap,
    UnknownCard,
)
from service.domain.decide import decide
from service.domain.events import AbortCause, Event, GameAborted
from service.domain.game import Game, Status
from service.domain.legal import along_choices, is_out_of_turn, legal_moves
from service.keys import KeyringError
from service.replay.sentences import Sentence, reason_of, said
from service.runtime.telemetry import CONFLICTS, MOVES
from service.shx.canonical import format_time
from service.store.events import EventStore, StoreError, StreamConflict

# Each look-up of a counter by its labels costs more than the counting.
_CONFLICTS_OF_PLAYERS: Final = CONFLICTS.labels("player")
_MOVES_OF_PLAYERS: Final = MOVES.labels("player")
_MOVES_OF_SERVER: Final = MOVES.labels("server")

Decision = Callable[[GameEntry], tuple[Event, ...]]
"""Returns the events that a command leads to, or raises Refusal."""


class Changes:
    """Makes the changes of games: encodes events before a commit, caches and notifies after it."""

    def __init__(
        self,
        *,
        game_cache: GameCache,
        refusals: Refusals,
        world: World,
        notifier: Notifier,
    ) -> None:
        self._game_cache = game_cache
        self._refusals = refusals
        self._world = world
        self._notifier = notifier

    def of(
        self,
        entry: GameEntry,
        events: tuple[Event, ...],
        *,
        auth: Mapping[str, Any] | None = None,
    ) -> Change:
        """Return the change of a game by events; after the last entropy with those of the deal."""
        refusals, refused, table = None, None, None
        if seals(events):
            stored, table = self._game_cache.at_seal(entry)
            refusals = self._refusals.seal_entry(entry.record.identity, stored)
            refused = len(stored)
        at = format_time(self._world.now())
        record, lines = write(entry.record, events, at=at, auth=auth, refusals=refusals)
        if record.game.status is Status.SHUFFLING:
            record, dealt = deal_when_ready(record, at=record.at)
            lines += dealt
        return Change(before=entry, record=record, lines=lines, refused=refused, table=table)

    def committed(self, change: Change, *, wake: bool) -> None:
        """Cache and count a committed change, and notify readers and, with `wake`, workers."""
        after, record = change.after, change.record
        self._game_cache.keep(after)
        (_MOVES_OF_PLAYERS if wake else _MOVES_OF_SERVER).inc()
        coming = change.wake
        due = (
            wake
            and coming is not None
            and coming.kind is WakeKind.BOT
            and format_time(coming.at) <= record.at
        )
        table = after.table if record.sealed else None
        self._notifier.moved(record.identity, record.version, wake=due, table=table)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatCommand(StreamCommand[GameEntry, Change]):
    """A move, or another decision of a player for the own seat."""

    game_cache: GameCache
    changes: Changes
    names: Names
    receipts: Receipts
    game: UUID
    seat: Seat
    decision: Decision
    auth: Mapping[str, Any] | None

    def load(self, last: Attempt[GameEntry] | None) -> GameEntry:
        """Return the game as the request read it, and after an attempt its present version."""
        if last is not None and last.error is not None:
            _CONFLICTS_OF_PLAYERS.inc()
            if (newer := self._with_lines_of(last.state, last.error)) is not None:
                return newer
        return loaded(self.game_cache, self.game, self.read, fresh=last is not None)

    def decide(self, entry: GameEntry) -> Accepted[Change]:
        """Return the events, the lines and the answer of the command; raises Refusal."""
        with work(listing(entry.record.game, self.seat)):
            change = self.changes.of(entry, self.decision(entry), auth=self.auth)
            record = change.record
            # The answer has `returned_seats` from before the move, as the rebuilt one (`MadeMove`).
            after = replace(entry, record=record)
            body = move_answer(after, change.lines, self.seat, self.names, self.receipts)
        return Accepted(
            answer=Answered(body=body, version=record.version),
            rebuilt=MadeMove(
                game=record.identity,
                seat=self.seat,
                before=entry.version,
                version=record.version,
                back=tuple(sorted(entry.returned_seats)),
            ),
            commit=commit_of(change),
            made=change,
        )

    def committed(self, change: Change) -> None:
        """Cache the game, and notify readers and workers."""
        self.changes.committed(change, wake=True)

    def _with_lines_of(self, entry: GameEntry, conflict: StoreError) -> GameEntry | None:
        """Return the game with the events of the conflicting commit; None to load it again."""
        if not isinstance(conflict, StreamConflict) or conflict.stream != entry.record.identity:
            return None
        if not conflict.lines:
            return None
        newer = self.game_cache.with_events(entry, entry.version, conflict.lines)
        game = newer.record.game
        if game.replaced or any(seat.time_outs for seat in game.seats):
            return None  # a player may have taken the seat back from a bot: no event states this
        self.game_cache.keep(newer)
        return newer


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortGame(StreamCommand[GameEntry, Change]):
    """The operator ends a game."""

    game_cache: GameCache
    changes: Changes
    game: UUID

    def load(self, last: Attempt[GameEntry] | None) -> GameEntry:
        """Return the present version; raises Refusal `not-found`, or `unavailable` for its seed."""
        if last is not None and last.error is not None:
            CONFLICTS.labels("server").inc()
        try:
            return loaded(self.game_cache, self.game, None, fresh=True)
        except KeyringError as error:
            detail = said("operator.unreadable_seed", reason=str(error))
            raise Refusal("unavailable", detail) from None

    def decide(self, entry: GameEntry) -> Accepted[Change]:
        """Return the abort; raises Refusal `game-over`, or `unavailable` without a seed."""
        if entry.record.sealed:
            raise Refusal("game-over", OVER)
        if entry.record.seed is None:
            raise Refusal("unavailable", said("operator.no_seed"))
        change = self.changes.of(entry, (GameAborted(cause=AbortCause.OPERATOR, seat=None),))
        return Accepted(answer=Answered(body=b""), commit=commit_of(change), made=change)

    def committed(self, change: Change) -> None:
        """Cache the game, and notify readers."""
        self.changes.committed(change, wake=False)


class Moves:
    """Writes every change of a game: moves of players, and of the server for seats."""

    def __init__(
        self,
        *,
        handler: Handler,
        store: EventStore,
        game_cache: GameCache,
        receipts: Receipts,
        refusals: Refusals,
        names: Names,
        world: World,
        notifier: Notifier,
        absences: Absences,
    ) -> None:
        self.absences = absences
        self._handler = handler
        self._store = store
        self._game_cache = game_cache
        self._receipts = receipts
        self._refusals = refusals
        self._names = names
        self._changes = Changes(
            game_cache=game_cache, refusals=refusals, world=world, notifier=notifier
        )

    def move(
        self,
        caller: Caller,
        game: UUID,
        body: Mapping[str, Any],
        *,
        seat: Seat | None = None,
        expected: Expected = any_version,
        request: Idempotency | None = None,
    ) -> Answered:
        """
        Make a player's move and return the answer of api.md, section 4.

        `body` is a validated move, with `auth` if its player signed it; `seat` is that of the
        caller, if it was found already; `expected` returns the versions in If-Match, of which one
        has to be current.

        Raises Refusal `not-found`, `not-seated`, `invalid-body`, `game-over`, `unknown-card`,
        `not-your-turn`, `rule-refused`, `not-away`, `limit-reached`, `rate-limited`, and those of
        `check_signature` and `Handler.handle`.
        """
        seat = self.seat_of(caller, game) if seat is None else seat
        decision = partial(_played, seat=seat, body=body, expected=expected, absences=self.absences)
        try:
            return self._carried_out(caller, game, seat, decision, request, body.get("auth"))
        except NotPlayable as refused:
            with work(listing(refused.record.game, seat)):
                raise self._recorded(refused) from None

    def change(
        self,
        caller: Caller,
        game: UUID,
        decision: Callable[[GameEntry, Seat], tuple[Event, ...]],
        request: Idempotency | None,
        *,
        seat: Seat | None = None,
    ) -> Answered:
        """
        Carry out a decision of the caller's seat that is not a move; `seat` as for a move.

        Raises Refusal `not-found`, `not-seated`, and those of `decision` and `Handler.handle`.
        """
        own = self.seat_of(caller, game) if seat is None else seat
        return self._carried_out(
            caller, game, own, lambda entry: decision(entry, own), request, None
        )

    def abort(self, game: UUID) -> None:
        """
        End a game for the operator.

        Raises Refusal `not-found`, `game-over`, or `unavailable` if its seed is lost.
        """
        command = AbortGame(game_cache=self._game_cache, changes=self._changes, game=game)
        self._handler.handle(command)

    def server_move(self, entry: GameEntry, command: Command, *, rest: Rest = at_once) -> GameEntry:
        """
        Make a move of the server for a seat; raises StreamConflict if the game has moved on.

        It calls `rest` before the write. For a bot this waits until the end of a fixed interval:
        the time in the events is public, and would otherwise show how long the bot needed.
        """
        events = decide(command, entry.record.game)
        rest()
        return self.apply(entry, events)

    def apply(self, entry: GameEntry, events: tuple[Event, ...]) -> GameEntry:
        """
        Commit events that the server decided on; raises StreamConflict if the game moved on.

        No worker is woken: the caller makes the next due moves itself.
        """
        change = self._changes.of(entry, events)
        try:
            self._store.commit(commit_of(change))
        except StreamConflict:
            CONFLICTS.labels("server").inc()
            raise
        self._changes.committed(change, wake=False)
        return change.after

    def seat_of(self, caller: Caller, game: UUID) -> Seat:
        """Return the caller's seat; raises Refusal `not-found`, or `not-seated` without one."""
        found = _as_read(self._game_cache, game, caller.read, fresh=False)
        entry = visible(found, caller, self._game_cache.sits_or_judges)
        seat = entry.seat_of(caller.player)
        if seat is None:
            raise Refusal("not-seated", said("request.not_seated"))
        return seat

    def _carried_out(
        self,
        caller: Caller,
        game: UUID,
        seat: Seat,
        decision: Decision,
        request: Idempotency | None,
        auth: Mapping[str, Any] | None,
    ) -> Answered:
        command = SeatCommand(
            player=caller.player,
            request=request,
            read=caller.read,
            game_cache=self._game_cache,
            changes=self._changes,
            names=self._names,
            receipts=self._receipts,
            game=game,
            seat=seat,
            decision=decision,
            auth=auth,
        )
        return self._handler.handle(command)

    def _recorded(self, refused: NotPlayable) -> Refusal:
        """Record a refused attempt (SHX/1, section 5), and return its refusal."""
        record, seat, error = refused.record, refused.seat, refused.error
        rule = error.rule if isinstance(error, RuleRefused) else None
        if not self._refusals.store(record, seat, refused.move, rule):
            return Refusal("game-over", OVER)
        if isinstance(error, NotYourTurn):
            return Refusal("not-your-turn", _turn_detail(record.game))
        return Refusal(
            "rule-refused",
            reason_of(error),
            out_of_turn=is_out_of_turn(record.game, seat),
            rule=error.rule,
            rule_text=self._refusals.text(record, error.rule),
            legal=listed_moves(legal_moves(record.game, seat)),
            version=record.version,
        )


OVER: Final = Sentence(code="refused.over")


class NotPlayable(Refusal):
    """A move that the rules refuse: final, and recorded, if the state is the present one."""

    def __init__(
        self, record: GameRecord, seat: Seat, move: Move, error: NotYourTurn | RuleRefused
    ) -> None:
        super().__init__("rule-refused", reason_of(error))
        self.record = record
        self.seat = seat
        self.move = move
        self.error = error


def loaded(game_cache: GameCache, game: UUID, read: ReadOnce | None, *, fresh: bool) -> GameEntry:
    """Return a game, with `fresh` at its present version; raises Refusal `not-found`."""
    entry = _as_read(game_cache, game, read, fresh=fresh)
    if entry is None:
        raise not_found("game")
    return entry


def _as_read(
    game_cache: GameCache, game: UUID, read: ReadOnce | None, *, fresh: bool
) -> GameEntry | None:
    if read is None:
        return game_cache.fresh(game) if fresh else game_cache.cached(game)
    return read.take(game) if fresh else read.entry(game)


def _played(
    entry: GameEntry,
    *,
    seat: Seat,
    body: Mapping[str, Any],
    expected: Expected,
    absences: Absences,
) -> tuple[Event, ...]:
    """Return the events of a seat's move; raises Refusal."""
    record = entry.record
    move = _checked(record, seat, body, expected)
    try:
        events = decide(move, record.game)
    except GameOver:
        raise Refusal("game-over", OVER) from None
    except UnknownCard as error:
        out_of_turn = is_out_of_turn(record.game, seat)
        raise Refusal("unknown-card", reason_of(error), out_of_turn=out_of_turn) from None
    except (NotYourTurn, RuleRefused) as error:
        raise NotPlayable(record, seat, move, error) from None
    if isinstance(move, ClaimAbsence):
        absences.check(entry, move.absent)
    return events


def _checked(record: GameRecord, seat: Seat, body: Mapping[str, Any], expected: Expected) -> Move:
    """Return the move if its signature and its versions are valid; raises Refusal."""
    move = _completed(record, body, seat)
    if record.sealed:
        raise Refusal("game-over", OVER)
    check_signature(record, seat, move, body.get("auth"))
    versions = expected()
    if versions is not None and not any(
        is_current(record, seat, move, seen_seq=version - 1) for version in versions
    ):
        raise stale("game", record.version, versions)
    if isinstance(move, Swap) and record.swaps.get(seat, 0) >= MAX_SWAPS:
        raise Refusal("limit-reached", said("request.swaps", n=MAX_SWAPS))
    return move


def _turn_detail(game: Game) -> Sentence:
    """Return the detail of `not-your-turn`, from public data."""
    if game.status is Status.SHUFFLING:
        return Sentence(code="refused.not_dealt")
    if game.status is Status.SWAPPING:
        waiting = tuple(seat for seat, state in enumerate(game.seats) if not state.ready)
        return Sentence(code="refused.you_are_ready", values={"seats": waiting})
    if game.turn is None:
        return Sentence(code="refused.not_you")
    return Sentence(code="refused.turn_of", values={"seat": game.turn})


def _completed(record: GameRecord, body: Mapping[str, Any], seat: Seat) -> Move:
    """Return the move; in a pick-up without a choice, `with` is added as an empty list."""
    move = {name: value for name, value in body.items() if name != "auth"}
    if move["type"] == "pick_up" and move.get("with") is None:
        choices = [] if record.sealed else list(along_choices(record.game, seat))
        if choices and choices != [()]:
            raise Refusal(
                "invalid-body",
                said("request.with_missing"),
                errors=[fault("/with", said("request.missing"))],
            )
        move["with"] = []
    return move_of(move, seat)
