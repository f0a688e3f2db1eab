"""Operator actions on players, tables and games; each is recorded in the operator log."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar
from uuid import UUID

from service.application.calls import RegisteredPlayer
from service.application.disputes.disputes import Disputes
from service.application.errors import InvalidHistory, Refusal, not_found
from service.application.games.cache import GameCache
from service.application.games.evidence import Evidence
from service.application.games.lost_moves import LostMoves
from service.application.games.moves import Moves
from service.application.games.record import GameRecord, load
from service.application.players import Players
from service.application.ports import World
from service.application.signing import verifiers_of
from service.application.tables.tables import Tables
from service.keys import Keyring, KeyringError
from service.replay.sentences import said
from service.shx.bundle import NotABundle, read_bundle
from service.shx.canonical import sha256
from service.shx.chain import head
from service.shx.receipts import check_receipt, claimed_receipt
from service.store.archive import Bundles
from service.store.directory import Directory
from service.store.events import StoreUnavailable
from service.store.operator import LockedGame, Owner, TrailEntry, TrailFilter
from service.verify.finding import Result
from service.verify.verify import verify_bundle

ARCHIVED: Final = "archived"
"""The refusal code of a game that is archived already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedGame:
    """A game that was moved from the database to a bundle file."""

    id: UUID
    place: str  # a path, or an address in an object store
    size: int  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Archiving:
    """Archives games one at a time; after an interruption the next run continues."""

    operating: Operating
    owner: Owner
    game_cache: GameCache
    evidence: Evidence
    bundles: Bundles
    world: World

    def count(self, *, older_than: timedelta) -> int:
        """Return the number of games that `archive_all` would archive now."""
        return len(self.owner.archivable(ended_before=self.world.now() - older_than))

    def archive_all(self, *, older_than: timedelta) -> Generator[ArchivedGame | Refusal]:
        """
        Archive the games that ended at least this long ago; yield each game or its refusal.

        The run is one entry of the operator log, written at its end: whether it was completed, and
        how many games it archived. The hash of each bundle is recorded with its game. Games with
        pending notifications, and games that another run has archived meanwhile, are left out.
        """
        counts = {"archived": 0, "refused": 0}
        try:
            for game in self.owner.archivable(ended_before=self.world.now() - older_than):
                found = self._archived_or_refused(game)
                if found is not None:
                    counts["refused" if isinstance(found, Refusal) else "archived"] += 1
                    yield found
        except BaseException as error:
            self.operating.record_failed_run("archive", counts, error)
            raise
        self.operating.record_run("archive", counts)

    def archive(self, game: UUID) -> ArchivedGame:
        """
        Archive one game.

        One transaction locks the game's stream, deletes its events and records the bundle's hash.
        The bundle is written to disk and read back before the events are deleted. Of two concurrent
        runs the second one waits for the lock, finds the game archived and writes nothing.

        Raises Refusal: `not-found`, `archived`, `hand-running`, `notifications-pending`,
        `too-large` for a bundle, `unavailable` if refused attempts are missing or cannot
        be decrypted, or the bundle differs from the log.
        """
        return self.operating.recorded("archive", game, lambda: self._move(game))

    def replace(self, game: UUID, bundle: bytes) -> ArchivedGame:
        """
        Archive a game whose stored events were changed, with the events of a bundle from before.

        The head of the stream, which the public log has, proves them: it is the hash of the last of
        them, and each has the hash of the one before it. Raises Refusal as `archive`, and
        `not-proven` for events with another head, or with which a check of SHX/1 fails.
        """
        return self.operating.recorded("archive", game, lambda: self._move(game, bundle))

    def bundle(self, game: UUID) -> bytes:
        """
        Return the public bundle of a game, also of a private table; the read is recorded.

        Raises Refusal `not-found`, and StreamArchived for an archived game without its bundle.
        """
        return self.operating.recorded(
            "evidence", game, lambda: self.evidence.stored(*self._stored(game))
        )

    def _archived_or_refused(self, game: UUID) -> ArchivedGame | Refusal | None:
        """Archive a game; return the refusal if it is refused, None if another run was faster."""
        try:
            with self.owner.transaction():
                return self._move(game)
        except Refusal as refusal:
            return None if refusal.code == ARCHIVED else refusal

    def _move(self, game: UUID, proven: bytes | None = None) -> ArchivedGame:
        locked = self.owner.hold(game)
        if locked is None:
            raise not_found("game")
        if locked.archived:
            raise Refusal(ARCHIVED, said("operator.archived", game=str(game)))
        if not locked.over:
            raise Refusal("hand-running", said("operator.running", game=str(game)))
        if locked.outbox_pending:
            pending = said("operator.notifications", game=str(game))
            raise Refusal("notifications-pending", pending)
        if proven is None:
            record, lines = self._stored(game)
        else:
            record, lines = _proven(game, locked, proven)
        try:
            data = self.evidence.public(record, lines)
        except NotABundle as error:
            detail = said("operator.too_large", game=str(game), reason=str(error))
            raise Refusal("too-large", detail) from None
        except KeyringError as error:
            detail = said("operator.unreadable_refusals", game=str(game), reason=str(error))
            raise Refusal("unavailable", detail) from None
        if read_bundle(data).lines != lines:
            raise Refusal("unavailable", said("operator.other_bundle", game=str(game)))
        if proven is not None:
            _check_evidence(game, data)
        place = self.bundles.keep(game, data)
        self.owner.archive(game, sha256(data))
        return ArchivedGame(id=game, place=place, size=len(data))

    def _stored(self, game: UUID) -> tuple[GameRecord, tuple[bytes, ...]]:
        entry = self.game_cache.fresh(game)
        if entry is None:
            raise not_found("game")
        return entry.record, tuple(self.game_cache.lines(game))


