#!/usr/bin/env python3
"""
Moves over HTTP beside a bare view and append: python -m ops.bench.http_moves [--rounds N].

Closed-loop clients over keep-alive HTTP play both seats of whole hands: each reads the view of
the seat on turn and posts its first legal move with an Idempotency-Key. The same clients then
ask a bare Flask application (`bare_view`) under the same server program: a read by primary key,
an append of two events. Both are measured in turn, against one durable PostgreSQL, and CPU time
is read from /proc: on a shared machine it says more than a rate.

With --against REF the service of another commit takes the place of the bare application.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import multiprocessing
import os
import random
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import psycopg

from ops.bench import bare_view, two_commits
from ops.bench.services import durable_postgres, unlimited_service
from service.bots.bot import with_settings
from service.bots.simple import LOWEST
from service.local.programs import environment_of, programs
from service.rulesets.catalogue import definition
from service.runtime.config import Settings
from tests import servers
from tests.running import free_port, wait_for

CLIENTS = 8
LOAD = 0.7
"""Share of the full rate at which the slowest hundredth of answers is measured."""

_TICK = os.sysconf("SC_CLK_TCK")
_TABLES = """
    SELECT sum(pg_total_relation_size(c.oid))::bigint
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND n.nspname = 'public'
"""


@dataclass(slots=True, kw_only=True)
class Figures:
    """The measures of clients: seconds of each GET and POST, and CPU seconds of the processes."""

    seconds: float = 0.0
    reads: list[float] = field(default_factory=list)
    moves: list[float] = field(default_factory=list)
    cpu: dict[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Return moves a second."""
        return len(self.moves) / self.seconds

    def cpu_of(self, part: str) -> float:
        """Return milliseconds of CPU time per request, a GET or a POST."""
        return self.cpu[part] * 1e3 / (len(self.moves) + len(self.reads))

    def add(self, other: Figures) -> None:
        """Add the figures of another round."""
        self.seconds += other.seconds
        self.reads += other.reads
        self.moves += other.moves
        for part, seconds in other.cpu.items():
            self.cpu[part] = self.cpu.get(part, 0.0) + seconds


class Connection:
    """
    One keep-alive connection; cheaper than the standard library's client.

    `source` is an address of its own: the service limits the long polls of an address.
    """

    def __init__(self, port: int, source: str = "127.0.0.1") -> None:
        self._socket = socket.create_connection(
            ("127.0.0.1", port), timeout=60, source_address=(source, 0)
        )
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(
        self, method: str, path: str, body: Any = None, *, token: str = "", key: str = ""
    ) -> Any:
        """Return the JSON of an answer; raises ValueError unless it is a success."""
        sent = b"" if body is None else orjson.dumps(body)
        lines = [f"{method} {path} HTTP/1.1", "Host: bench"]
        lines += [f"Authorization: Bearer {token}"] if token else []
        lines += [f"Idempotency-Key: {key}"] if key else []
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(sent)}"]
        self._socket.sendall("\r\n".join((*lines, "", "")).encode() + sent)
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._more()
        head = received[:end].lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        while len(received) < end + 4 + length:
            received += self._more()
        if not head.startswith(b"http/1.1 2"):
            raise ValueError(f"{method} {path}: {received!r}")
        return orjson.loads(received[end + 4 :])

    def _more(self) -> bytes:
        data = self._socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the server closed the connection")
        return data

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


@dataclass(slots=True, kw_only=True)
class Pace:
    """When a client stops, and the mean seconds from one of its moves to the next; 0: at once."""

    end: float
    every: float = 0.0
    due: float = field(default_factory=time.monotonic)

    def wait(self) -> bool:
        """Return false at the end, else wait until the next move is due."""
        if self.every:
            self.due += random.expovariate(1 / self.every)
            time.sleep(max(0.0, self.due - time.monotonic()))
        return time.monotonic() < self.end


Json = dict[str, Any]
Choose = Callable[[Json, list[Json]], Json]
"""Returns a move of those listed in a view."""


