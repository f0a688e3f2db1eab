#!/usr/bin/env python3
"""
Appends of moves one by one and in groups: python -m ops.bench.group_commit.

Two processes with as many connections as those of the API append moves as the service does, each
client a thread with a game of its own that waits for each answer. *each* and *each again* send
every append by itself, *grouped* as the service does. One PostgreSQL is on the disk as it is, one
has flushes that take SLOW longer: a library that is loaded before the C library delays `fdatasync`
(needs a C compiler).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from textwrap import fill
from typing import Any, Final
from uuid import UUID, uuid4

from msgspec import Struct

from ops.bench.footprint import family, processor
from ops.bench.pages import WIDTH, write
from ops.bench.services import durable_postgres
from ops.bench.two_commits import interval
from service.application.calls import digest
from service.store.database import Database
from service.store.directory import Directory
from service.store.events import OutboxRow, StoredAnswer
from service.store.grouped_moves import GroupedMoves, Returned
from service.store.migrate import service_url
from service.store.postgres_events import PostgresStore
from service.store.summaries import EndColumns
from tests.streams import FIRST, append, commit, game_summary, register, token_of

PAGE = Path(__file__).parent / "results" / "group-commit.md"
CLIENTS: Final = (1, 8, 32, 128)
PROCESSES: Final = 2
SLOW: Final = 0.002
"""Seconds that the delayed flush takes longer."""

EACH: Final = "each"
CONNECTIONS: Final = 8
"""Connections of each process, as the service has by default."""

AGAIN: Final = "each again"
"""The same as *each*: its distance from *each* shows what the measurement cannot tell."""

GROUPED: Final = "grouped"
VARIANTS: Final = (EACH, AGAIN, GROUPED)
DISKS: Final = ("this disk", "slow flush")

OF_A_MOVE: Final[Mapping[str, Any]] = {
    "status": "playing",
    "turn": 1,
    "dealer": 0,
    "wake_kind": None,
    "wake_at": None,
    **dict.fromkeys(EndColumns.__annotations__),
}
"""The columns that an ordinary move sets."""

_SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");
    int result = real(fd);
    struct timespec pause = {0, %d};
    nanosleep(&pause, 0);
    return result;
}
"""


class Each(GroupedMoves):
    """Each move is sent by itself, on any connection."""

    def append(self, *arguments: Any) -> Returned:
        """Return what `append_game_move` returns for these arguments."""
        rows = self._database.change("append_game_move", *arguments)
        returned: Returned = rows[0][0]
        return returned


class Game(Struct):
    """A game that one client appends to."""

    token: bytes
    player: UUID
    identity: UUID
    version: int
    last: bytes

    def move(self, store: PostgresStore) -> None:
        """Append two events of 450 bytes, with an answer and an outbox row."""
        lines = [b'{"n":%d,"text":"%b"}' % (self.version + n, b"x" * 300) for n in range(2)]
        made = append(
            self.identity, *lines, expected=self.version, after=self.last, summary=OF_A_MOVE
        )
        key, reached = os.urandom(32), self.version + 2
        stored = StoredAnswer(caller=self.player, request_key=key, body_hash=key, sealed=b"x" * 100)
        row = OutboxRow(stream=self.identity, version=reached, topic="game")
        store.commit(commit(made, answer=stored, outbox=(row,), token=self.token))
        self.version, self.last = reached, made.events[-1]


def new_game(store: PostgresStore, player: UUID) -> Game:
    """Return a stored game with one event."""
    identity = uuid4()
    store.commit(commit(append(identity, FIRST, summary=game_summary())))
    return Game(
        token=digest(token_of(player)),
        player=player,
        identity=identity,
        version=1,
        last=FIRST,
    )


def serve(urls: dict[str, str], pipe: Connection) -> None:
    """Append as asked: disk, variant, clients, seconds; send back the seconds of each append."""
    stores, games, players = dict[tuple[str, str], PostgresStore](), dict[str, list[Game]](), {}
    for disk, url in urls.items():
        for variant in VARIANTS:
            used = Database(url, size=CONNECTIONS)
            store = stores[disk, variant] = PostgresStore(used)
            if variant != GROUPED:
                store._moves = Each(used)  # noqa: SLF001 - what it is compared with
        players[disk] = register(Directory(Database(url, size=1)))
        games[disk] = []
    pipe.send(None)
    while (asked := pipe.recv()) is not None:
        disk, variant, clients, seconds = asked
        store, known = stores[disk, variant], games[disk]
        while len(known) < clients:
            known.append(new_game(stores[disk, EACH], players[disk]))
        pipe.send(appended(store, known[:clients], seconds))


def appended(store: PostgresStore, games: list[Game], seconds: float) -> list[float]:
    """Return the seconds of each append of as many clients as there are games."""
    times: list[list[float]] = [[] for _ in games]
    end = time.monotonic() + seconds

    def run(number: int) -> None:
        while time.monotonic() < end:
            began = time.perf_counter()
            games[number].move(store)
            times[number].append(time.perf_counter() - began)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(games))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [one for some in times for one in some]


