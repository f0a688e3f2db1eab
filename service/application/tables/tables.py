"""Use cases of tables: open, sit, leave, change a seat, return from a bot, deal, close."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from secrets import token_urlsafe
from typing import Any
from uuid import UUID

import orjson
from msgspec.structs import replace

from service.application.access import (
    AccessLog,
    Answered,
    Caller,
    Expected,
    Idempotency,
    Player,
    any_version,
    digest,
    visible,
    visible_table,
)
from service.application.errors import Refusal, invalid, not_found
from service.application.games.cache import GameCache, GameEntry, Names
from service.application.games.queries import present_view
from service.application.games.schedule import next_wake, stands_in
from service.application.handler import Accepted, Handler, NewStream, nothing
from service.application.ports import Notifier, World
from service.application.quotas import (
    check_game_quota,
    check_table_quotas,
    of_games,
    of_tables,
)
from service.application.rulesets import Rulebook
from service.application.tables.dealing import DealtHand, new_hand, table_append
from service.application.tables.record import (
    TABLES,
    TableRecord,
    TableRequest,
    new_table_summary,
    opened_by,
)
from service.application.tables.view import table_json
from service.domain.commands import Seat
from service.domain.events import Entropy
from service.domain.table import (
    SeatChanged,
    SeatKind,
    SeatLeft,
    SeatTaken,
    Table,
    TableClosed,
    TableEvent,
    TableStatus,
)
from service.keys import Keys
from service.shx.canonical import format_time
from service.shx.moves import key_change_is_signed
from service.store.directory import Directory
from service.store.events import (
    Commit,
    EventStore,
    StreamAppend,
    StreamConflict,
)


def seat_taken(
    table: Table, player: Player, seat: Seat | None, *, entropy: Entropy, key: str | None
) -> SeatTaken:
    """
    Return the event of a player who sits down; without `seat` on the first free seat.

    Raises Refusal `forbidden` at a closed table, `invalid-body` for an unknown seat, `seat-taken`
    if the seat is not free or the player sits at the table already.
    """
    if table.status is TableStatus.CLOSED:
        raise Refusal("forbidden", "the table is closed")
    if seat is not None and not 0 <= seat < len(table.seats):
        raise invalid("/seat", "the table has no such seat")
    if table.seat_of(str(player.id)) is not None:
        raise Refusal("seat-taken", "you sit at this table already")
    free = [n for n, s in enumerate(table.seats) if s.kind is SeatKind.OPEN]
    if not free or (seat is not None and seat not in free):
        raise Refusal("seat-taken", "the seat is not free")
    taken = free[0] if seat is None else seat
    return SeatTaken(seat=taken, player=str(player.id), entropy=entropy, key=key)


def seat_left(table: Table, player: Player) -> SeatLeft:
    """Return the event of a player who leaves; raises Refusal `not-seated` or `hand-running`."""
    return SeatLeft(seat=_own_seat(table, player))


def changed_seat(
    identity: UUID, table: Table, player: Player, changes: dict[str, Any]
) -> Sequence[SeatChanged]:
    """
    Return the event for another choice of entropy or key, none if nothing changes.

    Omitted members of `changes` stay the same. A signature by the old key links the new key to
    it; a change without one is allowed, and reports call the key new. The signature of a repeated
    change is only compared with the stored one, because the key that made it was replaced.

    Raises Refusal `bad-signature`, `not-seated` or `hand-running`.
    """
    seat = _own_seat(table, player)
    state = table.seats[seat]
    key, sig = changes.get("key", state.key), changes.get("sig")
    entropy = Entropy(changes.get("entropy", state.entropy))
    if (entropy, key) == (state.entropy, state.key) and sig in (None, state.key_sig):
        return []
    if sig is not None:
        signed = (
            state.key is not None
            and key is not None
            and key_change_is_signed(
                b64decode(state.key), sig, table=identity, seat=seat, key=b64decode(key)
            )
        )
        if not signed:
            raise Refusal("bad-signature", "the new key is not signed by the old one")
    return [SeatChanged(seat=seat, entropy=entropy, key=key, sig=sig)]


def table_closed(table: Table, expected: Expected = any_version) -> Sequence[TableClosed]:
    """
    Return the event of a table that closes, none if it is closed already.

    `expected` returns the versions in If-Match. Raises Refusal `stale-version` for another
    version, `hand-running` during a hand.
    """
    versions = expected()
    if versions is not None and table.version not in versions:
        raise Refusal("stale-version", "the table has changed", version=table.version)
    check_not_playing(table)
    return [] if table.closed else [TableClosed()]


def _own_seat(table: Table, player: Player) -> Seat:
    seat = table.seat_of(str(player.id))
    if seat is None:
        raise Refusal("not-seated", "you do not sit at this table")
    check_not_playing(table)
    return seat


def check_not_playing(table: Table) -> None:
    """Raise Refusal `hand-running` during a hand."""
    if table.status is TableStatus.PLAYING:
        raise Refusal("hand-running", "a hand is being played")


def check_ready_to_deal(table: Table) -> None:
    """
    Raise Refusal if the table cannot deal.

    The code is `hand-running` during a hand, `table-not-full` with an open seat, `forbidden` if
    the table is closed.
    """
    match table.status:
        case TableStatus.PLAYING:
            raise Refusal("hand-running", "a hand is being played")
        case TableStatus.OPEN:
            raise Refusal("table-not-full", "there are open seats")
        case TableStatus.CLOSED:
            raise Refusal("forbidden", "the table is closed")
        case TableStatus.BETWEEN:
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Use cases of tables."""

    handler: Handler
    store: EventStore
    directory: Directory
    game_cache: GameCache
    keyring: Keys
    names: Names
    access_log: AccessLog
    rulebook: Rulebook
    world: World
    notifier: Notifier
    record_version: int

    def open(
        self, player: Player, wanted: TableRequest, request: Idempotency | None = None
    ) -> Answered:
        """
        Open a table, deal if it is full and its condition `deal` is set, and return the table.

        Raises Refusal `rate-limited`, `invalid-body`, `ruleset-refused`, `cannot-deal`, and those
        of `Handler.handle`.
        """
        return self.handler.handle(
            lambda _fresh: NewStream(),
            lambda _new: self._opened(player, wanted),
            caller=player.id,
            request=request,
        )

    def _opened(self, player: Player, wanted: TableRequest) -> Accepted:
        check_table_quotas(self.directory, player.id)
        event = opened_by(player.id, wanted, self.rulebook.definition(wanted.ruleset))
        identity, at = self.world.identity(), format_time(self.world.now())
        invite = None if wanted.public else token_urlsafe(32)
        record, first = TABLES.open(identity, [event], at=at)
        dealt = self._first_hand(record)
        record, lines = TABLES.write(record, dealt.events if dealt else (), at=at)
        summary = new_table_summary(
            record, created_at=at, invite_hash=digest(invite) if invite else None
        )
        table = table_json(record, Caller(player=player.id), self.names, games=(), dealt=dealt)
        if invite is not None:
            table["invite"] = invite
        append = table_append(record, first + lines, expected=0, summary=summary)
        answer = Answered(body=orjson.dumps(table), version=record.version)
        return self._accepted(player, append, dealt, record, answer)

    def view(self, caller: Caller, identity: UUID) -> tuple[dict[str, Any], int]:
        """Return a table as the caller sees it, and its version; raises Refusal `not-found`."""
        row = visible_table(self.directory.table(identity), caller)
        self.access_log.note_table(row, caller)
        record = self._record(identity)
        games = self.directory.games_of_table(identity)
        return table_json(record, caller, self.names, games=games), record.version

    def version(self, identity: UUID) -> int:
        """Return a table's version, for long polls; raises Refusal `not-found`."""
        if (row := self.directory.table(identity)) is None:
            raise not_found("table")
        return row.version

    def sit(
        self,
        player: Player,
        identity: UUID,
        *,
        seat: int | None,
        entropy: Entropy,
        key: str | None,
        invite: str | None,
        request: Idempotency | None = None,
    ) -> Answered:
        """
        Take a seat, by default the first open one; deal the first hand if the table is full.

        Returns the table. Raises Refusal `not-found`, `rate-limited`, and those of `seat_taken`
        and `Handler.handle`.
        """
        caller = Caller(player=player.id, invite=invite)
        visible_table(self.directory.table(identity), caller)
        check_game_quota(self.directory, player.id)

        def events(record: TableRecord) -> Sequence[TableEvent]:
            return [seat_taken(record.table, player, seat, entropy=entropy, key=key)]

        return self._change(caller, player, identity, events, request, deals=True)

    def leave(self, player: Player, identity: UUID, *, invite: str | None = None) -> None:
        """
        Leave the player's seat between hands.

        Raises Refusal `not-found`, `not-seated` or `hand-running`.
        """
        caller = Caller(player=player.id, invite=invite)
        visible_table(self.directory.table(identity), caller)
        self._change(caller, player, identity, lambda r: [seat_left(r.table, player)])

    def close(self, caller: Caller, player: Player, identity: UUID, expected: Expected) -> None:
        """
        Close a table for its host, between hands; safe to repeat.

        Raises Refusal `not-found`, `forbidden` for other players, and those of `table_closed`.
        """
        row = visible_table(self.directory.table(identity), caller)
        if row.host != player.id:
            raise Refusal("forbidden", "only the host can close a table")
        self._change(caller, player, identity, lambda r: table_closed(r.table, expected))

    def shut(self, identity: UUID) -> None:
        """
        Close a table for the operator, between hands.

        Raises Refusal `not-found` or `hand-running`.
        """
        row = self.directory.table(identity)
        if row is None:
            raise not_found("table")
        host = Player(id=row.host, name="")
        self._change(Caller(player=host.id), host, identity, lambda r: table_closed(r.table))

    def change_seat(
        self,
        player: Player,
        identity: UUID,
        *,
        changes: dict[str, Any],
        invite: str | None = None,
    ) -> tuple[dict[str, Any], int]:
        """
        Change a seat's entropy or key for later hands; return the table and its version.

        Raises Refusal `not-found`, and those of `changed_seat`.
        """
        caller = Caller(player=player.id, invite=invite)
        visible_table(self.directory.table(identity), caller)
        self._change(
            caller,
            player,
            identity,
            lambda r: changed_seat(r.identity, r.table, player, changes),
        )
        return self.view(caller, identity)

    def deal(
        self,
        player: Player,
        identity: UUID,
        request: Idempotency | None,
        *,
        invite: str | None = None,
    ) -> Answered:
        """
        Deal the next hand and return the caller's view of it.

        Raises Refusal `not-found`, `not-seated`, `rate-limited`, and those of
        `check_ready_to_deal` and `Handler.handle`.
        """
        caller = Caller(player=player.id, invite=invite)
        return self.handler.handle(
            lambda _fresh: self._record(identity),
            lambda record: self._dealt(caller, player, record),
            caller=player.id,
            request=request,
            erased=lambda: self._vacated(player, identity),
        )

    def _dealt(self, caller: Caller, player: Player, record: TableRecord) -> Accepted:
        row = visible_table(self.directory.table(record.identity), caller)
        if player.id != row.host and record.table.seat_of(str(player.id)) is None:
            raise Refusal("not-seated", "only the host and the seats of a table can deal")
        check_ready_to_deal(record.table)
        check_game_quota(self.directory, player.id)
        dealt = self._hand(record)
        done, lines = TABLES.write(record, dealt.events, at=dealt.record.created_at)
        view = present_view(dealt.entry, dealt.entry.seat_of(player.id), self.names)
        answer = Answered(body=orjson.dumps({"game": view}), version=dealt.record.version)
        append = table_append(done, lines, expected=record.version)
        return self._accepted(player, append, dealt, done, answer)

    def _change(
        self,
        caller: Caller,
        player: Player,
        identity: UUID,
        decide: Callable[[TableRecord], Sequence[TableEvent]],
        request: Idempotency | None = None,
        *,
        deals: bool = False,
    ) -> Answered:
        def decision(record: TableRecord) -> Accepted:
            at = format_time(self.world.now())
            changed, lines = TABLES.write(record, decide(record), at=at)
            dealt = self._first_hand(changed) if deals else None
            done, more = TABLES.write(changed, dealt.events if dealt else (), at=at)
            games = self.directory.games_of_table(identity)
            table = table_json(done, caller, self.names, games=games, dealt=dealt)
            answer = Answered(body=orjson.dumps(table), version=done.version)
            if not lines:
                return Accepted(answer=answer)
            append = table_append(done, lines + more, expected=record.version)
            return self._accepted(player, append, dealt, done, answer)

        return self.handler.handle(
            lambda _fresh: self._record(identity),
            decision,
            caller=player.id,
            request=request,
            erased=lambda: self._vacated(player, identity),
        )

    def _accepted(
        self,
        player: Player,
        append: StreamAppend,
        dealt: DealtHand | None,
        record: TableRecord,
        answer: Answered,
    ) -> Accepted:
        quotas = (
            *([of_tables(player.id)] if append.expected == 0 else ()),
            *([of_games(player.id)] if dealt is not None else ()),
        )
        commit = Commit(appends=(append,), quotas=quotas)
        if dealt is not None:
            commit = dealt.added_to(commit, record, self.keyring)

        def done() -> None:
            self.notifier.table_moved(record.identity, record.version)
            if dealt is not None:
                self.notifier.moved(dealt.record.identity, dealt.record.version, wake=True)

        return Accepted(answer=answer, commit=commit, done=done)

    def _vacated(self, player: Player, identity: UUID) -> bool:
        """Return whether to decide again: another player was erased, whose seat is now open."""
        if self._is_erased(player.id):
            return False
        self._vacate(identity)
        return True

    def _vacate(self, identity: UUID) -> None:
        """
        Open the seats of players who were erased at the same moment.

        An erasure first leaves the player's seats, and after the deletion those taken meanwhile. A
        deal in between is refused. If the erasure crashed there, every later deal would be refused
        without this method.
        """
        record = self.game_cache.table(identity)
        if record is None or record.table.status is TableStatus.PLAYING:
            return
        gone = [
            SeatLeft(seat=number)
            for number, seat in enumerate(record.table.seats)
            if seat.player is not None and self._is_erased(UUID(seat.player))
        ]
        if gone:
            done, lines = TABLES.write(record, gone, at=format_time(self.world.now()))
            append = table_append(done, lines, expected=record.version)
            with suppress(StreamConflict):
                self.store.commit(Commit(appends=(append,)))

    def _is_erased(self, player: UUID) -> bool:
        row = self.directory.player(player)
        return row is not None and row.erased_at is not None

    def _first_hand(self, record: TableRecord) -> DealtHand | None:
        table = record.table
        full = table.conditions.deal and table.status is TableStatus.BETWEEN
        return self._hand(record) if full and not table.hand else None

    def _hand(self, record: TableRecord) -> DealtHand:
        game, lines = new_hand(
            record.identity,
            record.table,
            self.world,
            not_before=record.at,
            v=self.record_version,
        )
        row = self.directory.table(record.identity)
        return DealtHand(game, lines, record, invite_hash=row.invite_hash if row else None)

    def _record(self, identity: UUID) -> TableRecord:
        record = self.game_cache.table(identity)
        if record is None:
            raise not_found("table")
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIns:
    """Gives seats back to their players after a bot stood in; any move does the same."""

    handler: Handler
    game_cache: GameCache
    directory: Directory
    names: Names

    def back(self, caller: Caller, game: UUID, request: Idempotency | None = None) -> Answered:
        """
        Give the caller's seat back to its player, and return the seat's view of the game.

        The log has no event for it before the seat's next move. Safe to repeat.
        Raises Refusal `not-found`, `not-seated`, `game-over`, and those of `Handler.handle`.
        """
        return self.handler.handle(
            lambda _fresh: visible(
                self.game_cache.fresh(game), caller, self.game_cache.sits_or_judges
            ),
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
        view = orjson.dumps(present_view(entry, seat, self.names))
        return Accepted(answer=Answered(body=view, version=entry.version), effect=effect)

    def _come_back(self, entry: GameEntry) -> None:
        """Update the game's row; raises StreamConflict if the game has moved on."""
        game, back = entry.record.identity, entry.back
        wake = next_wake(entry.record, window_seconds=entry.window_seconds, back=back)
        done = self.directory.come_back(
            game,
            version=entry.version,
            back=sorted(back),
            wake_kind=wake.kind.value if wake else None,
            wake_at=wake.at if wake else None,
        )
        if not done:
            raise StreamConflict(game, entry.version)
