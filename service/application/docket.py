"""Where disputes are read, changed and answered with; what each step of one has in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    write_dispute,
)
from service.application.dispute_view import dispute_json, reads_statements
from service.application.errors import Refusal, not_found
from service.application.games import Games
from service.application.ports import World
from service.domain.dispute_events import DisputeEvent
from service.domain.judging import DisputeRefused, overdue
from service.event_store.directory import Directory
from service.event_store.disputes import Words
from service.event_store.protocol import AnswerConflict, Commit, EventStore, StreamConflict
from service.record.times import format_time
from service.record.votes import statement_commitment

ATTEMPTS = 20

Step = Callable[[DisputeRecord], tuple[Sequence[DisputeEvent], Mapping[str, Any]]]
"""What to do with a dispute as it stands: its events, and what is kept beside them."""

_NOTHING: Mapping[int, str] = MappingProxyType({})


class Docket:
    """Reads disputes for those who may know of them, and writes what they do."""

    def __init__(
        self,
        *,
        store: EventStore,
        directory: Directory,
        games: Games,
        files: DisputeFiles,
        answers: Answers,
        world: World,
    ) -> None:
        self._store = store
        self._directory = directory
        self._games = games
        self._files = files
        self._answers = answers
        self._world = world

    def change(
        self,
        caller: Caller,
        player: Player,
        identity: UUID,
        step: Step,
        request: Idempotency | None,
    ) -> Answered:
        """Take a step in a dispute, decided anew where it has moved on, and answer with it."""
        self.visible(caller, identity)
        return self._answers.or_first(
            player.id, request, lambda: self._stepped(player, identity, step, request)
        )

    def _stepped(
        self, player: Player, identity: UUID, step: Step, request: Idempotency | None
    ) -> Answered:
        for _ in range(ATTEMPTS):
            record = self.record(identity)
            try:
                # What silence has led to comes first, whether or not it was noticed in time.
                late = overdue(record.dispute, moment_of(self.now()))
                between, first = write_dispute(record, late, at=self.now())
                events, beside = step(between)
            except DisputeRefused as refused:
                raise Refusal("forbidden", str(refused)) from None
            done, lines = write_dispute(between, events, at=self.now())
            try:
                return self.commit(
                    player, done, (*first, *lines), record.version, beside, request
                )
            except StreamConflict:
                continue
        raise Refusal("unavailable", "too many changes at once, try again")

    def commit(
        self,
        player: Player,
        record: DisputeRecord,
        lines: tuple[bytes, ...],
        expected: int,
        beside: Mapping[str, Any],
        request: Idempotency | None,
    ) -> Answered:
        """Write new lines of a dispute and what is kept beside them; answer with it."""
        texts = {said["seq"]: said["words"] for said in beside.get("texts", ())}
        answer = Answered(body=orjson.dumps(self.shown(record, player.id, new=texts)))
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

    def words(
        self, identity: UUID, seq: int, player: Player, text: str
    ) -> tuple[str, dict[str, Any]]:
        """Return the commitment to a text, and the text as it is kept beside the stream."""
        salt = self._world.random(32)
        commit = statement_commitment(identity, seq, text, salt).hex()
        return commit, {"seq": seq, "author": player.id, "salt": salt, "words": text}

    def visible(self, caller: Caller, identity: UUID) -> DisputeRecord:
        """Return a dispute that the caller may know of: whoever may know of its game may."""
        record = self.record(identity)
        try:
            self._games.read(caller, record.game)
        except Refusal as refusal:
            if refusal.code == "not-found":
                raise not_found("dispute") from None
            raise
        return record

    def record(self, identity: UUID) -> DisputeRecord:
        """Return a dispute; raises `not-found` where there is none."""
        record = self._files.record(identity)
        if record is None:
            raise not_found("dispute")
        return record

    def shown(
        self, record: DisputeRecord, player: UUID | None, *, new: Mapping[int, str] = _NOTHING
    ) -> dict[str, Any]:
        """Return a dispute as a player sees it; `new` are words about to be kept."""
        words = None
        if reads_statements(record.dispute, player):
            kept = self._directory.dispute_texts(record.identity)
            words = {**kept, **{seq: Words(text=text, salt=None) for seq, text in new.items()}}
        return dispute_json(record, findings=self._files.findings(record.identity), words=words)

    def now(self) -> str:
        """Return the time as events write it."""
        return format_time(self._world.now())
