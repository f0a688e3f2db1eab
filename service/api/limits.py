"""How often one address may call what is dear; Redis counts for all processes while it is up."""

from __future__ import annotations

import time
from typing import Any

from flask import Flask, Response
from flask_limiter import Limiter, RateLimitExceeded
from flask_limiter.util import get_remote_address
from redis.backoff import NoBackoff
from redis.retry import Retry

from service.api.problems import problem
from service.config import Settings

LIMITS = {
    "players.register": "1200 per minute",
    "players.recover": "60 per minute",
    "evidence.verify": "60 per minute",
}
"""By call; everything else is limited by what a player may have open at a time."""


def register(app: Flask, settings: Settings) -> None:
    """Put the limits before their calls, unless they are switched off."""
    if not settings.rate_limits:
        return
    limiter = Limiter(
        get_remote_address,
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
        left = max(1, int(current.reset_at - time.time()) + 1) if current else 60
        return problem("rate-limited", "too many calls from this address", {"retry_after": left})

    app.register_error_handler(RateLimitExceeded, refuse)


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
