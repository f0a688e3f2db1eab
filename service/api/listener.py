"""Hears over Redis what has moved; where Redis is down, those who wait look at the store."""

from __future__ import annotations

import threading
import time
from uuid import UUID

import redis

from service.api.waiting import POLL_SECONDS
from service.wakeups import connect

PATTERN = "shithead.*"
LOST_SECONDS = 2.0
"""How long a message that got lost can delay those who wait."""

_KEPT_TOPICS = 100_000


class RedisListener:
    """One subscription a process, begun by the first who waits (a fork would lose it)."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._moved = threading.Condition()
        self._heard: dict[UUID, int] = {}
        self._count = 0
        self._up = False
        self._ended = False
        self._thread: threading.Thread | None = None

    def ticket(self, topic: UUID) -> int:
        """Return how far a topic is."""
        with self._moved:
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="listener", daemon=True)
                self._thread.start()
            return self._heard.get(topic, 0)

    def wait(self, topic: UUID, ticket: int, seconds: float) -> None:
        """Return when the topic has moved past the ticket, or after a while."""
        with self._moved:
            longest = LOST_SECONDS if self._up else POLL_SECONDS
            self._moved.wait_for(
                lambda: self._ended or self._heard.get(topic, 0) != ticket,
                timeout=min(seconds, longest),
            )

    def end(self) -> None:
        """Return from all waits, and from those to come at once."""
        with self._moved:
            self._ended = True
            self._moved.notify_all()

    def _listen(self) -> None:
        while True:
            try:
                self._subscribe()
            except (redis.RedisError, OSError, ValueError):
                self._up = False
                time.sleep(1.0)

    def _subscribe(self) -> None:
        with connect(self._url) as client, client.pubsub(ignore_subscribe_messages=True) as told:
            told.psubscribe(PATTERN)
            self._up = True
            while True:
                message = told.get_message(timeout=0.5)
                if message is not None:
                    self._hear(message["channel"])

    def _hear(self, channel: bytes) -> None:
        topic = UUID(channel.decode().rpartition(".")[2])
        with self._moved:
            if len(self._heard) > _KEPT_TOPICS:
                self._heard.clear()
            self._count += 1  # never repeats, so a topic that was forgotten counts as moved
            self._heard[topic] = self._count
            self._moved.notify_all()
