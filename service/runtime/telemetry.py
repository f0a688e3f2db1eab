"""Metrics of every process, and the configuration of its logs and traces."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson
import structlog
from prometheus_client import Counter, Gauge

from service.runtime import tracing
from service.runtime.config import LogFormat, Settings
from service.runtime.version import VERSION

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder of metrics that all processes share."""

MOVES = Counter("shithead_moves", "Changes of games that were committed", ["by"])
"""By `player`, or by `server`: bots, time-outs, abandoned set-ups."""

CONFLICTS = Counter("shithead_conflicts", "Changes decided on an outdated version", ["by"])
"""A player's change is decided again; the server's is dropped."""

TURNS = Counter("shithead_due_moves", "Due moves played by workers", ["kind"])

JOBS = Counter("shithead_turn_jobs", "Jobs that play due moves or deal, by outcome", ["outcome"])

SWEEPER_LAG = Gauge(
    "shithead_sweeper_lag_seconds",
    "Seconds by which the most overdue game was late at the last sweep, 0 for none",
    multiprocess_mode="mostrecent",
)

ROUNDS = Gauge(
    "shithead_last_round_timestamp_seconds",
    "Time of the last successful round of relay, sweeper or sequencer",
    ["process"],
    multiprocess_mode="mostrecent",
)
"""A stopped process cannot report that it stopped, but an old timestamp shows it."""

SWEEP_SECONDS = Counter("shithead_sweep_seconds", "Seconds for which a sweep has run", ["sweep"])

SWEEP_ROWS = Counter("shithead_sweep_rows", "Rows that a sweep has processed", ["sweep"])

SWEEP_FAILURES = Gauge(
    "shithead_sweep_failures",
    "Slices of a sweep that failed since its last success",
    ["sweep"],
    multiprocess_mode="mostrecent",
)

SWEPT_AT = Gauge(
    "shithead_last_sweep_timestamp_seconds",
    "Time of the last slice of a sweep that did not fail",
    ["sweep"],
    multiprocess_mode="mostrecent",
)

OUTBOX_AGE = Gauge(
    "shithead_outbox_age_seconds",
    "Seconds for which the oldest outbox row has waited, 0 for none",
    ["topic"],
    multiprocess_mode="mostrecent",
)

DATABASE_SLOW = Gauge(
    "shithead_database_slow_timestamp_seconds",
    "Time of the last request that timed out at the database, 0 for never",
    multiprocess_mode="mostrecent",
)

STUCK = Gauge(
    "shithead_stuck_games",
    "Games that are overdue by more than a minute, or whose seed no key decrypts",
    multiprocess_mode="mostrecent",
)

CONNECTIONS = Gauge(
    "shithead_database_connections",
    "Sessions of the database server, of this service and of others, and how many it allows",
    ["which"],
    multiprocess_mode="mostrecent",
)

OLDEST_TRANSACTION = Gauge(
    "shithead_oldest_transaction_seconds",
    "Age of the oldest open transaction of a client that the service's role may see",
    multiprocess_mode="mostrecent",
)

WAL_HELD = Gauge(
    "shithead_wal_held_bytes",
    "WAL that the replication slot furthest behind keeps on the disk of the database",
    multiprocess_mode="mostrecent",
)

QUERY_SECONDS = Gauge(
    "shithead_query_seconds",
    "Seconds that PostgreSQL has spent in a query, across restarts, if it counts that",
    ["query"],
    multiprocess_mode="mostrecent",
)
"""Labels are the names of queries, and `other`."""

QUERY_CALLS = Gauge(
    "shithead_query_calls",
    "Calls of a query, across restarts, if PostgreSQL counts that",
    ["query"],
    multiprocess_mode="mostrecent",
)

UNANSWERED = Gauge(
    "shithead_unanswered_disputes",
    "Running disputes against the server in which the operator has made no statement, 100 at most",
    multiprocess_mode="mostrecent",
)

RESTARTS = Counter(
    "shithead_restarts", "Programs and servers that ended, or hung, and were replaced", ["program"]
)
"""Counted by the parent of the program: the supervisor of `shithead up`, or the web server."""

FAILED_CHECKS = Gauge(
    "shithead_failed_check_timestamp_seconds",
    "Time of the last check of readiness if the part failed in it, 0 if it did not",
    ["part"],
    multiprocess_mode="mostrecent",
)
"""A time and not a status: the status would stay if nothing asks for readiness any more."""

REPLICA_READS = Counter(
    "shithead_replica_reads", "Reads allowed on a replica, by outcome", ["outcome"]
)
"""`replica`: it answered; `behind` or `failed`: the primary answered instead."""

QUEUED = Gauge(
    "shithead_queued_jobs",
    "Games and jobs that wait for a worker",
    multiprocess_mode="mostrecent",
)
"""Not set while Redis does not answer: then it shows the last count."""

UNSIGNED = Gauge(
    "shithead_log_unsigned_leaves",
    "Leaves of the public log that no signed checkpoint covers",
    multiprocess_mode="mostrecent",
)

WAL_ARCHIVED = Gauge(
    "shithead_wal_archived_timestamp_seconds",
    "Time up to which the WAL is in the archive",
    ["archive"],
    multiprocess_mode="mostrecent",
)
"""Shown by the sequencer, which waits for the archive. At its start, the time of the start."""

