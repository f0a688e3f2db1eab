"""Load: tables played over HTTP, checkpoints and live streams watched; every answer recorded."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import UUID

from ops.bench.faults.calls import Address, Calls, Notes
from ops.bench.faults.table import Table

END_SECONDS = 600.0
"""Limit for games to end after the last fault."""


class Load:
    """People at tables, hand after hand, until `end`; and readers of the live streams."""

    def __init__(
        self,
        notes: Notes,
        addresses: Callable[[], tuple[Address, ...]],
        *,
        tables: int,
        seed: int,
        readers: int = 0,
        reading: Callable[[], tuple[Address, ...]] | None = None,
    ) -> None:
        self._notes = notes
        self._addresses = addresses
        self._count = tables
        self._seed = seed
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(max(1, tables + readers + 1))
        self._playing: list[Future[None]] = []
        self.readers = [
            Reader(notes, reading or addresses, random.Random(f"{seed} reader {n}"))
            for n in range(readers)
        ]

    def begin(self) -> None:
        """Start all tables and readers."""
        rulesets = self.calls(0).get("/v1/rulesets?limit=200")["items"]
        playable = [each for each in rulesets if each["playable"]]
        self._playing = [self._pool.submit(self._tables, n, playable) for n in range(self._count)]
        self._playing.append(self._pool.submit(self._watch))
        self._playing += [
            self._pool.submit(reader.read_until, self._over) for reader in self.readers
        ]

    def end(self) -> None:
        """Begin no further hand, and wait until those that run have ended."""
        self._over.set()
        end = time.monotonic() + END_SECONDS
        for one in self._playing:
            one.result(timeout=max(1.0, end - time.monotonic()))
        self._pool.shutdown()

    def stop(self) -> None:
        """Begin no further hand."""
        self._over.set()

    def calls(self, number: int) -> Calls:
        """Return a client with its own random numbers."""
        return Calls(self._notes, self._addresses, random.Random(f"{self._seed} {number}"))

    def _tables(self, number: int, rulesets: list[dict[str, Any]]) -> None:
        """Play table after table and note errors."""
        rng = random.Random(f"{self._seed} table {number}")
        turn = number
        while not self._over.is_set():
            ruleset = rulesets[(turn * 7 + self._seed) % len(rulesets)]
            turn += self._count
            calls = self.calls(1000 + turn)
            try:
                Table(self._notes, calls, rng, ruleset=ruleset).play()
            except Exception as error:  # noqa: BLE001 - every error is a finding
                self._notes.wrong.append(
                    f"a table of {ruleset['id']}: {type(error).__name__}: {error}"
                )

    def _watch(self) -> None:
        """Keep every checkpoint that the public log shows."""
        calls = self.calls(1)
        while not self._over.wait(0.3):
            answer = calls.once("GET", "/v1/log/checkpoint", None, None, {})
            seen = self._notes.checkpoints
            if answer is not None and answer[0] == 200 and answer[1] not in seen[-1:]:
                seen.append(answer[1])


class Reader:
    """A live reader: follows one game after another by server-sent events, and reconnects."""

    def __init__(
        self, notes: Notes, addresses: Callable[[], tuple[Address, ...]], rng: random.Random
    ) -> None:
        self._notes = notes
        self._addresses = addresses
        self._rng = rng
        self.lines: dict[UUID, list[bytes]] = {}  # of the games read, from their first event
        self.ended: set[UUID] = set()  # games whose stream was read to its end
        self.counts = Counter[str]()

    def read_until(self, over: threading.Event) -> None:
        """Follow games until `over`, the last of them to its end."""
        while not over.is_set():
            game = self._newest()
            if game is None:
                time.sleep(0.1)
            else:
                self._follow(UUID(game[0]), game[1])

    def _newest(self) -> tuple[str, str] | None:
        with self._notes.lock:
            games = list(self._notes.games.items())[-8:]
        unread = [game for game in games if UUID(game[0]) not in self.lines]
        return self._rng.choice(unread) if unread else None

    def _follow(self, game: UUID, token: str) -> None:
        self.lines[game] = []
        self.counts["streams"] += 1
        end = time.monotonic() + END_SECONDS
        while time.monotonic() < end:
            try:
                if self._connected(game, token):
                    self.ended.add(game)
                    return
            except (OSError, http.client.HTTPException):
                self.counts["connections lost"] += 1
            time.sleep(self._rng.uniform(0.05, 0.4))
        self._notes.wrong.append(f"the stream of {game} did not end")

    def _connected(self, game: UUID, token: str) -> bool:
        """Read one connection; return whether the stream came to the end of the game."""
        known = self.lines[game]
        headers = {"Authorization": f"Bearer {token}"}
        if known:
            headers["Last-Event-ID"] = str(len(known) - 1)
        connection = http.client.HTTPConnection(*self._rng.choice(self._addresses()), timeout=40)
        try:
            connection.request("GET", f"/v1/games/{game}/stream", headers=headers)
            response = connection.getresponse()
            if response.status == 204:
                return True
            if response.status != 200:
                self.counts[f"answers {response.status}"] += 1
                return False
            self.counts["connections"] += 1
            while line := response.readline():
                if not line.endswith(b"\n"):
                    return False  # the connection broke within the line
                if line.startswith(b"data: "):
                    known.append(line[6:].rstrip(b"\n"))
                elif line.startswith(b"event: end"):
                    return True
            return False
        finally:
            connection.close()
