"""Metrics, log and traces of requests, without details that reveal hidden cards."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterable
from functools import cache
from secrets import token_hex
from typing import Any

import prometheus_client
import structlog
from flask import Flask, Request, Response, g, request
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from service.api.call import Call, present_call
from service.api.parsing import present_request
from service.api.problems import OF_A_MOVE
from service.runtime import tracing
from service.runtime.config import Settings
from service.runtime.readiness import ALWAYS_READY, Readiness
from service.runtime.telemetry import REQUEST_ID, SHARED_FOLDER
from service.runtime.tracing import Attribute, Span
from service.runtime.version import VERSION

REFUSED = "refused"
"""
The problem of every refused move in metrics, logs and traces.

The operator reads them, and may be a player: the problem itself would reveal the reason of a
refused attempt, which the record hides until the seal.
"""


def problem_shown() -> str | None:
    """Return the problem of the present answer, REFUSED for each that depends on hidden cards."""
    problem = present_call().problem
    return REFUSED if problem in OF_A_MOVE else problem


REQUESTS = Counter(
    "shithead_http_requests", "Requests answered", ["method", "call", "status", "problem"]
)
SECONDS = Histogram(
    "shithead_http_request_seconds",
    "Seconds from the request to its answer, without streams and long polls",
    ["method", "call"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


def register(app: Flask, settings: Settings, readiness: Readiness = ALWAYS_READY) -> None:
    """
    Identify, measure and log every request, and serve the metrics.

    All metrics are served at the metrics port; /metrics serves those in PUBLIC. Each reading at
    the metrics port asks for readiness, so that alerts know of faults without any requests.
    """
    if tracing.is_on():
        _trace_requests(app)
    log = structlog.stdlib.get_logger("shithead.requests").bind()  # not again for every line

    @app.before_request
    def begin_request() -> None:
        call = present_call()
        call.began = time.perf_counter()
        sent: str = present_request().environ.get("HTTP_X_REQUEST_ID", "")
        identity = sent if sent and _REQUEST_ID.fullmatch(sent) else token_hex(16)
        call.request_id = identity
        REQUEST_ID.set(identity)

    @app.after_request
    def end_request(response: Response) -> Response:
        call = present_call()
        response.headers.add("X-Request-ID", call.request_id or token_hex(16))
        seconds = None if call.began is None else time.perf_counter() - call.began
        present, problem = present_request(), problem_shown()
        _measure(present, response, seconds, problem)
        _log_request(log, present, response, seconds, problem)
        return response

    app.add_url_rule("/metrics", "metrics", _public_metrics)
    if settings.metrics_port is not None:
        _serve(settings.metrics_host or settings.host, settings.metrics_port, readiness)


def _trace_requests(app: Flask) -> None:
    """Trace every request; registered first, so that its log line is written within the span."""

    @app.before_request
    def begin_span() -> None:
        rule = request.url_rule.rule if request.url_rule else None
        if rule not in _QUIET:
            method = request.method if request.method in _METHODS else "_OTHER"
            g.span = tracing.request_span(method, rule, request.environ.get("HTTP_TRACEPARENT"))
            g.span.enter()

    @app.after_request
    def end_span(response: Response) -> Response:
        span: Span | None = g.pop("span", None)
        if span is not None:
            span.note(Attribute.STATUS, response.status_code)
            if response.status_code >= 500:
                span.fail(problem_shown() or str(response.status_code))
            span.leave()
            span.end()
        return response


def _measure(
    present: Request, response: Response, seconds: float | None, problem: str | None
) -> None:
    if present.url_rule is not None and present.url_rule.rule in _QUIET:
        return  # probes: many fast ones would hide slow requests, and a 503 of them is no error
    call = present.endpoint or "none"
    # Methods are an open set that callers choose; the number of series must not grow with it.
    method = present.method if present.method in _METHODS else "other"
    _requests(method, call, response.status_code, problem or "").inc()
    is_long_poll = b"wait=" in present.query_string and present.args.get("wait")
    if seconds is not None and not response.is_streamed and not is_long_poll:
        _seconds(method, call).observe(seconds)


@cache
def _requests(method: str, call: str, status: int, problem: str) -> Counter:
    """Return the counter with these labels: a look-up by labels costs more than the counting."""
    return REQUESTS.labels(method, call, status, problem)


@cache
def _seconds(method: str, call: str) -> Histogram:
    return SECONDS.labels(method, call)


def _log_request(
    log: structlog.stdlib.BoundLogger,
    present: Request,
    response: Response,
    seconds: float | None,
    problem: str | None,
) -> None:
    """
    Log an answer: the template of its path, the ids in it, who sent it, and the outcome.

    `status` is the one that the caller got. The line of a refused attempt does not name its player
    and seat, which the record hides until the seal as well.
    """
    rule = present.url_rule.rule if present.url_rule else None
    level = log.info
    if response.status_code >= 500 and not present_call().is_full:
        level = log.error
    elif rule in _QUIET:
        level = log.debug
    sender = {} if problem == REFUSED else _sender(present_call())
    level(
        "request",
        method=present.method[:MAX_LOGGED],
        path=rule,
        ids={name: str(value)[:MAX_LOGGED] for name, value in (present.view_args or {}).items()},
        status=response.status_code,
        problem=problem,
        milliseconds=None if seconds is None else round(seconds * 1e3, 1),
        **sender,
    )


def _sender(call: Call) -> dict[str, Any]:
    """Return the player of a request, if it had a token, and the seat of a move."""
    found = {} if call.player is None else {"player": str(call.player.id)}
    return found if call.seat is None else {**found, "seat": call.seat}


MAX_LOGGED = 100
"""Maximum number of characters of a logged value that the caller chose."""

_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT"})


PUBLIC = frozenset(
    {
        *("process_virtual_memory_bytes", "process_resident_memory_bytes"),
        *("process_start_time_seconds", "process_open_fds", "process_max_fds"),
        *("python_info", "shithead_build_info"),
        "shithead_database_slow_timestamp_seconds",
        *("shithead_sweeper_lag_seconds", "shithead_last_round_timestamp_seconds"),
        "shithead_outbox_age_seconds",
        *("shithead_log_unsigned_leaves", "shithead_log_uncosigned_leaves"),
    }
)
"""
Metrics at the public address: gauges of process, build, database, queues and log.

