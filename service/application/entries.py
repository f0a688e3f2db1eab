"""Games as this process knows them: loaded once, followed by reading what is new."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from uuid import UUID

import orjson

from service.application.callers import Caller
from service.application.game_record import GameRecord, follow, load, with_cites
from service.application.rulebook import Rulebook
from service.application.table_record import TableRecord, load_table
from service.domain.commands import Seat
from service.event_store.directory import Directory
from service.event_store.protocol import EventStore, StoreError, StreamKind
from service.key_file import Keys


@dataclass(frozen=True, slots=True, kw_only=True)
class GameEntry:
    """A game's record with what stands outside the log: who sits there, who may look."""

    record: GameRecord
    table: UUID
    host: UUID
    public: bool
    invite_hash: bytes | None
    window_seconds: int
    players: tuple[UUID | None, ...]
    back: frozenset[Seat]

    def seat_of(self, player: UUID | None) -> Seat | None:
        """Return where a player sits in this game."""
        if player is None or player not in self.players:
            return None
        return self.players.index(player)


class Entries:
    """
    The games and tables of the store, folded.

    A game is kept in memory at the version it was last seen at; whoever needs the
    present calls `fresh`, which reads only what is new. Entries are values, so
    threads share them without locks.
    """

    def __init__(
        self,
        store: EventStore,
        directory: Directory,
        keyring: Keys,
        rulebook: Rulebook,
        *,
        size: int = 2000,
    ) -> None:
        self._store = store
        self._directory = directory
        self._keyring = keyring
        self._rulebook = rulebook
        self._kept: OrderedDict[UUID, GameEntry] = OrderedDict()
        self._size = size
        self._lock = threading.Lock()

    def cached(self, game: UUID) -> GameEntry | None:
        """Return a game as it was last seen, or read it; None where there is none."""
        with self._lock:
            entry = self._kept.get(game)
            if entry is not None:
                self._kept.move_to_end(game)
        return entry or self.fresh(game)

    def fresh(self, game: UUID) -> GameEntry | None:
        """Return a game as the store has it now; None where there is none."""
        with self._lock:
            entry = self._kept.get(game)
        after = entry.record.version if entry else 0
        found = self._store.read(game, after=after)
        if found is None or found.kind is not StreamKind.GAME:
            return None
        if found.version < after:
            # Less than was known: a database restored from a backup. Memory is not the truth.
            self._forget(game)
            return self.fresh(game)
        if entry is None:
            entry = self._loaded(game, found.events)
        elif found.events:
            entry = replace(entry, record=follow(entry.record, found.events))
        entry = self._with_back(entry)
        self.keep(entry)
        return entry

    def keep(self, entry: GameEntry) -> None:
        """Remember an entry, unless a later version of it is known already."""
        game = entry.record.identity
        with self._lock:
            known = self._kept.get(game)
            if known is None or known.record.version <= entry.record.version:
                self._kept[game] = entry
            self._kept.move_to_end(game)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def _forget(self, game: UUID) -> None:
        with self._lock:
            self._kept.pop(game, None)

    def table(self, identity: UUID) -> TableRecord | None:
        """Return a table as the store has it now; None where there is none."""
        found = self._store.read(identity)
        if found is None or found.kind is not StreamKind.TABLE:
            return None
        return load_table(identity, found.events)

    def lets_judge(self, game: UUID, caller: Caller) -> bool:
        """Return whether a caller may know of a private game as a referee of a dispute about it."""
        return caller.player is not None and self._directory.judges(caller.player, game=game)

    def lines(self, game: UUID, *, after: int = 0, limit: int | None = None) -> tuple[bytes, ...]:
        """Return the stored lines of a game from seq `after` on."""
        found = self._store.read(game, after=after, limit=limit)
        return found.events if found else ()

    def _loaded(self, game: UUID, lines: tuple[bytes, ...]) -> GameEntry:
        seed = self._seed(game, lines[-1])
        if seed is None:
            # Sealed since its log was read, and the seed deleted: now the log has it.
            lines = self.lines(game)
            seed = self._seed(game, lines[-1])
        record = load(game, lines, seed=seed)
        pinned = record.created["ruleset"]
        if definition := self._rulebook.find(pinned["id"]):
            record = with_cites(record, definition.cites_of(pinned["options"]))
        table_id = UUID(record.created["table"])
        table, row = self.table(table_id), self._directory.table(table_id)
        seats = self._directory.game(game)
        if table is None or row is None or seats is None:
            raise StoreError(f"what belongs to game {game} is not there")
        return GameEntry(
            record=record,
            table=table_id,
            host=row.host,
            public=row.public,
            invite_hash=row.invite_hash,
            window_seconds=table.table.conditions.window_seconds,
            players=tuple(seat.player for seat in seats.seats),
            back=frozenset(),
        )

    def _with_back(self, entry: GameEntry) -> GameEntry:
        """Seats that came back from a bot matter only while one has been silent."""
        if not any(seat.time_outs for seat in entry.record.game.seats):
            return replace(entry, back=frozenset()) if entry.back else entry
        row = self._directory.game(entry.record.identity)
        back = frozenset(row.back) if row is not None else frozenset()
        return replace(entry, back=back)

    def _seed(self, game: UUID, last: bytes) -> bytes | None:
        event = orjson.loads(last)
        if event["type"] in ("game_sealed", "game_aborted"):
            return bytes.fromhex(event["data"]["seed"])
        secret = self._store.secret(game)
        if secret is None:
            return None
        return self._keyring.open(secret.key_id, secret.ciphertext, game.bytes)
