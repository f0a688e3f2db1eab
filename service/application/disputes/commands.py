"""Commands on disputes: opening a dispute with its checks, and all later commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import orjson

from service.application import quotas
from service.application.calls import Answered, Caller, Idempotency, RegisteredPlayer
from service.application.disputes.files import DisputeFiles, seal_vote
from service.application.disputes.record import (
    DISPUTES,
    DisputeRecord,
    advance,
    dispute_append,
    dispute_json,
    is_insider,
    reasons_of,
)
from service.application.errors import Refusal, invalid, not_found
from service.application.games.cache import GameCache
from service.application.games.commits import relayed
from service.application.games.entry import GameEntry
from service.application.games.queries import Games
from service.application.handler import Accepted, Attempt, Handler, NewStream, StreamCommand
from service.application.ports import Notifier, World
from service.application.tables.record import TABLES, table_summary
from service.domain.commands import Seat
from service.domain.dispute import (
    Charge,
    DisputeEvent,
    DisputeOpened,
    DisputeState,
    Party,
    Periods,
    StatementMade,
)
from service.domain.dispute_rules import DisputeRefused, StoredVote
from service.domain.events import BlindFailed, PilePickedUp, StockFailed
from service.domain.table import HandDisputed
from service.keys import Keys
from service.replay.history import RecordedEvent, RecordedMove, decode_line, move_around
from service.replay.sentences import reason_of, said
from service.rulesets.statements import cited
from service.shx.canonical import format_time, sha256
from service.shx.chain import head
from service.shx.receipts import statement_commitment
from service.store.disputes import Charged, DisputeRepository, Experience, StatementText
from service.store.events import Commit, EventStore, Quota, StreamAppend

OPERATOR = UUID(int=0)
"""The author id of the operator's statements; the operator has no account."""

Step = Callable[[DisputeRecord], tuple[Sequence[DisputeEvent], Mapping[str, Any]]]
"""Returns the events of a command on a dispute, and the data stored with them."""

