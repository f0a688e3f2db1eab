"""WSGI entry points; on SIGTERM or SIGINT they end long polls and streams."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import threading
from collections.abc import Callable

from flask import Flask

from service.api import assets
from service.api.app import create_app, create_stream_app
from service.api.connections import ConnectionLimit
from service.api.context import Context, context

assets.loaded()  # once, where the fork server imports this module for all API processes

_STOPS = {signal.SIGTERM, signal.SIGINT}


def calls() -> Flask:
    """
    Return the application of an API process, configured from the environment.

    On a signal to stop, the server finishes the requests in progress. Long polls and streams
    would delay it for half a minute and be cut off, so they end at once instead.
    """
    return _stopping_waits(create_app())


def streams() -> Flask:
    """Return the application of the streaming process, configured likewise."""
    return _stopping_waits(create_stream_app())


def _stopping_waits(app: Flask) -> Flask:
    _allow_connections()
    with app.app_context():
        parts: Context = context()
    ConnectionLimit(parts.settings).start()
    _on_stop(parts.waiting.end)
    _spare_the_collector()
    return app


def _spare_the_collector() -> None:
    """
    Leave what the start made out of garbage collection, and collect less often.

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
    writes the number of every handled signal to the wakeup file descriptor.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(ValueError):  # not the main thread: the signals belong to another
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_act_on_stop, args=(reading, act), name="stops", daemon=True).start()


def _act_on_stop(reading: int, act: Callable[[], None]) -> None:
    while numbers := os.read(reading, 64):
        if _STOPS & set(numbers):
            act()
