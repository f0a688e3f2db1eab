"""Structured logging of every process."""

from __future__ import annotations

import logging
import sys

import structlog

from service.config import LogFormat, Settings


def configure_logs(settings: Settings) -> None:
    """Send all logs to standard error, as text or as a JSON object a line."""
    level = getattr(logging, settings.log_level.value.upper())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    final: structlog.typing.Processor = structlog.processors.JSONRenderer()
    if settings.log_format is LogFormat.TEXT:
        final = structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(processor=final, foreign_pre_chain=shared)
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
