"""Repeated polls of a public log, and their health over HTTP."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

SHORTEST: Final = 300.0
"""Seconds without a success before health fails, however often the log is polled."""


HEALTH_PATH: Final = "/healthz"
REQUEST_SECONDS: Final = 10  # for a request to arrive


class Poller:
    """Runs polls one after another, and counts and logs their failures."""

    def __init__(
        self,
        *,
        every: float,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = max(SHORTEST, 5 * every)
        self._tell = tell
        self._clock = clock
        self._lock = threading.Lock()
        self._last = clock()  # the last success; at first the start
        self._looks = self._failed = self._in_a_row = 0
        self._reason: str | None = None

    def run(self, poll: Callable[[], object]) -> bool:
        """Poll once; log and count any exception, and return whether there was none."""
        reason = None
        try:
            poll()
        except Exception as error:  # noqa: BLE001 - a malformed response must not end the process
            reason = f"{error}" or type(error).__name__
        with self._lock:
            self._looks += 1
            self._reason = reason
            if reason is None:
                self._last, self._in_a_row = self._clock(), 0
            else:
                self._failed, self._in_a_row = self._failed + 1, self._in_a_row + 1
        if reason is not None:
            self._tell(f"the log cannot be read: {reason} ({self._in_a_row} in a row)")
        return reason is None

    def health(self) -> tuple[bool, dict[str, Any]]:
        """Return whether a recent poll succeeded, and the counts."""
        with self._lock:
            age = self._clock() - self._last
            return age <= self._limit, {
                "status": "ok" if age <= self._limit else "no recent poll succeeded",
                "looks": self._looks,
                "failed": self._failed,
                "failed_in_a_row": self._in_a_row,
                "seconds_since_success": round(age),
                "reason": self._reason,
            }


def health_answer(poller: Poller) -> tuple[int, bytes]:
    """Return the status and the body of a health response."""
    well, facts = poller.health()
    return 200 if well else 503, json.dumps(facts).encode() + b"\n"


def health_server(poller: Poller, host: str, port: int) -> ThreadingHTTPServer:
    """Return a server for `GET /healthz`; it responds once `serve_forever` runs."""

    class Handler(BaseHTTPRequestHandler):
        """Responds for this poller."""

        timeout = REQUEST_SECONDS

        def do_GET(self) -> None:
            """Answer /healthz."""
            status, body = (
                health_answer(poller) if self.path == HEALTH_PATH else (404, b"see /healthz\n")
            )
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """Do not log health probes."""

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    return server
