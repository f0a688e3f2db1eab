"""Tables: opened, joined, left, and dealt at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from secrets import token_urlsafe
from typing import Any
from uuid import UUID

import orjson

from service.application.access import refuse_uninvited, visible_table
from service.application.answers import Answers
from service.application.callers import Answered, Caller, Idempotency, Player, digest
from service.application.dealt_hand import DealtHand, table_append
from service.application.entries import Entries
from service.application.errors import Refusal, not_found
from service.application.hands import new_hand
from service.application.names import Names
from service.application.ports import Bell, World
from service.application.quotas import room_for_game, room_for_table
from service.application.readings import Readings
from service.application.rulebook import Rulebook
from service.application.seating import (
    changed_seat,
    ready_to_deal,
    seat_left,
    seat_taken,
    table_closed,
)
from service.application.showing import shown
from service.application.summaries import new_table_summary, table_summary
from service.application.table_record import TableRecord, open_table, write_table
from service.application.table_requests import TableRequest, opened_by
from service.application.table_view import table_json
from service.domain.events import Entropy
from service.domain.table import TableEvent, TableStatus
from service.event_store.directory import Directory
from service.event_store.protocol import (
    AnswerConflict,
    Commit,
    EventStore,
    StreamAppend,
    StreamConflict,
)
from service.key_file import Keys
from service.record.times import format_time

ATTEMPTS = 20


class Tables:
    """What people do with tables."""

    def __init__(
        self,
        *,
        store: EventStore,
        directory: Directory,
        entries: Entries,
        answers: Answers,
        keyring: Keys,
        names: Names,
        readings: Readings,
        rulebook: Rulebook,
        world: World,
        bell: Bell,
    ) -> None:
        self._store = store
        self._directory = directory
        self._entries = entries
        self._answers = answers
        self._keyring = keyring
        self._names = names
        self._readings = readings
        self._rulebook = rulebook
        self._world = world
        self._bell = bell

    def open(
        self, player: Player, wanted: TableRequest, request: Idempotency | None = None
    ) -> Answered:
        """Open a table, deal where it is full and wants to, and answer with it."""
        room_for_table(self._directory, player.id)
        event = opened_by(player.id, wanted, self._rulebook.definition(wanted.ruleset))
        identity, at = self._world.identity(), format_time(self._world.now())
        invite = None if wanted.public else token_urlsafe(32)
        record, line = open_table(identity, event, at=at)
        summary = new_table_summary(
            record, created_at=at, invite_hash=digest(invite) if invite else None
        )
        dealt = self._first_hand(record)
        record, lines = write_table(record, dealt.events if dealt else (), at=at)
        summary |= table_summary(record)

        def answered() -> Answered:
            table = table_json(
                record,
                Caller(player=player.id),
                self._names,
                games=(),
                dealt=dealt,
            )
            body = orjson.dumps(table if invite is None else {**table, "invite": invite})
            return Answered(body=body, version=record.version)

        append = table_append(record, (line, *lines), expected=0, summary=summary)
        return self._commit(player, append, dealt, record, answered(), request)

    def view(self, caller: Caller, identity: UUID) -> tuple[dict[str, Any], int]:
        """Return a table as the caller sees it, and its version."""
        row = visible_table(self._directory.table(identity), caller, self._directory)
        self._readings.note_table(row, caller)
        record = self._record(identity)
        games = self._directory.games_of_table(identity)
        return table_json(record, caller, self._names, games=games), record.version

    def version(self, identity: UUID) -> int:
        """Return a table's version; for those who wait for the next one."""
        if (row := self._directory.table(identity)) is None:
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
        """Take a seat, any open one where none is named; the last to sit may set off the deal."""
        caller = Caller(player=player.id, invite=invite)
        row = visible_table(self._directory.table(identity), caller, self._directory)
        refuse_uninvited(row, caller)
        room_for_game(self._directory, player.id)

        def events(record: TableRecord) -> Sequence[TableEvent]:
            return [seat_taken(record.table, player, seat, entropy=entropy, key=key)]

        return self._answers.or_first(
            player.id,
            request,
            lambda: self._change(caller, player, identity, events, request, deals=True),
        )

    def leave(self, player: Player, identity: UUID, *, invite: str | None = None) -> None:
        """Leave one's seat between hands."""
        caller = Caller(player=player.id, invite=invite)
        visible_table(self._directory.table(identity), caller, self._directory)
        self._change(caller, player, identity, lambda r: [seat_left(r.table, player)], None)

    def close(
        self, caller: Caller, player: Player, identity: UUID, expected: Collection[int] | None
    ) -> None:
        """Close a table that one hosts, between hands; closing it again changes nothing."""
        row = visible_table(self._directory.table(identity), caller, self._directory)
        if row.host != player.id:
            raise Refusal("forbidden", "only its host closes a table")
        self._change(caller, player, identity, lambda r: table_closed(r.table, expected), None)

    def shut(self, identity: UUID) -> None:
        """Close a table, between hands, for whoever runs the server."""
        row = self._directory.table(identity)
        if row is None:
            raise not_found("table")
        host = Player(id=row.host, name="")
        self._change(Caller(player=host.id), host, identity, lambda r: table_closed(r.table), None)

    def change_seat(
        self,
        player: Player,
        identity: UUID,
        *,
        changes: dict[str, Any],
        invite: str | None = None,
    ) -> tuple[dict[str, Any], int]:
        """Change one's entropy or key for the hands to come, and return the table."""
        caller = Caller(player=player.id, invite=invite)
        visible_table(self._directory.table(identity), caller, self._directory)
        self._change(
            caller,
            player,
            identity,
            lambda r: changed_seat(r.identity, r.table, player, changes),
            None,
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
        """Deal the next hand and answer with it, as the caller sees it."""
        caller = Caller(player=player.id, invite=invite)
        return self._answers.or_first(
            player.id, request, lambda: self._deal(caller, player, identity, request)
        )

    def _deal(
        self, caller: Caller, player: Player, identity: UUID, request: Idempotency | None
    ) -> Answered:
        row = visible_table(self._directory.table(identity), caller, self._directory)
        for _ in range(ATTEMPTS):
            record = self._record(identity)
            if player.id != row.host and record.table.seat_of(str(player.id)) is None:
                raise Refusal("not-seated", "only those who sit at the table, or host it, deal")
            ready_to_deal(record.table)
            room_for_game(self._directory, player.id)
            dealt = self._hand(record)
            done, lines = write_table(record, dealt.events, at=dealt.record.created_at)
            entry = dealt.entry
            view = shown(entry, entry.seat_of(player.id), self._names)
            answer = Answered(body=orjson.dumps({"game": view}), version=dealt.record.version)
            append = table_append(done, lines, expected=record.version)
            try:
                return self._commit(player, append, dealt, done, answer, request)
            except StreamConflict:
                continue
        raise Refusal("unavailable", "too many changes at once, try again")

    def _change(
        self,
        caller: Caller,
        player: Player,
        identity: UUID,
        decide: Callable[[TableRecord], Sequence[TableEvent]],
        request: Idempotency | None,
        *,
        deals: bool = False,
    ) -> Answered:
        for _ in range(ATTEMPTS):
            record = self._record(identity)
            at = format_time(self._world.now())
            changed, lines = write_table(record, decide(record), at=at)
            dealt = self._first_hand(changed) if deals else None
            done, more = write_table(changed, dealt.events if dealt else (), at=at)
            games = self._directory.games_of_table(identity)
            shown_table = table_json(done, caller, self._names, games=games, dealt=dealt)
            answer = Answered(body=orjson.dumps(shown_table), version=done.version)
            if not lines:
                return answer
            append = table_append(done, lines + more, expected=record.version)
            try:
                return self._commit(player, append, dealt, done, answer, request)
            except StreamConflict:
                continue
        raise Refusal("unavailable", "too many changes at once, try again")

    def _commit(
        self,
        player: Player,
        append: StreamAppend,
        dealt: DealtHand | None,
        record: TableRecord,
        answer: Answered,
        request: Idempotency | None,
    ) -> Answered:
        commit = Commit(appends=(append,), answer=self._answers.to_keep(player.id, request, answer))
        if dealt is not None:
            commit = dealt.added_to(commit, record, self._keyring)
        try:
            self._store.commit(commit)
        except AnswerConflict:
            kept = self._answers.kept(player.id, request)
            if kept is None:
                raise Refusal("unavailable", "the first answer is gone, try again") from None
            return kept
        self._bell.table_moved(record.identity, record.version)
        if dealt is not None:
            self._bell.moved(dealt.record.identity, dealt.record.version, wake=True)
        return answer

    def _first_hand(self, record: TableRecord) -> DealtHand | None:
        table = record.table
        full = table.conditions.deal and table.status is TableStatus.BETWEEN
        return self._hand(record) if full and not table.hand else None

    def _hand(self, record: TableRecord) -> DealtHand:
        game, lines = new_hand(record.identity, record.table, self._world, not_before=record.at)
        row = self._directory.table(record.identity)
        return DealtHand(game, lines, record, invite_hash=row.invite_hash if row else None)

    def _record(self, identity: UUID) -> TableRecord:
        record = self._entries.table(identity)
        if record is None:
            raise not_found("table")
        return record
