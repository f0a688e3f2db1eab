"""Use cases of disputes: open, list, argue, judge, vote, appeal, withdraw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from service.application.access import AccessLog
from service.application.calls import Answered, Caller, Idempotency, RegisteredPlayer, digest
from service.application.disputes.commands import (
    OPERATOR,
    Accusation,
    DisputeCall,
    DisputeCommands,
    DisputeOpening,
    barred_players,
)
from service.application.disputes.findings import MAKE_FINDINGS
from service.application.disputes.record import DisputeRecord
from service.application.errors import invalid
from service.application.games.cache import GameCache
from service.application.games.queries import Games, cursor_of
from service.application.ports import Notifier, World
from service.application.quotas import work
from service.application.signing import handed_in
from service.domain.dispute import DisputeEvent, DisputeState, Party, Periods, Vote
from service.domain.dispute_rules import (
    Candidate,
    DisputeRefused,
    Reason,
    StoredVote,
    appeal,
    commit_vote,
    give_receipt,
    join_panel,
    make_statement,
    needs_reason,
    refuse,
    reveal_vote,
    side_of,
    withdraw,
)
from service.replay.sentences import said
from service.runtime.config import Setting, Settings, whole_number
from service.shx.canonical import format_time
from service.shx.receipts import vote_commitment
from service.shx.tlog.notes import NoteVerifier
from service.store.directory import Directory
from service.store.events import EventStore
from service.store.summaries import ListName

DISPUTE_WORK: Final = 10
"""Work of reading the rows of one listed dispute, in events; folding its events is added."""

Listed = tuple[Sequence[Mapping[str, Any]], str | None]
"""The items of a page and the cursor of the next, None on the last."""

_TEN_YEARS: Final = 3650 * 86_400


def _period(name: str, default: int, effect: str, *, unit: str = "seconds") -> Setting[int]:
    """Return a setting of new disputes."""
    return Setting(
        name=name,
        default=default,
        read=whole_number(0, _TEN_YEARS),
        section="Disputes: each one keeps the values with which it was opened",
        unit=unit,
        effect=effect,
    )


PERIODS: Final = (
    _period("referee_hands", 5, "Finished hands required of a referee", unit="hands"),
    _period("referee_account_seconds", 259_200, "Required age of a referee's account"),
    _period("referee_seated_seconds", 86_400, "Period in which a new referee can be refused"),
    _period(
        "vote_seconds", 172_800, "Time limit for a referee to vote, and again to reveal the vote"
    ),
    _period("appeal_seconds", 604_800, "Time limit for an appeal after a ruling"),
    _period(
        "dispute_seconds",
        2_592_000,
        "Time limit for a panel, from the latest of seal, opening and appeal",
    ),
)
"""The settings of new disputes, each a field of `Periods`."""


def periods_of(settings: Settings) -> Periods:
    """Return the periods and requirements of new disputes from the settings."""
    return Periods(**{one.name: settings.of(one) for one in PERIODS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Disputes:
    """
    Use cases of disputes.

    Every method raises Refusal `not-found` if the caller may not see the game or dispute. Commands
    raise `forbidden` if the rules of disputes do not allow them now, and the refusals of
    `Handler.handle`.
    """

    store: EventStore
    directory: Directory
    game_cache: GameCache
    games: Games
    opening: DisputeOpening
    commands: DisputeCommands
    access_log: AccessLog
    world: World
    notifier: Notifier
    server_keys: Callable[[], Sequence[NoteVerifier]]

    def open(
        self,
        caller: Caller,
        player: RegisteredPlayer,
        game: UUID,
        accusation: Accusation,
        request: Idempotency | None = None,
    ) -> Answered:
        """
        Open a dispute: freeze the evidence, and enqueue the job for findings.

        Raises the refusals of `DisputeOpening.open`.
        """
        identity, answer = self.opening.open(caller, player, game, accusation, request)
        self._request_findings(identity)
        return answer

    def _request_findings(self, dispute: UUID) -> None:
        self.notifier.enqueue(MAKE_FINDINGS, str(dispute), key=f"findings-{dispute}")

    def list(self, caller: Caller, game: UUID, *, limit: int, cursor: str | None) -> Listed:
        """Return a page of a game's disputes, newest first; raises Refusal `invalid-body`."""
        self.games.read(caller, game)
        page = self.directory.disputes_of(
            game, cursor=cursor_of(cursor, ListName.DISPUTES), limit=limit
        )
        with work(DISPUTE_WORK * len(page.items)):
            found = [self.commands.record(row.id) for row in page.items]
            return self._shown(found, caller), page.following(ListName.DISPUTES)

    def list_all(
        self,
        caller: Caller,
        *,
        of: UUID | None = None,
        state: str | None,
        limit: int,
        cursor: str | None,
    ) -> Listed:
        """
        Return a page of the disputes about games that the caller may see, newest first.

        With `of`, only those that have this player as a side or referee. With `state`, only those
        in this state now. Rows are selected by a state that may be out of date, so a page may have
        fewer than `limit` items although there is a next page. Raises Refusal `invalid-body` for a
        cursor of another list.
        """
        now, after = self.world.now(), cursor_of(cursor, ListName.DISPUTES)
        page = (
            self.directory.list_disputes(
                viewer=caller.player,
                invite=None if caller.invite is None else digest(caller.invite),
                state=state,
                now=now,
                cursor=after,
                limit=limit,
            )
            if of is None
            else self.directory.list_own_disputes(
                of, state=state, now=now, cursor=after, limit=limit
            )
        )
        with work(DISPUTE_WORK * len(page.items)):
            found = [self.commands.record(row.id) for row in page.items]
            wanted = [r for r in found if state in (None, r.dispute.state.value)]
            games = (self.directory.game(game) for game in {record.game for record in wanted})
            self.access_log.note_listed([game for game in games if game is not None], caller)
            return self._shown(wanted, caller), page.following(ListName.DISPUTES)

    def _shown(
        self, records: Sequence[DisputeRecord], caller: Caller
    ) -> Sequence[Mapping[str, Any]]:
        """Return disputes as JSON; the work is about that of folding their events."""
        with work(sum(record.version for record in records)):
            return [self.commands.shown(record, caller.player) for record in records]

    def view(self, caller: Caller, identity: UUID) -> dict[str, Any]:
        """Return a dispute as the caller may see it."""
        return self.commands.shown(self.commands.visible(caller, identity), caller.player)

    def say(self, call: DisputeCall, text: str) -> Answered:
        """
        Add a statement of the caller's side, and return the dispute.

        Raises the refusals of `DisputeCommands.change`: `forbidden` if the caller is on neither
        side, if the dispute is final, or if the side has made the permitted number of statements.
        """

        def step(record: DisputeRecord) -> tuple[Sequence[DisputeEvent], Mapping[str, Any]]:
            side = side_of(record.dispute, str(call.player.id))
            commit, statement = self.commands.statement(
                call.dispute, record.version, call.player.id, text
            )
            return make_statement(record.dispute, side, commit), {"texts": [statement]}

        return self.commands.change(call, step)

    def hand_in(self, call: DisputeCall, receipt: str) -> Answered:
        """
        Add a receipt as evidence of the caller's side, and enqueue the job for findings.

        A receipt is stored only if a key of this server signed it for the disputed game; other
        receipts raise Refusal `invalid-body`. Signatures by other keys are removed, because their
        text cannot be checked.
        """

        def step(record: DisputeRecord) -> tuple[Sequence[DisputeEvent], Mapping[str, Any]]:
            dispute = record.dispute
            side = side_of(dispute, str(call.player.id))
            give_receipt(dispute, side, "")  # raises first if this side may not
            note = handed_in(receipt, record.game, tuple(self.server_keys()))[0].decode()
            if any(one.note == note for one in dispute.receipts):
                raise invalid("/receipt", said("request.receipt_again"))
            return give_receipt(dispute, side, note), {}

        answer = self.commands.change(call, step)
        self._request_findings(call.dispute)
        return answer

    def answer(self, identity: UUID, text: str) -> None:
        """Add the operator's statement to a dispute against the server."""

        def step(record: DisputeRecord) -> tuple[Sequence[DisputeEvent], Mapping[str, Any]]:
            if not record.dispute.opened.of_server:
                raise DisputeRefused("panel.operator_no_side")
            commit, statement = self.commands.statement(identity, record.version, OPERATOR, text)
            return make_statement(record.dispute, Party.ACCUSED, commit), {"texts": [statement]}

        self.commands.stepped(OPERATOR, identity, step)

    def against_server(self, *, limit: int) -> Sequence[Mapping[str, Any]]:
        """Return the disputes against the server that are not final, the oldest first."""
        return [self.commands.shown(r, OPERATOR) for r in self._running_against_server(limit)]

    def unanswered(self, *, limit: int) -> int:
        """Return how many of the oldest running disputes against the server it has not answered."""
        return sum(
            all(statement.side is not Party.ACCUSED for statement in record.dispute.statements)
            for record in self._running_against_server(limit)
        )

    def _running_against_server(self, limit: int) -> Iterator[DisputeRecord]:
        """Yield them as of now, the oldest first; rows do not distinguish the server from a bot."""
        for identity in self.directory.disputes_of_server(limit=limit):
            record = self.commands.record(identity)
            if record.dispute.opened.of_server and record.dispute.state is not DisputeState.FINAL:
                yield record

    def judge(self, call: DisputeCall, *, refused: int | None) -> Answered:
        """Volunteer as a referee, or, for a side, refuse the referee with the number `refused`."""

        def step(record: DisputeRecord) -> tuple[Sequence[DisputeEvent], Mapping[str, Any]]:
            if refused is not None:
                return refuse(record.dispute, str(call.player.id), refused), {}
            candidate = self._candidate(call.player, record)
            return join_panel(record.dispute, str(call.player.id), candidate), {}

        return self.commands.change(call, step)

    def commit_vote(self, call: DisputeCall, commit: str) -> Answered:
        """Commit to a vote with the referee's own salt."""
        return self.commands.change(
            call, lambda record: (commit_vote(record.dispute, str(call.player.id), commit), {})
        )

    def vote(self, call: DisputeCall, vote: Vote, reason: str | None = None) -> Answered:
        """
        Vote with the server's salt; the server reveals vote and reason once all have committed.

        Raises Refusal `invalid-body` if the vote needs a reason and has none.
        """

        def step(record: DisputeRecord) -> tuple[Sequence[DisputeEvent], Mapping[str, Any]]:
            salt = self.world.random(32)
            number = record.dispute.referee_of(str(call.player.id)) or 0
            commit = vote_commitment(call.dispute, number, vote, salt).hex()
            events = commit_vote(record.dispute, str(call.player.id), commit, by_server=True)
            _refuse_without_reason(record, vote, reason)
            stated = None
            if reason is not None:
                commit, text = self._reason(call, record.version, reason)
                stated = Reason(text=reason, salt=text["salt"].hex(), commit=commit)
            stored = StoredVote(vote=vote, salt=salt.hex(), reason=stated)
            return events, {"votes": {number: stored}}

        return self.commands.change(call, step)

    def reveal_vote(
        self, call: DisputeCall, *, vote: Vote, salt: str, reason: str | None = None
    ) -> Answered:
        """
        Reveal a committed vote; the last reveal leads to the ruling.

        Raises Refusal `invalid-body` if vote and salt do not match the commitment, or if the vote
        needs a reason and has none.
        """

        def step(record: DisputeRecord) -> tuple[Sequence[DisputeEvent], Mapping[str, Any]]:
            player = str(call.player.id)
            reveal_vote(record.dispute, player, vote, salt)  # raises first if it may not
            number = record.dispute.referee_of(player) or 0
            referee = record.dispute.referees[number]
            made = vote_commitment(call.dispute, number, vote, bytes.fromhex(salt))
            if made.hex() != referee.commit:
                raise invalid("/salt", said("request.other_vote"))
            _refuse_without_reason(record, vote, reason)
            if reason is None:
                return reveal_vote(record.dispute, player, vote, salt), {}
            commit, text = self._reason(call, referee.voted_seq or 0, reason)
            return reveal_vote(record.dispute, player, vote, salt, commit), {"texts": [text]}

        return self.commands.change(call, step)

    def _reason(self, call: DisputeCall, voted_seq: int, reason: str) -> tuple[str, dict[str, Any]]:
        """Return the commitment to a reason, and the reason as stored with the stream."""
        return self.commands.statement(call.dispute, voted_seq, call.player.id, reason)

    def appeal(self, call: DisputeCall) -> Answered:
        """Appeal to other referees, once."""
        return self.commands.change(
            call, lambda record: (appeal(record.dispute, str(call.player.id)), {})
        )

    def withdraw(self, call: DisputeCall) -> Answered:
        """Withdraw the dispute as its accuser, while it is unanswered; it ends without a ruling."""
        return self.commands.change(
            call, lambda record: (withdraw(record.dispute, str(call.player.id)), {})
        )

    def _candidate(self, player: RegisteredPlayer, record: DisputeRecord) -> Candidate:
        """Return what the rules ask of a player who volunteers as a referee."""
        entry = self.game_cache.cached(record.game)
        row = self.directory.player(player.id)
        age = 0 if row is None else int((self.world.now() - row.created_at).total_seconds())
        return Candidate(
            of_table=entry is None or str(player.id) in barred_players(self.store, entry),
            hands=self.directory.results(player.id).games,
            account_seconds=max(0, age),
            registered_at=None if row is None else format_time(row.created_at),
        )


def _refuse_without_reason(record: DisputeRecord, vote: Vote, reason: str | None) -> None:
    """Raise Refusal `invalid-body` if a vote needs a reason and has none."""
    if reason is None and needs_reason(record.dispute, vote):
        raise invalid("/reason", said("request.vote_reason"))
