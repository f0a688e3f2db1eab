"""Caches of folded games and tables, game histories, and names of players."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Generic, TypeVar
from uuid import UUID

import orjson
from msgspec.structs import replace

from service.application.calls import Caller
from service.application.games.entry import GameEntry
from service.application.games.record import follow, load, with_cites
from service.application.quotas import work
from service.application.rulesets import Rulebook
from service.application.streams import Versioned
from service.application.tables.record import TABLES, TableRecord
from service.domain.cards import Card
from service.domain.commands import Seat
from service.domain.view import ALL, Viewer, masked_deck, openings_of
from service.keys import Keys
from service.replay.history import History, RecordedEvent, decode_log
from service.runtime.recent import Recent
from service.store.directory import Directory
from service.store.events import EventStore, SealedSecret, StoreError, StreamKind, StreamSlice
from service.store.games import RefusedMove
from service.store.lookups import GameMetadata, Lookup, LookupResult, Lookups, lookup_of

_Stream = TypeVar("_Stream", bound=Versioned)

UNUSED_SECONDS = 300.0
"""Time without use after which a stream is removed; folding it again takes milliseconds."""


class NewestVersions(Generic[_Stream]):
    """
    Cache of the newest version of each stream.

    A stream not used for UNUSED_SECONDS is removed, because another process may have ended the
    game.
    """

    def __init__(self, size: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        # By the integer of the id, whose hash is computed in C.
        self._folded = Recent[int, _Stream](size, unused_seconds=UNUSED_SECONDS, clock=clock)

    def get(self, stream: UUID) -> _Stream | None:
        """Return the version last cached, None if there is none."""
        return self._folded.get(stream.int)

    def keep(self, stream: UUID, folded: _Stream) -> None:
        """Cache a version, unless a later one is cached already."""
        self._folded.keep(stream.int, folded, unless=lambda known: known.version > folded.version)

    def forget(self, stream: UUID) -> None:
        """Remove a stream from the cache."""
        self._folded.forget(stream.int)


MAX_TABLES = 2000
MAX_RUNNING = 2000
MAX_OVER = 200
"""
Maximum numbers of tables, running games and finished games in the memory of a process.

