"""Request bodies: deadlines, and slots for slow uploads."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from flask import Flask, Response, request

from service.api.bodies import BodySlots, RequestBodies
from service.api.problems import status_of
from service.application.errors import Refusal
from service.application.quotas import Slots


class Stalled(io.RawIOBase):
    """A body of which no byte arrives; it ends when `ended` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = threading.Event()

    def read(self, _size: int = -1) -> bytes:
        self.ended.wait(20)
        return b""


@pytest.fixture
def slots() -> BodySlots:
    """Return slots for six bodies, of which two may be slow; one address gets half of each kind."""
    return BodySlots(arriving=Slots("bodies", 6), slow=Slots("slow bodies", 2))


@pytest.fixture
def app(slots: BodySlots) -> Flask:
    """Return an application that answers with its body."""
    made = Flask("echo")
    made.config["MAX_CONTENT_LENGTH"] = 1 << 20
    made.add_url_rule("/", "echo", lambda: Response(request.get_data()), methods=["POST"])
    made.register_error_handler(Refusal, lambda refusal: (refusal.detail, status_of(refusal.code)))
    made.wsgi_app = RequestBodies(  # type: ignore[method-assign] # as Flask's own manual has it
        made.wsgi_app, slots, seconds=2, hang_up=lambda *_: None
    )
    return made


def send(app: Flask, body: Any, address: str = "10.0.0.1", **more: Any) -> tuple[str, str, bytes]:
    """Return status, Content-Length and body of the application's answer."""
    result: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], _fault: Any = None, /) -> Any:
        result.extend((status, dict(headers).get("Content-Length")))

    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/",
        "SERVER_NAME": "x",
        "SERVER_PORT": "80",
        "wsgi.url_scheme": "http",
        "wsgi.input": body,
        "wsgi.input_terminated": True,
        "REMOTE_ADDR": address,
        **more,
    }
    answer: Iterable[bytes] = app(environ, start)
    return result[0], result[1], b"".join(answer)


@pytest.mark.parametrize("size", [1, 65536, 300_000])
def test_a_whole_body_is_read_as_it_was_sent(app: Flask, size: int) -> None:
    raw = bytes(n % 251 for n in range(size))
    framings: Iterator[dict[str, str]] = iter(
        ({"CONTENT_LENGTH": str(size)}, {"HTTP_TRANSFER_ENCODING": "chunked"})
    )
    for framing in framings:
        assert send(app, io.BytesIO(raw), **framing) == ("200 OK", str(size), raw)


def test_a_stalled_body_is_aborted_at_its_deadline_and_closes_its_connection(app: Flask) -> None:
    body, began = Stalled(), time.monotonic()
    status, length, answer = send(app, body, CONTENT_LENGTH="9")
    assert status.startswith("408")
    assert 2 <= time.monotonic() - began < 5
    assert int(length) == len(answer)
    assert answer == b"the body arrives too slowly: it may take 2 s, and one more for each 64 KiB"
    body.ended.set()


def test_an_aborted_body_holds_its_slot_until_the_server_thread_ends(
    app: Flask, slots: BodySlots
) -> None:
    """Otherwise each aborted body would leave an uncounted thread."""
    body = Stalled()
    send(app, body, CONTENT_LENGTH="9")
    assert not slots.slow.acquire("10.0.0.1"), "the one slot of this address"
    assert slots.slow.acquire("10.0.0.2")
    body.ended.set()
    for _ in range(100):
        if slots.slow.acquire("10.0.0.1"):
            break
        time.sleep(0.02)
    else:
        pytest.fail("the slot was not released")


def test_complete_bodies_are_read_while_slow_ones_of_the_same_address_wait(
    app: Flask, slots: BodySlots
) -> None:
    assert slots.slow.acquire("10.0.0.1")
    assert send(app, io.BytesIO(b"whole"), CONTENT_LENGTH="5")[2] == b"whole"
    stalled, began = Stalled(), time.monotonic()
    assert send(app, stalled, CONTENT_LENGTH="9")[0].startswith("503")
    assert time.monotonic() - began < 1.5, "without a free slot it is refused before its deadline"
    stalled.ended.set()


def test_one_address_never_takes_all_slots_for_arriving_bodies(
    app: Flask, slots: BodySlots
) -> None:
    for _ in range(3):
        assert slots.arriving.acquire("10.0.0.1")
    assert send(app, io.BytesIO(b"x"), CONTENT_LENGTH="1")[0].startswith("503")
    assert send(app, io.BytesIO(b"x"), "10.0.0.2", CONTENT_LENGTH="1")[0] == "200 OK"


def test_a_refusal_does_not_blame_an_address_for_the_bodies_of_others(
    app: Flask, slots: BodySlots
) -> None:
    for number in range(6):
        assert slots.arriving.acquire(f"10.0.1.{number}")
    detail = send(app, io.BytesIO(b"x"), "10.0.0.2", CONTENT_LENGTH="1")[2]
    assert detail == b"too many request bodies are arriving at the same time"