def first_listed(_view: Json, moves: list[Json]) -> Json:
    """Return the first legal move: hands of many moves, most of them stalemates."""
    return moves[0]


def by_lowest() -> Choose:
    """Return the choice of the bot `lowest`: hands that end, of 90 moves."""
    rng, settings = random.Random(), definition("shithead").settings({})
    return lambda view, moves: LOWEST.choose(with_settings(view, settings), moves, rng)


def play_hands(port: int, pace: Pace, figures: Figures, choose: Choose = first_listed) -> None:
    """Play hands of two seats until the end, from one connection."""
    connection = Connection(port)
    tokens = [
        connection.call("POST", "/v1/players", {"name": f"Player {seat}"})["token"]
        for seat in range(2)
    ]
    opened = {"ruleset": "shithead", "seats": ["me", "open"], "window_seconds": 0}
    table = connection.call("POST", "/v1/tables", opened, token=tokens[0])
    path = f"/v1/tables/{table['id']}"
    game = connection.call("POST", f"{path}/seats", {}, token=tokens[1])["game"]
    while _play_hand(connection, f"/v1/games/{game}", tokens, pace, figures, choose):
        game = connection.call("POST", f"{path}/games", {}, token=tokens[0])["game"]["id"]
    connection.close()


def _play_hand(
    connection: Connection,
    path: str,
    tokens: list[str],
    pace: Pace,
    figures: Figures,
    choose: Choose,
) -> bool:
    """Play one hand; return whether it ended before the time did."""
    seat = 0
    while pace.wait():
        began = time.perf_counter()
        view = connection.call("GET", path, token=tokens[seat])
        figures.reads.append(time.perf_counter() - began)
        if view["status"] in ("ended", "aborted"):
            return True
        legal = [move for move in view["moves"] if move["type"] != "swap"]
        if legal:
            move = choose(view, legal)
            began = time.perf_counter()
            moved = connection.call(
                "POST", f"{path}/moves", move, token=tokens[seat], key=uuid4().hex
            )
            figures.moves.append(time.perf_counter() - began)
            view = moved["game"]
        seat = 1 - seat if view["turn"] is None else view["turn"]
    return False


def play_short_hands(port: int, pace: Pace, figures: Figures) -> None:
    """Play as `play_hands`, but by the choice of a bot, so that hands end."""
    play_hands(port, pace, figures, by_lowest())


def play_with_bots(port: int, pace: Pace, figures: Figures, count: int = 2) -> None:
    """Play hands against bots until the end, with long polls, by the choice of a bot."""
    source = f"127.{random.randint(1, 250)}.{random.randint(0, 250)}.1"
    connection, choose = Connection(port, source), by_lowest()
    token = connection.call("POST", "/v1/players", {"name": "Player"})["token"]
    seats = ["me", *[{"bot": "greedy"}] * count]
    opened = {"ruleset": "shithead", "seats": seats, "window_seconds": 0}
    while pace.wait():
        game = connection.call("POST", "/v1/tables", opened, token=token)["game"]
        view = connection.call("GET", f"/v1/games/{game}", token=token)
        while view["status"] not in ("ended", "aborted") and pace.wait():
            legal = [move for move in view["moves"] if move["type"] != "swap"]
            began = time.perf_counter()
            if legal:
                path, move = f"/v1/games/{game}/moves", choose(view, legal)
                view = connection.call("POST", path, move, token=token, key=uuid4().hex)["game"]
                figures.moves.append(time.perf_counter() - began)
            else:
                path = f"/v1/games/{game}?after={view['version']}&wait=20"
                view = connection.call("GET", path, token=token)
                figures.reads.append(time.perf_counter() - began)
    connection.close()


def ask_bare(port: int, pace: Pace, figures: Figures) -> None:
    """Read and append in turn until the end, from one connection."""
    connection, path = Connection(port), f"/streams/{uuid4()}"
    while pace.wait():
        began = time.perf_counter()
        connection.call("GET", path, token="-")
        figures.reads.append(time.perf_counter() - began)
        began = time.perf_counter()
        connection.call("POST", path, {"type": "play", "cards": ["7c"]}, token="-", key="-")
        figures.moves.append(time.perf_counter() - began)
    connection.close()


