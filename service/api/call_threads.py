"""Threads for calls that an event loop or a listener must not wait for."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

IDLE_SECONDS = 10.0
"""Time without a call after which a thread ends, if enough others are idle."""

MAX_IDLE = 8
"""Idle threads that are retained."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class CallThreads(Executor):
    """
    Runs each call in an idle thread or in a new one, at most `most` at a time.

    The pool of the standard library never ends a thread: after a thousand readers reconnect
    at once it would hold a thousand threads. The threads here are daemons, which do not delay the
    end of the process.
    """

    def __init__(self, most: int, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._most = most
        self._idle_seconds = idle_seconds
        self._changed = threading.Condition()
        self._due = deque[Callable[[], None]]()
        self._threads = 0
        self.idle = 0

    def __len__(self) -> int:
        """Return the number of threads."""
        return self._threads

    def submit(
        self,
        fn: Callable[_Arguments, _Result],
        /,
        *args: _Arguments.args,
        **kwargs: _Arguments.kwargs,
    ) -> Future[_Result]:
        """Run a call as soon as a thread is free for it."""
        future = Future[_Result]()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - the caller of `result` gets it
                future.set_exception(error)

        with self._changed:
            self._due.append(run)
            if self.idle >= len(self._due):
                self._changed.notify()
            elif self._threads < self._most:
                self._threads += 1
                threading.Thread(target=self._work, name="call", daemon=True).start()
        return future

    def _work(self) -> None:
        while (run := self._next()) is not None:
            run()
            del run  # so that its arguments are freed while the thread is idle

    def _next(self) -> Callable[[], None] | None:
        """Return the next call, after a wait; None if this thread has to end."""
        with self._changed:
            self.idle += 1
            try:
                while not self._due:
                    notified = self._changed.wait(self._idle_seconds)
                    if not notified and not self._due and self.idle > MAX_IDLE:
                        self._threads -= 1
                        return None
                return self._due.popleft()
            finally:
                self.idle -= 1
