"""The system under test: `up` with its own servers, and a fork server with more programs."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from ops.bench.faults.limits import JumpingClock
from ops.bench.faults.steps import ROOT
from service.local.programs import environment_of
from service.local.servers import EmbeddedPostgres, EmbeddedValkey
from service.runtime.config import Settings
from service.runtime.receivers import LOOPBACK
from service.store.migrate import service_url
from tests.running import free_port, is_ready

START_SECONDS = 300.0
END_SECONDS = 60.0


class NotBack(Exception):
    """The service was not ready again within START_SECONDS after a fault."""


class SystemUnderTest:
    """All running programs: starts, finds and ends them."""

    def __init__(self, folder: Path, logs: Path, *, may_fill: bool, seed: int) -> None:
        self.disk = folder if may_fill else None
        self.logs = logs
        self.data = folder / "data"
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._postgres = EmbeddedPostgres(self.data)
        self.redis_url = EmbeddedValkey(self.data).url
        self.port, self.stream_port, self.fork_server_port = (free_port() for _ in range(3))
        self.killed: Counter[str] = Counter()
        self.places: set[str] = set()
        self.wrong: list[str] = []
        self.clock = JumpingClock(logs / "clock")
        self._seed = seed
        self._programs: dict[int, str] = {}
        self._lock = threading.Lock()
        self.up: subprocess.Popen[bytes] | None = None
        self._fork_server: subprocess.Popen[bytes] | None = None

    @property
    def owner_url(self) -> str:
        """Return the address for the superuser, who has a password after the first start."""
        return self._postgres.url

    @property
    def settings(self) -> Settings:
        """Return the settings of the programs."""
        return Settings(
            database_url=service_url(self.owner_url),
            redis_url=self.redis_url,
            key_file=self.data / "keys.json",
            rate_limits=False,
            statement_seconds=4,
            api_threads=32,
            of_features={LOOPBACK.name: True},
        )

    @property
    def ports(self) -> tuple[int, ...]:
        """Return the ports of the service; the fork server gets two of three requests."""
        return (
            (self.fork_server_port, self.fork_server_port, self.port)
            if self._fork_server
            else (self.port,)
        )

    def start(self) -> None:
        """Start `up`, wait until it is ready, then start the fork server."""
        self.start_up()
        self.wait_ready()
        with (self.logs / "fork_server.log").open("ab") as log:
            self._fork_server = subprocess.Popen(
                [
                    *(sys.executable, "-m", "ops.bench.faults.fork_server"),
                    *(str(self.fork_server_port), str(self._seed), str(self.clock.file)),
                ],
                cwd=ROOT,
                env=environment_of(self.settings) | {"SHITHEAD_LOG_LEVEL": "error"},
                stdout=subprocess.PIPE,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        threading.Thread(target=self._listen, args=(self._fork_server,), daemon=True).start()

    def start_up(self) -> None:
        """Start `up`, or start it again."""
        known = {"SHITHEAD_RATE_LIMITS": "off", "SHITHEAD_STATEMENT_SECONDS": "4"}
        known |= {"SHITHEAD_API_THREADS": "32", "SHITHEAD_LOG_LEVEL": "warning"}
        known |= {"SHITHEAD_WEBHOOK_LOOPBACK": "on"}
        known |= {"SHITHEAD_STREAM_PORT": str(self.stream_port)}
        with (self.logs / "up.log").open("ab") as log:
            self.up = subprocess.Popen(
                [
                    *(sys.executable, "-m", "service.cli", "up", "--port", str(self.port)),
                    *("--data", str(self.data), "--workers", "1"),
                ],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT), **known},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def restart_up(self, number: signal.Signals) -> None:
        """End `up` by a signal and start it again; a finding if it does not end."""
        assert self.up is not None
        self.up.send_signal(number)
        try:
            self.up.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.wrong.append(f"up did not end within {END_SECONDS:.0f} s of {number.name}")
            self.up.kill()
            self.up.wait()
        self.start_up()

    def wait_ready(self, *, anywhere: bool = False) -> None:
        """
        Wait until `up` is ready, or with `anywhere` either `up` or the fork server.

        If `up` ends before that, start it again.
        """
        ports = (
            (self.fork_server_port, self.port) if anywhere and self._fork_server else (self.port,)
        )
        end = time.monotonic() + START_SECONDS
        while not any(is_ready(port) for port in ports):
            if time.monotonic() > end:
                raise NotBack("not ready again in time")
            if self.up is not None and self.up.poll() is not None:
                self.start_up()
            time.sleep(0.1)

    def kill_forked(self, kind: str, rng: random.Random) -> bool:
        """End a program of the fork server with SIGKILL; return whether there was one."""
        with self._lock:
            found = [pid for pid, program in self._programs.items() if program == kind]
            if not found:
                return False
            pid = rng.choice(found)
            del self._programs[pid]
        return _killed(pid)

    def end_fork_server(self) -> None:
        """End the fork server, and with it all its programs."""
        fork_server, self._fork_server = self._fork_server, None
        if fork_server is not None:
            fork_server.kill()
            fork_server.wait()

    def below_up(self, *words: str) -> list[int]:
        """Return the processes below `up` with one of the words in their command."""
        up = self.up
        if up is None:
            return []
        return [pid for pid, command in below(up.pid) if any(word in command for word in words)]

    def stop(self) -> None:
        """End everything."""
        self.end_fork_server()
        if self.up is not None:
            self.up.terminate()
            try:
                self.up.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.up.kill()
                self.up.wait()

    def _listen(self, fork_server: subprocess.Popen[bytes]) -> None:
        assert fork_server.stdout is not None
        for line in fork_server.stdout:
            with contextlib.suppress(ValueError), self._lock:
                message = json.loads(line)
                if "started" in message:
                    self._programs[message["pid"]] = message["started"]
                    while len(self._programs) > 40:
                        del self._programs[next(iter(self._programs))]
                else:
                    self._programs.pop(message["pid"], None)
                    self.killed[message["killed"]] += 1
                    self.places.add(f"{message['killed']} {message['at']}")


def below(root: int) -> list[tuple[int, str]]:
    """Return the processes that descend from `root`, each with its command."""
    parents: dict[int, tuple[int, str]] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            parents[int(folder.name)] = (parent, command)
    found: set[int] = {root}
    while True:
        more = {pid for pid, (parent, _) in parents.items() if parent in found} - found
        if not more:
            return [(pid, parents[pid][1]) for pid in sorted(found - {root})]
        found |= more


def _killed(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
