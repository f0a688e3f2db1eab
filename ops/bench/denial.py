#!/usr/bin/env python3
"""
Load that one anonymous caller can cause: python -m ops.bench.denial > figures.json

Five attacks on a service that is started for them: requests that stop in the middle of their
bodies, with the calls of other callers at the same time; reads of the longest possible hand; the
largest and most expensive bodies of every operation; webhooks with silent names; and the states
that a player can build up (`states.py`, which runs alone too). Takes about ten minutes.
`--page BEFORE.json NOW.json` prints the page that compares two of these files; to measure an
earlier commit, copy this file, `largest_bodies.py`, `long_hand.py`, `silent_names.py` and
`states.py` to a checkout of it. The last table of the page is made by `open_streams.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from uuid import UUID

from ops.bench.largest_bodies import largest_bodies
from ops.bench.long_hand import long_hand
from ops.bench.silent_names import silent_names
from ops.bench.states import states
from service.application.calls import RegisteredPlayer
from service.bootstrap import services_from
from service.store.migrate import migrate
from tests import servers
from tests.client import Client, register
from tests.running import Running, running

HALF_SENT = 130
CONNECTIONS = 6  # of HTTP/2
STREAMS = 100
PATIENCE = 5.0
READINGS = {
    "a view of the past": "?at={at}",
    "the audit of a move": "/audit/moves/{at}",
    "where a card was": "/audit/cards/Th",
    "what a seat knew": "/audit/knowledge?at={at}",
    "the transcript": "/transcript",
    "a thousand frames": "/replay?from={at}",
    "the audit of the game": "/audit",
}

Figures = dict[str, dict[str, float | None]]


def main() -> None:
    """Measure and print figures, or print the page that compares two sets of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", nargs=2, type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.page:
        before, now = (json.loads(path.read_text()) for path in options.page)
        print("\n".join(page(before, now)))
        return
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        url = stack.enter_context(servers.postgres(Path(folder) / "postgres")).url
        redis_url = stack.enter_context(servers.valkey(Path(folder) / "valkey"))
        migrate(url)
        logs = Path(tempfile.mkdtemp(dir=folder))
        service = stack.enter_context(
            running(url, redis_url, logs, api_threads=64, rate_limits=False, workers=0)
        )
        figures: Figures = readings(service)
        group = service.children["API"].pid
        token = register(service.port, "Ada").token or ""
        figures |= largest_bodies(service.port, token, partial(_processor, group))
        for name, attack in (("http/1", half_sent), ("http/2", half_sent_2)):
            with ExitStack() as attacking:
                attack(service.port, attacking)
                time.sleep(1.0)
                for call, answered in seconds_of_others(service.port).items():
                    figures[f"{name}: {call}"] = {"seconds": answered}
            time.sleep(1.0)
        figures |= silent_names(url, redis_url)
        figures |= states(url)
    print(json.dumps(figures, indent=1))


def half_sent(port: int, stack: ExitStack) -> None:
    """Open requests that stop after the first byte of their bodies."""
    head = "POST /v1/players HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    for _ in range(HALF_SENT):
        client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        client.sendall(f"{head}Content-Length: 1000\r\n\r\n{{".encode())


def half_sent_2(port: int, stack: ExitStack) -> None:
    """Open many such requests on each of a few connections, over HTTP/2 without TLS."""
    path = b"/v1/players"
    block = b"\x83\x86\x04" + bytes([len(path)]) + path + b"\x01\x01x"  # POST, http, path, host
    kind = b"application/json"
    block += b"\x0f\x10" + bytes([len(kind)]) + kind  # content-type
    for _ in range(CONNECTIONS):
        client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        with contextlib.suppress(ConnectionError):
            client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(4, 0, 0, b""))
            for number in range(STREAMS):
                client.sendall(_frame(1, 4, 2 * number + 1, block))
                client.sendall(_frame(0, 0, 2 * number + 1, b"{"))


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def seconds_of_others(port: int) -> dict[str, float | None]:
    """Return after how many seconds each call of others is answered, None if it is not."""
    return {
        "/healthz": _seconds(port, "GET", "/healthz"),
        "GET /v1/bots": _seconds(port, "GET", "/v1/bots"),
        "POST /v1/players": _seconds(port, "POST", "/v1/players", {"name": "Ada"}),
    }


