"""A backup of a running server restored elsewhere: games continue, and the log is one tree."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from service.runtime.config import variable
from service.shx.tlog.checkpoint import Checkpoint, parse_checkpoint
from service.shx.tlog.notes import parse_note
from service.shx.tlog.tiles import Tile, TiledTree
from tests.client import Client, open_table, play_on, register
from tests.forked_command import run_command

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[2]
SHORT: dict[str, Any] = {"window_seconds": 0, "turn_limit": 30}
"""Options of tables whose games end after 30 turns, with bots that do not wait."""


def environment() -> dict[str, str]:
    """Return the environment of this process without settings of the service."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(variable(""))}
    return ours | {"PYTHONPATH": str(ROOT)}


def shithead(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    return run_command(words, environment=environment(), folder=ROOT)


@contextmanager
def up(data: Path) -> Iterator[int]:
    """Run the whole service with its data in a folder, and yield its port."""
    output = data.with_name(data.name + ".output")
    with output.open("w") as file:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "service.cli",
                "up",
                "--port",
                "0",
                "--data",
                data,
                "--workers",
                "1",
            ],
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment(),
        )
    try:
        end = time.monotonic() + 120
        while "Start a game" not in output.read_text():
            assert process.poll() is None and time.monotonic() < end, output.read_text()
            time.sleep(0.1)
        yield int(output.read_text().split("\n", 1)[0].rsplit(":", 1)[1])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def checkpoint(port: int, *, at_least: int = 0) -> tuple[bytes, Checkpoint]:
    """Wait until a log has `at_least` leaves, and return its newest checkpoint."""
    for _ in range(300):
        answer = Client(port=port).call("GET", "/v1/log/checkpoint")
        if answer.status == 200:
            found = parse_checkpoint(parse_note(answer.body).text)
            if found.size >= at_least:
                return answer.body, found
        time.sleep(0.2)
    raise AssertionError(f"the log has fewer than {at_least} leaves")


def root_of(port: int, size: int, of: int) -> bytes:
    """Return the root of the first `of` leaves, from the tiles of a log of `size`."""

    def read(tile: Tile) -> bytes:
        answer = Client(port=port).call("GET", f"/v1/log/{tile.path}")
        assert answer.status == 200, (tile.path, answer.status)
        return answer.body

    return TiledTree(size, read).root(of)


class Load:
    """A player who plays short games against a bot until the test stops the load."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stopping = threading.Event()
        self.games: list[str] = []
        self._thread = threading.Thread(target=self._play)
        self._thread.start()

    def _play(self) -> None:
        player, rng = register(self._port, "Load"), random.Random(3)
        while not self._stopping.is_set():
            game = open_table([player], ruleset="threes", bots=("lowest",), **SHORT)
            play_on([player], game, rng)
            self.games.append(game)
            self._stopping.wait(0.3)

    def wait_for(self, games: int) -> None:
        """Wait until `games` games are over."""
        while len(self.games) < games:
            assert self._thread.is_alive()
            time.sleep(0.05)

    def stop(self) -> None:
        """Wait for the end of the current game, and start no other."""
        self._stopping.set()
        self._thread.join()


def test_a_server_restored_elsewhere_continues_from_the_backup(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    backup, keys = tmp_path / "one.backup", tmp_path / "keys.backup"
    rng = random.Random(1)
    with up(old) as port:
        ada, bob = register(port, "Ada"), register(port, "Bob")
        running = [
            open_table([ada, bob], ruleset="leeds", bots=("greedy",), **SHORT),
            open_table([ada, bob], ruleset="shithead", **SHORT),
        ]
        earlier, _ = checkpoint(port, at_least=1)
        play_on([ada, bob], running[0], rng, moves=9)
        load = Load(port)
        try:
            load.wait_for(1)
            _, before = checkpoint(port, at_least=4)
            finished = list(load.games)
            taken = shithead("backup", backup, "--data", old, "--keys", keys)
            _, later = checkpoint(port)  # at least as large as the tree in the backup
            load.wait_for(len(load.games) + 1)
        finally:
            load.stop()
        assert taken.returncode == 0, taken.stderr
        newest, _ = checkpoint(port, at_least=later.size + 1)
    assert keys.stat().st_mode & 0o777 == 0o600

    newest_file = tmp_path / "newest"
    newest_file.write_bytes(newest)
    known = ("--checkpoint", newest_file, "--checkpoint", old / "log.checkpoint")
    refused = shithead("restore", backup, "--data", tmp_path / "no", *known)
    assert refused.returncode == 1
    assert "would sign a second tree" in refused.stderr

    earlier_file = tmp_path / "earlier"
    earlier_file.write_bytes(earlier)
    older = ("--checkpoint", earlier_file)  # the log continues from the newest one in the backup
    restored = shithead("restore", backup, "--data", new, "--keys", keys, *older)
    assert restored.returncode == 0, restored.stderr
    twice = shithead("restore", backup, "--data", new, "--keys", keys)
    assert (twice.returncode, "not empty" in twice.stderr) == (1, True)

    with up(new) as port:
        ada.port = bob.port = port
        ada.close()
        bob.close()
        for game in running:
            assert play_on([ada, bob], game, rng)["status"] == "ended"
            verified = verification_of(ada, game, tmp_path)
            assert (verified["result"], verified["level"]) == ("pass", "L1")
        for game in finished:
            assert verification_of(ada, game, tmp_path)["result"] == "pass"
        _, after = checkpoint(port, at_least=before.size + 2)
        assert root_of(port, after.size, before.size) == before.root, "one tree"
        checked = shithead("check", "--data", new, "--deep", "--json")
    assert checked.returncode == 0, checked.stdout


def verification_of(player: Client, game: str, folder: Path) -> dict[str, Any]:
    """Return the output of `verify` for a game's evidence from a server."""
    path = folder / f"{game}.shx"
    path.write_bytes(player.call("GET", f"/v1/games/{game}/evidence?profile=public").body)
    output: dict[str, Any] = json.loads(shithead("verify", path, "--json").stdout)
    return output