_NOTHING: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeCall:
    """A player's call of a command on a dispute; `request` makes it safe to repeat."""

    caller: Caller
    player: RegisteredPlayer
    dispute: UUID
    request: Idempotency | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeCommands:
    """Reads disputes, and carries out commands of their sides and referees."""

    directory: DisputeRepository
    games: Games
    files: DisputeFiles
    handler: Handler
    keyring: Keys
    world: World
    notifier: Notifier

    def change(self, call: DisputeCall, step: Step) -> Answered:
        """
        Carry out a player's command and return the dispute.

        Raises Refusal `not-found`, and those of `stepped`.
        """
        self.visible(call.caller, call.dispute)
        return self.stepped(call.player.id, call.dispute, step, call.request)

    def stepped(
        self, by: UUID, identity: UUID, step: Step, request: Idempotency | None = None
    ) -> Answered:
        """
        Carry out a command of a player or the operator without checking that `by` has access.

        Raises Refusal `not-found`, `forbidden` if the rules of disputes do not allow it, and those
        of `step` and `Handler.handle`.
        """
        command = DisputeCommand(
            player=by, request=request, commands=self, by=by, dispute=identity, step=step
        )
        return self.handler.handle(command)

    def accepted(
        self,
        by: UUID,
        record: DisputeRecord,
        lines: tuple[bytes, ...],
        expected: int,
        attachments: Mapping[str, Any],
        *,
        quotas: tuple[Quota, ...] = (),
        others: tuple[StreamAppend, ...] = (),
    ) -> Accepted[None]:
        """
        Return new lines of a dispute as a commit, and the dispute as its answer.

        `others` are appends to other streams in the same commit.
        """
        texts = {one["seq"]: one["words"] for one in attachments.get("texts", ())}
        votes = [
            seal_vote(record.identity, number, vote, self.keyring)
            for number, vote in attachments.get("votes", {}).items()
        ]
        stored = {**attachments, "votes": votes} if votes else attachments
        append = dispute_append(record, lines, expected=expected, attachments=stored)
        return Accepted(
            made=None,
            answer=Answered(body=orjson.dumps(self.shown(record, by, new=texts))),
            commit=Commit(appends=(append, *others), quotas=quotas, outbox=(relayed(record),)),
        )

    def statement(
        self, identity: UUID, seq: int, author: UUID, text: str
    ) -> tuple[str, dict[str, Any]]:
        """Return the commitment to a statement, and the statement as stored with the stream."""
        salt = self.world.random(32)
        commit = statement_commitment(identity, seq, text, salt).hex()
        return commit, {"seq": seq, "author": author, "salt": salt, "words": text}

    def visible(self, caller: Caller, identity: UUID) -> DisputeRecord:
        """
        Return a dispute if the caller may see its game; raises Refusal `not-found`.

        The read is recorded in the access log.
        """
        record = self.record(identity)
        try:
            self.games.read(caller, record.game)
        except Refusal as refusal:
            if refusal.code == "not-found":
                raise not_found("dispute") from None
            raise
        return record

    def record(self, identity: UUID) -> DisputeRecord:
        """Return a dispute as of now; raises Refusal `not-found`."""
        record = self.files.record(identity)
        if record is None:
            raise not_found("dispute")
        return record

    def stored(self, identity: UUID) -> DisputeRecord:
        """Return a dispute as stored; raises Refusal `not-found`."""
        record = self.files.stored(identity)
        if record is None:
            raise not_found("dispute")
        return record

    def shown(
        self, record: DisputeRecord, player: UUID | None, *, new: Mapping[int, str] = _NOTHING
    ) -> dict[str, Any]:
        """Return a dispute as a player sees it; `new` are statements not stored yet."""
        insider = is_insider(record.dispute, player) or player == OPERATOR
        texts: dict[int, StatementText] = {}
        if insider or record.dispute.rulings:
            unstored = {seq: StatementText(text=text, salt=None) for seq, text in new.items()}
            texts = {**self.directory.dispute_texts(record.identity), **unstored}
        return dispute_json(
            record,
            findings=self.files.findings(record.identity),
            words=texts if insider else None,
            reasons=reasons_of(record, texts),
            experience=self._experience(record) if insider else {},
            player=None if player == OPERATOR else player,
        )

    def _experience(self, record: DisputeRecord) -> Mapping[UUID, Experience]:
        """Return what the referees have done before whom a side may refuse."""
        players = [UUID(referee.player) for referee in record.dispute.refusable.values()]
        return self.directory.experience_of(players) if players else {}

    def advanced(self, record: DisputeRecord) -> tuple[DisputeRecord, tuple[bytes, ...]]:
        """Return a new dispute with the facts outside its stream and all immediate events."""
        return advance(self.files.with_outside(record), now=record.at)

    def now(self) -> str:
        """Return the present time in the format of events."""
        return format_time(self.world.now())


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeCommand(StreamCommand[DisputeRecord, None]):
    """One step of a player or the operator in a dispute."""

    commands: DisputeCommands
    by: UUID
    dispute: UUID
    step: Step

    def load(self, _last: Attempt[DisputeRecord] | None) -> DisputeRecord:
        """Return the dispute as stored; raises Refusal `not-found`."""
        return self.commands.stored(self.dispute)

    def decide(self, record: DisputeRecord) -> Accepted[None]:
        """Return the events of the step between those of ended periods; raises Refusal."""
        now = self.commands.now()
        # The events of ended periods come first; they may not be stored yet.
        between, first = advance(record, now=now)
        try:
            events, attachments = self.step(between)
        except DisputeRefused as refused:
            raise Refusal("forbidden", reason_of(refused)) from None
        done, lines = DISPUTES.write(_with_votes(between, attachments), events, at=now)
        done, last = advance(done, now=now)
        lines = (*first, *lines, *last)
        return self.commands.accepted(self.by, done, lines, record.version, attachments)

    def committed(self, _made: None) -> None:
        """Notify the streams of sides and referees."""
        self.commands.notifier.dispute_moved(self.dispute)


def _with_votes(record: DisputeRecord, attachments: Mapping[str, Any]) -> DisputeRecord:
    """Return the record with the votes that the server stores for referees."""
    votes: Mapping[int, StoredVote] = attachments.get("votes", {})
    if not votes:
        return record
    outside = replace(record.outside, votes={**record.outside.votes, **votes})
    return replace(record, outside=outside)