def _seconds(port: int, method: str, path: str, body: object = None) -> float | None:
    sent = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        client.sendall(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
        try:
            status = int(client.recv(65536).split(b" ", 2)[1])
        except (TimeoutError, IndexError):
            return None
    return time.monotonic() - began if status in (200, 201) else None


def readings(service: Running) -> Figures:
    """Return the processor seconds of the API for readings of a very long running hand."""
    clients = [register(service.port, name) for name in ("Ada", "Bob", "Cy")]
    services = services_from(service.settings)
    people = [
        RegisteredPlayer(id=UUID(client.get("/v1/players/me")["id"]), name="") for client in clients
    ]
    game = long_hand(services, people)
    services.close()
    client = clients[0]
    found: Figures = {}
    version = 0
    for _ in range(4):  # on new connections, so that both processes load the game
        client.close()
        version = client.get(f"/v1/games/{game}")["version"]
    group = service.children["API"].pid
    for name, path in READINGS.items():
        where = [f"/v1/games/{game}{path.format(at=version - 999 - step)}" for step in range(3)]
        taken = [_processor(group, partial(_read, client, one)) for one in where]
        found[name] = {"first": taken[0], "again": taken[-1]}
    return found


def _read(client: Client, path: str) -> None:
    answer = client.call("GET", path)  # over one connection: always the same process
    if answer.status != 200:
        raise ValueError(f"{path}: {answer.status} {answer.body[:200]!r}")


def _processor(group: int, act: Callable[[], None]) -> float:
    before = _used(group)
    act()
    return _used(group) - before


def _used(group: int) -> float:
    """Return the processor seconds of all processes of a group."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


HEAD = f"""# Load that one anonymous caller can cause

Made by `python -m ops.bench.denial`, before (commit 1fb86fa) and now, two API processes of 64
threads sharing two cores with other work.

**Half-sent bodies.** {HALF_SENT} requests over HTTP/1.1 that stop after the first byte of their
body, and {CONNECTIONS} connections of HTTP/2 with {STREAMS} such requests each. A second later a
call is sent from the same address; the seconds until its answer (–: none within five):

| attack: call | before | now |
| --- | --- | --- |"""

LONG = """
**A very long running hand.** Seconds of processor time of the API for one reading of a hand of
19,000 actions, by a seat: the first one, and one that asks for another version.

| reading | before: first | again | now: first | again |
| --- | --- | --- | --- | --- |"""

BODIES = """
**The largest body of every operation**, before (commit f3530cc) and now. Seconds of processor
time of the API for the most expensive body that was found for an operation, with any token and
an invented game, table or dispute, and the bytes of this body. Bodies of 256, 64 and 32 KiB with
lists, objects, names and texts at every place. An upload, of up to 32 MiB, is received in one of
the slots for bodies and verified in one of the slots for verifications:

| operation | before | bytes | now | bytes |
| --- | --- | --- | --- | --- |"""


SILENCE = """
**Silent name servers.** The longest of ten delays from a deal to the webhook's event, in seconds
(–: more than 45), while another address has set webhooks whose names nobody answers for, before
(commit a3ccab95) and now:

| other webhooks | before | now |
| --- | --- | --- |"""


STATES = """
**States that one player or address can build up**, before (commit af44939c) and now, in one process
(`ops/bench/states.py`). A number of steps is – if more than 40 erasures did not let the run end:

| call or state | before | now |
| --- | --- | --- |"""


def page(before: Figures, now: Figures) -> Iterator[str]:
    """Yield the page."""
    yield HEAD
    yield from _seconds_rows(before, now, webhooks=False)
    yield LONG
    for name in before:
        if "first" in before[name]:
            cells = [_of(one, name, which) for one in (before, now) for which in ("first", "again")]
            yield f"| {name} | {' | '.join(cells)} |"
    yield BODIES
    for name in before:
        if "processor" in before[name]:
            cells = [
                f"{_of(one, name, 'processor')} | {one[name]['bytes']}" for one in (before, now)
            ]
            yield f"| {name} | {' | '.join(cells)} |"
    yield SILENCE
    yield from _seconds_rows(before, now, webhooks=True)
    yield STATES
    for name in now:
        if "state" in now[name]:
            yield f"| {name} | {_of(before, name, 'state')} | {_of(now, name, 'state')} |"


def _seconds_rows(before: Figures, now: Figures, *, webhooks: bool) -> Iterator[str]:
    for name in before:
        if "seconds" in before[name] and name.startswith("webhooks") is webhooks:
            yield f"| {name} | {_of(before, name, 'seconds')} | {_of(now, name, 'seconds')} |"


def _of(figures: Figures, name: str, which: str) -> str:
    value = figures[name][which]
    return "–" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
