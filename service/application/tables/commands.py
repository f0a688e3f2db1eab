"""Commands on tables: open, change, deal; the commit of each, and what follows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_urlsafe
from uuid import UUID

import orjson

from schemas.challenges import ChallengeStatus
from service.application.access import visible_table
from service.application.calls import Answered, Caller, RegisteredPlayer, digest
from service.application.errors import Refusal, invalid, invalid_body, not_found
from service.application.games.cache import GameCache, Names
from service.application.games.commits import relayed
from service.application.games.queries import present_view
from service.application.handler import Accepted, Attempt, NewStream, StreamCommand
from service.application.ports import Notifier, World
from service.application.quotas import (
    MAX_TABLE_EVENTS,
    check_game_quota,
    check_table_quotas,
    of_challenges,
    of_invitations,
    of_tables,
    quota_of,
)
from service.application.rulesets import Rulebook
from service.application.tables.dealing import DealtHand, new_hand, table_append
from service.application.tables.record import (
    CHALLENGE_TERM,
    TABLES,
    TableRecord,
    TableRequest,
    new_table_summary,
    opened_by,
)
from service.application.tables.view import table_json
from service.bots.registry import bots
from service.domain.table import (
    SeatFilled,
    SeatKind,
    SeatLeft,
    SeatTaken,
    Table,
    TableEvent,
    TableOpened,
    TableStatus,
)
from service.keys import Keys
from service.replay.sentences import said
from service.shx.canonical import format_time
from service.store.directory import Directory
from service.store.events import (
    Admission,
    Commit,
    EventStore,
    PlayerErased,
    Quota,
    QuotaKind,
    StreamAppend,
    StreamConflict,
)
from service.store.summaries import ChallengeSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTable:
    """A table after a command, with the hand that the command dealt."""

    record: TableRecord
    dealt: DealtHand | None
    invited: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChanges:
    """Makes the changes of tables: hands and commits; notifies after the commit."""

    store: EventStore
    directory: Directory
    game_cache: GameCache
    keyring: Keys
    names: Names
    rulebook: Rulebook
    world: World
    notifier: Notifier

    def record(self, identity: UUID) -> TableRecord:
        """Return the present version of a table; raises Refusal `not-found`."""
        record = self.game_cache.table(identity)
        if record is None:
            raise not_found("table")
        return record

    def now(self) -> str:
        """Return the present time in the format of events."""
        return format_time(self.world.now())

    def first_hand(self, record: TableRecord) -> DealtHand | None:
        """Return the first hand of a table that is full, if its condition `deal` is set."""
        table = record.table
        full = table.conditions.deal and table.status is TableStatus.BETWEEN
        return self.hand(record) if full and not table.hand else None

    def hand(self, record: TableRecord) -> DealtHand:
        """Return the next hand of a table."""
        game, lines = new_hand(
            record.identity,
            record.table,
            self.world,
            not_before=record.at,
        )
        row = self.directory.table(record.identity)
        return DealtHand(game, lines, record, invite_hash=row.invite_hash if row else None)

    def accepted(
        self,
        player: RegisteredPlayer,
        append: StreamAppend,
        changed: ChangedTable,
        answer: Answered,
        quotas: tuple[Quota, ...] = (),
        admission: Admission | None = None,
    ) -> Accepted[ChangedTable]:
        """Return new lines of a table, and those of its new hand, as one commit."""
        dealt = changed.dealt
        quotas = (
            *quotas,
            *(of_tables(player.id, self.world.now()) if append.expected == 0 else ()),
            *([quota_of(QuotaKind.GAMES, player.id)] if dealt is not None else ()),
        )
        commit = Commit(
            appends=(append,),
            quotas=quotas,
            outbox=(relayed(changed.record),),
            admission=admission,
        )
        if dealt is not None:
            commit = dealt.added_to(commit, changed.record, self.keyring)
        return Accepted(answer=answer, commit=commit, made=changed)

    def deal(self, record: TableRecord) -> bool:
        """
        Deal the next hand for the service; return whether the table was still at this version.

        If a seat's player was erased at the same moment, the seat is opened instead.
        """
        dealt = self.hand(record)
        done, lines = TABLES.write(record, dealt.events, at=dealt.record.created_at)
        append = table_append(done, lines, expected=record.version)
        commit = Commit(appends=(append,), outbox=(relayed(done),))
        try:
            self.store.commit(dealt.added_to(commit, done, self.keyring))
        except StreamConflict:
            return False
        except PlayerErased:
            self.vacate(record.identity)
            return False
        self.committed(ChangedTable(record=done, dealt=dealt))
        return True

    def committed(self, changed: ChangedTable) -> None:
        """Notify readers of the table, and readers and workers of its new hand."""
        record, dealt = changed.record, changed.dealt
        self.notifier.table_moved(record.identity, record.version)
        if dealt is not None:
            self.notifier.moved(dealt.record.identity, dealt.record.version, wake=True)

    def is_erased(self, player: UUID) -> bool:
        """Return whether a player was erased."""
        row = self.directory.player(player)
        return row is not None and row.erased_at is not None

    def vacate(self, identity: UUID) -> None:
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
            if seat.player is not None and self.is_erased(UUID(seat.player))
        ]
        if gone:
            done, lines = TABLES.write(record, gone, at=self.now())
            append = table_append(done, lines, expected=record.version)
            with suppress(StreamConflict):
                self.store.commit(Commit(appends=(append,)))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTable(StreamCommand[NewStream, ChangedTable]):
    """A player opens a table."""

    retried = (*StreamCommand.retried, PlayerErased)
    changes: TableChanges
    host: RegisteredPlayer
    request_of: Callable[[], TableRequest]  # raises Refusal

    def load(self, last: Attempt[NewStream] | None) -> NewStream:
        """
        Return the state before the first event.

        If an invited player was erased, the request is examined again. Raises PlayerErased for the
        host.
        """
        error = None if last is None else last.error
        if isinstance(error, PlayerErased) and self.changes.is_erased(self.host.id):
            raise error
        return NewStream()

    def decide(self, _new: NewStream) -> Accepted[ChangedTable]:
        """Return the table, with its first hand if it is full; raises Refusal."""
        changes, wanted = self.changes, self.request_of()
        check_table_quotas(changes.directory, self.host.id)
        event = self._opened(wanted)
        identity, at = changes.world.identity(), changes.now()
        invite = None if wanted.public else token_urlsafe(32)
        record, first = TABLES.open(identity, [event], at=at)
        dealt = changes.first_hand(record)
        record, lines = TABLES.write(record, dealt.events if dealt else (), at=at)
        summary = new_table_summary(
            record,
            created_at=at,
            invite_hash=digest(invite) if invite else None,
            invited=wanted.invited,
            challenge=self._challenge(wanted),
        )
        caller = Caller(player=self.host.id)
        table = table_json(record, caller, changes.names, games=(), dealt=dealt)
        if invite is not None:
            table["invite"] = invite
        append = table_append(record, first + lines, expected=0, summary=summary)
        answer = Answered(body=orjson.dumps(table), version=record.version)
        changed = ChangedTable(record=record, dealt=dealt, invited=wanted.invited)
        quotas = of_invitations(self.host.id, len(wanted.invited))
        if wanted.challenged is not None:
            now = changes.world.now()
            quotas += of_challenges(self.host.id, wanted.challenged, now)
        return changes.accepted(self.host, append, changed, answer, quotas=quotas)

    def _challenge(self, wanted: TableRequest) -> ChallengeSummary | None:
        """Return the challenge for which the table is opened, None for any other table."""
        if wanted.challenged is None:
            return None
        expires_at = format_time(self.changes.world.now() + CHALLENGE_TERM)
        return ChallengeSummary(player=str(wanted.challenged), expires_at=expires_at)

    def _opened(self, wanted: TableRequest) -> TableOpened:
        """Return the first event; raises Refusal, at `/like` for a table like another one."""
        try:
            definition = self.changes.rulebook.definition(wanted.ruleset)
            return opened_by(self.host.id, wanted, definition)
        except Refusal as refusal:
            if wanted.is_like_another and "errors" in refusal.extra:
                faults = [{**fault, "at": "/like"} for fault in refusal.extra["errors"]]
                raise invalid_body(faults) from None
            raise

    def committed(self, changed: ChangedTable) -> None:
        """Notify readers and workers."""
        self.changes.committed(changed)
        for player in changed.invited:
            self.changes.notifier.player_changed(player)


@dataclass(frozen=True, slots=True, kw_only=True)
class AtTable(StreamCommand[TableRecord, ChangedTable]):
    """A command of a player on a table."""

    retried = (*StreamCommand.retried, PlayerErased)
    changes: TableChanges
    table: UUID
    by: RegisteredPlayer
    caller: Caller

    def load(self, last: Attempt[TableRecord] | None) -> TableRecord:
        """
        Return the present version; raises Refusal `not-found`.

        If another player was erased, that seat is open now. Raises PlayerErased for the caller.
        """
        if last is not None and isinstance(last.error, PlayerErased):
            if self.changes.is_erased(self.by.id):
                raise last.error
            self.changes.vacate(self.table)
        return self.changes.record(self.table)

    def committed(self, changed: ChangedTable) -> None:
        """Notify readers and workers."""
        self.changes.committed(changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTable(AtTable):
    """
    A change of a table's seats, or its end; with `deals` it deals the first hand if full.

    With `ends` the challenge for which the table was opened ends so.
    """

    decision: Callable[[TableRecord], Sequence[TableEvent]]
    deals: bool
    ends: ChallengeStatus | None = None

    def decide(self, record: TableRecord) -> Accepted[ChangedTable]:
        """Return the events and the table as its caller sees it; raises Refusal."""
        changes, at = self.changes, self.changes.now()
        events = self.decision(record)
        changed, lines = TABLES.write(record, events, at=at)
        dealt = changes.first_hand(changed) if self.deals else None
        done, more = TABLES.write(changed, dealt.events if dealt else (), at=at)
        games = changes.directory.games_of_table(self.table)
        table = table_json(done, self.caller, changes.names, games=games, dealt=dealt)
        answer = Answered(body=orjson.dumps(table), version=done.version)
        made = ChangedTable(record=done, dealt=dealt)
        if not lines:
            return Accepted(answer=answer, made=made)
        append = table_append(done, lines + more, expected=record.version, ends=self.ends)
        sits_down = any(isinstance(event, SeatTaken) for event in events)
        host, player = UUID(record.table.host), self.by.id
        admission = Admission(table=self.table, host=host, player=player) if sits_down else None
        return changes.accepted(self.by, append, made, answer, admission=admission)


@dataclass(frozen=True, slots=True, kw_only=True)
class DealHand(AtTable):
    """The next hand of a table; a bot can take the open seats first."""

    fill_with: str | None = None

    def decide(self, record: TableRecord) -> Accepted[ChangedTable]:
        """Return the hand, and the caller's view of it; raises Refusal."""
        changes, player = self.changes, self.by
        row = visible_table(changes.directory.table(record.identity), self.caller)
        if player.id != row.host and record.table.seat_of(str(player.id)) is None:
            raise Refusal("not-seated", said("request.deals"))
        filling = seats_filled(record.table, player, self.fill_with) if self.fill_with else ()
        filled, first = TABLES.write(record, filling, at=changes.now())
        check_ready_to_deal(filled.table)
        check_game_quota(changes.directory, player.id)
        dealt = changes.hand(filled)
        done, rest = TABLES.write(filled, dealt.events, at=dealt.record.created_at)
        view = present_view(dealt.entry, dealt.entry.seat_of(player.id), changes.names)
        answer = Answered(body=orjson.dumps({"game": view}), version=dealt.record.version)
        append = table_append(done, first + rest, expected=record.version)
        return changes.accepted(player, append, ChangedTable(record=done, dealt=dealt), answer)