A game takes about 20 kilobytes. A removed game is read again at its next move or request.
"""


class CachedGames:
    """Cache of the newest version of each game, with a smaller limit for finished games."""

    def __init__(
        self,
        *,
        running: int = MAX_RUNNING,
        over: int = MAX_OVER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._running = NewestVersions[GameEntry](running, clock=clock)
        self._over = NewestVersions[GameEntry](over, clock=clock)

    def get(self, game: UUID) -> GameEntry | None:
        """Return the version last cached, None if there is none."""
        return self._running.get(game) or self._over.get(game)

    def keep(self, entry: GameEntry) -> None:
        """Cache a version, unless a later one is cached already."""
        game = entry.record.identity
        if entry.record.game.over:
            self._over.keep(game, entry)
            self._running.forget(game)
        elif self._over.get(game) is None:
            self._running.keep(game, entry)

    def forget(self, game: UUID) -> None:
        """Remove a game from the cache."""
        self._over.forget(game)
        self._running.forget(game)


class GameCache:
    """
    The games and tables of the store, folded.

    A stream stays in memory at the version last read; a read of the present version folds
    only the new events. Entries are immutable, so threads share them without locks. Folding
    is work of the request (`service/application/quotas.py`).
    """

    def __init__(
        self,
        store: EventStore,
        directory: Directory,
        lookups: Lookups,
        keyring: Keys,
        rulebook: Rulebook,
        able_since: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        self._store = store
        self._directory = directory
        self._lookups = lookups
        self._keyring = keyring
        self._rulebook = rulebook
        self._able_since = able_since
        self._games = CachedGames()
        self._tables = NewestVersions[TableRecord](MAX_TABLES)

    def in_memory(self, game: UUID) -> GameEntry | None:
        """Return a game at the version last read; None if it is not cached."""
        return self._games.get(game)

    def cached(self, game: UUID) -> GameEntry | None:
        """Return a game at the version last read; None if it does not exist."""
        return self._games.get(game) or self.fresh(game)

    def fresh(self, game: UUID) -> GameEntry | None:
        """Return the present version of a game; None if it does not exist."""
        known = self._games.get(game)
        lookup = lookup_of(game, None if known is None else known.version)
        return self.from_lookup(lookup, self._lookups.find(lookup), known)

    def from_lookup(
        self, lookup: Lookup, found: LookupResult, known: GameEntry | None
    ) -> GameEntry | None:
        """
        Return the version of a game that a lookup found, and cache it; None if it found no game.

        `known` is the version for which the lookup was made. Raises StoreError if the game's rows
        outside its log are missing.
        """
        game, log = lookup.game, found.log
        if game is None or log is None or log.kind is not StreamKind.GAME:
            return None
        if log.version < lookup.after:
            # The store has fewer events than the cache: it was restored from a backup.
            self._games.forget(game)
            return self.fresh(game)
        if known is not None:
            entry = self.with_events(known, lookup.after, log.events)
        elif found.metadata is None:
            raise StoreError(f"the rows of game {game} are missing")
        else:
            with work(len(log.events)):
                entry = self._loaded(game, log.events, found.metadata)
        entry = self._with_outage(_with_back(entry, found.back))
        if entry is not known:
            self.keep(entry)
        return entry

    def _with_outage(self, entry: GameEntry) -> GameEntry:
        """Return the entry with the end of the last outage, for games that may wait for a time."""
        if entry.record.game.over:
            return entry
        since = self._able_since()
        return entry if entry.able_since == since else replace(entry, able_since=since)

    def with_events(self, entry: GameEntry, after: int, lines: Sequence[bytes]) -> GameEntry:
        """Return an entry with its missing events; `lines` are the events from seq `after` on."""
        lines = lines[max(0, entry.version - after) :]
        if not lines:
            return entry
        with work(len(lines)):
            return replace(entry, record=follow(entry.record, lines))

    def past(self, game: UUID, version: int) -> GameEntry | None:
        """
        Return a game as it was at a version, None if its log is shorter.

        The version last read is returned from the cache; for an older one the log is folded
        again, and `back` is empty, because the log does not contain it.
        """
        entry = self._games.get(game)
        if entry is None or entry.version < version:
            entry = self.fresh(game)
        if entry is None or entry.version < version:
            return None
        if entry.version == version:
            return entry
        with work(version):
            record = load(game, self.lines(game, limit=version), seed=entry.record.seed)
        record = with_cites(record, entry.record.game.ruleset.cites)
        return replace(entry, record=record, returned_seats=frozenset())

    def keep(self, entry: GameEntry) -> None:
        """Cache an entry, unless a later version is cached already."""
        self._games.keep(entry)

    def table(self, identity: UUID) -> TableRecord | None:
        """Return the present version of a table; None if it does not exist."""
        after = self._table_version(identity)
        return self._found_table(identity, after, self._store.read(identity, after=after))

    def at_seal(self, entry: GameEntry) -> tuple[Sequence[RefusedMove], TableRecord]:
        """
        Return a game's refused moves and the present version of its table, in one lookup.

        Raises StoreError if there is no table.
        """
        game, identity = entry.record.identity, entry.table
        after = self._table_version(identity)
        found = self._lookups.find_seal(game, identity, after=after)
        table = self._found_table(identity, after, found.table)
        if table is None:
            raise StoreError(f"the table of game {game} is missing")
        return found.refused, table

    def _table_version(self, identity: UUID) -> int:
        known = self._tables.get(identity)
        return known.version if known else 0

    def _found_table(
        self, identity: UUID, after: int, found: StreamSlice | None
    ) -> TableRecord | None:
        """Return the version of a table after its events with seq ≥ `after`, and cache it."""
        if found is None or found.kind is not StreamKind.TABLE:
            return None
        known = self._tables.get(identity) if after else None
        if found.version < after or (after and (known is None or known.version < after)):
            self._tables.forget(identity)  # restored from a backup, as in `from_lookup`
            return self.table(identity)
        with work(len(found.events)):
            if known is None:
                record = TABLES.load(identity, found.events)
            else:
                record = TABLES.follow(known, found.events[known.version - after :])
        self._tables.keep(identity, record)
        return record

    def sits_or_judges(self, entry: GameEntry, caller: Caller) -> bool:
        """Return whether a caller sits at the game's table now, or judges a dispute about it."""
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

    def _loaded(self, game: UUID, lines: tuple[bytes, ...], metadata: GameMetadata) -> GameEntry:
        record = load(game, lines, seed=self._seed(game, lines[-1], metadata.secret))
        pinned = record.created["ruleset"]
        if definition := self._rulebook.find(pinned["id"]):
            record = with_cites(record, definition.cites_of(pinned["options"]))
        opened = TABLES.load(metadata.table, (metadata.opened,))
        return GameEntry(
            record=record,
            table=metadata.table,
            host=metadata.host,
            public=metadata.public,
            invite_hash=metadata.invite_hash,
            window_seconds=opened.table.conditions.window_seconds,
            players=metadata.players,
            returned_seats=frozenset(),
        )

    def _seed(self, game: UUID, last: bytes, secret: SealedSecret | None) -> bytes | None:
        event = orjson.loads(last)
        if event["type"] in ("game_sealed", "game_aborted"):
            return bytes.fromhex(event["data"]["seed"])
        if secret is None:
            return None
        return self._keyring.open(secret.key_id, secret.ciphertext, game.bytes)


