"""The threads in which a worker plays due games, several at a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from uuid import UUID, uuid4

import structlog

from service.application.ports import Notifier
from service.due_games import DueGames, WakeUp
from service.feature import JobContext
from service.job_queue import TAKE_DUE_TURNS

THREADS: Final = 16
"""
Games that a process plays at a time.

Their bots wait for the ends of their intervals together. With more due games than that another
worker is asked for help.
"""

SERVE_SECONDS: Final = 1.0
"""Time after which a job leaves the list: deals and findings share its queue."""

LOOK_SECONDS: Final = 0.25
"""Time after which a job renews its mark, and without a due game looks for others in its queue."""

_log = structlog.stdlib.get_logger("worker")

Play = Callable[[JobContext, WakeUp, Callable[[], bool]], None]
"""Plays a due game, until the callable returns true: the process is stopping."""


class DueTurns:
    """
    Plays the due games of the list in Redis, each in a thread, several at a time.

    A job of RQ serves the list, because a job costs more than a move; the games that it began are
    played on after it has ended. A game is played by one thread of a process at a time.
    """

    def __init__(self, play: Play, *, threads: int = THREADS) -> None:
        self._play = play
        self._free = threading.Semaphore(threads)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="turns")
        self._playing: dict[UUID, WakeUp | None] = {}  # with the wake-up that came meanwhile
        self._changed = threading.Condition()
        self._failures = deque[Exception](maxlen=threads)
        self._stopping = threading.Event()

    def serve(self, work: JobContext) -> int:
        """
        Take due games from the list, begin to play each, and return their number.

        If games are left, another job is enqueued for them. Raises the error of a game that failed,
        so that RQ reports the job as failed; it delays no other game.
        """
        notifier, due = work.services().notifier, DueGames(work.connection)
        count, renewed, end = 0, 0.0, time.monotonic() + SERVE_SECONDS
        try:
            while (left := end - time.monotonic()) > 0 and not self._stopping.is_set():
                if time.monotonic() - renewed > LOOK_SECONDS:
                    due.serve()
                    renewed = time.monotonic()
                if not self._reserved(due, notifier, left):
                    break
                if self._begun(work, due, min(left, LOOK_SECONDS)):
                    count += 1
                elif notifier.queued():
                    break
        finally:
            due.leave()
            notifier.wake_again()
        if self._failures:
            raise self._failures.popleft()
        return count

    def settle(self) -> None:
        """Wait until no game is being played."""
        with self._changed:
            self._changed.wait_for(lambda: not self._playing)

    def stop(self) -> None:
        """Leave all games to other workers after the moves that are being made."""
        self._stopping.set()
        self.settle()

    def _reserved(self, due: DueGames, notifier: Notifier, seconds: float) -> bool:
        """Reserve a thread within `seconds`; ask another worker for help if none is free."""
        if self._free.acquire(blocking=False):
            return True
        if due.needs_help():
            notifier.enqueue(TAKE_DUE_TURNS, key=f"help-{uuid4().hex}")
        return self._free.acquire(timeout=seconds)

    def _begun(self, work: JobContext, due: DueGames, seconds: float) -> bool:
        """Begin to play the oldest due game in the reserved thread; return false if none came."""
        found = None
        try:
            found = due.take(seconds)
            if found is not None and self._is_free(found):
                self._pool.submit(self.run_game, work, due, found)
                return True
        except BaseException:
            self._free.release()
            raise
        self._free.release()
        return found is not None

    def _is_free(self, found: WakeUp) -> bool:
        """Return whether no thread plays a game, else let that thread go on with it."""
        with self._changed:
            is_free = found.game not in self._playing
            self._playing[found.game] = None if is_free else found
        return is_free

    def run_game(self, work: JobContext, due: DueGames, found: WakeUp) -> None:
        """Play a game in the reserved thread, as often as it is woken meanwhile."""
        woken: WakeUp | None = found
        try:
            while woken is not None:
                self._play_one(work, woken)
                woken = self._next(found.game)
            due.end_lease(found.game)
        finally:
            self._free.release()

    def _play_one(self, work: JobContext, woken: WakeUp) -> None:
        try:
            self._play(work, woken, self._stopping.is_set)
        except Exception as error:  # noqa: BLE001 - raised in the job
            _log.exception("a due game was not played", game=str(woken.game))
            self._failures.append(error)

    def _next(self, game: UUID) -> WakeUp | None:
        """Return the wake-up that came while a game was played; without one its run has ended."""
        with self._changed:
            woken = self._playing.pop(game)
            if woken is not None:
                self._playing[game] = None
            self._changed.notify_all()
        return woken