A counter of requests or moves shows at once that an attempt was refused, which the record hides
from the other players until the seal; a sum of durations, or of CPU time, shows how long
a single request took. All other metrics are served at the metrics port alone.
"""


def _public_metrics() -> Response:
    """Return the metrics in PUBLIC."""
    registry = CollectorRegistry()
    registry.register(_Only(_registry(), PUBLIC))
    return _response(registry)


def _response(registry: CollectorRegistry) -> Response:
    body = prometheus_client.generate_latest(registry)
    response = Response(body, content_type=prometheus_client.CONTENT_TYPE_LATEST)
    response.headers["Cache-Control"] = "no-store"
    return response


def _serve(host: str, port: int, readiness: Readiness) -> None:
    """Serve all metrics at their own address, in the first process that can listen there."""
    registry = CollectorRegistry()
    registry.register(Asking(_registry(), readiness))
    try:
        prometheus_client.start_http_server(port, addr=host, registry=registry)
    except OSError as error:
        logging.getLogger(__name__).info("another process serves the metrics: %s", error)


def _registry() -> CollectorRegistry:
    """
    Return the metrics of all processes that share a folder; without one, of this process.

    CPU, memory and file descriptors are always those of the process that answers.
    """
    if not os.environ.get(SHARED_FOLDER):
        return prometheus_client.REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # the library has no type here
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    registry.register(BUILD)
    return registry


class Asking:
    """
    Collects all metrics of a registry, and asks for readiness meanwhile.

    A database that hangs delays the answer by seconds, so it is not awaited: the next reading
    shows the result.
    """

    def __init__(self, registry: CollectorRegistry, readiness: Readiness) -> None:
        self._registry = registry
        self._readiness = readiness

    def collect(self) -> Iterable[Metric]:
        """Return the metrics; called by the library."""
        threading.Thread(target=self._readiness.check, name="readiness", daemon=True).start()
        return self._registry.collect()


class _Only:
    """Collects selected metrics from a registry."""

    def __init__(self, registry: CollectorRegistry, names: frozenset[str]) -> None:
        self._registry = registry
        self._names = names

    def collect(self) -> Iterable[Metric]:
        """Return the selected metrics; called by the library."""
        return [family for family in self._registry.collect() if family.name in self._names]


class _Build:
    """Collects the running release, the same in every process."""

    def collect(self) -> Iterable[Metric]:
        """Return one gauge; called by the library."""
        name, text = "shithead_build_info", "The running release"
        family = GaugeMetricFamily(name, text, labels=["version"])
        family.add_metric([VERSION], 1)
        return [family]


BUILD = _Build()
prometheus_client.REGISTRY.register(BUILD)
