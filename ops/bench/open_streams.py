#!/usr/bin/env python3
"""
What one caller can hold or guess: python -m ops.bench.open_streams > figures.json

Streams that begin beyond the log or after its end, streams of one address, and guesses at a
recovery code by a caller who chooses the port in `X-Forwarded-For`. `ops/bench/results/denial.md`
has the figures; to measure an earlier commit, copy this file to a checkout of it.
"""

from __future__ import annotations

import contextlib
import json
import socket
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from service.store.migrate import migrate
from tests import servers
from tests.client import Client, register
from tests.running import free_port, running

PATIENCE = 5.0  # seconds
STREAMS = 80
GUESSES = 120
PROXIED = {"X-Forwarded-For": "203.0.113.7"}


def main() -> None:
    """Measure and print the figures."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        url = stack.enter_context(servers.postgres(Path(folder) / "postgres")).url
        redis_url = stack.enter_context(servers.valkey(Path(folder) / "valkey"))
        migrate(url)
        logs = Path(tempfile.mkdtemp(dir=folder))
        more = {"trusted_proxies": 1, "stream_port": free_port(), "calls_per_address": 10**6}
        service = stack.enter_context(running(url, redis_url, logs, **more))
        ports = [service.port, service.settings.stream_port or service.port]
        ada = register(service.port, "Ada")
        running_path = f"/v1/games/{_dealt(ada)}/stream"
        game, last = _finished(ada)
        path = f"/v1/games/{game}/stream"
        figures = {
            "stream from beyond the log": _stream(ports[1], f"{running_path}?after=1000", {}),
            "stream after the seal": _stream(ports[1], path, {"Last-Event-ID": str(last)}),
            f"open of {STREAMS} streams of one address": _held(ports, running_path),
            f"answered of {GUESSES} guesses, one address": _guessed(service.port, ported=False),
            f"answered of {GUESSES} guesses, one address with ports": _guessed(
                service.port, ported=True
            ),
        }
    print(json.dumps(figures, indent=1))


def _dealt(ada: Client) -> str:
    """Return a hand that waits for its player."""
    body = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}], "window_seconds": 0}
    game: str = ada.call("POST", "/v1/tables", body).json["game"]
    return game


def _finished(ada: Client) -> tuple[str, int]:
    """Return a finished hand, and the seq of its seal."""
    game = _dealt(ada)
    ada.call("POST", f"/v1/games/{game}/moves", {"type": "forfeit"})
    end = time.monotonic() + 30
    while (view := ada.call("GET", f"/v1/games/{game}").json)["status"] != "ended":
        assert time.monotonic() < end, "the hand does not end"
        time.sleep(0.1)
    return game, view["version"] - 1


def _stream(port: int, path: str, headers: Mapping[str, str]) -> str:
    """Return the status of a stream, and when it ended."""
    began = time.monotonic()
    with contextlib.closing(_open(port, path, headers)) as connection:
        received = b""
        with contextlib.suppress(TimeoutError):
            while data := connection.recv(1 << 16):
                received += data
                whole = b"content-length: " in received.lower() or b" 204 " in received[:20]
                if whole or received.endswith(b"\r\n0\r\n\r\n"):
                    break
                connection.settimeout(max(0.01, PATIENCE - (time.monotonic() - began)))
            else:
                return f"{_status(received)}, ended by the server"
        waited = time.monotonic() - began
        open_ = waited >= PATIENCE - 0.1
        return f"{_status(received)}, {f'open after {PATIENCE:.0f} s' if open_ else 'ended'}"


def _held(ports: list[int], path: str) -> str:
    """Return how many streams of a running hand one address holds at once, over both processes."""
    statuses = []
    with ExitStack() as stack:
        for number in range(STREAMS):
            connection = _open(ports[number % 2], f"{path}?after=1", PROXIED)
            stack.callback(connection.close)
            with contextlib.suppress(TimeoutError):
                statuses.append(_status(connection.recv(1 << 12)))
    return str(statuses.count("200"))


def _guessed(port: int, *, ported: bool) -> str:
    """Return how many guesses at a recovery code were answered with another status than 429."""
    host, statuses = "198.51.100.9" if ported else "198.51.100.8", []
    for number in range(GUESSES):
        sent = f"{host}:{40000 + number}" if ported else host
        body = {"recovery": f"{number:064x}"}
        headers = {"X-Forwarded-For": sent}
        # A connection of its own: the server may close that of a refused call.
        answer = Client(port=port).call("POST", "/v1/players/recover", body, headers)
        statuses.append(answer.status)
    return str(sum(status != 429 for status in statuses))


def _open(port: int, path: str, headers: Mapping[str, str]) -> socket.socket:
    lines = [f"GET {path} HTTP/1.1", "Host: x", "Accept: text/event-stream"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    connection.sendall("\r\n".join((*lines, "", "")).encode())
    return connection


def _status(received: bytes) -> str:
    return received.split(b" ", 2)[1].decode() if received else "none"


if __name__ == "__main__":
    main()
