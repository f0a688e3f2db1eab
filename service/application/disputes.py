"""Disputes: opened by a seat, argued by two sides, settled by referees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from service.application.callers import Answered, Caller, Idempotency, Player
from service.application.dispute_files import DisputeFiles
from service.application.dispute_record import DisputeRecord, moment_of, open_dispute
from service.application.docket import Docket
from service.application.entries import Entries, GameEntry
from service.application.errors import Refusal, invalid
from service.application.games import Games
from service.application.paging import cursor_of
from service.application.ports import World
from service.application.recusal import sat_at_table
from service.domain.dispute_events import (
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
    refuse,
    reveal_vote,
    say,
)
from service.event_store.directory import Directory
from service.event_store.protocol import EventStore
from service.record.hashing import sha256
from service.record.votes import vote_commitment

MOST_NEW = 10
"""Disputes that a player opens within a day."""

MOST_RUNNING = 20
"""Disputes of one accuser that are not final."""

NEW_FOR = timedelta(days=1)


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
        docket: Docket,
        world: World,
        ask: Callable[[UUID], None],
    ) -> None:
        self._store = store
        self._directory = directory
        self._entries = entries
        self._games = games
        self._files = files
        self._docket = docket
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
        self._may_accuse(entry, player, accused, seq)
        bundle, identity = self._files.frozen(entry), self._world.identity()
        other = entry.players[accused]
        opened = DisputeOpened(
            game=str(game),
            accuser=str(player.id),
            accuser_seat=entry.players.index(player.id),
            accused=None if other is None else str(other),
            accused_seat=accused,
            seq=seq,
            charge=charge,
            version=entry.record.version,
            bundle=sha256(bundle).hex(),
            barred=sat_at_table(self._store, entry),
        )
        commit, said = self._docket.words(identity, 1, player, statement)
        events = (opened, StatementMade(side=Side.ACCUSER, commit=commit))
        record, lines = open_dispute(identity, events, at=self._docket.now())
        beside = {"bundle": bundle, "texts": [said]}
        answer = self._docket.commit(player, record, lines, 0, beside, request)
        self._ask(identity)
        return answer

    def list(
        self, caller: Caller, game: UUID, *, limit: int, cursor: str | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Return a page of a game's disputes, newest first."""
        self._games.read(caller, game)
        page = self._directory.disputes_of(game, cursor=cursor_of(cursor), limit=limit)
        found = [self._docket.record(row.id) for row in page.items]
        items = [self._docket.shown(record, caller.player) for record in found]
        return items, page.next.encode() if page.next else None

    def view(self, caller: Caller, identity: UUID) -> dict[str, Any]:
        """Return a dispute as the caller may see it."""
        return self._docket.shown(self._docket.visible(caller, identity), caller.player)

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
            commit, said = self._docket.words(identity, record.version, player, text)
            return say(record.dispute, str(player.id), commit), {"texts": [said]}

        return self._docket.change(caller, player, identity, step, request)

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
                now = moment_of(self._docket.now())
                return refuse(record.dispute, str(player.id), refused, now), {}
            entry = self._entries.cached(record.game)
            if entry is None or str(player.id) in sat_at_table(self._store, entry):
                raise DisputeRefused("who sits at the table does not judge")
            return offer(record.dispute, str(player.id)), {}

        return self._docket.change(caller, player, identity, step, request)

    def commit_vote(
        self,
        caller: Caller,
        player: Player,
        identity: UUID,
        commit: str,
        request: Idempotency | None = None,
    ) -> Answered:
        """Vote, sealed."""
        return self._docket.change(
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
            now = moment_of(self._docket.now())
            events = reveal_vote(record.dispute, str(player.id), vote, salt, now)
            number = record.dispute.referee_of(str(player.id)) or 0
            made = vote_commitment(identity, number, vote, bytes.fromhex(salt))
            if made.hex() != record.dispute.referees[number].commit:
                raise invalid("/salt", "this vote and salt are not what you committed to")
            return events, {}

        return self._docket.change(caller, player, identity, step, request)

    def appeal(
        self,
        caller: Caller,
        player: Player,
        identity: UUID,
        request: Idempotency | None = None,
    ) -> Answered:
        """Ask for other referees, once."""
        return self._docket.change(
            caller,
            player,
            identity,
            lambda r: (appeal(r.dispute, str(player.id), moment_of(self._docket.now())), {}),
            request,
        )

    def _may_accuse(self, entry: GameEntry, player: Player, accused: int, seq: int) -> None:
        """Raise unless a player sits in the game, accuses another seat, and has room for it."""
        seat = entry.seat_of(player.id)
        if seat is None:
            raise Refusal("not-seated", "only those who sit in the game accuse")
        if not 0 <= accused < len(entry.players) or accused == seat:
            raise invalid("/accused", "there is no other seat of that number")
        if not 0 <= seq < entry.record.version:
            raise invalid("/seq", "there is no such event in the game")
        self._room_for_dispute(player)

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
