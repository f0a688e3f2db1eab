#!/usr/bin/env python3
"""
A thousand open event streams: python -m ops.bench.many_streams [--own] [--streams N] [--write].

With `--own` they are the own streams of as many players, each of whom watches one of the games; a
notice is compared with the commit of the event that led to its version. The streams of one process
follow games that are played over HTTP beside them, at a steady rate. The delay is that from the
commit in PostgreSQL (`pg_xact_commit_timestamp`) to the arrival of the event at the reader, a
process of its own on the same machine. Memory is what the stream process grows by (proportional set
size) for each open stream.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import selectors
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import fill
from typing import Any
from uuid import UUID, uuid4

import psycopg

from ops.bench.footprint import family, memory, processor
from ops.bench.http_moves import Connection
from ops.bench.pages import WIDTH, write
from service.local.servers import EmbeddedPostgres
from service.store.migrate import migrate
from tests import servers
from tests.running import free_port, running

PAGE = Path(__file__).parent / "results" / "streams.md"
GAMES = 50
"""Games that are followed; each has an equal share of the streams."""

ADDRESSES = 8
"""Loopback addresses from which the readers come: one address may hold part of the slots only."""

MAX_DELAY, MAX_MEMORY = 0.050, 60_000
OWN_PAGE = PAGE.with_name("own_streams.md")
MAX_OWN_MEMORY = 40_000
_SEQ = re.compile(rb"^id: (\d+)$", re.MULTILINE)
_MOVED = re.compile(rb'"type":"game_moved","id":"([0-9a-f-]{36})","version":(\d+)')

Arrival = tuple[str, int, float]
"""The game and the seq of an event, and when it arrived, in seconds since 1970."""


def follow(port: int, games: list[str], count: int, tokens: list[str], pipe: Any) -> None:
    """
    Open streams, report that, and send back all arrivals when asked.

    With `tokens`, one for each stream, they are the own streams of these players.
    """
    selector, arrivals = selectors.DefaultSelector(), list[Arrival]()
    for number in range(count):
        source = (f"127.0.0.{2 + number % ADDRESSES}", 0)
        opened = socket.create_connection(("127.0.0.1", port), timeout=60, source_address=source)
        game = games[number % len(games)]
        opened.sendall(_request(game, tokens[number] if tokens else None))
        first = opened.recv(1 << 16)
        if not first.startswith(b"HTTP/1.1 200"):
            raise ValueError(f"stream {number}: {first!r}")
        selector.register(opened, selectors.EVENT_READ, game)
    selector.register(pipe, selectors.EVENT_READ, None)
    pipe.send(None)
    while True:
        for key, _ in selector.select():
            if key.data is None:
                pipe.recv()
                pipe.send(arrivals)
                return
            assert isinstance(key.fileobj, socket.socket)
            received, at = key.fileobj.recv(1 << 16), time.time()
            arrivals += [(key.data, int(seq), at) for seq in _SEQ.findall(received)]
            arrivals += [
                (game.decode(), int(version) - 1, at)
                for game, version in _MOVED.findall(received)
                if b'"snapshot"' not in received
            ]


def _request(game: str, token: str | None) -> bytes:
    """Return the request of a stream of a game, or of the own stream of the token's player."""
    if token is None:
        return f"GET /v1/games/{game}/stream HTTP/1.1\r\nHost: bench\r\n\r\n".encode()
    return (
        f"GET /v1/players/me/stream?watch={game} HTTP/1.1\r\nHost: bench\r\n"
        f"Accept: application/x-ndjson\r\nAuthorization: Bearer {token}\r\n\r\n"
    ).encode()


def dealt(port: int, tokens: list[str]) -> str:
    """Return a new game of two players at a table of their own."""
    connection = Connection(port)
    body = {"ruleset": "shithead", "seats": ["me", "open"], "window_seconds": 0}
    table = connection.call("POST", "/v1/tables", body, token=tokens[0])
    seated = connection.call("POST", f"/v1/tables/{table['id']}/seats", {}, token=tokens[1])
    connection.close()
    return str(seated["game"])


def play(port: int, games: list[str], tokens: list[str], rate: float, seconds: float) -> int:
    """Play moves in all games in turn at a steady rate; return how many."""
    connection, left, moves = Connection(port), list(games), 0
    due = time.monotonic()
    end = due + seconds
    while left and time.monotonic() < end:
        due += 1 / rate
        time.sleep(max(0.0, due - time.monotonic()))
        game = left[moves % len(left)]
        if played(connection, f"/v1/games/{game}", tokens):
            moves += 1
        else:
            left.remove(game)
    connection.close()
    return moves


def played(connection: Connection, path: str, tokens: list[str]) -> bool:
    """Post the first legal move of the first seat that has one; return false at the end."""
    for token in tokens:
        view = connection.call("GET", path, token=token)
        legal = [move for move in view["moves"] if move["type"] != "swap"]
        if legal:
            connection.call("POST", f"{path}/moves", legal[0], token=token, key=uuid4().hex)
            return True
    return False