Client = Callable[[int, Pace, Figures], None]
WORK: Mapping[str, Client] = {
    "ours": play_hands,
    "short": play_short_hands,
    "bots": play_with_bots,
    "three": partial(play_with_bots, count=3),
    "bare": ask_bare,
}


def _clients(name: str, port: int, count: int, pace: tuple[float, float], results: Any) -> None:
    """Run clients in threads of this process, and send back what they measured."""
    end, every = time.monotonic() + pace[0], pace[1]
    all_figures = [Figures() for _ in range(count)]
    threads = [
        threading.Thread(target=WORK[name], args=(port, Pace(end=end, every=every), one))
        for one in all_figures
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = Figures(seconds=pace[0])
    for one in all_figures:
        whole.add(one)
    results.send(whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedService:
    """One of the two that are compared: its port, and the ids of its first processes by name."""

    name: str
    port: int
    roots: Mapping[str, int]

    def measure(self, seconds: float, clients: int, *, every: float = 0.0) -> Figures:
        """Return the figures of all clients together, with the CPU time of each part."""
        before = self._cpu_seconds()
        receiving, sending = multiprocessing.Pipe(duplex=False)
        arguments = (self.name, self.port, clients, (seconds, every), sending)
        child = multiprocessing.get_context("spawn").Process(target=_clients, args=arguments)
        child.start()
        sending.close()
        figures: Figures = receiving.recv()
        child.join()
        after = self._cpu_seconds()
        figures.cpu = {part: after[part] - before[part] for part in after}
        return figures

    def idle(self, seconds: float) -> dict[str, float]:
        """Return the CPU seconds of each part while this program calls nothing for a while."""
        before = self._cpu_seconds()
        time.sleep(seconds)
        after = self._cpu_seconds()
        return {part: after[part] - before[part] for part in after}

    def _cpu_seconds(self) -> dict[str, float]:
        return {part: _cpu(_family(root)) for part, root in self.roots.items()}


def _cpu(pids: list[int]) -> float:
    """Return the CPU seconds, user and system, of processes and of their ended children."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):  # ended meanwhile: counted with its parent
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(value) for value in fields[11:15])
    return total / _TICK


def _family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    try:
        threads = [*Path(f"/proc/{pid}/task").iterdir()]
        children = " ".join((thread / "children").read_text() for thread in threads).split()
    except OSError:
        return []
    return [pid, *(each for child in children for each in _family(int(child)))]


@contextlib.contextmanager
def _bare(url: str, settings: Settings) -> Iterator[tuple[int, int]]:
    """Run the bare application under the service's server program; yield port and process id."""
    port = free_port()
    command = [str(part) for part in programs(settings)[0].command[:-1]]
    command[command.index("--port") + 1] = str(port)
    child = subprocess.Popen(
        [*command, "ops.bench.bare_view:create"],
        env={**environment_of(settings), bare_view.ADDRESS: url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(partial(_answers, port), seconds=30)
        yield port, child.pid
    finally:
        child.terminate()
        child.wait()


def _answers(port: int) -> bool:
    try:
        Connection(port).call("GET", f"/streams/{uuid4()}")
    except OSError:
        return False
    return True


def main() -> None:
    """Measure both sides in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    parser.add_argument("--threads", type=int, default=_default_of("api_threads"))
    parser.add_argument("--processes", type=int, default=_default_of("api_processes"))
    parser.add_argument("--clients", type=int, default=CLIENTS, help="with --against")
    parser.add_argument("--against", metavar="REF", help="measure this commit and the checkout")
    options = parser.parse_args()
    if options.against:
        rate = partial(_rate, clients=options.clients, seconds=options.seconds)
        for line in two_commits.compare(options.against, rate, rounds=options.rounds):
            print(line, flush=True)
        return
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        postgres = stack.enter_context(durable_postgres(Path(folder)))
        url = postgres.url
        bare_url = postgres.url_of("bare")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE bare")
        with psycopg.connect(bare_url, autocommit=True) as connection:
            connection.execute(bare_view.SCHEMA)
        redis_url = stack.enter_context(servers.valkey(Path(folder) / "valkey"))
        sizes = {"api_threads": options.threads, "api_processes": options.processes}
        service = stack.enter_context(unlimited_service(url, redis_url, Path(folder), **sizes))
        bare_port, bare_pid = stack.enter_context(_bare(bare_url, service.settings))
        api_pid, database = service.children["API"].pid, postgres.process
        assert database is not None

        roots = {"API": api_pid, "PostgreSQL": database.pid}
        ours = ComparedService(name="ours", port=service.port, roots=roots)
        bare = ComparedService(name="bare", port=bare_port, roots={**roots, "API": bare_pid})
        for line in _table(ours, bare, url, rounds=options.rounds, seconds=options.seconds):
            print(line, flush=True)


def _rate(port: int, roots: Mapping[str, int], *, clients: int, seconds: float) -> Figures:
    return ComparedService(name="ours", port=port, roots=roots).measure(seconds, clients)


def _default_of(name: str) -> Any:
    return next(one.default for one in dataclasses.fields(Settings) if one.name == name)


def _table(
    ours: ComparedService, bare: ComparedService, url: str, *, rounds: int, seconds: float
) -> Iterator[str]:
    """Yield the lines of the table: rates, times, CPU time, the slowest answers, disk."""
    for side in (ours, bare):
        side.measure(2.0, CLIENTS)  # warm
    size, moves = _size(url), 0
    yield "| | moves/s | POST p50 | GET p50 | CPU of API a request | of PostgreSQL |"
    yield "| --- | --- | --- | --- | --- | --- |"
    rate = 0.0
    for clients in (CLIENTS, 1):
        sums, ratios = {side.name: Figures() for side in (ours, bare)}, []
        for _ in range(rounds):
            pair = [side.measure(seconds, clients) for side in (bare, ours)]
            ratios.append(pair[1].rate / pair[0].rate)
            for side, figures in zip((bare, ours), pair, strict=True):
                sums[side.name].add(figures)
        for name, figures in sums.items():
            yield f"| {name}, {clients} clients | {_row(figures)} |"
        yield f"| ratio, {clients} clients | {_ratios(sums['ours'], sums['bare'], ratios)} |"
        moves += len(sums["ours"].moves)
        rate = rate or sums["ours"].rate
    paced = ours.measure(seconds, CLIENTS, every=CLIENTS / (LOAD * rate))
    moves += len(paced.moves)
    for name, times in (("POST", paced.moves), ("GET", paced.reads)):
        percentiles = statistics.quantiles(times, n=100)
        p50, p99 = percentiles[49], percentiles[98]
        yield (
            f"{name} at {paced.rate / rate:.0%} of the full rate: p50 {_ms(p50)}, "
            f"p99 {_ms(p99)} ({p99 / p50:.1f} times)"
        )
    yield f"disk: {(_size(url) - size) / moves / 1000:.2f} KB a move, tables and indexes"


def _row(figures: Figures) -> str:
    cells = (
        f"{figures.rate:.0f}",
        *(_ms(statistics.median(times)) for times in (figures.moves, figures.reads)),
        *(f"{figures.cpu_of(part):.2f} ms" for part in ("API", "PostgreSQL")),
    )
    return " | ".join(cells)


def _ratios(ours: Figures, bare: Figures, rates: list[float]) -> str:
    pairs = ((ours.moves, bare.moves), (ours.reads, bare.reads))
    cells = (
        f"{ours.rate / bare.rate:.2f} ({min(rates):.2f}–{max(rates):.2f})",
        *(f"{statistics.median(one) / statistics.median(other):.2f}" for one, other in pairs),
        *(f"{ours.cpu_of(part) / bare.cpu_of(part):.2f}" for part in ("API", "PostgreSQL")),
    )
    return " | ".join(cells)


def _size(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(_TABLES).fetchone()
    return int(found[0]) if found else 0


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


if __name__ == "__main__":
    main()
