"""A line in the log for every request; never a token, a body, an invite or a query's value."""

from __future__ import annotations

import time

import structlog
from flask import Flask, Response, g, request

from service.api.outcomes import outcome

_log = structlog.stdlib.get_logger("shithead.requests")


def register(app: Flask) -> None:
    """Log every answer: what was asked for, by its template, and how it went."""

    @app.before_request
    def bind() -> None:
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request=g.request_id)

    @app.after_request
    def tell(response: Response) -> Response:
        rule = request.url_rule.rule if request.url_rule else None
        level = _log.info
        if response.status_code >= 500:
            level = _log.error
        elif rule in _QUIET:
            level = _log.debug
        status, problem = outcome(response)
        level(
            "request",
            method=request.method,
            path=rule,
            ids={name: str(value) for name, value in (request.view_args or {}).items()},
            status=status,
            problem=problem,
            milliseconds=_milliseconds(),
        )
        return response


def _milliseconds() -> float | None:
    began = g.get("began")
    return None if began is None else round((time.perf_counter() - began) * 1e3, 1)


_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