UNCOSIGNED = Gauge(
    "shithead_log_uncosigned_leaves",
    "Leaves of the newest checkpoint that a witness has not cosigned",
    ["witness"],
    multiprocess_mode="mostrecent",
)
"""Labels are the witnesses of the settings, never values sent by callers."""

WITNESS_SET_BACK = Counter(
    "shithead_witness_set_back",
    "Answers of a witness that had seen fewer leaves than it cosigned before",
    ["witness"],
)

LOG_DAMAGED = Gauge(
    "shithead_log_damaged",
    "Places in the stored public log that are not as they were signed",
    ["where"],
    multiprocess_mode="mostrecent",
)


LOG_FILE: Final = "LOG_FILE"
"""The environment variable with the file to which a supervisor has directed the output."""

REOPEN_SECONDS = 1.0
"""Seconds between two checks whether that file was renamed."""


def follow_log_file() -> None:
    """
    Direct the output to a new file whenever the log file was renamed; without effect elsewhere.

    Until then lines are written to the renamed file, so none is lost. A signal would not do: each
    program has its own handlers, and a process that hangs would never act on it.
    """
    if path := os.environ.get(LOG_FILE):
        threading.Thread(target=_follow, args=(path,), name="log file", daemon=True).start()


def _follow(path: str) -> None:
    while True:
        time.sleep(REOPEN_SECONDS)
        with contextlib.suppress(OSError):  # as on a full disk: the next round tries again
            _reopen(path)


def _reopen(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(Path(path).stat(), os.fstat(2)):
            return
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    for descriptor in (1, 2):
        os.dup2(handle, descriptor)
    os.close(handle)


class _Lines:
    """Writes each log line whole to standard error; `structlog` calls it with the final line."""

    def __init__(self, name: str | None) -> None:
        self.name = name or "root"

    def msg(self, line: str | bytes) -> None:
        """Write one line; without effect if it cannot be written, as on a full disk."""
        data = line.encode() if isinstance(line, str) else line
        with _WRITING:
            try:
                sys.stderr.buffer.write(data + b"\n")
                sys.stderr.buffer.flush()
            except OSError:
                pass

    debug = info = warning = error = critical = exception = msg


_WRITING = threading.Lock()
os.register_at_fork(  # a web server forks while its threads log: no child inherits a held lock
    before=_WRITING.acquire,
    after_in_parent=_WRITING.release,
    after_in_child=_WRITING.release,
)

REQUEST_ID: Final[ContextVar[str | None]] = ContextVar("request_id", default=None)
"""The id of the request that this thread answers; every log line during it has it."""


def _add_context(
    logger: Any, method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """
    Add request, trace, level, logger, time and exception, as structlog's own processors do.

    One function, because every request writes a line, and each processor is a call.
    """
    identity = REQUEST_ID.get()
    if identity is not None:
        event["request"] = identity
    trace = tracing.trace_id()
    if trace is not None:
        event["trace"] = trace
    record: logging.LogRecord | None = event.get("_record")  # of a library's logger
    event["level"] = _LEVELS.get(method, method)
    event["logger"] = logger.name if record is None else record.name
    event["timestamp"] = f"{datetime.now(UTC).replace(tzinfo=None).isoformat()}Z"
    if "exc_info" in event:
        return structlog.processors.format_exc_info(logger, method, event)
    return event


_LEVELS: Final = {"warn": "warning", "exception": "error"}


def configure_logs(settings: Settings) -> None:
    """
    Send all logs to standard error, as text or as one JSON object per line.

    Loggers of `structlog` write their lines without the slower `logging` module; loggers of
    libraries use it.
    """
    level = getattr(logging, settings.log_level.value.upper())
    shared: list[structlog.typing.Processor] = [_add_context]
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
    in_text = settings.log_format is LogFormat.TEXT
    handler.setFormatter(_formatter(final) if in_text else json_lines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    logging.captureWarnings(capture=True)
    _log_uncaught()
    follow_log_file()


def _log_uncaught() -> None:
    """Log an exception that ends a program or a thread as a line, like any other."""
    log = structlog.get_logger("uncaught")

    def of_program(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if issubclass(kind, Exception):
            log.critical("the program ended", exc_info=(kind, error, trace))
        else:
            sys.__excepthook__(kind, error, trace)

    def of_thread(ended: threading.ExceptHookArgs) -> None:
        if issubclass(ended.exc_type, SystemExit):
            return  # the thread ended on purpose, as without this hook
        found = (ended.exc_type, ended.exc_value, ended.exc_traceback)
        name = None if ended.thread is None else ended.thread.name
        log.error("a thread ended", thread=name, exc_info=found)

    sys.excepthook = of_program
    threading.excepthook = of_thread


def json_lines() -> logging.Formatter:
    """Return the formatter of libraries' lines as JSON; `api/granian_log.json` names it."""
    return _formatter(_json_text)


def _formatter(final: structlog.typing.Processor) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, final],
        foreign_pre_chain=[_add_context],
    )


def configure_traces(process: str) -> None:
    """Export traces if the OTEL_* variables request it; log the reason if that is impossible."""
    fault = tracing.switch_on(process, VERSION)
    if fault is not None:
        structlog.get_logger("traces").warning("traces are not exported", reason=fault)


def _lines(name: str | None = None, *_more: Any) -> _Lines:
    return _Lines(name)


_json_text = structlog.processors.JSONRenderer()
