"""WSGI and ASGI entry points, which end long polls and streams on SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import signal
import threading
from collections.abc import Callable
from functools import partial

import structlog
from flask import Flask

from service.api import pages
from service.api.app import create_app, create_stream_app
from service.api.connections import ConnectionLimit
from service.api.context import Context, context
from service.api.stream_server import StreamServer
from service.features import FEATURES
from service.runtime.heartbeat import show_life
from service.startup_checks import CannotStart

_log = structlog.get_logger("shithead.api")

pages.loaded_assets()  # once, where the fork server imports this module for all API processes

_STOPS = {signal.SIGTERM, signal.SIGINT}


def calls() -> Flask:
    """
    Return the application of an API process, configured from the environment.

    On a signal to stop, the server finishes the requests in progress. Long polls and streams
    would delay it for half a minute and be cut off, so they end at once instead.
    """
    show_life()
    app = _made(partial(create_app, FEATURES))
    _on_stop(partial(_end_waiting, _started(app)))
    return app


def streams() -> StreamServer:
    """
    Return the ASGI application of the stream process, configured from the environment.

    The event loop sets its signal handling after this function has returned, so `_on_stop` is
    called later, in the loop.
    """
    show_life()
    app = _made(partial(create_stream_app, FEATURES))
    parts = _started(app)
    asyncio.get_event_loop().call_soon(_on_stop, partial(_end_waiting, parts))
    return StreamServer(app, parts.waiting, threads=parts.settings.stream_threads)


def _end_waiting(parts: Context) -> None:
    """End long polls and streams; the next process has room for those that come again at once."""
    parts.waiting.end()
    parts.streams.end()


def _made(create: Callable[[], Flask]) -> Flask:
    """Return an application; the reason why there is none is logged, and ends the process."""
    try:
        return create()
    except CannotStart as error:
        _log.critical("cannot start", fault=str(error))
    except Exception:  # noqa: BLE001 - logged: the server would print it as text
        _log.critical("cannot start", exc_info=True)
    raise SystemExit(1)


def _started(app: Flask) -> Context:
    """Prepare this server process, and return the parts of its application."""
    _allow_connections()
    with app.app_context():
        parts: Context = context()
    ConnectionLimit(parts.settings).start()
    _tune_garbage_collection()
    return parts


def _tune_garbage_collection() -> None:
    """
    Exempt the objects created so far from garbage collection, and collect less often.

    A request makes hardly any reference cycle, and reference counting frees the rest; with
    Python's own thresholds the collector walks all modules and cached games again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _allow_connections() -> None:
    """Raise the limit of open files as far as possible: each connection needs one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _on_stop(act: Callable[[], None]) -> None:
    """
    Call `act` in a thread when this process receives a signal to stop.

    The server replaces all signal handlers after it has made the application. Python still
    writes the number of every handled signal to the wakeup file descriptor. If an event loop had
    set one before, the thread passes the numbers on to it.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    other = -1
    with contextlib.suppress(ValueError):  # not the main thread: another thread handles the signals
        other = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    arguments = (reading, other, act)
    threading.Thread(target=_act_on_stop, args=arguments, name="stops", daemon=True).start()


def _act_on_stop(reading: int, other: int, act: Callable[[], None]) -> None:
    while numbers := os.read(reading, 64):
        if _STOPS & set(numbers):
            act()
        if other >= 0:
            os.write(other, numbers)
