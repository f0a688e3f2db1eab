"""Disputes: opened by a seat, argued by two sides, settled by referees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any
from uuid import UUID

import orjson

from service.application.answers import Answers
from service.application.callers import Answered, Caller, Idempotency, Player
from service.application.dispute_files import DisputeFiles
from service.application.dispute_record import (
    DisputeRecord,
    dispute_append,
    moment_of,
    open_dispute,
    write_dispute,
)
from service.application.dispute_view import dispute_json, reads_statements
from service.application.entries import Entries
from service.application.errors import Refusal, invalid, not_found
from service.application.games import Games
from service.application.ports import World
from service.application.recusal import sat_at_table
from service.domain.dispute import (
    Charge,
    DisputeEvent,
    DisputeOpened,
    Side,
    StatementMade,
    Vote,
)
from service.domain.judging import (
    DisputeRefused,
    appeal,
    commit_vote,
    offer,
    overdue,
    refuse,
    reveal_vote,
    say,
)
from service.event_store.directory import Directory
from service.event_store.disputes import Words
from service.event_store.protocol import AnswerConflict, Commit, EventStore, StreamConflict
from service.event_store.rows import Cursor
from service.record.hashing import sha256
from service.record.times import format_time
from service.record.votes import statement_commitment, vote_commitment

ATTEMPTS = 20
MOST_NEW = 10
"""Disputes that a player opens within a day."""

MOST_RUNNING = 20
"""Disputes of one accuser that are not final."""

NEW_FOR = timedelta(days=1)
_NOTHING: Mapping[int, str] = MappingProxyType({})

Step = Callable[[DisputeRecord], tuple[Sequence[DisputeEvent], Mapping[str, Any]]]
"""What to do with a dispute as it stands: its events, and what is kept beside them."""


class Disputes:
    """What people do in disputes."""

    def __init__(
        self,
        *,
        store: EventStore,
        directory: Directory,
        entries: Entries,
        games: Games,
        files: DisputeFiles,
        answers: Answers,
        world: World,
        ask: Callable[[UUID], None],
    ) -> None:
        self._store = store
        self._directory = directory
        self._entries = entries
        self._games = games
        self._files = files
        self._answers = answers
        self._world = world
        self._ask = ask  # a worker for findings; best effort

    def open(
        self,
        caller: Caller,
        player: Player,
        game: UUID,
        *,
        accused: int,
        seq: int,
        charge: Charge,
        statement: str,
        request: Idempotency | None = None,
    ) -> Answered:
        """Open a dispute: freeze the evidence, and have the machine look at it."""
        entry = self._games.entry(caller, game)
        seat = entry.seat_of(player.id)
        if seat is None:
            raise Refusal("not-seated", "only those who sit in the game accuse")
        if not 0 <= accused < len(entry.players) or accused == seat:
            raise invalid("/accused", "is not another seat of the game")
        if not 0 <= seq < entry.record.version:
            raise invalid("/seq", "is not an event of the game")
        self._room_for_dispute(player)
        bundle, identity = self._files.frozen(entry), self._world.identity()
        other = entry.players[accused]
        opened = DisputeOpened(
            game=str(game),
            accuser=str(player.id),
            accuser_seat=seat,
            accused=None if other is None else str(other),
            accused_seat=accused,
            seq=seq,
            charge=charge,
            version=entry.record.version,
            bundle=sha256(bundle).hex(),
            barred=sat_at_table(self._store, entry),
        )
        commit, said = self._words(identity, 1, player, statement)
        events = (opened, StatementMade(side=Side.ACCUSER, commit=commit))
        record, lines = open_dispute(identity, events, at=self._now())
        beside = {"bundle": bundle, "texts": [said]}
        answer = self._commit(player, record, lines, 0, beside, request)
        self._ask(identity)
        return answer

    def list(
        self, caller: Caller, game: UUID, *, limit: int, cursor: Cursor | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Return a page of a game's disputes, newest first."""
        self._games.entry(caller, game)
        page = self._directory.disputes_of(game, cursor=cursor, limit=limit)
        items = [self._shown(self._record(row.id), caller.player) for row in page.items]
        return items, page.next.encode() if page.next else None

    def view(self, caller: Caller, identity: UUID) -> dict[str, Any]:
        """Return a dispute as the caller may see it."""
        return self._shown(self._visible(caller, identity), caller.player)

    def say(
        self,
        caller: Caller,
        player: Player,
        identity: UUID,
        text: str,
        request: Idempotency | None = None,
    ) -> Answered:
        """Add a statement of the caller's side."""

        def step(record: DisputeRecord) -> tuple[Sequence[DisputeEvent], Mapping[str, Any]]:
            commit, said = self._words(identity, record.version, player, text)
            return say(record.dispute, str(player.id), commit), {"texts": [said]}

        return self._change(caller, player, identity, step, request)

    def judge(
        self,
        caller: Caller,
        player: Player,
        identity: UUID,
        *,
        refused: int | None,
        request: Idempotency | None = None,
    ) -> Answered:
        """Offer oneself as a referee; or as a side refuse one."""

        def step(record: DisputeRecord) -> tuple[Sequence[DisputeEvent], Mapping[str, Any]]:
            if refused is not None:
                now = moment_of(self._now())
                return refuse(record.dispute, str(player.id), refused, now), {}
            entry = self._entries.cached(record.game)
            if entry is None or str(player.id) in sat_at_table(self._store, entry):
                raise DisputeRefused("who sits at the table does not judge")
            return offer(record.dispute, str(player.id)), {}

        return self._change(caller, player, identity, step, request)

    def commit_vote(
        self,
        caller: Caller,
        player: Player,
        identity: UUID,
        commit: str,
        request: Idempotency | None = None,
    ) -> Answered:
        """Vote, sealed."""
        return self._change(
            caller,
            player,
            identity,
            lambda record: (commit_vote(record.dispute, str(player.id), commit), {}),
            request,
        )

    def reveal_vote(
        self,
        caller: Caller,
        player: Player,
        identity: UUID,
        *,
        vote: Vote,
        salt: str,
        request: Idempotency | None = None,
    ) -> Answered:
        """Open one's vote; the last one gives the ruling."""

        def step(record: DisputeRecord) -> tuple[Sequence[DisputeEvent], Mapping[str, Any]]:
            now = moment_of(self._now())
            events = reveal_vote(record.dispute, str(player.id), vote, salt, now)
            number = record.dispute.referee_of(str(player.id)) or 0
            made = vote_commitment(identity, number, vote, bytes.fromhex(salt))
            if made.hex() != record.dispute.referees[number].commit:
                raise invalid("/salt", "this vote and salt are not what you committed to")
            return events, {}

        return self._change(caller, player, identity, step, request)

    def appeal(
        self,
        caller: Caller,
        player: Player,
        identity: UUID,
        request: Idempotency | None = None,
    ) -> Answered:
        """Ask for other referees, once."""
        return self._change(
            caller,
            player,
            identity,
            lambda r: (appeal(r.dispute, str(player.id), moment_of(self._now())), {}),
            request,
        )

    def _change(
        self,
        caller: Caller,
        player: Player,
        identity: UUID,
        step: Step,
        request: Idempotency | None,
    ) -> Answered:
        self._visible(caller, identity)
        for _ in range(ATTEMPTS):
            record = self._record(identity)
            try:
                # What silence has led to comes first, whether or not it was noticed in time.
                late = overdue(record.dispute, moment_of(self._now()))
                between, first = write_dispute(record, late, at=self._now())
                events, beside = step(between)
            except DisputeRefused as refused:
                raise Refusal("forbidden", str(refused)) from None
            done, lines = write_dispute(between, events, at=self._now())
            try:
                return self._commit(
                    player, done, (*first, *lines), record.version, beside, request
                )
            except StreamConflict:
                continue
        raise Refusal("unavailable", "too many changes at once, try again")

    def _commit(
        self,
        player: Player,
        record: DisputeRecord,
        lines: tuple[bytes, ...],
        expected: int,
        beside: Mapping[str, Any],
        request: Idempotency | None,
    ) -> Answered:
        texts = {said["seq"]: said["words"] for said in beside.get("texts", ())}
        answer = Answered(body=orjson.dumps(self._shown(record, player.id, new=texts)))
        append = dispute_append(record, lines, expected=expected, beside=beside)
        kept = self._answers.to_keep(player.id, request, answer)
        try:
            self._store.commit(Commit(appends=(append,), answer=kept))
        except AnswerConflict:
            first = self._answers.kept(player.id, request)
            if first is None:
                raise Refusal("unavailable", "the first answer is gone, try again") from None
            return first
        return answer

    def _room_for_dispute(self, player: Player) -> None:
        """Refuse one more dispute to a player who has opened as many as one may."""
        since = self._world.now() - NEW_FOR
        record = self._directory.accusations(player.id, since=since)
        if record.new >= MOST_NEW:
            raise Refusal("rate-limited", f"a player opens {MOST_NEW} disputes a day at most")
        if record.running >= MOST_RUNNING:
            raise Refusal(
                "rate-limited", f"{MOST_RUNNING} of your disputes are not final: see them settled"
            )

    def _words(
        self, identity: UUID, seq: int, player: Player, text: str
    ) -> tuple[str, dict[str, Any]]:
        """Return the commitment to a text, and the text as it is kept beside the stream."""
        salt = self._world.random(32)
        commit = statement_commitment(identity, seq, text, salt).hex()
        return commit, {"seq": seq, "author": player.id, "salt": salt, "words": text}

    def _visible(self, caller: Caller, identity: UUID) -> DisputeRecord:
        """Return a dispute that the caller may know of: whoever may know of its game may."""
        record = self._record(identity)
        try:
            self._games.entry(caller, record.game)
        except Refusal as refusal:
            if refusal.code == "not-found":
                raise not_found("dispute") from None
            raise
        return record

    def _record(self, identity: UUID) -> DisputeRecord:
        record = self._files.record(identity)
        if record is None:
            raise not_found("dispute")
        return record

    def _shown(
        self, record: DisputeRecord, player: UUID | None, *, new: Mapping[int, str] = _NOTHING
    ) -> dict[str, Any]:
        """Return a dispute as a player sees it; `new` are words about to be kept."""
        words = None
        if reads_statements(record.dispute, player):
            kept = self._directory.dispute_texts(record.identity)
            words = {**kept, **{seq: Words(text=text, salt=None) for seq, text in new.items()}}
        return dispute_json(record, findings=self._files.findings(record.identity), words=words)

    def _now(self) -> str:
        return format_time(self._world.now())