def _proven(game: UUID, locked: LockedGame, bundle: bytes) -> tuple[GameRecord, tuple[bytes, ...]]:
    """Return the history in a bundle; raises Refusal unless it leads to the head of the stream."""
    try:
        lines = read_bundle(bundle).lines
    except NotABundle as error:
        raise _not_proven(game, str(error)) from None
    if len(lines) != locked.version or head(lines[-1]) != locked.head:
        raise _not_proven(game, said("operator.other_head").text)
    try:
        return load(game, lines, seed=None), lines
    except (ValueError, InvalidHistory) as error:
        raise _not_proven(game, str(error)) from None


def _check_evidence(game: UUID, data: bytes) -> None:
    """Raise Refusal if a check of SHX/1 fails for a bundle that is to replace stored events."""
    for finding in verify_bundle(read_bundle(data)).findings:
        if finding.result is Result.FAIL:
            raise _not_proven(game, f"{finding.check.value}: {finding.reason}")


def _not_proven(game: UUID, reason: str) -> Refusal:
    return Refusal("not-proven", said("operator.not_proven", game=str(game), reason=reason))


MAX_STUCK = 1000
"""Maximum number of overdue games that `stuck` reads."""

MAX_DISPUTES = 1000
"""Maximum number of disputes that `disputes` returns."""

DONE = "done"
"""The outcome of a successful action in the operator log."""

INTERRUPTED = "interrupted"
"""The outcome of a run that a signal ended."""

_Done = TypeVar("_Done")


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckGame:
    """A running game that is overdue although it waits for no person, or cannot continue."""

    id: UUID
    version: int
    since: datetime
    why: str


_DUE = {
    "bot": "stuck.bot",
    "time_out": "stuck.time_out",
    "entropy": "stuck.entropy",
}
"""The sentence on why an overdue game is stuck, by the kind of its wake-up."""


