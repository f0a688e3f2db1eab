"""The opening of a dispute: checks of the accusation, quotas, and the frozen evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import orjson

from service.application import quotas
from service.application.access import Answered, Caller, Idempotency, Player
from service.application.disputes.commands import DisputeCommands
from service.application.disputes.files import DisputeFiles
from service.application.disputes.record import DISPUTES
from service.application.errors import Refusal, invalid
from service.application.games.cache import GameCache, GameEntry
from service.application.games.queries import Games
from service.application.handler import Accepted, Handler, NewStream
from service.application.ports import World
from service.domain.commands import Seat
from service.domain.dispute import (
    Charge,
    DisputeOpened,
    DisputeState,
    Party,
    Periods,
    StatementMade,
)
from service.domain.events import BlindFailed, PilePickedUp, StockFailed
from service.replay.history import RecordedEvent, RecordedMove, decode_line, move_around
from service.rulesets.citations import cited
from service.shx.canonical import sha256
from service.store.disputes import DisputeRepository
from service.store.events import EventStore, QuotaKind

CHARGES_AGAINST_SERVER = (Charge.WRONG_DEAL, Charge.ALTERED_LOG)
"""The charges that a seat can bring against the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accusation:
    """An accusation by a seat against another seat or the server."""

    accused: Seat | None  # None: the server
    seq: int
    charge: Charge
    statement: str


class DisputeOpening:
    """Opens disputes."""

    def __init__(
        self,
        *,
        store: EventStore,
        directory: DisputeRepository,
        game_cache: GameCache,
        games: Games,
        files: DisputeFiles,
        commands: DisputeCommands,
        handler: Handler,
        periods: Periods,
        world: World,
        settle: Callable[[UUID], object],
    ) -> None:
        self._store = store
        self._directory = directory
        self._game_cache = game_cache
        self._games = games
        self._files = files
        self._commands = commands
        self._handler = handler
        self._periods = periods
        self._world = world
        self._settle = settle  # stores the events of periods that have ended

    def open(
        self,
        caller: Caller,
        player: Player,
        game: UUID,
        accusation: Accusation,
        request: Idempotency | None = None,
    ) -> tuple[UUID, Answered]:
        """
        Open a dispute and freeze its evidence; return its id and the answer.

        Raises Refusal `not-found`, `not-seated`, `invalid-body` for an accusation that does not
        fit the game, `dispute-open` if there is one about this move and charge, `rate-limited`,
        and those of `Handler.handle`.
        """
        entry = self._games.entry(caller, game)
        move = self._accused_move(entry, player, accusation)
        identity = self._world.identity()

        def decision(_new: NewStream) -> Accepted:
            self._refuse_second(entry, accusation, move)
            return self._opened(identity, entry, player, accusation, move)

        answer = self._handler.handle(
            lambda _fresh: NewStream(), decision, caller=player.id, request=request
        )
        return identity, answer

    def _opened(
        self,
        identity: UUID,
        entry: GameEntry,
        player: Player,
        accusation: Accusation,
        move: RecordedMove,
    ) -> Accepted:
        bundle, seat = self._files.frozen(entry), accusation.accused
        other = None if seat is None else entry.players[seat]
        opened = DisputeOpened(
            game=str(entry.record.identity),
            accuser=str(player.id),
            accuser_seat=entry.players.index(player.id),
            accused=None if other is None else str(other),
            accused_seat=seat,
            seq=accusation.seq,
            charge=accusation.charge,
            version=entry.record.version,
            bundle=sha256(bundle).hex(),
            barred=barred_players(self._store, entry),
            periods=self._periods,
            move=move.first,
        )
        commit, statement = self._commands.statement(identity, 1, player.id, accusation.statement)
        events = (opened, StatementMade(side=Party.ACCUSER, commit=commit))
        record, lines = DISPUTES.open(identity, events, at=self._commands.now())
        record, more = self._commands.advanced(record)
        attachments = {"bundle": bundle, "texts": [statement]}
        full = quotas.of_disputes(player.id, self._world.now())
        return self._commands.accepted(
            player.id, record, (*lines, *more), 0, attachments, quotas=full
        )

    def _accused_move(
        self, entry: GameEntry, player: Player, accusation: Accusation
    ) -> RecordedMove:
        """Return the accused move; raises Refusal for an invalid accusation."""
        seat, accused = entry.seat_of(player.id), accusation.accused
        if seat is None:
            raise Refusal("not-seated", "only seats of the game can open a dispute")
        if accused is None and accusation.charge not in CHARGES_AGAINST_SERVER:
            charges = " or ".join(CHARGES_AGAINST_SERVER)
            raise invalid("/accused", f"the server (null) can be accused of {charges} only")
        if accused is not None and (accused >= len(entry.players) or accused == seat):
            raise invalid("/accused", "there is no other seat with this number")
        if not 0 <= accusation.seq < entry.record.version:
            last = entry.record.version - 1
            raise invalid("/seq", f"there is no such event in the game, the last one is {last}")
        lines = self._game_cache.lines(entry.record.identity, limit=entry.record.version)
        move = move_around(lines, accusation.seq)
        if accused is not None and move.seat != accused:
            made = "the server" if move.seat is None else f"seat {move.seat}"
            raise invalid("/seq", f"this event belongs to a move of {made}, not of seat {accused}")
        if accusation.charge is Charge.FALSE_PICK_UP:
            _refuse_unless_pick_up(entry, decode_line(lines[move.action]))
        self._check_quota(player)
        return move

    def _refuse_second(self, entry: GameEntry, accusation: Accusation, move: RecordedMove) -> None:
        """Raise Refusal if another dispute about this move and charge is open."""
        game, charge = entry.record.identity, accusation.charge
        for identity in self._directory.running_disputes(game, move.first, charge.value):
            record = self._commands.record(identity)
            opened = record.dispute.opened
            if record.dispute.state is DisputeState.FINAL:
                self._settle(identity)
            elif opened.move == move.first or move.first <= opened.seq <= move.last:
                raise Refusal(
                    "dispute-open",
                    "a dispute about this move and charge is open already",
                    id=str(identity),
                )

    def _check_quota(self, player: Player) -> None:
        """Raise Refusal if the player has reached the maximum number of disputes."""
        since = self._world.now() - quotas.NEW_FOR
        record = self._directory.accusations(player.id, since=since)
        if record.new >= quotas.MOST_NEW_DISPUTES:
            raise quotas.quota_refused(QuotaKind.NEW_DISPUTES)
        if record.running >= quotas.MOST_DISPUTES:
            raise quotas.quota_refused(QuotaKind.DISPUTES)


def _refuse_unless_pick_up(entry: GameEntry, action: RecordedEvent) -> None:
    """Raise Refusal for an action by which no seat takes the pile."""
    if isinstance(action.event, (PilePickedUp, BlindFailed, StockFailed)):
        return
    [rule] = cited(entry.record.game.ruleset, ("turn.obligation",))
    raise invalid(
        "/seq",
        f"the move at event {action.seq} does not take the pile, and `false_pick_up` is about "
        f"taking it ({rule} of the rules); name a move that does, or charge `illegal_move`",
    )


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
