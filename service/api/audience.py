"""
The readers of players' own streams in a process, and the changes that concern each.

A notification names a game, table or dispute. The players of a game never change, so they are read
once; then a move costs one read of the game for all its readers here, and no query in the move.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import structlog

from service.api.long_poll import Waiting
from service.application.games.cache import GameCache
from service.application.games.entry import GameEntry
from service.application.notices import Wanted
from service.runtime.recent import Recent
from service.store.directory import Directory

MAX_GAMES: Final = 20_000
"""Maximum number of games whose players are retained; each takes about 300 bytes."""

MAX_BATCH: Final = 200
"""Maximum number of unknown ids in one query for the players whom they concern."""

GAME: Final = "game"

_log = structlog.get_logger("api")


class Mailbox:
    """The changes that one reader has not handled yet; `wake` is called with each."""

    __slots__ = ("_changed", "_games", "_lock", "_unread", "_wake", "player", "watched")

    def __init__(self, player: UUID, watched: Iterable[UUID]) -> None:
        self.player = player
        self.watched = frozenset(watched)
        self._games: dict[UUID, GameEntry] = {}
        self._changed = False  # something else than a game
        self._unread = False
        self._lock = threading.Condition()
        self._wake: Callable[[], None] | None = None

    def woken_by(self, wake: Callable[[], None]) -> None:
        """Call `wake` with each change, from other threads."""
        self._wake = wake

    def put(self, entry: GameEntry) -> None:
        """Add a game at a version; a later one replaces it."""
        game = entry.record.identity
        with self._lock:
            known = self._games.get(game)
            if known is None or known.version < entry.version:
                self._games[game] = entry
        self.notify()

    def look(self) -> None:
        """Ask the reader to look at everything."""
        with self._lock:
            self._changed = True
        self.notify()

    def notify(self) -> None:
        """Wake the reader."""
        with self._lock:
            self._unread = True
            self._lock.notify_all()
        if self._wake is not None:
            self._wake()

    def take(self) -> tuple[bool, Sequence[GameEntry]]:
        """Return whether the reader has to look at everything, and the changed games."""
        with self._lock:
            taken = self._changed, tuple(self._games.values())
            self._changed, self._games, self._unread = False, {}, False
        return taken

    def is_empty(self) -> bool:
        """Return whether nothing has changed since the last `take`."""
        return not self._unread

    def wait(self, seconds: float) -> None:
        """Wait in this thread until something changes, at most `seconds`."""
        with self._lock:
            self._lock.wait_for(lambda: self._unread, timeout=seconds)


class Audience:
    """Distributes notifications to the readers whom they concern."""

    def __init__(
        self, waiting: Waiting, directory: Directory, game_cache: GameCache, threads: Executor
    ) -> None:
        self._waiting = waiting
        self._directory = directory
        self._game_cache = game_cache
        self._threads = threads
        self._lock = threading.Lock()
        self._readers: dict[UUID, set[Mailbox]] = {}  # by player
        self._watchers: dict[UUID, set[Mailbox]] = {}  # by game
        self._referees: set[Mailbox] = set()
        self._players = Recent[int, frozenset[UUID]](MAX_GAMES)  # of games
        self._due: dict[UUID, None] = {}  # topics that no thread has begun to read, in order
        self._working = False
        self._started = False

    def join(self, mailbox: Mailbox, *, referee: bool) -> None:
        """Add a reader, before its first look."""
        with self._lock:
            start, self._started = not self._started, True
            self._readers.setdefault(mailbox.player, set()).add(mailbox)
            for game in mailbox.watched:
                self._watchers.setdefault(game, set()).add(mailbox)
            if referee:
                self._referees.add(mailbox)
        if start:
            self._waiting.on_change(self._changed, self._end)
        self._waiting.ticket(mailbox.player)  # begins the subscription, if none has begun

    @contextmanager
    def joined(self, mailbox: Mailbox, wanted: Wanted) -> Iterator[None]:
        """Have a reader while the block runs."""
        self.join(mailbox, referee=wanted.referee)
        try:
            yield
        finally:
            self.leave(mailbox)

    def leave(self, mailbox: Mailbox) -> None:
        """Remove a reader."""
        with self._lock:
            _discard(self._readers, mailbox.player, mailbox)
            for game in mailbox.watched:
                _discard(self._watchers, game, mailbox)
            self._referees.discard(mailbox)

    def _changed(self, topic: UUID) -> None:
        """Take a notification, in the thread that receives it, which must not wait."""
        with self._lock:
            own = tuple(self._readers.get(topic, ()))
            players = self._players.get(topic.int)
            concerns = players is None or topic in self._watchers
            concerns = concerns or not self._readers.keys().isdisjoint(players or ())
            if not self._readers or own or not concerns:
                start = False
            else:
                self._due[topic] = None
                start, self._working = not self._working, True
        for mailbox in own:  # the topic is a player
            mailbox.look()
        if start:
            self._threads.submit(self._work)

    def _work(self) -> None:
        """Read what was notified, until nothing is due."""
        while True:
            with self._lock:
                due = list(self._due)[:MAX_BATCH]
                if not due:
                    self._working = False
                    return
                for topic in due:
                    del self._due[topic]
            try:
                self._deliver(due)
            except Exception:  # noqa: BLE001 - readers look again by themselves
                _log.exception("notices were not delivered", topics=len(due))

    def _deliver(self, topics: Sequence[UUID]) -> None:
        unknown = [topic for topic in topics if self._players.get(topic.int) is None]
        concerned = self._directory.concerned(unknown) if unknown else {}
        for topic in unknown:
            found = concerned.get(topic)
            if found is None:
                continue
            if found.kind == GAME:
                self._players.keep(topic.int, found.players)
                continue
            self._look(found.players, referees=found.kind == "dispute")
        for topic in topics:
            players = self._players.get(topic.int)
            if players is not None:
                self._deliver_game(topic, players)

    def _deliver_game(self, game: UUID, players: frozenset[UUID]) -> None:
        with self._lock:
            readers = [m for player in players for m in self._readers.get(player, ())]
            watchers = tuple(self._watchers.get(game, ()))
        if not readers and not watchers:
            return
        entry = self._game_cache.fresh(game)
        if entry is None:
            return
        for mailbox in {*readers, *watchers}:
            mailbox.put(entry)
        if entry.record.sealed:  # its table has changed in the same commit
            for mailbox in readers:
                mailbox.look()

    def _look(self, players: frozenset[UUID], *, referees: bool) -> None:
        with self._lock:
            found = {m for player in players for m in self._readers.get(player, ())}
            if referees:
                found |= self._referees
        for mailbox in found:
            mailbox.look()

    def _end(self) -> None:
        """Wake all readers, because the process stops."""
        with self._lock:
            found = [mailbox for own in self._readers.values() for mailbox in own]
        for mailbox in found:
            mailbox.notify()


def _discard(sets: dict[UUID, set[Mailbox]], key: UUID, mailbox: Mailbox) -> None:
    known = sets.get(key)
    if known is not None:
        known.discard(mailbox)
        if not known:
            del sets[key]