def stuck_games(directory: Directory, keyring: Keyring, *, before: datetime) -> Sequence[StuckGame]:
    """Return the games that were overdue `before` a time, or lost their seed; oldest first."""
    lost = [
        StuckGame(id=row.id, version=row.version, since=row.created_at, why=_lost(row.key_id))
        for row in directory.lost_games(keyring.keys.keys())
    ]
    known = {game.id for game in lost}
    overdue = [
        StuckGame(
            id=row.id,
            version=row.version,
            since=row.at,
            why=said(_DUE.get(row.kind, "stuck.overdue")).text,
        )
        for row in directory.due_games(now=before, limit=MAX_STUCK)
        if row.id not in known
    ]
    return sorted((*lost, *overdue), key=lambda game: game.since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operating:
    """Operator actions, each in one transaction with its line in the operator log."""

    operator: str
    owner: Owner
    directory: Directory
    game_cache: GameCache
    players: Players
    tables: Tables
    disputes: Disputes
    moves: Moves
    keyring: Keyring
    lost_moves: LostMoves
    world: World

    def recorded(self, act: str, target: UUID | None, work: Callable[[], _Done]) -> _Done:
        """
        Run an action and record it in the operator log, in one transaction; return its result.

        A refused action is recorded as well, with the code of the Refusal, which is raised.
        """
        with self.owner.transaction():
            try:
                with self.owner.transaction():
                    done = work()
            except Refusal as refusal:
                self._record(act, target, refusal.code)
                refused = refusal
            else:
                self._record(act, target, DONE)
                return done
        raise refused

    def record_run(self, act: str, counts: Mapping[str, int], outcome: str = DONE) -> None:
        """Record a run over many targets once, with what it did: `done archived=3 refused=0`."""
        values = [f"{name}={count}" for name, count in counts.items()]
        self._record(act, None, " ".join([outcome, *values]))

    def record_failed_run(self, act: str, counts: Mapping[str, int], error: BaseException) -> None:
        """Record a run that was ended by an error or a signal, on a connection of its own."""
        outcome = f"failed {type(error).__name__}" if isinstance(error, Exception) else INTERRUPTED
        self.owner.disconnect()  # it may be lost, or in the middle of a query
        with suppress(StoreUnavailable):  # then nothing can be recorded, and `error` says why
            self.record_run(act, counts, outcome)

    def name_of(self, player: UUID) -> str | None:
        """Return a player's name, None if the player is unknown or erased."""
        return self.directory.names([player]).get(player)

    def revoke(self, player: UUID) -> None:
        """
        End all tokens of a player; raises Refusal `not-found`. Recovery gives a new token.

        Open streams notice it within seconds: the operator has no connection to Redis.
        """

        def work() -> None:
            if not self.owner.end_tokens(player):
                raise not_found("player")

        self.recorded("revoke-token", player, work)

    def rename(self, player: UUID, name: str) -> None:
        """Rename a player; views show it within seconds. Raises Refusal `not-found`."""

        def work() -> None:
            if not self.owner.rename_player(player, name):
                raise not_found("player")

        self.recorded("rename", player, work)

    def erase(self, player: UUID) -> None:
        """Erase a player; raises Refusal `not-found`, or `hand-running` during a hand."""

        def work() -> None:
            if self.name_of(player) is None:
                raise not_found("player")
            self.players.erase(RegisteredPlayer(id=player, name=""), None)

        self.recorded("erase", player, work)

    def remove_note(self, game: UUID, seq: int, author: UUID) -> None:
        """Delete a player's note on an event of a game; raises Refusal `not-found`."""

        def work() -> None:
            if not self.owner.delete_note(game, author, seq):
                raise not_found("note")

        self.recorded("remove-note", game, work)

    def close(self, table: UUID) -> None:
        """Close any table; raises Refusal `not-found`, or `hand-running` during a hand."""
        self.recorded("close", table, lambda: self.tables.shut(table))

    def abort(self, game: UUID) -> None:
        """
        Abort a game: its seed is published, and its table can deal again.

        Raises Refusal `not-found`, `game-over`, or `unavailable` without the seed, because the
        last event of a log publishes it.
        """
        self.recorded("abort", game, lambda: self.moves.abort(game))

    def lost(self, note: bytes) -> UUID:
        """
        Abort a running game that lost moves in a restore, as a receipt of this server proves.

        Returns the game. Raises Refusal: `not-found`, `not-lost` if the game has the move or no
        declared restore explains that it lacks it, `game-over`, or as `abort`; RecordError if no
        key of this server signed the note as a receipt.
        """
        origin = claimed_receipt(note).origin
        receipt = check_receipt(note, verifiers_of(self.keyring, origin))

        def work() -> None:
            if self.game_cache.fresh(receipt.game) is None:
                raise not_found("game")
            self.lost_moves.check(receipt)
            self.moves.abort(receipt.game)

        self.recorded("lost", receipt.game, work)
        return receipt.game

    def stuck(self, *, late: timedelta) -> Sequence[StuckGame]:
        """
        Return the stuck games, the longest stuck first.

        A game is stuck if its wake-up is overdue by more than `late`, or if its seed is lost.
        A game that waits for a person at a table without a clock is not stuck.
        """
        before = self.world.now() - late
        return self.recorded(
            "stuck", None, lambda: stuck_games(self.directory, self.keyring, before=before)
        )

    def disputes_of_server(self) -> Sequence[Mapping[str, Any]]:
        """Return the disputes against the server that are not final, with their statements."""
        return self.recorded(
            "disputes", None, lambda: self.disputes.against_server(limit=MAX_DISPUTES)
        )

    def answer(self, dispute: UUID, text: str) -> None:
        """
        Add the operator's statement to a dispute.

        Raises Refusal `not-found`, or `forbidden` if the dispute is against a seat or the rules
        of disputes do not allow it.
        """
        self.recorded("answer", dispute, lambda: self.disputes.answer(dispute, text))

    def trail(self, which: TrailFilter, *, limit: int | None) -> Sequence[TrailEntry]:
        """Return the operator log, newest first; this read is recorded in it afterwards."""
        return self.recorded("trail", None, lambda: self.owner.trail(which, limit=limit))

    def _record(self, act: str, target: UUID | None, outcome: str) -> None:
        entry = TrailEntry(
            at=self.world.now(),
            operator=self.operator,
            act=act,
            target=target,
            outcome=outcome,
        )
        self.owner.note(entry)


def _lost(key_id: str | None) -> str:
    if key_id is None:
        return said("stuck.no_seed").text
    return said("stuck.key", key=key_id).text
