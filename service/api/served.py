"""The application as the server runs it: it hears when the process is told to stop."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable

from flask import Flask

from service.api.app import create_app, create_stream_app
from service.api.context import Context, context

_STOPS = {signal.SIGTERM, signal.SIGINT}


def calls() -> Flask:
    """
    Return the application that the environment describes, for the server to run.

    Told to stop, the server waits for the answers that are being made. Long polls and streams
    would keep it waiting for half a minute, and be cut off: they end at once instead.
    """
    return _hearing(create_app())


def streams() -> Flask:
    """Return the application of the process for streams and long polls, likewise."""
    return _hearing(create_stream_app())


def _hearing(app: Flask) -> Flask:
    with app.app_context():
        parts: Context = context()
    _on_stop(parts.waiting.end)
    return app


def _on_stop(act: Callable[[], None]) -> None:
    """
    Call `act`, in a thread, when this process gets a signal that ends it.

    The server puts handlers of its own in the place of all others, after it has made the
    application. What Python writes for every signal that has a handler comes through all the same.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(ValueError):  # not the main thread: somebody else has the signals
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_hear, args=(reading, act), name="stops", daemon=True).start()


def _hear(reading: int, act: Callable[[], None]) -> None:
    while numbers := os.read(reading, 64):
        if _STOPS & set(numbers):
            act()
