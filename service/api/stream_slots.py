"""Slots for event streams: a share for each address, counted over all processes in Redis."""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from secrets import token_hex

import redis

from service.application.quotas import Slots

MAX_OF_ADDRESS = 32
"""Maximum number of streams of one address over all processes and machines."""

LEASE_SECONDS = 60
"""Seconds for which Redis counts a stream whose process does not renew it, as after a crash."""

REDIS_RETRY_SECONDS = 5.0
"""How long streams are counted in this process alone after Redis failed to answer."""

_TAKE = """
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
"""
"""Counts one more stream of an address. KEYS: its streams. ARGV: it, most, LEASE_SECONDS."""

_RENEW = """
local now = tonumber(redis.call('TIME')[1])
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
"""
"""Counts a stream for another lease. KEYS: the streams of its address. ARGV: it, LEASE_SECONDS."""


class StreamSlots:
    """
    Takes a slot of this process for each stream, and counts the streams of an address in Redis.

    Without Redis, or while it does not answer, the limit of an address holds for this process.
    """

    def __init__(
        self, slots: Slots, client: redis.Redis | None, *, most: int = MAX_OF_ADDRESS
    ) -> None:
        self._slots = slots
        self._most = most
        self._client = client
        self._take = None if client is None else client.register_script(_TAKE)
        self._renew = None if client is None else client.register_script(_RENEW)
        self._held: dict[str, str] = {}  # by stream: its address
        self._own = dict[str, int]()  # by address: its streams in this process
        self._lock = threading.Lock()
        self._retry_at = 0.0
        self._renewing = False
        self._ended = SimpleQueue[tuple[str, str]]()  # address and id

    def acquire(self, address: str) -> str | None:
        """Return the id of a new stream for `release`; None if no slot is free for its address."""
        if not self._slots.acquire(address):
            return None
        stream = token_hex(8)
        with self._lock:
            free = self._own.get(address, 0) < self._most
            if free:
                self._own[address] = self._own.get(address, 0) + 1
                self._held[stream] = address
        if not free:
            self._slots.release(address)
            return None
        if not self._counted(stream, address):
            self.release(stream)
            return None
        return stream

    def release(self, stream: str) -> None:
        """Release the slot of a stream, once."""
        with self._lock:
            address = self._held.pop(stream, None)
            if address is None:
                return
            self._own[address] -= 1
            if not self._own[address]:
                del self._own[address]
            tell = self._renewing
        self._slots.release(address)
        if tell:
            self._ended.put((address, stream))  # an event loop calls this, and must not wait

    def renew(self) -> None:
        """Renew the leases of all streams of this process."""
        with self._lock:
            held = dict(self._held)
        if self._renew is None or not held:
            return
        try:
            for stream, address in held.items():
                self._renew(keys=[_key(address)], args=[stream, LEASE_SECONDS])
        except (redis.RedisError, OSError):
            self._retry_at = time.monotonic() + REDIS_RETRY_SECONDS

    def _counted(self, stream: str, address: str) -> bool:
        """Return whether Redis counted the stream, or does not answer."""
        if self._take is None or time.monotonic() < self._retry_at:
            return True
        try:
            taken = self._take(keys=[_key(address)], args=[stream, self._most, LEASE_SECONDS])
        except (redis.RedisError, OSError):
            self._retry_at = time.monotonic() + REDIS_RETRY_SECONDS
            return True
        self._start_renewing()
        return bool(taken)

    def _start_renewing(self) -> None:
        with self._lock:
            start, self._renewing = not self._renewing, True
        if start:
            threading.Thread(target=self._work, name="streams", daemon=True).start()

    def _work(self) -> None:
        """Take ended streams off the count, and renew the others every third of a lease."""
        due = time.monotonic() + LEASE_SECONDS / 3
        while True:
            try:
                address, stream = self._ended.get(timeout=max(0.0, due - time.monotonic()))
            except Empty:
                self.renew()
                due = time.monotonic() + LEASE_SECONDS / 3
                continue
            self._end(address, stream)

    def _end(self, address: str, stream: str) -> None:
        """Take a stream off the count; if Redis does not answer, its lease ends soon."""
        if self._client is not None and time.monotonic() >= self._retry_at:
            try:
                self._client.zrem(_key(address), stream)
            except (redis.RedisError, OSError):
                self._retry_at = time.monotonic() + REDIS_RETRY_SECONDS


def _key(address: str) -> str:
    return f"shithead.streams.{address}"
