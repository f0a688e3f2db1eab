"""Structured logging of every process, and the start of its traces."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from contextvars import ContextVar
from typing import Any, Final

import orjson
import structlog

from service import tracing
from service.config import LogFormat, Settings
from service.version import VERSION


class _Lines:
    """Writes each log line whole to standard error; `structlog` calls it with the final line."""

    def __init__(self, name: str | None) -> None:
        self.name = name or "root"

    def msg(self, line: str | bytes) -> None:
        """Write one line; without effect if it cannot be written, as on a full disk."""
        data = line.encode() if isinstance(line, str) else line
        with _WRITING, contextlib.suppress(OSError):
            sys.stderr.buffer.write(data + b"\n")
            sys.stderr.buffer.flush()

    debug = info = warning = error = critical = exception = msg


_WRITING = threading.Lock()

REQUEST_ID: Final[ContextVar[str | None]] = ContextVar("request_id", default=None)
"""The id of the request that this thread answers; every log line during it has it."""


def _add_request(
    _logger: Any, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    identity = REQUEST_ID.get()
    if identity is not None:
        event["request"] = identity
    trace = tracing.trace_id()
    if trace is not None:
        event["trace"] = trace
    return event


def configure_logs(settings: Settings) -> None:
    """
    Send all logs to standard error, as text or as a JSON object a line.

    Loggers of `structlog` write their lines without the slower `logging` module; loggers of
    libraries use it.
    """
    level = getattr(logging, settings.log_level.value.upper())
    shared: list[structlog.typing.Processor] = [
        _add_request,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    final: structlog.typing.Processor = structlog.processors.JSONRenderer(serializer=orjson.dumps)
    if settings.log_format is LogFormat.TEXT:
        final = structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[*shared, final],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=_lines,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                final if settings.log_format is LogFormat.TEXT else _json_text,
            ],
            foreign_pre_chain=shared,
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)


def configure_traces(process: str) -> None:
    """Export traces if the OTEL_* variables request it; log the reason if that is impossible."""
    fault = tracing.switch_on(process, VERSION)
    if fault is not None:
        structlog.get_logger("traces").warning("traces are not exported", reason=fault)


def _lines(name: str | None = None, *_more: Any) -> _Lines:
    return _Lines(name)


_json_text = structlog.processors.JSONRenderer()
