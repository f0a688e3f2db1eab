"""Requests after a lost connection: repeated with the same key, streams from the last event."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from service.client import Api, NotAnswered, Refused
from service.client import api as module

Script = Callable[[BaseHTTPRequestHandler, int], None]
PROBLEM = b'{"type": "/problems/not-found", "title": "Not found", "detail": "no such game"}'


class Server:
    """A local HTTP server whose answers come from a script."""

    def __init__(self, script: Script) -> None:
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.headers.append({k.lower(): v for k, v in self.headers.items()})
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                script(self, len(outer.headers))

            do_POST = do_GET  # noqa: N815 - the name that http.server calls

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.api = Api(url=f"http://127.0.0.1:{self.server.server_port}", attempts=3)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Script], Server]]:
    """Return a function that starts a server; pauses between attempts are short."""
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.001)
    started: list[Server] = []

    def start(script: Script) -> Server:
        started.append(Server(script))
        threading.Thread(target=started[-1].server.serve_forever, args=(0.05,), daemon=True).start()
        return started[-1]

    yield start
    for one in started:
        one.server.shutdown()
        one.server.server_close()


def answer(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200) -> None:
    handler.send_response(status)
    handler.end_headers()
    handler.wfile.write(body)


def event(seq: int) -> bytes:
    return b'id: %d\nevent: card_drawn\ndata: {"seq":%d}\n\n' % (seq, seq)


END = b"event: end\ndata:\n\n"


def test_a_post_without_an_answer_is_repeated_with_the_same_key(
    serve: Callable[[Script], Server],
) -> None:
    def script(handler: BaseHTTPRequestHandler, number: int) -> None:
        if number == 3:
            answer(handler, b'{"version": 8}')  # before, the connection is closed

    server = serve(script)
    assert server.api.post("/games/1/moves", {"type": "ready"}, version=7) == {"version": 8}
    assert len({headers["idempotency-key"] for headers in server.headers}) == 1
    assert [headers["if-match"] for headers in server.headers] == ['"v7"'] * 3


def test_after_the_last_attempt_the_service_counts_as_unreachable(
    serve: Callable[[Script], Server],
) -> None:
    server = serve(lambda _handler, _number: None)
    with pytest.raises(NotAnswered):
        server.api.get("/games/1")
    assert len(server.headers) == 3
    with pytest.raises(NotAnswered):
        list(server.api.stream("/games/1/stream"))
    assert len(server.headers) == 6


def test_a_name_without_an_address_is_stated_in_the_words_of_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(NotAnswered) as raised:
        Api(url="http://nothing.invalid", attempts=1).get("/tables")
    stated = "http://nothing.invalid does not answer: Name or service not known"
    assert str(raised.value) == stated


def test_a_problem_is_raised_at_once(serve: Callable[[Script], Server]) -> None:
    server = serve(lambda handler, _number: answer(handler, PROBLEM, 404))
    for call in (lambda: server.api.get("/games/1"), lambda: next(server.api.stream("/games/1"))):
        with pytest.raises(Refused, match="no such game") as refused:
            call()
        assert refused.value.kind == "not-found"
    assert len(server.headers) == 2


@pytest.mark.parametrize("announced", [True, False])
def test_of_an_answer_that_is_too_long_no_more_than_the_limit_is_read(
    serve: Callable[[Script], Server], *, announced: bool
) -> None:
    """It would go on for ever; one that announces its length is given up before its first byte."""
    hung_up = threading.Event()

    def script(handler: BaseHTTPRequestHandler, _number: int) -> None:
        handler.send_response(200)
        if announced:
            handler.send_header("Content-Length", str(1 << 40))
        handler.end_headers()
        try:
            while not announced:
                handler.wfile.write(bytes(1 << 16))
            handler.connection.recv(1)
        except OSError:
            pass  # the answer was too long
        hung_up.set()

    server = serve(script)
    with pytest.raises(NotAnswered, match="more than 100000 bytes"):
        server.api.data("/games/1/evidence", most=100_000)
    assert hung_up.wait(10)
    assert len(server.headers) == 1, "it is not asked again"


def test_a_busy_service_is_asked_again(serve: Callable[[Script], Server]) -> None:
    def script(handler: BaseHTTPRequestHandler, number: int) -> None:
        if number == 1:
            handler.send_response(503)
            handler.send_header("Retry-After", "0")
            handler.end_headers()
        else:
            answer(handler, event(0) + END)

    server = serve(script)
    assert list(server.api.stream("/games/1/stream")) == [b'{"seq":0}']


def test_a_lost_stream_resumes_after_the_last_complete_event(
    serve: Callable[[Script], Server],
) -> None:
    """Comments are skipped; an event that was cut short is sent again."""
    parts = [
        b"retry: 2000\n\n" + event(3) + b": nothing new\n\n" + event(4)[:-1],
        b"",
        event(4) + event(5)[:20],
        event(5) + END + event(6),
    ]
    server = serve(lambda handler, number: answer(handler, parts[number - 1]))
    received = list(server.api.stream("/games/1/stream", after=3))
    assert received == [b'{"seq":3}', b'{"seq":4}', b'{"seq":5}']
    assert [headers["last-event-id"] for headers in server.headers] == ["2", "3", "3", "4"]


def test_a_stream_without_further_events_ends(serve: Callable[[Script], Server]) -> None:
    """The connection was lost between the seal and `event: end`."""

    def script(handler: BaseHTTPRequestHandler, number: int) -> None:
        if number == 1:
            answer(handler, event(0))
        else:
            handler.send_response(204)
            handler.end_headers()

    server = serve(script)
    assert list(server.api.stream("/games/1/stream")) == [b'{"seq":0}']
    assert len(server.headers) == 2
