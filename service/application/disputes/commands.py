"""Commands in disputes: read, decide, append, and answer with the dispute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from uuid import UUID

import orjson

from service.application.access import Answered, Caller, Idempotency, Player
from service.application.disputes.files import DisputeFiles, seal_vote
from service.application.disputes.record import DISPUTES, DisputeRecord, advance, dispute_append
from service.application.disputes.view import dispute_json, is_insider
from service.application.errors import Refusal, not_found
from service.application.games.queries import Games
from service.application.handler import Accepted, Handler
from service.application.ports import World
from service.domain.dispute import DisputeEvent
from service.domain.dispute_rules import DisputeRefused, StoredVote
from service.keys.keyring import Keys
from service.shx.canonical import format_time
from service.shx.receipts import statement_commitment
from service.store.disputes import DisputeRepository, StatementText
from service.store.events import Commit, Quota

OPERATOR = UUID(int=0)
"""The author id of the operator's statements; the operator has no account."""

Step = Callable[[DisputeRecord], tuple[Sequence[DisputeEvent], Mapping[str, Any]]]
"""Returns the events of a command on a dispute, and the data stored with them."""

_NOTHING: Mapping[int, str] = MappingProxyType({})


class DisputeCommands:
    """Reads disputes, and carries out commands of their sides and referees."""

    def __init__(
        self,
        *,
        directory: DisputeRepository,
        games: Games,
        files: DisputeFiles,
        handler: Handler,
        keyring: Keys,
        world: World,
    ) -> None:
        self._directory = directory
        self._games = games
        self._files = files
        self._handler = handler
        self._keyring = keyring
        self._world = world

    def change(
        self,
        caller: Caller,
        player: Player,
        identity: UUID,
        step: Step,
        request: Idempotency | None,
    ) -> Answered:
        """
        Carry out a player's command and return the dispute.

        Raises Refusal `not-found`, and those of `stepped`.
        """
        self.visible(caller, identity)
        return self.stepped(player.id, identity, step, request)

    def stepped(
        self, by: UUID, identity: UUID, step: Step, request: Idempotency | None = None
    ) -> Answered:
        """
        Carry out a command of a player or the operator without checking that `by` has access.

        Raises Refusal `not-found`, `forbidden` if the rules of disputes do not allow it, and those
        of `step` and `Handler.handle`.
        """

        def decision(record: DisputeRecord) -> Accepted:
            now = self.now()
            # The events of ended periods come first; they may not be stored yet.
            between, first = advance(record, now=now)
            try:
                events, attachments = step(between)
            except DisputeRefused as refused:
                raise Refusal("forbidden", str(refused)) from None
            done, lines = DISPUTES.write(_with_votes(between, attachments), events, at=now)
            done, last = advance(done, now=now)
            return self.accepted(by, done, (*first, *lines, *last), record.version, attachments)

        return self._handler.handle(
            lambda _fresh: self.stored(identity), decision, caller=by, request=request
        )

    def accepted(
        self,
        by: UUID,
        record: DisputeRecord,
        lines: tuple[bytes, ...],
        expected: int,
        attachments: Mapping[str, Any],
        *,
        quotas: tuple[Quota, ...] = (),
    ) -> Accepted:
        """Return new lines of a dispute as a commit, and the dispute as its answer."""
        texts = {one["seq"]: one["words"] for one in attachments.get("texts", ())}
        votes = [
            seal_vote(record.identity, number, vote, self._keyring)
            for number, vote in attachments.get("votes", {}).items()
        ]
        stored = {**attachments, "votes": votes} if votes else attachments
        append = dispute_append(record, lines, expected=expected, attachments=stored)
        return Accepted(
            answer=Answered(body=orjson.dumps(self.shown(record, by, new=texts))),
            commit=Commit(appends=(append,), quotas=quotas),
        )

    def statement(
        self, identity: UUID, seq: int, author: UUID, text: str
    ) -> tuple[str, dict[str, Any]]:
        """Return the commitment to a statement, and the statement as stored with the stream."""
        salt = self._world.random(32)
        commit = statement_commitment(identity, seq, text, salt).hex()
        return commit, {"seq": seq, "author": author, "salt": salt, "words": text}

    def visible(self, caller: Caller, identity: UUID, *, noted: bool = True) -> DisputeRecord:
        """
        Return a dispute if the caller may see its game; raises Refusal `not-found`.

        With `noted` the read is recorded in the access log; an answer without data of the game
        needs no record.
        """
        record = self.record(identity)
        try:
            if noted:
                self._games.read(caller, record.game)
            else:
                self._games.entry(caller, record.game)
        except Refusal as refusal:
            if refusal.code == "not-found":
                raise not_found("dispute") from None
            raise
        return record

    def record(self, identity: UUID) -> DisputeRecord:
        """Return a dispute as of now; raises Refusal `not-found`."""
        record = self._files.record(identity)
        if record is None:
            raise not_found("dispute")
        return record

    def stored(self, identity: UUID) -> DisputeRecord:
        """Return a dispute as stored; raises Refusal `not-found`."""
        record = self._files.stored(identity)
        if record is None:
            raise not_found("dispute")
        return record

    def shown(
        self, record: DisputeRecord, player: UUID | None, *, new: Mapping[int, str] = _NOTHING
    ) -> dict[str, Any]:
        """Return a dispute as a player sees it; `new` are statements not stored yet."""
        words = None
        if is_insider(record.dispute, player) or player == OPERATOR:
            stored = self._directory.dispute_texts(record.identity)
            words = {
                **stored,
                **{seq: StatementText(text=text, salt=None) for seq, text in new.items()},
            }
        findings = self._files.findings(record.identity)
        caller = None if player == OPERATOR else player
        return dispute_json(record, findings=findings, words=words, player=caller)

    def advanced(self, record: DisputeRecord) -> tuple[DisputeRecord, tuple[bytes, ...]]:
        """Return a new dispute with the facts outside its stream and all immediate events."""
        return advance(self._files.with_outside(record), now=record.at)

    def now(self) -> str:
        """Return the present time in the format of events."""
        return format_time(self._world.now())


def _with_votes(record: DisputeRecord, attachments: Mapping[str, Any]) -> DisputeRecord:
    """Return the record with the votes that the server stores for referees."""
    votes: Mapping[int, StoredVote] = attachments.get("votes", {})
    if not votes:
        return record
    outside = replace(record.outside, votes={**record.outside.votes, **votes})
    return replace(record, outside=outside)