def commits(url: str, games: list[str]) -> dict[tuple[str, int], float]:
    """Return when each event was committed, in seconds since 1970."""
    query = (
        "SELECT stream_id, seq, extract(epoch FROM pg_xact_commit_timestamp(xmin))"
        " FROM events WHERE stream_id = ANY(%s)"
    )
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(query, ([UUID(game) for game in games],)).fetchall()
        return {(str(game), seq): float(at) for game, seq, at in found}


def lines(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Yield the lines of the table."""
    with ExitStack() as stack:
        postgres = EmbeddedPostgres(folder / "postgres")
        stack.callback(postgres.stop)
        with psycopg.connect(postgres.start(), autocommit=True) as session:
            session.execute("ALTER SYSTEM SET track_commit_timestamp = on")
        postgres.stop()
        url = postgres.start()
        migrate(url)
        redis_url = stack.enter_context(servers.valkey(folder / "valkey"))
        service = stack.enter_context(
            running(
                url,
                redis_url,
                folder,
                rate_limits=False,
                stream_port=free_port(),
                stream_threads=options.streams + 24,
            )
        )
        port, streams = service.port, service.children["streams"].pid
        connection = Connection(port)
        names = ("Ada", "Bob")
        tokens = [connection.call("POST", "/v1/players", {"name": n})["token"] for n in names]
        games = [dealt(port, tokens) for _ in range(GAMES)]
        readers = [
            connection.call("POST", "/v1/players", {"name": "R"})["token"]
            for _ in range(options.streams if options.own else 0)
        ]
        before = sum(map(memory, family(streams)))
        ours, theirs = multiprocessing.Pipe()
        arguments = (service.settings.stream_port, games, options.streams, readers, theirs)
        reader = multiprocessing.get_context("spawn").Process(target=follow, args=arguments)
        reader.start()
        stack.callback(reader.join)
        stack.callback(reader.kill)
        ours.recv()
        play(port, games, tokens, options.rate, 3.0)  # warm
        held = sum(map(memory, family(streams))) - before
        idle = _busy(streams, lambda: time.sleep(5.0))
        began, moves = time.time(), 0

        def playing() -> None:
            nonlocal moves
            moves = play(port, games, tokens, options.rate, options.seconds)

        busy = _busy(streams, playing)
        time.sleep(1.0)
        ours.send(None)
        arrivals: list[Arrival] = ours.recv()
        committed = commits(url, games)
    delays = [
        at - committed[game, seq] for game, seq, at in arrivals if committed[game, seq] > began
    ]
    wanted = sum(at > began for at in committed.values()) * options.streams / GAMES
    percentiles = statistics.quantiles(delays, n=100)
    each, p99 = held / options.streams, percentiles[98]
    most = MAX_OWN_MEMORY if options.own else MAX_MEMORY
    yield "| | figure | target | reached |"
    yield "| --- | --- | --- | --- |"
    for what, figure, target, reached in (
        ("from commit to arrival, median", f"{percentiles[49] * 1e3:.1f} ms", "", ""),
        ("the same, 99 %", f"{p99 * 1e3:.1f} ms", "50 ms", _yes(p99 <= MAX_DELAY)),
        ("memory a stream", f"{each / 1e3:.0f} KB", f"{most // 1000} KB", _yes(each <= most)),
        ("events that arrived", f"{len(delays) / wanted:.1%} of {wanted:.0f}", "", ""),
        (
            f"core of the stream process, {moves / options.seconds:.0f} moves/s",
            f"{busy:.0%}",
            "",
            "",
        ),
        ("the same without moves", f"{idle:.0%}", "", ""),
    ):
        yield f"| {what} | {figure} | {target} | {reached} |"


def _busy(root: int, act: Callable[[], None]) -> float:
    """Return what share of a core a process and its children take while `act` runs."""
    used, began = sum(map(processor, family(root))), time.monotonic()
    act()
    return (sum(map(processor, family(root))) - used) / (time.monotonic() - began)


def _yes(reached: bool) -> str:
    return "yes" if reached else "no"


def main() -> None:
    """Print the table, or write it to the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--own", action="store_true", help="the own streams of players")
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=20.0, help="moves a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        table = "\n".join(lines(options, Path(folder)))
    own = "--own " if options.own else ""
    introduction = (
        f"Made by `python -m ops.bench.many_streams {own}--streams {options.streams} --rate "
        f"{options.rate:g} --seconds {options.seconds:g} --write`: {options.streams} streams of "
        f"{GAMES} games in one stream process, client, service and PostgreSQL on two cores, load "
        f"{load:.1f} before the start."
    )
    if options.own:
        introduction += (
            " Each is the own stream of a player who watches one of the games. Events of one move "
            "are one notice, so fewer notices than events arrive."
        )
    page, kind = (OWN_PAGE, "own") if options.own else (PAGE, "event")
    if options.write:
        write(page, f"# A thousand open {kind} streams\n\n{fill(introduction, WIDTH)}\n\n{table}")
    else:
        print(table)


if __name__ == "__main__":
    main()
