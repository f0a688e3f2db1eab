"""Measures for Prometheus: requests by call and status, how long they took, who waits."""

from __future__ import annotations

import logging
import os
import time

import prometheus_client
from flask import Flask, Response, g, request
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

from service.api.outcomes import outcome
from service.config import Settings
from service.measures import SHARED_FOLDER

REQUESTS = Counter(
    "shithead_http_requests", "Requests answered", ["method", "call", "status", "problem"]
)
SECONDS = Histogram(
    "shithead_http_request_seconds",
    "Seconds from the request to its answer; streams and long polls left out",
    ["method", "call"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def register(app: Flask, settings: Settings) -> None:
    """Measure every request, and tell the measures at /metrics or at an address of their own."""

    @app.before_request
    def begin() -> None:
        g.began = time.perf_counter()

    @app.after_request
    def count(response: Response) -> Response:
        call = request.endpoint or "none"
        # Methods are an open set that callers choose; measures must not grow with it.
        method = request.method if request.method in _METHODS else "other"
        status, problem = outcome(response)
        REQUESTS.labels(method, call, status, problem or "").inc()
        if "began" in g and not response.is_streamed and not request.args.get("wait"):
            SECONDS.labels(method, call).observe(time.perf_counter() - g.began)
        return response

    if settings.metrics_port is None:
        app.add_url_rule("/metrics", "metrics", _tell)
    else:
        _serve(settings.metrics_host or settings.host, settings.metrics_port)


_METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT"})


def _tell() -> Response:
    body = prometheus_client.generate_latest(_registry())
    response = Response(body, content_type=prometheus_client.CONTENT_TYPE_LATEST)
    response.headers["Cache-Control"] = "no-store"
    return response


def _serve(host: str, port: int) -> None:
    """Tell the measures at their own address; of several processes the first one does."""
    try:
        prometheus_client.start_http_server(port, addr=host, registry=_registry())
    except OSError as error:
        logging.getLogger(__name__).info("metrics are told by another process: %s", error)


def _registry() -> CollectorRegistry:
    """Return the figures of all processes that share a folder; without one each tells its own."""
    if not os.environ.get(SHARED_FOLDER):
        return prometheus_client.REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # the library has no type here
    return registry
