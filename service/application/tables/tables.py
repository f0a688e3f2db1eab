"""Use cases of tables: open, sit, leave, change a seat, return from a bot, deal, close."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from msgspec.structs import replace

from schemas.challenges import ChallengeStatus
from service.application.access import AccessLog, visible, visible_table
from service.application.calls import (
    Answered,
    Caller,
    Expected,
    Idempotency,
    RegisteredPlayer,
    any_version,
)
from service.application.errors import Refusal, invalid, not_found, stale
from service.application.games.cache import GameCache, Names
from service.application.games.entry import GameEntry
from service.application.games.queries import present_view
from service.application.games.schedule import next_wake, stands_in
from service.application.handler import Accepted, Attempt, Handler, StreamCommand
from service.application.quotas import check_game_quota
from service.application.tables.commands import (
    ChangeTable,
    DealHand,
    OpenTable,
    TableChanges,
    check_length,
)
from service.application.tables.invitations import may_join
from service.application.tables.record import (
    TableRecord,
    TableRequest,
    deals_at,
)
from service.application.tables.view import table_json
from service.domain.commands import Seat
from service.domain.events import Entropy
from service.domain.table import (
    SeatChanged,
    SeatKind,
    SeatLeft,
    SeatPaused,
    SeatResumed,
    SeatTaken,
    Table,
    TableClosed,
    TableEvent,
    TableStatus,
)
from service.replay.sentences import said
from service.shx.moves import key_change_is_signed
from service.store.directory import Directory
from service.store.events import (
    StreamConflict,
)
from service.store.games import TableRow


def seat_taken(
    table: Table, player: RegisteredPlayer, seat: Seat | None, *, entropy: Entropy, key: str | None
) -> SeatTaken:
    """
    Return the event of a player who sits down; without `seat` on the first free seat.

    Raises Refusal `forbidden` at a closed table, `invalid-body` for an unknown seat, `seat-taken`
    if the seat is not free or the player sits at the table already.
    """
    if table.status is TableStatus.CLOSED:
        raise Refusal("forbidden", said("request.table_closed"))
    check_length(table)
    if seat is not None and not 0 <= seat < len(table.seats):
        raise invalid("/seat", said("request.no_such_seat"))
    if table.seat_of(str(player.id)) is not None:
        raise Refusal("seat-taken", said("request.seated_already"))
    free = [n for n, s in enumerate(table.seats) if s.kind is SeatKind.OPEN]
    if not free or (seat is not None and seat not in free):
        raise Refusal("seat-taken", said("request.seat_taken"))
    taken = free[0] if seat is None else seat
    return SeatTaken(seat=taken, player=str(player.id), entropy=entropy, key=key)


def seat_left(table: Table, player: RegisteredPlayer) -> SeatLeft:
    """Return the event of a player who leaves; raises Refusal `not-seated` or `hand-running`."""
    return SeatLeft(seat=_own_seat(table, player))


def changed_seat(
    identity: UUID, table: Table, player: RegisteredPlayer, changes: dict[str, Any]
) -> Sequence[SeatChanged | SeatPaused | SeatResumed]:
    """
    Return the event for another choice of entropy or key, none if nothing changes; and of a pause.

    Omitted members of `changes` stay the same. A signature by the old key links the new key to
    it; a change without one is allowed, and reports call the key new. The signature of a repeated
    change is only compared with the stored one, because the key that made it was replaced. A pause
    alone may also begin and end during a hand.

    Raises Refusal `bad-signature`, `not-seated` or `hand-running`, and `forbidden` for a pause at a
    table that does not deal by itself.
    """
    check_length(table)
    seat = table.seat_of(str(player.id))
    pauses = _pauses(table, seat, changes)
    if seat is None or changes.keys() - {"paused"} or "paused" not in changes:
        seat = _own_seat(table, player)
    state = table.seats[seat]
    key, sig = changes.get("key", state.key), changes.get("sig")
    entropy = Entropy(changes.get("entropy", state.entropy))
    if (entropy, key) == (state.entropy, state.key) and sig in (None, state.key_sig):
        return pauses
    if sig is not None:
        signed = (
            state.key is not None
            and key is not None
            and key_change_is_signed(
                b64decode(state.key), sig, table=identity, seat=seat, key=b64decode(key)
            )
        )
        if not signed:
            raise Refusal("bad-signature", said("request.key_unsigned"))
    return [*pauses, SeatChanged(seat=seat, entropy=entropy, key=key, sig=sig)]


def _pauses(
    table: Table, seat: Seat | None, changes: dict[str, Any]
) -> Sequence[SeatPaused | SeatResumed]:
    """Return the event of a seat that pauses or resumes, none if nothing changes."""
    if "paused" not in changes or seat is None:
        return []
    if table.conditions.deal != "always":
        raise Refusal("forbidden", said("request.no_pause"))
    if changes["paused"]:
        return [] if seat in table.paused else [SeatPaused(seat=seat)]
    waits = table.status is TableStatus.BETWEEN and table.idle
    return [SeatResumed(seat=seat)] if seat in table.paused or waits else []


def table_closed(table: Table, expected: Expected = any_version) -> Sequence[TableClosed]:
    """
    Return the event of a table that closes, none if it is closed already.

    `expected` returns the versions in If-Match. Raises Refusal `stale-version` for another
    version, `hand-running` during a hand.
    """
    versions = expected()
    if versions is not None and table.version not in versions:
        raise stale("table", table.version, versions)
    check_not_playing(table)
    return [] if table.closed else [TableClosed()]


def _own_seat(table: Table, player: RegisteredPlayer) -> Seat:
    seat = table.seat_of(str(player.id))
    if seat is None:
        raise Refusal("not-seated", said("request.not_at_table"))
    check_not_playing(table)
    return seat


def check_not_playing(table: Table) -> None:
    """Raise Refusal `hand-running` during a hand."""
    if table.status is TableStatus.PLAYING:
        raise Refusal("hand-running", said("request.hand_running"))


def challenge_over() -> Refusal:
    """Return the refusal of an answer to a challenge that is over."""
    return Refusal("challenge-over", said("request.challenge_over"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Use cases of tables."""

    handler: Handler
    changes: TableChanges
    directory: Directory
    names: Names
    access_log: AccessLog

    def open(
        self,
        player: RegisteredPlayer,
        wanted: TableRequest | Callable[[], TableRequest],
        request: Idempotency | None = None,
    ) -> Answered:
        """
        Open a table, deal if it is full and its condition `deal` is set, and return the table.

        A function returns the request, or raises Refusal, unless it has been answered. Raises
        Refusal `limit-reached`, `invalid-body`, `ruleset-refused`, `cannot-deal`, and those of
        `Handler.handle`.
        """

        def request_of() -> TableRequest:
            return wanted() if callable(wanted) else wanted

        command = OpenTable(
            player=player.id,
            request=request,
            changes=self.changes,
            host=player,
            request_of=request_of,
        )
        return self.handler.handle(command)

    def view(self, caller: Caller, identity: UUID) -> tuple[dict[str, Any], int]:
        """Return a table as the caller sees it, and its version; raises Refusal `not-found`."""
        row = may_join(self.directory, self.directory.table(identity), caller)
        self.access_log.note_table(row, caller)
        record = self.changes.record(identity)
        games = self.directory.games_of_table(identity)
        return table_json(record, caller, self.names, games=games), record.version

    def row(self, caller: Caller, identity: UUID) -> TableRow:
        """Return the summary of a table that the caller may see; raises Refusal `not-found`."""
        row = visible_table(self.directory.table(identity), caller)
        self.access_log.note_table(row, caller)
        return row

    def version(self, identity: UUID) -> int:
        """Return a table's version, for long polls; raises Refusal `not-found`."""
        if (row := self.directory.table(identity)) is None:
            raise not_found("table")
        return row.version

    def sit(
        self,
        player: RegisteredPlayer,
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

        A caller who sees the table by an invitation alone needs it still when the seat is taken.
        Returns the table. Raises Refusal `not-found`, `limit-reached`, `forbidden` if the host
        blocks the player, and those of `seat_taken` and `Handler.handle`.
        """
        caller = Caller(player=player.id, invite=invite)
        may_join(self.directory, self.directory.table(identity), caller)
        check_game_quota(self.directory, player.id)

        def events(record: TableRecord) -> Sequence[TableEvent]:
            may_join(self.directory, self.directory.table(identity), caller)
            self._check_kept(identity, player.id)
            taken = seat_taken(record.table, player, seat, entropy=entropy, key=key)
            self._check_admitted(record.table, player)
            return [taken]

        return self._change(caller, player, identity, events, request, deals=True)

    def _check_kept(self, identity: UUID, player: UUID) -> None:
        """
        Raise Refusal `forbidden` if the table was opened for another player, who has not come.

        An expired challenge admits no player: its table is closed soon.
        """
        kept = self.directory.challenge(identity)
        if kept is None or kept.status is not ChallengeStatus.OPEN:
            return
        if kept.player != player or kept.at(self.changes.world.now()) != kept:
            raise Refusal("forbidden", said("request.seat_kept"))

    def _check_admitted(self, table: Table, player: RegisteredPlayer) -> None:
        """
        Raise Refusal `forbidden` if the host blocks the player; checked after all else.

        The commit checks it again, because the host may block the player at the same moment. The
        link of a table can reach anybody. Nothing but this attempt differs for the player.
        """
        host = UUID(table.host)
        if (host, player.id) in self.directory.blocks_among([host, player.id]):
            raise Refusal("forbidden", said("request.not_admitted"))

    def leave(self, player: RegisteredPlayer, identity: UUID, *, invite: str | None = None) -> None:
        """
        Leave the player's seat between hands.

        Raises Refusal `not-found`, `not-seated` or `hand-running`.
        """
        caller = Caller(player=player.id, invite=invite)
        visible_table(self.directory.table(identity), caller)
        self._change(caller, player, identity, lambda r: [seat_left(r.table, player)])

    def close(
        self, caller: Caller, player: RegisteredPlayer, identity: UUID, expected: Expected
    ) -> None:
        """
        Close a table for its host, between hands; safe to repeat.

        Raises Refusal `not-found`, `forbidden` for other players, and those of `table_closed`.
        """
        row = visible_table(self.directory.table(identity), caller)
        if row.host != player.id:
            raise Refusal("forbidden", said("request.host_closes"))
        self._change(caller, player, identity, lambda r: table_closed(r.table, expected))

    def shut(self, identity: UUID, *, ends: ChallengeStatus | None = None) -> None:
        """
        Close a table for the operator, between hands; with `ends` an open challenge ends so.

        A challenge is accepted by a commit of the same stream, so of two answers at the same moment
        one is refused. Raises Refusal `not-found`, `hand-running` or `challenge-over`.
        """
        row = self.directory.table(identity)
        if row is None:
            raise not_found("table")
        host = RegisteredPlayer(id=row.host, name="")

        def events(record: TableRecord) -> Sequence[TableEvent]:
            if ends is not None:
                found = self.directory.challenge(identity)
                if found is None or found.status is not ChallengeStatus.OPEN:
                    raise challenge_over()
            return table_closed(record.table)

        self._change(Caller(player=host.id), host, identity, events, ends=ends)

    def change_seat(
        self,
        player: RegisteredPlayer,
        identity: UUID,
        *,
        changes: dict[str, Any],
        invite: str | None = None,
    ) -> tuple[dict[str, Any], int]:
        """
        Change a seat's entropy or key for later hands, or pause; return the table and its version.

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
        player: RegisteredPlayer,
        identity: UUID,
        request: Idempotency | None,
        *,
        invite: str | None = None,
        fill_with: str | None = None,
    ) -> Answered:
        """
        Deal the next hand and return the caller's view of it; `fill_with` takes open seats first.

        Raises Refusal `not-found`, `not-seated`, `limit-reached`, and those of `seats_filled`,
        `check_ready_to_deal` and `Handler.handle`.
        """
        command = DealHand(
            player=player.id,
            request=request,
            changes=self.changes,
            table=identity,
            by=player,
            caller=Caller(player=player.id, invite=invite),
            fill_with=fill_with,
        )
        return self.handler.handle(command)

    def deal_next(self, identity: UUID, version: int) -> bool:
        """
        Deal the next hand of a table that does so by itself; return whether it was dealt now.

        Safe to run twice, late or concurrently: only at `version`, and only once it is due. The
        commit compares the version, so a pause or another deal at the same moment wins or loses as
        a whole. Raises Refusal `not-found`.
        """
        record = self.changes.record(identity)
        due = deals_at(record)
        if record.version != version or due is None or due > self.changes.world.now():
            return False
        return self.changes.deal(record)

    def _change(
        self,
        caller: Caller,
        player: RegisteredPlayer,
        identity: UUID,
        decision: Callable[[TableRecord], Sequence[TableEvent]],
        request: Idempotency | None = None,
        *,
        deals: bool = False,
        ends: ChallengeStatus | None = None,
    ) -> Answered:
        command = ChangeTable(
            player=player.id,
            request=request,
            changes=self.changes,
            table=identity,
            by=player,
            caller=caller,
            decision=decision,
            deals=deals,
            ends=ends,
        )
        return self.handler.handle(command)


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
        command = TakeBack(
            player=caller.player,
            request=request,
            game_cache=self.game_cache,
            directory=self.directory,
            names=self.names,
            caller=caller,
            game=game,
        )
        return self.handler.handle(command)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBack(StreamCommand[GameEntry, None]):
    """A player takes the own seat back from a bot, which no event states."""

    game_cache: GameCache
    directory: Directory
    names: Names
    caller: Caller
    game: UUID

    def load(self, _last: Attempt[GameEntry] | None) -> GameEntry:
        """Return the present version of the game; raises Refusal `not-found`."""
        entry = self.game_cache.fresh(self.game)
        return visible(entry, self.caller, self.game_cache.sits_or_judges)

    def decide(self, entry: GameEntry) -> Accepted[None]:
        """Write the return to the game's row, and return the seat's view; raises Refusal."""
        seat = entry.seat_of(self.caller.player)
        if seat is None:
            raise Refusal("not-seated", said("request.not_seated"))
        if entry.record.sealed:
            raise Refusal("game-over", said("refused.over"))
        comes_back = stands_in(entry.record.game, seat, back=entry.returned_seats)
        if comes_back:
            entry = replace(entry, returned_seats=entry.returned_seats | {seat})
            self._come_back(entry)
        view = orjson.dumps(present_view(entry, seat, self.names))
        answer = Answered(body=view, version=entry.version)
        return Accepted(answer=answer, made=None, changed=comes_back)

    def _come_back(self, entry: GameEntry) -> None:
        """Update the game's row; raises StreamConflict if the game has moved on."""
        game, back = entry.record.identity, entry.returned_seats
        wake = next_wake(
            entry.record,
            window_seconds=entry.window_seconds,
            back=back,
            able_since=entry.able_since,
        )
        done = self.directory.come_back(
            game,
            version=entry.version,
            back=sorted(back),
            wake_kind=wake.kind.value if wake else None,
            wake_at=wake.at if wake else None,
        )
        if not done:
            raise StreamConflict(game, entry.version)