CHARGES_AGAINST_SERVER = (Charge.WRONG_DEAL, Charge.ALTERED_LOG)
"""The charges that a seat can bring against the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accusation:
    """An accusation by a seat: of a move of another seat, of the server, or of two seats."""

    accused: Seat | None  # None: the server
    seq: int | None = None  # of an event of the move; None: collusion
    partner: Seat | None = None  # collusion alone
    charge: Charge
    statement: str


FEWEST_FOR_COLLUSION: Final = 3
"""Minimum number of people in a hand about which collusion can be charged: two, and the accuser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeOpening:
    """Opens disputes."""

    store: EventStore
    directory: DisputeRepository
    game_cache: GameCache
    games: Games
    files: DisputeFiles
    commands: DisputeCommands
    handler: Handler
    periods: Periods
    world: World
    settle: Callable[[UUID], object]  # stores the events of periods that have ended

    def open(
        self,
        caller: Caller,
        player: RegisteredPlayer,
        game: UUID,
        accusation: Accusation,
        request: Idempotency | None = None,
    ) -> tuple[UUID, Answered]:
        """
        Open a dispute and freeze its evidence; return its id and the answer.

        Raises Refusal `not-found`, `not-seated`, `invalid-body` for an accusation that does not
        fit the game, `dispute-open` if there is one with this charge about the same,
        `dispute-withdrawn` if the player withdrew such a one, and those of `quota_refused` and
        `Handler.handle`.
        """
        entry = self.games.entry(caller, game)
        move = self._checked(entry, player, accusation)
        identity = self.world.identity()

        command = OpenDispute(
            player=player.id,
            request=request,
            opening=self,
            dispute=identity,
            entry=entry,
            accuser=player,
            accusation=accusation,
            move=move,
        )
        return identity, self.handler.handle(command)

    def opened(
        self,
        identity: UUID,
        entry: GameEntry,
        player: RegisteredPlayer,
        accusation: Accusation,
        move: int | None,
    ) -> Accepted[None]:
        """Return the first events of a dispute, with the evidence frozen now."""
        bundle = self.files.frozen(entry)
        opened = DisputeOpened(
            game=str(entry.record.identity),
            accuser=str(player.id),
            accuser_seat=entry.players.index(player.id),
            accused=_player_at(entry, accusation.accused),
            accused_seat=accusation.accused,
            partner=_player_at(entry, accusation.partner),
            partner_seat=accusation.partner,
            seq=accusation.seq,
            charge=accusation.charge,
            version=entry.record.version,
            bundle=sha256(bundle).hex(),
            barred=barred_players(self.store, entry),
            periods=self.periods,
            move=move,
        )
        commit, statement = self.commands.statement(identity, 1, player.id, accusation.statement)
        events = (opened, StatementMade(side=Party.ACCUSER, commit=commit))
        record, lines = DISPUTES.open(identity, events, at=self.commands.now())
        record, more = self.commands.advanced(record)
        attachments = {"bundle": bundle, "texts": [statement]}
        full = quotas.of_disputes(player.id, self.world.now())
        return self.commands.accepted(
            player.id,
            record,
            (*lines, *more),
            0,
            attachments,
            quotas=full,
            others=self._at_the_table(entry, identity, lines[0]),
        )

    def _at_the_table(
        self, entry: GameEntry, identity: UUID, first: bytes
    ) -> tuple[StreamAppend, ...]:
        """Return the append of the table's event, by which a deleted dispute is missed."""
        found = self.store.read(entry.table)
        if found is None:
            return ()
        table = TABLES.load(entry.table, found.events)
        game = str(entry.record.identity)
        event = HandDisputed(game=game, dispute=str(identity), head=head(first).hex())
        done, lines = TABLES.write(table, (event,), at=self.commands.now())
        summary = table_summary(done)
        return (TABLES.append(done, lines, expected=table.version, summary=summary),)

    def _checked(
        self, entry: GameEntry, player: RegisteredPlayer, accusation: Accusation
    ) -> int | None:
        """
        Return the first event of the accused move, None for collusion.

        Raises Refusal for an invalid accusation, and if the player has opened too many disputes.
        """
        seat, accused = entry.seat_of(player.id), accusation.accused
        if seat is None:
            raise Refusal("not-seated", said("request.opens_dispute"))
        if accused is None and accusation.charge not in CHARGES_AGAINST_SERVER:
            charges = tuple(CHARGES_AGAINST_SERVER)
            raise invalid("/accused", said("request.server_charges", charges=charges))
        if accused is not None and (accused >= len(entry.players) or accused == seat):
            raise invalid("/accused", said("request.no_other_seat"))
        if accusation.charge is Charge.COLLUSION:
            _refuse_unless_pair(entry, seat, accusation)
            move = None
        else:
            move = self._accused_move(entry, accusation).first
        self._check_quota(player)
        return move

    def _accused_move(self, entry: GameEntry, accusation: Accusation) -> RecordedMove:
        """Return the accused move; raises Refusal if the accusation does not fit it."""
        accused, seq = accusation.accused, accusation.seq
        if accusation.partner is not None:
            raise invalid("/partner", said("request.partner_of_collusion"))
        if seq is None or not 0 <= seq < entry.record.version:
            last = entry.record.version - 1
            raise invalid("/seq", said("request.last_event", last=last))
        lines = self.game_cache.lines(entry.record.identity, limit=entry.record.version)
        move = move_around(lines, seq)
        if accused is not None and move.seat != accused:
            if move.seat is None:
                raise invalid("/seq", said("request.event_of_server", due=accused))
            raise invalid("/seq", said("request.event_of_seat", seat=move.seat, due=accused))
        if accusation.charge is Charge.FALSE_PICK_UP:
            _refuse_unless_pick_up(entry, decode_line(lines[move.action]))
        return move

    def refuse_second(
        self, entry: GameEntry, accuser: UUID, accusation: Accusation, move: int | None
    ) -> None:
        """Raise Refusal if a dispute with this charge is open, or the player withdrew one."""
        charged = _charged(entry, accusation, move)
        withdrawn = self.directory.withdrawn_dispute(entry.record.identity, accuser, charged)
        if withdrawn is not None:
            raise Refusal("dispute-withdrawn", said("request.dispute_withdrawn"), id=str(withdrawn))
        for identity in self.directory.running_disputes(entry.record.identity, charged):
            record = self.commands.record(identity)
            if record.dispute.state is DisputeState.FINAL:
                self.settle(identity)
            else:
                raise Refusal(
                    "dispute-open",
                    said("request.dispute_open"),
                    id=str(identity),
                )

    def _check_quota(self, player: RegisteredPlayer) -> None:
        """Raise Refusal if the player has reached the maximum number of disputes."""
        new, running = quotas.of_disputes(player.id, self.world.now())
        record = self.directory.accusations(player.id, since=new.since or self.world.now())
        for quota, taken in ((new, record.new), (running, record.running)):
            if taken >= quota.most:
                raise quotas.quota_refused(quota.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDispute(StreamCommand[NewStream, None]):
    """A seat opens a dispute."""

    opening: DisputeOpening
    dispute: UUID
    entry: GameEntry
    accuser: RegisteredPlayer
    accusation: Accusation
    move: int | None

    def load(self, _last: Attempt[NewStream] | None) -> NewStream:
        """Return the state before the first event."""
        return NewStream()

    def decide(self, _new: NewStream) -> Accepted[None]:
        """Return the first events; raises Refusal for a second dispute about the same."""
        self.opening.refuse_second(self.entry, self.accuser.id, self.accusation, self.move)
        return self.opening.opened(
            self.dispute, self.entry, self.accuser, self.accusation, self.move
        )

    def committed(self, _made: None) -> None:
        """Notify the streams of sides and referees."""
        self.opening.commands.notifier.dispute_moved(self.dispute)


def _player_at(entry: GameEntry, seat: Seat | None) -> str | None:
    player = None if seat is None else entry.players[seat]
    return None if player is None else str(player)


def _charged(entry: GameEntry, accusation: Accusation, move: int | None) -> Charged:
    """Return the subject of an accusation, by which a second one about it is recognised."""
    accused, partner = accusation.accused, accusation.partner
    if accused is None or partner is None:
        return Charged(charge=accusation.charge.value, move=move)
    return Charged(
        charge=accusation.charge.value,
        move=None,
        accused=entry.players[accused],
        partner=entry.players[partner],
    )


def _refuse_unless_pair(entry: GameEntry, accuser: Seat, accusation: Accusation) -> None:
    """Raise Refusal unless a charge of collusion names two people other than the accuser."""
    accused, partner = accusation.accused, accusation.partner
    if sum(player is not None for player in entry.players) < FEWEST_FOR_COLLUSION:
        raise invalid("/charge", said("request.collusion_of_few", n=FEWEST_FOR_COLLUSION))
    if accusation.seq is not None:
        raise invalid("/seq", said("request.collusion_no_move"))
    people = [seat for seat, player in enumerate(entry.players) if player is not None]
    if accused not in people:
        raise invalid("/accused", said("request.collusion_people"))
    if partner not in people or partner in (accuser, accused):
        raise invalid("/partner", said("request.collusion_people"))


def _refuse_unless_pick_up(entry: GameEntry, action: RecordedEvent) -> None:
    """Raise Refusal for an action by which no seat takes the pile."""
    if isinstance(action.event, (PilePickedUp, BlindFailed, StockFailed)):
        return
    [rule] = cited(entry.record.game.ruleset, ("turn.obligation",))
    raise invalid("/seq", said("request.no_pick_up", at=action.seq, rule=rule))


def barred_players(store: EventStore, entry: GameEntry) -> tuple[str, ...]:
    """Return the players who may not judge: all who ever sat at the table, and its host."""
    found = store.read(entry.table)
    sat = {str(player) for player in (*entry.players, entry.host) if player is not None}
    for line in found.events if found else ():
        event = orjson.loads(line)
        if event["type"] == "table_opened":
            sat |= {seat["player"] for seat in event["data"]["seats"] if seat["player"]}
        elif event["type"] == "seat_taken":
            sat.add(event["data"]["player"])
    return tuple(sorted(sat))
