"""
Long polls: wait in a counted slot until a game or table changes.

How long a poll may wait is in `schemas/long_polls.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

import redis

from service.application.quotas import Slots
from service.job_queue import connect

POLL_SECONDS = 0.25
"""Interval of reads from the store without notifications."""


class Listener(Protocol):
    """Notifies waiting threads of changes of games and tables."""

    def ticket(self, topic: UUID, /) -> int:
        """Return a ticket for a topic; any later notification ends a wait with this ticket."""

    def newest(self, topic: UUID, /) -> int | None:
        """Return the newest version that a notification has named; None if it is unknown."""

    def wait(self, topic: UUID, ticket: int, seconds: float, /) -> None:
        """Return after a notification later than the ticket, at most after `longest()` seconds."""

    def longest(self) -> float:
        """Return the seconds after which a wait ends without a notification."""

    def on_change(self, act: Callable[[UUID], None], /) -> None:
        """Call `act` with the topic of each notification, in the thread that receives it."""

    def end(self) -> None:
        """End all waits, also future ones."""


class Polling:
    """A listener without notifications: waiting threads poll the store."""

    def ticket(self, _topic: UUID) -> int:
        """Return any number."""
        return 0

    def newest(self, _topic: UUID) -> None:
        """Return None: nothing is known without a read."""

    def wait(self, _topic: UUID, _ticket: int, seconds: float) -> None:
        """Sleep for the polling interval."""
        time.sleep(min(POLL_SECONDS, seconds))

    def longest(self) -> float:
        """Return the polling interval."""
        return POLL_SECONDS

    def on_change(self, _act: Callable[[UUID], None]) -> None:
        """Do nothing: there are no notifications."""

    def end(self) -> None:
        """Do nothing: every wait is short."""


class Waiting:
    """
    The slots for long polls and streams; each occupies a thread of the server.

    There are fewer slots than threads, so that moves are always answered. A waiting thread
    holds no connection to the database. In the stream process only long polls hold threads:
    streams are coroutines, which wait by `ticket`, `on_change` and `longest`.
    """

    def __init__(self, slots: int, listener: Listener | None = None) -> None:
        self.slots = Slots("waiting", slots)
        self._listener: Listener = listener or Polling()
        self._ended = False
        self._at_end: list[Callable[[], None]] = []

    @property
    def ended(self) -> bool:
        """Return whether the process is stopping, so that nothing may wait any more."""
        return self._ended

    def end(self) -> None:
        """End all waits: every long poll is answered with the unchanged object."""
        self._ended = True
        self._listener.end()
        for act in self._at_end:
            act()

    def on_change(self, act: Callable[[UUID], None], at_end: Callable[[], None]) -> None:
        """
        Call `act` with the topic of each notification, and `at_end` when all waits end.

        Other threads call both, which must return at once.
        """
        self._listener.on_change(act)
        self._at_end.append(at_end)

    def longest(self) -> float:
        """Return the seconds after which a wait ends without a notification."""
        return self._listener.longest()

    def ticket(self, topic: UUID) -> int:
        """Return a ticket for a topic; take it before the read whose change `wait` awaits."""
        return self._listener.ticket(topic)

    def wait(self, topic: UUID, ticket: int, seconds: float) -> None:
        """Return after a notification later than the ticket, at most after `longest()` seconds."""
        if not self._ended:
            self._listener.wait(topic, ticket, seconds)

    def newest(self, topic: UUID) -> int | None:
        """
        Return the newest version of a topic that a notification has named; None if it is unknown.

        It can be too old only if a notification was lost: then a wait ends after `longest()`.
        """
        return self._listener.newest(topic)

    def until_not(
        self, topic: UUID, version: Callable[[], int], after: int, ticket: int, seconds: float
    ) -> bool:
        """
        Return whether `version()` differed from `after` within `seconds`.

        `ticket` is from before the caller's own look at the version, so the first look here is
        after a wait. A version decreases if a backup is restored. Returns early if the process is
        stopping.
        """
        end = time.monotonic() + seconds
        while True:
            self._wait_past(topic, after, ticket, end - time.monotonic())
            ticket = self.ticket(topic)
            if version() != after:
                return True
            if self._ended or time.monotonic() >= end:
                return False

    def _wait_past(self, topic: UUID, after: int, ticket: int, seconds: float) -> None:
        """Wait for news; notifications that repeat `after` or an earlier version are none."""
        end = time.monotonic() + min(seconds, self.longest())
        while (left := end - time.monotonic()) > 0 and not self._ended:
            self.wait(topic, ticket, left)
            ticket = self.ticket(topic)  # before the version: a later notification ends the wait
            if self.newest(topic) != after:
                return


PATTERN = "shithead.*"
LOST_SECONDS = 2.0
"""Seconds by which a lost notification can delay a waiting thread."""

_MAX_TOPICS = 100_000


@dataclass(slots=True)
class _Topic:
    """A topic that threads wait for, and their number."""

    changed: threading.Condition
    threads: int = 0


class RedisListener:
    """
    One Redis subscription for the process, made at the first ticket: after every fork.

    A notification wakes the threads that wait for its topic, and no others.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._waited: dict[UUID, _Topic] = {}
        self._notified: dict[UUID, int] = {}
        self._versions: dict[UUID, int] = {}  # the newest that was named, of this subscription
        self._count = 0
        self._up = False
        self._ended = False
        self._thread: threading.Thread | None = None
        self._acts: list[Callable[[UUID], None]] = []

    def ticket(self, topic: UUID) -> int:
        """Return the number of the last notification about a topic, 0 before the first."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="listener", daemon=True)
                self._thread.start()
            return self._notified.get(topic, 0)

    def newest(self, topic: UUID) -> int | None:
        """Return the newest version that a notification has named; None if it is unknown."""
        return self._versions.get(topic) if self._up else None

    def wait(self, topic: UUID, ticket: int, seconds: float) -> None:
        """Return after a notification later than the ticket, at most after `longest()` seconds."""
        with self._lock:
            waited = self._waited.setdefault(topic, _Topic(threading.Condition(self._lock)))
            waited.threads += 1
            try:
                waited.changed.wait_for(
                    lambda: self._ended or self._notified.get(topic, 0) != ticket,
                    timeout=min(seconds, self.longest()),
                )
            finally:
                waited.threads -= 1
                if not waited.threads:
                    del self._waited[topic]

    def longest(self) -> float:
        """Return the seconds after which a wait ends without a notification."""
        return LOST_SECONDS if self._up else POLL_SECONDS

    def on_change(self, act: Callable[[UUID], None]) -> None:
        """Call `act` with the topic of each notification."""
        self._acts.append(act)

    def end(self) -> None:
        """End all waits, also future ones."""
        with self._lock:
            self._ended = True
            for waited in self._waited.values():
                waited.changed.notify_all()

    def _listen(self) -> None:
        while True:
            try:
                self._subscribe()
            except (redis.RedisError, OSError, ValueError):
                self._up = False
                time.sleep(1.0)

    def _subscribe(self) -> None:
        with (
            connect(self._url, seconds=1.0) as client,
            client.pubsub(ignore_subscribe_messages=True) as subscription,
        ):
            subscription.psubscribe(PATTERN)
            with self._lock:
                self._versions.clear()  # later ones may have been missed
            self._up = True
            while True:
                message = subscription.get_message(timeout=0.5)
                if message is not None:
                    self._notify(message["channel"], int(message["data"]))

    def _notify(self, channel: bytes, version: int) -> None:
        topic = UUID(channel.decode().rpartition(".")[2])
        with self._lock:
            if len(self._notified) > _MAX_TOPICS:
                self._notified.clear()
                self._versions.clear()
            # The greatest: processes that commit one after the other may publish in another order.
            self._versions[topic] = max(version, self._versions.get(topic, 0))
            self._count += 1  # never repeats, so a forgotten topic counts as changed
            self._notified[topic] = self._count
            if topic in self._waited:
                self._waited[topic].changed.notify_all()
        for act in self._acts:
            act(topic)