@contextmanager
def delayed(folder: Path) -> Iterator[None]:
    """Let programs that start in the block take SLOW longer for each `fdatasync`."""
    source, library = folder / "delay.c", folder / "delay.so"
    source.write_text(_SOURCE % (SLOW * 1e9))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    folder.chmod(0o755)
    os.environ["LD_PRELOAD"] = str(library)
    try:
        yield
    finally:
        del os.environ["LD_PRELOAD"]


class Disk:
    """A PostgreSQL, and what its processes use."""

    def __init__(self, url: str, root: int) -> None:
        self.url, self._root = url, root

    def used(self) -> float:
        """Return the seconds of processor time of all its processes so far."""
        return sum(map(processor, family(self._root)))


class Measured(Struct):
    """One measurement."""

    rate: float
    times: list[float]
    used: float


def measure(
    pipes: list[Connection], name: str, disk: Disk, variant: str, clients: int, seconds: float
) -> Measured:
    """Return what a variant does with some clients, divided between the processes."""
    used = disk.used()
    shares = [(clients + number) // len(pipes) for number in range(len(pipes))]
    asked = [(pipe, share) for pipe, share in zip(pipes, shares, strict=True) if share]
    for pipe, share in asked:
        pipe.send((name, variant, share, seconds))
    times = [one for pipe, _ in asked for one in pipe.recv()]
    return Measured(len(times) / seconds, times, (disk.used() - used) / len(times))


def rounds(options: argparse.Namespace, folder: Path) -> dict[tuple[str, int, str], list[Measured]]:
    """Return the measurements of all rounds, by disk, clients and variant."""
    found: dict[tuple[str, int, str], list[Measured]] = {}
    with ExitStack() as stack:
        disks = {}
        for name in DISKS:
            with delayed(folder) if name == DISKS[1] else ExitStack():
                postgres = stack.enter_context(durable_postgres(folder / name.replace(" ", "-")))
            assert postgres.process is not None
            disks[name] = Disk(postgres.url, postgres.process.pid)
        urls = {name: service_url(disk.url) for name, disk in disks.items()}
        pipes, spawn = list[Connection](), multiprocessing.get_context("spawn")
        for _ in range(PROCESSES):
            ours, theirs = spawn.Pipe()
            child = spawn.Process(target=serve, args=(urls, theirs))
            child.start()
            stack.callback(child.join)
            stack.callback(ours.send, None)
            ours.recv()
            pipes.append(ours)
        for number in range(options.rounds + 1):
            seconds = options.seconds if number else 0.3  # the first one warms up
            for name, disk in disks.items():
                for clients in options.clients:
                    for place in range(len(VARIANTS)):  # each variant is first as often as others
                        variant = VARIANTS[(place + number) % len(VARIANTS)]
                        one = measure(pipes, name, disk, variant, clients, seconds)
                        if number:
                            found.setdefault((name, clients, variant), []).append(one)
    return found


def table(
    found: dict[tuple[str, int, str], list[Measured]], clients_of: Sequence[int]
) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| disk | clients | | appends/s | of each, 95 % | p50 | p99 | CPU of PostgreSQL |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for disk, clients, variant in product(DISKS, clients_of, VARIANTS):
        made = found[disk, clients, variant]
        times = sorted(one for each in made for one in each.times)
        base = found[disk, clients, EACH]
        ratio = "1"
        if variant != EACH:
            low, middle, high = interval(
                [one.rate / other.rate for one, other in zip(made, base, strict=True)]
            )
            ratio = f"{middle:.2f} ({low:.2f}–{high:.2f})"
        cells = (
            f"{statistics.fmean(one.rate for one in made):,.0f}",
            ratio,
            f"{statistics.median(times) * 1e3:.2f} ms",
            f"{times[int(len(times) * 0.99)] * 1e3:.1f} ms",
            f"{statistics.fmean(one.used for one in made) * 1e3:.2f} ms",
        )
        yield f"| {disk} | {clients} | {variant} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table, or write it to the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each measurement")
    parser.add_argument("--clients", type=int, nargs="*", default=CLIENTS)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        lines = "\n".join(table(rounds(options, Path(folder)), options.clients))
    made = (
        f"Made by `python -m ops.bench.group_commit --rounds {options.rounds} --seconds "
        f"{options.seconds:g} --write` on two cores, load {load:.1f} before the start: appends as "
        f"those of a move, two events of 450 bytes with answer and outbox row, by {PROCESSES} "
        f"processes of {CONNECTIONS} connections, all variants in turn in each round. The slow "
        f"flush takes {SLOW * 1e3:g} ms longer."
    )
    if options.write:
        write(PAGE, f"# Group commit across requests\n\n{fill(made, WIDTH)}\n\n{lines}")
    else:
        print(lines)


if __name__ == "__main__":
    main()
