"""Slots for event streams: a share for each address and player, counted over all processes."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from secrets import token_hex
from uuid import UUID

import redis

from service.application.errors import Refusal
from service.application.quotas import MAX_STREAMS_OF_ADDRESS, MAX_STREAMS_OF_PLAYER, Slots
from service.replay.sentences import said
from service.stream_counts import heard, key_of

LEASE_SECONDS = 20
"""
Seconds for which Redis counts a stream whose process does not renew it, as after a crash.

So long a player whose streams were those of the killed process may be refused new ones.
"""

REDIS_RETRY_SECONDS = 5.0
"""How long streams are counted in this process alone after Redis failed to answer."""

_TAKE = """
local now = tonumber(redis.call('TIME')[1])
for i, key in ipairs(KEYS) do
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    if redis.call('ZCARD', key) >= tonumber(ARGV[i + 2]) then return i end
end
for _, key in ipairs(KEYS) do
    redis.call('ZADD', key, now + ARGV[2], ARGV[1])
    redis.call('EXPIRE', key, ARGV[2])
end
return 0
"""
"""
Counts one more stream of an address and a player, and returns 0; or whose number is reached.

KEYS: the streams of each. ARGV: the stream, LEASE_SECONDS, the most of each.
"""

_RENEW = """
local now = tonumber(redis.call('TIME')[1])
for _, key in ipairs(KEYS) do
    redis.call('ZADD', key, now + ARGV[2], ARGV[1])
    redis.call('EXPIRE', key, ARGV[2])
end
"""
"""Counts a stream for another lease. KEYS: as in _TAKE. ARGV: the stream, LEASE_SECONDS."""

RETRY_SECONDS = 5
"""Retry-After of a refused stream."""

_FULL = ("limit.streams_of_address", "limit.streams_of_player")
"""The sentences of the shares, whose names stand in `x-limits`, in the order of a stream's keys."""


class StreamSlots:
    """
    Takes a slot of this process for each stream, and counts those of address and player in Redis.

    Without Redis, or while it does not answer, their shares hold for this process. A player has
    fewer than an address, so that one player does not shut out the others behind it.
    """

    def __init__(
        self,
        slots: Slots,
        client: redis.Redis | None,
        *,
        most: tuple[int, int] = (MAX_STREAMS_OF_ADDRESS, MAX_STREAMS_OF_PLAYER),
    ) -> None:
        self._slots = slots
        self._most = most
        self._client = client
        self._take = None if client is None else client.register_script(_TAKE)
        self._renew = None if client is None else client.register_script(_RENEW)
        self._held: dict[str, tuple[str, ...]] = {}  # by stream: its address and its player
        self._own = dict[str, int]()  # by address and by player: streams in this process
        self._lock = threading.Lock()
        self._retry_at = 0.0
        self._renewing = False
        self._ended = SimpleQueue[tuple[tuple[str, ...], str]]()  # whose, and its id

    def acquire(self, address: str, player: UUID | None = None) -> str:
        """
        Return the id of a new stream for `release`.

        Raises Refusal `rate-limited` if the address or the player has its share, `unavailable` if
        no slot of this process is free.
        """
        whose = (address,) if player is None else (address, str(player))
        if not self._slots.acquire(address):
            if self._slots.are_free():
                raise _refused(_FULL[0])
            raise Refusal("unavailable", said("limit.streams"), retry_after=RETRY_SECONDS)
        stream = token_hex(8)
        with self._lock:
            held = [self._own.get(one, 0) for one in whose]
            full = [
                i
                for i, (own, most) in enumerate(zip(held, self._most, strict=False))
                if own >= most
            ]
            if not full:
                self._own.update({one: own + 1 for one, own in zip(whose, held, strict=True)})
                self._held[stream] = whose
        if full:
            self._slots.release(address)
            raise _refused(_FULL[full[0]])
        reached = self._counted(stream, whose)
        if reached:
            self.release(stream)
            raise _refused(_FULL[reached - 1])
        return stream

    def release(self, stream: str) -> None:
        """Release the slot of a stream, once."""
        with self._lock:
            whose = self._held.pop(stream, None)
            if whose is None:
                return
            for one in whose:
                self._own[one] -= 1
                if not self._own[one]:
                    del self._own[one]
            tell = self._renewing
        self._slots.release(whose[0])
        if tell:
            self._ended.put((whose, stream))  # an event loop calls this, and must not wait

    def renew(self) -> None:
        """Renew the leases of all streams of this process."""
        with self._lock:
            held = dict(self._held)
        client, renew = self._client, self._renew
        if client is None or renew is None or not held:
            return
        try:
            with client.pipeline(transaction=False) as together:
                for stream, whose in held.items():
                    renew(keys=_keys(whose), args=[stream, LEASE_SECONDS], client=together)
                    for player in whose[1:]:
                        heard(together, player, time.time())
                together.execute()
        except (redis.RedisError, OSError):
            self._retry_at = time.monotonic() + REDIS_RETRY_SECONDS

    def end(self) -> None:
        """Take all streams of this process off the count in Redis: it stops, and they end."""
        self._renew = None
        with self._lock:
            held = dict(self._held)
        if self._client is None or not held:
            return
        # If Redis does not answer, their leases end.
        with suppress(redis.RedisError, OSError), self._client.pipeline(transaction=False) as all_:
            for stream, whose in held.items():
                for key in _keys(whose):
                    all_.zrem(key, stream)
            all_.execute()

    def _counted(self, stream: str, whose: tuple[str, ...]) -> int:
        """Return 0 if Redis counted the stream, or does not answer; else whose share is used up."""
        if self._take is None or time.monotonic() < self._retry_at:
            return 0
        try:
            reached = int(
                self._take(
                    keys=_keys(whose), args=[stream, str(LEASE_SECONDS), *map(str, self._most)]
                )
            )
        except (redis.RedisError, OSError):
            self._retry_at = time.monotonic() + REDIS_RETRY_SECONDS
            return 0
        self._start_renewing()
        return reached

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
                whose, stream = self._ended.get(timeout=max(0.0, due - time.monotonic()))
            except Empty:
                self.renew()
                due = time.monotonic() + LEASE_SECONDS / 3
                continue
            self._end(whose, stream)

    def _end(self, whose: tuple[str, ...], stream: str) -> None:
        """Take a stream off the count; if Redis does not answer, its lease ends soon."""
        if self._client is not None and time.monotonic() >= self._retry_at:
            try:
                for key in _keys(whose):
                    self._client.zrem(key, stream)
            except (redis.RedisError, OSError):
                self._retry_at = time.monotonic() + REDIS_RETRY_SECONDS


def _keys(whose: tuple[str, ...]) -> list[str]:
    return [key_of(one) for one in whose]


def _refused(code: str) -> Refusal:
    limit = code.removeprefix("limit.")
    return Refusal("rate-limited", said(code), limit=limit, retry_after=RETRY_SECONDS)
