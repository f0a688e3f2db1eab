"""Cache of folded games: loaded once, then updated with the new events only."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from uuid import UUID

import orjson

from service.application.callers import Caller
from service.application.games.record import GameRecord, follow, load, with_cites
from service.application.rulebook import Rulebook
from service.application.tables.record import TABLES, TableRecord
from service.domain.commands import Seat
from service.keys.reloading import Keys
from service.store.directory import Directory
from service.store.events import EventStore, StoreError, StreamKind


@dataclass(frozen=True, slots=True, kw_only=True)
class GameEntry:
    """A game's record with data from outside its log: players, visibility, table."""

    record: GameRecord
    table: UUID
    host: UUID
    public: bool
    invite_hash: bytes | None
    window_seconds: int
    players: tuple[UUID | None, ...]
    back: frozenset[Seat]

    @property
    def version(self) -> int:
        """Return the number of events."""
        return self.record.version

    def seat_of(self, player: UUID | None) -> Seat | None:
        """Return a player's seat in this game, None if the player has none."""
        if player is None or player not in self.players:
            return None
        return self.players.index(player)


class Entries:
    """
    The games and tables of the store, folded.

    A game stays in memory at the version last read; `fresh` returns the present version and
    reads only the new events. Entries are immutable, so threads share them without locks.
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
        """Return a game at the version last read; None if it does not exist."""
        with self._lock:
            entry = self._kept.get(game)
            if entry is not None:
                self._kept.move_to_end(game)
        return entry or self.fresh(game)

    def fresh(self, game: UUID) -> GameEntry | None:
        """Return the present version of a game; None if it does not exist."""
        with self._lock:
            entry = self._kept.get(game)
        after = entry.record.version if entry else 0
        found = self._store.read(game, after=after)
        if found is None or found.kind is not StreamKind.GAME:
            return None
        if found.version < after:
            # The store has fewer events than the cache: it was restored from a backup.
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
        """Put an entry into the cache, unless it has a later version already."""
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
        """Return the present version of a table; None if it does not exist."""
        found = self._store.read(identity)
        if found is None or found.kind is not StreamKind.TABLE:
            return None
        return TABLES.load(identity, found.events)

    def sits_or_judges(self, entry: GameEntry, caller: Caller) -> bool:
        """Return whether a caller sits at a game's table now, or judges a dispute about it."""
        player = caller.player
        if player is None:
            return False
        table = self._directory.table(entry.table)
        if table is not None and any(seat.player == player for seat in table.seats):
            return True
        return self._directory.judges(player, game=entry.record.identity)

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
        """Return the entry with the seats that came back; none matters without a time-out."""
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
