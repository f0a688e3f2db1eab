"""The list of due games in Redis, which jobs serve for many of them at a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import orjson
import redis

_GAMES: Final = "shithead.due"  # list of [game, version, context of the trace], oldest first
_MARK: Final = "shithead.due.job"  # WAITING or SERVING: no further job is needed
_HELP: Final = "shithead.due.help"  # set after a job was enqueued because another has too much

WAITING: Final = b"waiting"
SERVING: Final = b"serving"

WAITING_MS: Final = 5_000
"""Milliseconds after which a job that waits counts as lost."""

SERVING_MS: Final = 1_000
"""Milliseconds after which a job that serves the list counts as lost; it renews the mark."""

HELP_MS: Final = 1_000
"""Milliseconds between two jobs that are enqueued to help others."""

LEASE_MS: Final = 2_000
"""
Milliseconds from the wake-up of a game within which the sweeper does not wake it again.

It is leased to the list, and then to the worker that takes it from there. After a longer time the
worker was killed, or plays bots for so long; another worker then finds the game at a later version.
"""

MAX_GAMES: Final = 10_000
"""Maximum number of games in the list; the sweeper finds any further ones in Postgres."""

KEPT_SECONDS: Final = 60
"""Seconds that the list is retained after its last new game."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeUp:
    """A game to be played on at a version; `trace` is untrusted, so it can have any type."""

    game: UUID
    version: int
    trace: object = None


class DueGames:
    """
    Wake-ups of games, each of which one worker takes.

    A wake-up needs a new job only if none waits or serves the list, which a mark says. A job
    removes the mark *before* its last look, so a game that is added while the mark is set will be
    taken. Redis may lose all of this: the sweeper adds games again, and asks `needs_job`.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def add(self, woken: Sequence[WakeUp]) -> bool:
        """Add games; return whether a job must be enqueued for them."""
        entries = [orjson.dumps([str(one.game), one.version, one.trace]) for one in woken]
        with self._client.pipeline(transaction=False) as together:
            for one in woken:
                together.set(_lease(one.game), 1, px=LEASE_MS)
            together.rpush(_GAMES, *entries)
            together.ltrim(_GAMES, 0, MAX_GAMES - 1)
            together.expire(_GAMES, KEPT_SECONDS)
            together.set(_MARK, WAITING, nx=True, px=WAITING_MS)
            return bool(together.execute()[-1])

    def lease(self, game: UUID) -> bool:
        """Lease a game and return true; false if it is leased, because it waits or is played."""
        return bool(self._client.set(_lease(game), 1, nx=True, px=LEASE_MS))

    def end_lease(self, game: UUID) -> None:
        """Let the sweeper wake a game again: what was due is done."""
        self._client.delete(_lease(game))

    def serve(self) -> None:
        """Mark the list as served, for SERVING_MS: no further job is needed."""
        self._client.set(_MARK, SERVING, px=SERVING_MS)

    def leave(self) -> None:
        """Remove the mark, before the last look at the list: later games need another job."""
        self._client.delete(_MARK)

    def take(self, seconds: float) -> WakeUp | None:
        """
        Remove the oldest game and return it, None if there is none within `seconds`.

        Raises ValueError for any other entry.
        """
        found: Any = self._client.blpop([_GAMES], timeout=seconds)
        if found is None:
            return None
        match orjson.loads(found[1]):
            case [str(game), int(version), trace]:
                return WakeUp(game=UUID(game), version=version, trace=trace)
        raise ValueError("an entry of the list of due games is no game")

    def needs_job(self, *, is_job_queued: bool) -> bool:
        """
        Return whether games wait for which no job exists, and mark a job as waiting.

        A job that was to wait is lost if no job of any kind is queued.
        """
        if not self.count():
            return False
        if self._client.set(_MARK, WAITING, nx=True, px=WAITING_MS):
            return True
        return not is_job_queued and self._client.get(_MARK) == WAITING

    def needs_help(self) -> bool:
        """Return whether games wait that the caller cannot take, and no worker was asked lately."""
        return bool(self.count() and self._client.set(_HELP, 1, nx=True, px=HELP_MS))

    def count(self) -> int:
        """Return the number of games in the list."""
        waiting: Any = self._client.llen(_GAMES)
        return int(waiting)


def _lease(game: UUID) -> str:
    return f"shithead.due.{game}"


class Waker:
    """
    Passes wake-ups on from a thread of its own, so that no commit waits for Redis.

    A wake-up waits for PAUSE_SECONDS: the answer to the move is sent first, and moves of that time
    are passed on together. Those that wait when a process is killed are found by the sweeper.
    """

    PAUSE_SECONDS: Final = 0.002

    def __init__(self, pass_on: Callable[[Sequence[WakeUp]], object]) -> None:
        self._pass_on = pass_on
        self._waiting = deque[WakeUp](maxlen=MAX_GAMES)
        self._some = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def add(self, woken: WakeUp) -> None:
        """Pass a wake-up on soon; return at once."""
        self._waiting.append(woken)
        self._some.set()
        if self._thread is None or not self._thread.is_alive():  # a fork has no threads
            with self._lock:
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._run, name="waker", daemon=True)
                    self._thread.start()

    def _run(self) -> None:
        while self._some.wait():
            time.sleep(self.PAUSE_SECONDS)
            self._some.clear()
            woken = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if woken:
                self._pass_on(woken)