def seats_filled(table: Table, player: RegisteredPlayer, bot: str) -> Sequence[SeatFilled]:
    """
    Return the events of a bot that takes each open seat of a table, for its host.

    Raises Refusal `forbidden` for other players, `invalid-body` for an unknown bot,
    `limit-reached`.
    """
    if table.host != str(player.id):
        raise Refusal("forbidden", said("request.host_fills"))
    if bot not in bots():
        raise invalid("/fill_with", said("request.unknown_bot"))
    if table.status is not TableStatus.OPEN:
        return []
    check_length(table)
    return [
        SeatFilled(seat=number, bot=bot)
        for number, seat in enumerate(table.seats)
        if seat.kind is SeatKind.OPEN
    ]


def check_length(table: Table) -> None:
    """Raise Refusal `limit-reached` if the table has too many events to change its seats."""
    if table.version >= MAX_TABLE_EVENTS:
        raise Refusal("limit-reached", said("quota.table_events"), limit="table_events")


def check_ready_to_deal(table: Table) -> None:
    """
    Raise Refusal if the table cannot deal.

    The code is `hand-running` during a hand, `table-not-full` with an open seat, `forbidden` if
    the table is closed.
    """
    match table.status:
        case TableStatus.PLAYING:
            raise Refusal("hand-running", said("request.hand_running"))
        case TableStatus.OPEN:
            raise Refusal("table-not-full", said("request.seats_open"))
        case TableStatus.CLOSED:
            raise Refusal("forbidden", said("request.table_closed"))
        case TableStatus.BETWEEN:
            return
