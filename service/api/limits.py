"""Rate limits by address, player and endpoint; limits on processing very long games."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final
from uuid import UUID

from flask import Flask, Response
from limits import RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import FixedWindowRateLimiter
from redis import RedisError

from service.api.call import Window, present_call
from service.api.parsing import caller_address, present_request
from service.application.errors import Refusal
from service.application.quotas import EVENTS_OF_A_CALL, LIGHT, Bound, Slots, Weight
from service.job_queue import client_of, giving_up_after
from service.replay.sentences import Sentence, said
from service.runtime.addresses import uses_sentinel
from service.runtime.config import Settings

PAGES: Final[Mapping[str, Weight]] = {"docs.schemas": Weight(calls=30)}
"""The weights of pages that weigh more than a call; those of operations stand beside them."""

UNLIMITED = frozenset({"health.alive", "health.ready", "metrics"})
"""Endpoints for monitoring, which are never limited."""

WINDOW_SECONDS = 60
REDIS_RETRY_SECONDS = 5.0
"""How long endpoints are counted in this process alone after Redis failed to answer."""

REDIS_SLOTS = 8
"""Requests of a process that may wait for Redis at a time; others are counted in the process."""


Key = str | int
"""The key of counted requests: `UUID.int` of a player, or the name of an address or work."""


class FixedWindows:
    """
    Counters of one minute in this process; the window of a key starts with its first request.

    Most requests are counted twice, by address and by player. The storage in memory of the
    `limits` library starts a timer thread for each count, which takes 0.1 ms and more.
    """

    def __init__(self) -> None:
        self._windows: dict[Key, tuple[float, int]] = {}  # key: end, count
        self._purge_at = 0.0
        self._lock = threading.Lock()

    def hit(self, key: Key, limit: int, cost: int) -> tuple[int, float]:
        """
        Add `cost` to a key, and return how much of `limit` is left and when the window ends.

        The first is negative above the limit, the second in seconds.
        """
        now = time.monotonic()
        with self._lock:
            if now >= self._purge_at:
                self._windows = {
                    k: window for k, window in self._windows.items() if now < window[0]
                }
                self._purge_at = now + WINDOW_SECONDS
            end, count = self._windows.get(key, (0.0, 0))
            if now >= end:
                end, count = now + WINDOW_SECONDS, 0
            self._windows[key] = end, count + cost
        return limit - count - cost, min(end - now, WINDOW_SECONDS)  # rounding can add a little


class RateLimits:
    """The rate limits of one process; without `rate_limits` in the settings nothing is counted."""

    def __init__(self, settings: Settings, weights: Mapping[str, Weight] = PAGES) -> None:
        self._enabled = settings.rate_limits
        self.weights = weights
        self._per_address = settings.calls_per_address
        self._per_player = settings.calls_per_token
        self._windows = FixedWindows()
        self._redis = _redis_counter(settings.redis_url) if self._enabled else None
        self._redis_after = 0.0
        self._redis_slots = Slots("redis counters", REDIS_SLOTS, per_address=REDIS_SLOTS)

    def count_request(self) -> None:
        """Count the present request for its address; raises `rate-limited` above the limit."""
        endpoint = present_request().endpoint or ""
        if not self._enabled or endpoint in UNLIMITED:
            return
        address, weight = caller_address(), self.weights.get(endpoint, LIGHT)
        key = f"address {address}"
        self._count_call("address", key, self._per_address, "limit.address", weight.calls)
        if weight.per_address is not None:
            limit = weight.per_address
            self._count_endpoint("operation", endpoint, address, limit, "limit.operation")

    def count_player(self, player: UUID) -> None:
        """
        Count a request with a valid token of a player; raises `rate-limited` above the limit.

        A token is counted only once it has been found valid: an invented token counts for
        its address and creates no counter.
        """
        if self._enabled:
            endpoint = present_request().endpoint or ""
            weight = self.weights.get(endpoint, LIGHT)
            self._count_call("player", player.int, self._per_player, "limit.player", weight.calls)
            if weight.per_player is not None:
                limit, code = weight.per_player
                self._count_endpoint("player-operation", endpoint, str(player), limit, code)

    def weighed(
        self, windows: tuple[Window, ...], player: UUID | None, events: int
    ) -> tuple[Window, ...]:
        """
        Count the work of a request as further calls, and return what is left.

        It is known after the request has done it, so that the next one is refused.
        """
        calls = events // EVENTS_OF_A_CALL
        keys: dict[str, Key | None] = {
            "address": f"address {caller_address()}",
            "player": None if player is None else player.int,
        }
        return tuple(
            (policy, limit, left, seconds)
            if (key := keys.get(policy)) is None
            else (policy, limit, *self._windows.hit(key, limit, calls))
            for policy, limit, left, seconds in windows
        )

    def count_work(self, key: str, limit: int, cost: int, code: str) -> None:
        """Count `cost` units of work for a key; raises `rate-limited` above `limit` a minute."""
        if self._enabled:
            left, seconds = self._windows.hit(f"work {key}", limit, cost)
            if left < 0:
                raise _rate_limited(said(code, n=limit), seconds)

    def _count_call(self, policy: str, key: Key, limit: int, code: str, calls: int = 1) -> None:
        _checked((policy, limit, *self._windows.hit(key, limit, min(calls, limit))), code)

    def _count_endpoint(self, policy: str, endpoint: str, who: str, limit: int, code: str) -> None:
        with self._redis_slots.slot(caller_address()) as free:
            if free and self._count_in_redis(policy, endpoint, who, limit, code):
                return
        self._count_call(policy, f"{endpoint} {who}", limit, code)

    def _count_in_redis(self, policy: str, endpoint: str, who: str, limit: int, code: str) -> bool:
        """Return whether Redis counted the request; raises `rate-limited` above the limit."""
        if self._redis is None or time.monotonic() < self._redis_after:
            return False
        item = RateLimitItemPerMinute(limit)
        try:
            is_free = self._redis.hit(item, endpoint, who)
            stats = self._redis.get_window_stats(item, endpoint, who)
        except (RedisError, OSError):
            self._redis_after = time.monotonic() + REDIS_RETRY_SECONDS
            return False
        left = stats.remaining if is_free else -1
        _checked((policy, limit, left, stats.reset_time - time.time()), code)
        return True


def _checked(window: Window, code: str) -> None:
    """Note a limit that counted the request, for its answer; raises `rate-limited` above it."""
    call, (_, limit, left, seconds) = present_call(), window
    call.limits = (*call.limits, window)
    if left < 0:
        raise _rate_limited(said(code, n=limit), seconds)


def register(app: Flask, rate_limits: RateLimits) -> None:
    """Count every request of an application before it is answered, and state what is left."""
    app.before_request(rate_limits.count_request)

    @app.after_request
    def add_limits(response: Response) -> Response:
        call = present_call()
        windows, done = call.limits, call.work
        if windows:
            if done is not None and done.events >= EVENTS_OF_A_CALL:
                player = None if call.player is None else call.player.id
                windows = rate_limits.weighed(windows, player, done.events)
            left = ", ".join(
                [f'"{name}";r={max(0, left)};t={math.ceil(t)}' for name, _, left, t in windows]
            )
            policies = _policies(tuple([(name, limit) for name, limit, _, _ in windows]))
            if present_request().endpoint != "assets.asset":  # caches store its answers for a year
                response.headers.add("RateLimit-Policy", policies)
                response.headers.add("RateLimit", left)
        if call.retry_after is not None:
            response.headers.setdefault("Retry-After", str(call.retry_after))
        return response


@cache
def _policies(limits: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f'"{name}";q={limit};w={WINDOW_SECONDS}' for name, limit in limits)


def published(
    settings: Settings, weights: Mapping[str, Weight], quotas: Mapping[str, Bound]
) -> dict[str, Any]:
    """Return the limits of a server, as `x-limits` of the API document states them."""
    requests = [
        {"policy": "address", "requests": settings.calls_per_address},
        {"policy": "player", "requests": settings.calls_per_token},
        *(
            {"policy": "operation", "operation": name, "requests": weight.per_address}
            for name, weight in weights.items()
            if weight.per_address is not None
        ),
        *(
            {"policy": "player-operation", "operation": name, "requests": weight.per_player[0]}
            for name, weight in weights.items()
            if weight.per_player is not None
        ),
    ]
    return {
        "requests": [{**one, "seconds": WINDOW_SECONDS} for one in requests]
        if settings.rate_limits
        else [],
        "quotas": [
            {
                "name": name,
                "of": bound.of,
                "most": bound.most,
                "unit": bound.unit,
                "counts": bound.counts,
                "seconds": bound.seconds,
                "problem": bound.problem,
            }
            for name, bound in quotas.items()
        ],
    }


def limits_of(weight: Weight, *, has_player: bool) -> dict[str, Any]:
    """
    Return the limits that count the calls of an operation, as `x-limits` of the operation states.

    The numbers of `address` and `player` are those of the server, in `x-limits` of the document.
    """
    counted = ["address", *(["player"] if has_player else [])]
    found: dict[str, Any] = {
        "counted_by": counted,
        "weight": {"calls": weight.calls, "grows": weight.grows},
    }
    if weight.per_address is not None:
        counted.append("operation")
        found["requests"], found["seconds"] = weight.per_address, WINDOW_SECONDS
    if weight.per_player is not None:
        counted.append("player-operation")
        found["player_requests"], _ = weight.per_player
    return found


def _rate_limited(detail: Sentence, seconds: float) -> Refusal:
    return Refusal("rate-limited", detail, retry_after=max(1, math.ceil(seconds)))


COUNTER_SECONDS = 0.2
"""Timeout of a count in Redis; after it a process counts alone."""


def _redis_counter(redis_url: str | None) -> FixedWindowRateLimiter | None:
    """Return the counter that all processes share, None without Redis."""
    if redis_url is None:
        return None
    # The library has its own scheme for a socket.
    url = f"redis+{redis_url}" if redis_url.startswith("unix:") else redis_url
    options = giving_up_after(COUNTER_SECONDS)
    if uses_sentinel(url):
        options = {"connection_pool": client_of(url, **options).connection_pool}
        url = "redis://"  # the pool names the server
    return FixedWindowRateLimiter(RedisStorage(url, **options))


LONG_GAME_EVENTS = 1000
"""Events that a request may process without a slot: less than 250 ms of processor time in all."""

LONG_GAME_SLOTS = 4
"""Requests above that limit that a process serves at a time; at most two for one address."""

EVENTS_A_MINUTE = 150_000
"""Events that requests with a slot may process in a minute for one address or player."""


class LongGames:
    """
    Limits the processing of very long games in this process.

    Only events that have to be processed count; cached games cost nothing here.
    """

    def __init__(self, address: Callable[[], str], rate_limits: RateLimits) -> None:
        self.slots = Slots("long games", LONG_GAME_SLOTS)
        self._address = address
        self._rate_limits = rate_limits

    def request(self, player: UUID | None) -> RequestWork:
        """Return the limit for one request of a player or an anonymous caller."""
        return RequestWork(self, player)

    @contextmanager
    def slot(self, player: UUID | None, events: int) -> Iterator[None]:
        """
        Hold a slot while this number of events is processed.

        Raises `rate-limited` above the limit of the address or the player, and
        `unavailable` if no slot is free.
        """
        address, cost = self._address(), min(events, EVENTS_A_MINUTE)
        self._count(address, cost)
        if player is not None:
            self._count(str(player), cost)
        with self.slots.slot(address) as free:
            if not free:
                detail = said("limit.long_games.at_once")
                raise Refusal("unavailable", detail, retry_after=2)
            yield

    def _count(self, key: str, events: int) -> None:
        self._rate_limits.count_work(key, EVENTS_A_MINUTE, events, "limit.long_games")


class RequestWork:
    """
    The work of one request: a `Limit` of `service/application/quotas.py`.

    It is called around each fold of a log, or similar work, with the number of events. The
    numbers are added up, because a list may fold many short games. Once the sum reaches
    LONG_GAME_EVENTS, each call needs a slot; a call within another one shares its slot.
    """

    def __init__(self, games: LongGames, player: UUID | None) -> None:
        self._games = games
        self._player = player
        self.events = 0
        self._in_slot = False

    @contextmanager
    def __call__(self, events: int) -> Iterator[None]:
        """Hold a slot if one is needed; raises the refusals of `LongGames.slot`."""
        self.events += events
        if self._in_slot or self.events < LONG_GAME_EVENTS:
            yield
            return
        with self._games.slot(self._player, events):
            self._in_slot = True
            try:
                yield
            finally:
                self._in_slot = False


class SentWork:
    """
    The work of an answer that is made while it is sent, such as a bundle: a `Limit`.

    Each piece of work takes one of the slots of `LongGames`. It waits for one instead of refusing,
    because the answer has begun, and is not counted by the minute: a proxy ends an answer that
    pauses for so long. Works within others share their slot.
    """

    def __init__(self, games: LongGames, address: str) -> None:
        self._slots = games.slots
        self._address = address
        self._in_slot = False

    @contextmanager
    def __call__(self, _events: int) -> Iterator[None]:
        """Hold a slot; raises Refusal `unavailable` if none becomes free in LONGEST_WAIT."""
        if self._in_slot:
            yield
            return
        end = time.monotonic() + LONGEST_WAIT
        while not self._slots.acquire(self._address):
            if time.monotonic() >= end:
                raise Refusal("unavailable", said("limit.long_games.at_once"), retry_after=2)
            time.sleep(0.05)
        self._in_slot = True
        try:
            yield
        finally:
            self._in_slot = False
            self._slots.release(self._address)


LONGEST_WAIT = 30.0
"""Seconds for which an answer that is being sent waits for a slot."""
