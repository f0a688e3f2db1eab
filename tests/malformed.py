"""A proxy that can replace answers by malformed or slow ones, for tests."""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

ICY = b"ICY 200 OK\r\n\r\n"
DEEP = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + b"[" * 200_000
CUT = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
SEEN_MORE = b"HTTP/1.1 409 Conflict\r\nContent-Type: text/x.tlog.size\r\n\r\n999999\n"


class Malformed:
    """
    Answers each request with `answer`; if it is None, forwards the request to the port `target`.

    If `pause` is not 0, it is the number of seconds between the bytes of `answer`. Without answer
    and target the response is empty, or with a pause a header that does not end.
    """

    def __init__(self, target: int | None = None) -> None:
        self.answer: bytes | None = None
        self.pause = 0.0
        self.request_count = 0
        self.url = ""
        self._target = target

    def handle(self, connection: socket.socket) -> None:
        """Answer one request."""
        request = _whole_request(connection)
        self.request_count += 1
        if self.answer is None and self._target is not None:
            self._forward(connection, request)
        elif self.pause:
            for byte in self.answer or b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 10_000:
                connection.sendall(bytes([byte]))
                time.sleep(self.pause)
        else:
            connection.sendall(self.answer or b"")

    def _forward(self, connection: socket.socket, request: bytes) -> None:
        with socket.create_connection(("127.0.0.1", self._target or 0)) as target:
            target.sendall(request)
            while part := target.recv(1 << 16):
                connection.sendall(part)


@contextmanager
def malformed(target: int | None = None) -> Iterator[Malformed]:
    """Run the proxy on a free port while the context lasts."""
    made = Malformed(target)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                made.handle(self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        made.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield made
        server.shutdown()


def _whole_request(connection: socket.socket) -> bytes:
    """Return a request: its head, and a body of the length that the head announces."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(1 << 16)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    while len(body) < length:
        body += connection.recv(1 << 16)
    return head + b"\r\n\r\n" + body
