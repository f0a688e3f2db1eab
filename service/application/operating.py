"""What whoever runs the server does to players, tables and games; each use leaves a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_bytes
from typing import TypeVar
from uuid import UUID

from service.application.callers import Player
from service.application.entries import Entries
from service.application.errors import Refusal, not_found
from service.application.moves import Moves
from service.application.players import TOKEN_BYTES, Players
from service.application.ports import World
from service.application.tables import Tables
from service.domain.events import AbortCause, GameAborted
from service.event_store.directory import Directory
from service.event_store.owner import Owner, TrailEntry
from service.event_store.protocol import StreamConflict
from service.keyring import Keyring, KeyringError

ATTEMPTS = 20
MOST_STUCK = 1000
DONE = "done"

_Done = TypeVar("_Done")


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckGame:
    """A running game that does not go on though nobody needs to act, or cannot go on at all."""

    id: UUID
    version: int
    since: datetime
    why: str


_DUE = {
    "bot": "a bot has the turn and does not move: are workers and the sweeper running?",
    "time_out": "a seat's time is up and nobody moved for it: are workers and the sweeper running?",
    "entropy": "a seat owes its entropy and nobody gave the set-up up: is the sweeper running?",
}
"""Why a game whose time has come is stuck, by what was to happen to it."""


class Operating:
    """Carries out what an operator asks for, together with its line in the trail, or neither."""

    def __init__(
        self,
        *,
        operator: str,
        owner: Owner,
        directory: Directory,
        entries: Entries,
        players: Players,
        tables: Tables,
        moves: Moves,
        keyring: Keyring,
        world: World,
    ) -> None:
        self._operator = operator
        self._owner = owner
        self._directory = directory
        self._entries = entries
        self._players = players
        self._tables = tables
        self._moves = moves
        self._keyring = keyring
        self._world = world

    def noted(self, act: str, target: UUID | None, work: Callable[[], _Done]) -> _Done:
        """
        Do some work and note it, both or neither; return what the work returns.

        What is refused is noted as well, with the code of its refusal, which is raised again.
        """
        with self._owner.together():
            try:
                with self._owner.together():
                    done = work()
            except Refusal as refusal:
                self._note(act, target, refusal.code)
                refused = refusal
            else:
                self._note(act, target, DONE)
                return done
        raise refused

    def name_of(self, player: UUID) -> str | None:
        """Return a player's name, None where there is no such player or it was erased."""
        return self._directory.names([player]).get(player)

    def revoke(self, player: UUID) -> None:
        """End a player's token; the recovery code gives them a new one, and nobody else."""

        def work() -> None:
            if not self._directory.rotate_token(player, token_bytes(TOKEN_BYTES)):
                raise not_found("player")

        self.noted("revoke-token", player, work)

    def rename(self, player: UUID, name: str) -> None:
        """Give a player another name; views show it within some seconds."""

        def work() -> None:
            if not self._owner.rename_player(player, name):
                raise not_found("player")

        self.noted("rename", player, work)

    def erase(self, player: UUID) -> None:
        """Erase a person, as they could themselves; raises `hand-running` during a hand."""

        def work() -> None:
            if self.name_of(player) is None:
                raise not_found("player")
            self._players.erase(Player(id=player, name=""))

        self.noted("erase", player, work)

    def close(self, table: UUID) -> None:
        """Close a table, whoever hosts it; raises `hand-running` during a hand."""
        self.noted("close", table, lambda: self._tables.shut(table))

    def abort(self, game: UUID) -> None:
        """
        End a game by publishing its seed, and let its table deal again.

        Raises `game-over`, and `unavailable` where the seed cannot be had: a log does not end
        without it.
        """
        self.noted("abort", game, lambda: self._abort(game))

    def stuck(self, *, late: timedelta) -> Sequence[StuckGame]:
        """
        Return the games that should go on by themselves and do not, the longest stuck first.

        Those whose time came longer ago than `late`, and those whose seed is lost. A game in
        which a person without a clock thinks is not stuck.
        """
        return self.noted("stuck", None, lambda: self._stuck(late))

    def trail(self, *, limit: int | None) -> Sequence[TrailEntry]:
        """Return what operators did, the newest first; the look at it is noted after it."""
        return self.noted("trail", None, lambda: self._owner.trail(limit=limit))

    def _abort(self, game: UUID) -> None:
        for _ in range(ATTEMPTS):
            try:
                entry = self._entries.fresh(game)
            except KeyringError as error:
                raise Refusal("unavailable", f"its seed cannot be opened: {error}") from None
            if entry is None:
                raise not_found("game")
            if entry.record.sealed:
                raise Refusal("game-over", "the game is over")
            if entry.record.seed is None:
                raise Refusal("unavailable", "its seed is gone, and it cannot end without it")
            try:
                self._moves.apply(entry, (GameAborted(cause=AbortCause.OPERATOR, seat=None),))
            except StreamConflict:
                continue
            return
        raise Refusal("unavailable", "too many moves at once, try again")

    def _stuck(self, late: timedelta) -> Sequence[StuckGame]:
        lost = [
            StuckGame(id=row.id, version=row.version, since=row.created_at, why=_lost(row.key_id))
            for row in self._owner.lost_games(self._keyring.keys.keys())
        ]
        known = {game.id for game in lost}
        due = self._directory.due_games(now=self._world.now() - late, limit=MOST_STUCK)
        waiting = [
            StuckGame(
                id=row.id,
                version=row.version,
                since=row.at,
                why=_DUE.get(row.kind, "its time has come and nothing happened"),
            )
            for row in due
            if row.id not in known
        ]
        return sorted((*lost, *waiting), key=lambda game: game.since)

    def _note(self, act: str, target: UUID | None, outcome: str) -> None:
        entry = TrailEntry(
            at=self._world.now(),
            operator=self._operator,
            act=act,
            target=target,
            outcome=outcome,
        )
        self._owner.note(entry)


def _lost(key_id: str | None) -> str:
    if key_id is None:
        return "its seed is gone: it cannot go on, and it cannot end"
    return f"its seed is under key {key_id}, which is not in the key file: bring that key back"