def _with_back(entry: GameEntry, back: frozenset[Seat]) -> GameEntry:
    """Return the entry with the seats taken back from a bot; none if no seat has timed out."""
    if not any(seat.time_outs for seat in entry.record.game.seats):
        back = frozenset()
    return entry if entry.returned_seats == back else replace(entry, returned_seats=back)


MAX_EVENTS = 80_000
"""Maximum number of events in all cached histories; each takes at most two kilobytes."""

EVENTS_PER_UNIT = 20
"""Number of events whose search for openings takes as long as folding one event."""


class FullView(Enum):
    """Marks the history with every card that the server knows; its views must be masked."""

    ALL_KNOWN = "all_known"


class Histories:
    """
    Cache of histories: the game after each event, as far as a viewer may know it.

    A history is cached by game and viewer at the version last read, and extended when the
    game has moved on. Histories are immutable, so threads share them without locks. The
    least recently used ones are removed first.
    """

    def __init__(self, game_cache: GameCache, *, most: int = MAX_EVENTS) -> None:
        self._game_cache = game_cache
        self._histories = Recent[tuple[UUID, Viewer | FullView], History](
            most, weigh=lambda history: len(history.log)
        )

    def full(self, entry: GameEntry) -> History:
        """Return the history with every card that the server knows; its views must be masked."""
        return self._history(entry, FullView.ALL_KNOWN)

    def of(self, entry: GameEntry, viewer: Viewer) -> History:
        """Return the history as far as a viewer may know it, with its ruleset's statements."""
        return self._history(entry, viewer)

    def openings(self, entry: GameEntry, seat: Seat) -> tuple[int, ...]:
        """Return the deck positions that a seat may open, in order (SHX/1, section 7)."""
        history = self.full(entry)  # only the positions are used
        key = ("openings", seat)
        with work(0 if history.is_cached(key) else len(history.log) // EVENTS_PER_UNIT):
            steps = zip(history.games, (record.event for record in history.log[1:]), strict=False)
            return history.cached(key, lambda: openings_of(steps, seat))

    def _history(self, entry: GameEntry, viewer: Viewer | FullView) -> History:
        identity, version = entry.record.identity, entry.record.version
        cached = self._histories.get((identity, viewer))
        if cached is not None and _same_log(cached, entry):
            return cached
        shorter = cached if cached is not None and _is_prefix(cached, entry) else None
        known = 0 if shorter is None else len(shorter.log)
        deck = self._deck(entry, viewer)
        with work(version - known):
            log = self._log(entry, shorter)
            if shorter is None or not _same_deck(shorter.deck, deck, viewer):
                cites = None if viewer is FullView.ALL_KNOWN else entry.record.game.ruleset.cites
                history = History(log, deck, cites=cites)
            else:
                history = shorter.extended(log[known:], deck)
        self._histories.keep((identity, viewer), history)
        return history

    def _deck(self, entry: GameEntry, viewer: Viewer | FullView) -> tuple[Card, ...] | None:
        """Return the deck as far as a viewer may know it; None if it is entirely unknown."""
        deck = entry.record.game.deck
        if viewer in (FullView.ALL_KNOWN, ALL):
            return deck or (deck if viewer is FullView.ALL_KNOWN else None)
        if not deck or not isinstance(viewer, int):
            return None
        return masked_deck(deck, self.openings(entry, viewer))

    def _log(self, entry: GameEntry, shorter: History | None) -> tuple[RecordedEvent, ...]:
        """Return the events up to the entry's version; only those in no cached history are read."""
        identity, version = entry.record.identity, entry.record.version
        known = () if shorter is None else shorter.log
        for other in self._of(identity):
            if len(other.log) > len(known) and (
                _is_prefix(other, entry) or _same_log(other, entry)
            ):
                known = other.log
        if len(known) == version:
            return known
        more = self._game_cache.lines(identity, after=len(known), limit=version - len(known))
        return (*known, *decode_log(more))

    def _of(self, game: UUID) -> list[History]:
        """Return the histories of a game for all viewers: they share the events."""
        return [history for (one, _), history in self._histories.entries() if one == game]


def _same_log(history: History, entry: GameEntry) -> bool:
    """Return whether a history is that of the entry's log; after a restore it may be another."""
    return len(history.log) == entry.record.version and bool(
        history.log[-1].head == entry.record.head.hex()
    )


def _is_prefix(history: History, entry: GameEntry) -> bool:
    """Return whether the entry's log begins with that of a history."""
    known = len(history.log)
    return (
        known < entry.record.version and history.log[-1].head == entry.record.heads[known - 1].hex()
    )


def _same_deck(
    before: tuple[Card, ...] | None, now: tuple[Card, ...] | None, viewer: Viewer | FullView
) -> bool:
    """Return whether a history made with one deck can be extended with another one."""
    if isinstance(viewer, int) and before is not None and now is not None:
        return True
    return before == now


KEPT_SECONDS = 5.0
"""Time for which a name is cached."""

MAX_NAMES = 100_000
"""Maximum number of cached names."""


_Kept = tuple[float, str | None]
"""The `time.monotonic` at which a name expires, and the name; None for an erased player."""


class Names:
    """Names by player, read again after a few seconds so that erased names disappear."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._kept = Recent[int, _Kept](MAX_NAMES)  # by `UUID.int`, which is hashed in C

    def of(self, players: Sequence[UUID | None]) -> list[str | None]:
        """Return a name for each player, None for bots and for erased players."""
        found, expired = self._cached(players)
        names = [None if one is None else one[1] for one in found]
        if not expired:
            return names
        read = self._directory.names(expired)
        new = {player: read.get(player) for player in expired}
        self.learn(new)
        return [
            name if player is None else new.get(player, name)
            for player, name in zip(players, names, strict=True)
        ]

    def expired(self, players: Sequence[UUID | None]) -> list[UUID]:
        """Return the players whose names are not cached or have to be read again."""
        return self._cached(players)[1]

    def learn(self, names: Mapping[UUID, str | None]) -> None:
        """Cache names that were read just now."""
        end = time.monotonic() + KEPT_SECONDS
        for player, name in names.items():
            self._kept.keep(player.int, (end, name))

    def forget(self, player: UUID) -> None:
        """Remove a changed or erased name from the cache."""
        self._kept.forget(player.int)

    def _cached(self, players: Sequence[UUID | None]) -> tuple[list[_Kept | None], list[UUID]]:
        """Return what is cached for each player, and the players that have to be read again."""
        found = self._kept.several([-1 if one is None else one.int for one in players])
        now = time.monotonic()
        expired = [
            player
            for player, one in zip(players, found, strict=True)
            if player is not None and (one is None or one[0] < now)
        ]
        return found, expired
