"""How often one address, and one player, may call; what is dear is limited more narrowly."""

from __future__ import annotations

import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Any
from uuid import UUID

from flask import Flask, Response, request
from flask_limiter import Limiter, RateLimitExceeded
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter
from redis.backoff import NoBackoff
from redis.retry import Retry

from service.api.problems import problem
from service.application.errors import Refusal
from service.config import Settings

LIMITS = {
    "players.register": "1200 per minute",
    "players.recover": "60 per minute",
    "evidence.verify": "60 per minute",
}
"""By call and address; Redis counts for all processes while it is up."""

FREE = frozenset({"health.alive", "health.ready", "metrics"})
"""Calls of those who look after the service: never too many."""


def register(app: Flask, settings: Settings) -> None:
    """Put the limits before the calls, unless they are switched off."""
    if not settings.rate_limits:
        return
    _limit_addresses(app, settings)
    limiter = Limiter(
        caller_address,
        app=app,
        storage_uri=_storage(settings.redis_url),
        storage_options=_patience(settings.redis_url),
        strategy="fixed-window",
        in_memory_fallback_enabled=True,
        swallow_errors=True,
        headers_enabled=False,
    )
    for endpoint, limit in LIMITS.items():
        view: Any = app.view_functions[endpoint]
        app.view_functions[endpoint] = limiter.limit(limit)(view)

    def refuse(_error: RateLimitExceeded) -> Response:
        current = limiter.current_limit
        return _refused(current.reset_at if current else time.time() + 60)

    app.register_error_handler(RateLimitExceeded, refuse)


def player_counter(settings: Settings) -> Callable[[UUID], None]:
    """
    Return what counts a call of a player, and refuses one too many in a minute.

    Players are counted once their token has been found to hold: whatever is made up costs
    its address, and leaves nothing behind. Counted in this process alone, like addresses.
    """
    if not settings.rate_limits:
        return lambda _player: None
    counter = FixedWindowRateLimiter(MemoryStorage())
    limit = RateLimitItemPerMinute(settings.calls_per_token)

    def count(player: UUID) -> None:
        if not counter.hit(limit, str(player)):
            left = _left(counter.get_window_stats(limit, str(player)).reset_time)
            raise Refusal("rate-limited", "too many calls from this token", retry_after=left)

    return count


def caller_address() -> str:
    """
    Return the address that a request is counted under.

    Of IPv6 the network, 64 bits: whoever has one address has all in it. What proxies say
    has been taken into account, for as many of them as the settings trust.
    """
    given = request.remote_addr or ""
    try:
        address = ip_address(given)
    except ValueError:
        return given
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)


def _limit_addresses(app: Flask, settings: Settings) -> None:
    """
    Count all calls by address, in this process alone.

    That costs a call some microseconds where a round trip to Redis would cost a quarter
    of a move; what it keeps off is one caller who never stops.
    """
    counter = FixedWindowRateLimiter(MemoryStorage())
    limit = RateLimitItemPerMinute(settings.calls_per_address)

    @app.before_request
    def count() -> Response | None:
        if request.endpoint in FREE:
            return None
        address = caller_address()
        if counter.hit(limit, address):
            return None
        return _refused(counter.get_window_stats(limit, address).reset_time)


def _refused(reset_at: float) -> Response:
    more = {"retry_after": _left(reset_at)}
    return problem("rate-limited", "too many calls from this address", more)


def _left(reset_at: float) -> int:
    """Return how many whole seconds to wait until a time."""
    return max(1, int(reset_at - time.time()) + 1)


def _storage(redis_url: str | None) -> str:
    """Return where to count; the library has a name of its own for a socket's scheme."""
    if redis_url is None:
        return "memory://"
    return f"redis+{redis_url}" if redis_url.startswith("unix:") else redis_url


def _patience(redis_url: str | None) -> dict[str, Any]:
    """Return options with which a Redis that is down costs a request next to nothing."""
    if redis_url is None:
        return {}
    return {
        "socket_connect_timeout": 0.2,
        "socket_timeout": 0.2,
        "retry": Retry(NoBackoff(), 0),
    }
