"""A receiver of webhooks on this machine, which answers as a test asks it to."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(kw_only=True)
class Receiver:
    """
    An HTTP server that stores the requests it gets.

    `answers` are how it answers the events to come: a status, or `hang`, `drip`, `long`, `begun`
    or `redirect`; without any it answers 200. A ping is answered with its challenge if `echoes`.
    `asks` is the `Retry-After` of its answers.
    """

    echoes: bool = True
    asks: str | None = None
    answers: list[int | str] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def events(self) -> list[dict[str, Any]]:
        """Return the bodies of all requests but pings."""
        bodies = [json.loads(body) for _, body in self.got]
        return [body for body in bodies if body["type"] != "ping"]


class _Handler(BaseHTTPRequestHandler):
    receiver: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        receiver = self.receiver
        receiver.got.append(({k.lower(): v for k, v in self.headers.items()}, body))
        event = json.loads(body)
        if event["type"] == "ping":
            self._answer(200, event["challenge"].encode() if receiver.echoes else b"hello")
            return
        match receiver.answers.pop(0) if receiver.answers else 200:
            case "hang":
                receiver.released.wait(30)
            case "drip":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while not receiver.released.wait(0.05):
                    self.wfile.write(b"A")
            case "long":
                self._answer(200, b"x" * (17 << 10))
            case "begun":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n" + b"x" * 99)
                receiver.released.wait(30)
            case "redirect":
                self._answer(307, b"", Location=receiver.url)
            case int() as status:
                asks = {} if receiver.asks is None else {"Retry-After": receiver.asks}
                self._answer(status, b"", **asks)

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_args: object) -> None:
        """Ignore a client that hangs up."""


@contextmanager
def receiver(*, trust: ssl.SSLContext | None = None, **more: Any) -> Iterator[Receiver]:
    """Serve a receiver on a free port; with `trust`, its certificate and key, over TLS."""
    made = Receiver(**more)
    handler = type("Handler", (_Handler,), {"receiver": made})
    server = _Server(("127.0.0.1", 0), handler)
    if trust is not None:
        server.socket = trust.wrap_socket(server.socket, server_side=True)
    made.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield made
    finally:
        made.released.set()
        server.shutdown()
        server.server_close()
