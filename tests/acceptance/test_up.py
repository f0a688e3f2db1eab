"""`ops/up` as its users run it: from outside, over HTTP, with signals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from service.cli.run import up as up_command
from service.local.processes import socket_folder
from service.runtime.config import variable

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0  # seconds, including the set-up of a first start


class Up:
    """One `ops/up`, its output, and the processes below it."""

    def __init__(self, data: Path, *words: str, **settings: str) -> None:
        self.data = data
        self._output = data.with_name(data.name + ".output")
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                [ROOT / "ops" / "up", "--port", "0", "--data", data, "--workers", "1", *words],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=data.parent,
                env={k: v for k, v in os.environ.items() if not k.startswith(variable(""))}
                | {variable(name): value for name, value in settings.items()},
            )
        self.began = time.monotonic()

    @property
    def output(self) -> str:
        """Return its output so far."""
        return self._output.read_text()

    def ready(self) -> str:
        """Return its address once it is ready."""
        wait(lambda: "Start a game" in self.output or self.process.poll() is not None)
        assert self.process.poll() is None, self.output
        lines = dict(line.split(maxsplit=1) for line in self.output.splitlines() if "  " in line)
        assert lines["data"] == str(self.data)
        return lines["ready"]

    def children(self) -> dict[int, str]:
        """Return the process id and command of all its descendants."""
        listing = subprocess.run(
            ["ps", "-A", "-ww", "-o", "pid=,ppid=,stat=,args="],
            capture_output=True,
            text=True,
            check=True,
        )
        rows = [line.split(maxsplit=3) for line in listing.stdout.splitlines()]
        below, found = {self.process.pid}, {}
        for _ in range(4):
            for pid, parent, state, *command in rows:
                if int(parent) in below and not state.startswith("Z"):
                    below.add(int(pid))
                    found[int(pid)] = " ".join(command)
        return found

    def child(self, words: str) -> int:
        """Return the process id of the first child whose command contains `words`."""
        return min((pid for pid, command in self.children().items() if words in command))

    def runs(self, words: str, *, instead_of: int) -> bool:
        """Return whether a child other than `instead_of` has `words` in its command."""
        children = self.children()
        return any(words in command and pid != instead_of for pid, command in children.items())

    def stop(self, number: signal.Signals = signal.SIGINT) -> float:
        """Send a signal and return how many seconds it took to end."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(timeout=30)
        return time.monotonic() - began


def wait(condition: Callable[[], bool], *, seconds: float = PATIENCE) -> None:
    """Wait until `condition` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


def alive(pids: dict[int, str]) -> list[str]:
    """Return the commands of those processes that still run."""
    listing = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,stat="], capture_output=True, text=True, check=True
    )
    rows = (line.split() for line in listing.stdout.splitlines())
    running = {int(pid) for pid, state in rows if not state.startswith("Z")}
    return [command for pid, command in pids.items() if pid in running]


def answers(address: str) -> bool:
    """Return whether the service reports that it is ready."""
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def check_metrics(up: Up) -> None:
    """Check that the printed loopback address serves all metrics and the public one only gauges."""
    lines = dict(line.split(maxsplit=1) for line in up.output.splitlines() if "  " in line)
    address = lines["metrics"]
    assert address.startswith("http://127.0.0.1:")
    assert not address.startswith(lines["ready"])
    urllib.request.urlopen(lines["ready"], timeout=10).close()  # probes are not counted
    result = {}
    for served in (address, f"{lines['ready']}/metrics"):
        with urllib.request.urlopen(served, timeout=10) as answer:
            result[served] = answer.read().decode()
    assert "shithead_http_requests_total" in result[address]
    assert "shithead_http_requests" not in result[f"{lines['ready']}/metrics"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    """Return a function that starts `ops/up`; leftover processes are killed afterwards."""
    started: list[Up] = []

    def start(name: str = "data", *words: str, **settings: str) -> Up:
        started.append(Up(tmp_path / name, *words, **settings))
        return started[-1]

    yield start
    for up in started:
        if up.process.poll() is None:
            up.process.kill()
            up.process.wait()


def test_it_starts_restarts_its_programs_stops_cleanly_and_restarts_with_its_data(
    start: Callable[..., Up],
) -> None:
    """
    It stops on Ctrl-C within ten seconds; the next starts use its keys and its data.

    One service serves all these claims and those of a second one beside it, because each start
    takes two seconds of processor time.
    """
    up = start()
    assert answers(up.ready())
    check_metrics(up)
    children = up.children()
    for words in ("bin/postgres", "valkey", "granian", "worker", "relay", "sweeper", "sequencer"):
        assert any(words in command for command in children.values()), words
    check_two_services_run_at_once_with_two_folders_but_not_with_one(start, up)
    check_every_program_is_restarted_after_a_sigkill(up)
    children = up.children()
    assert up.stop() < 10
    assert up.process.returncode == 0
    check_later_lines_have_their_time(up)
    wait(lambda: alive(children) == [], seconds=2)  # the resource tracker of multiprocessing
    for folder in (up.data / "postgres", up.data / "valkey"):
        remains = socket_folder(folder, longest_name="s")
        assert list(remains.iterdir()) == []
        remains.rmdir()

    check_restarts_with_data(start, up.data)


def check_restarts_with_data(start: Callable[..., Up], data: Path) -> None:
    """
    Start again over the data of an earlier start that was stopped.

    A kill leaves no process. If PostgreSQL refuses the data, one message is printed.
    """
    keys = (data / "keys.json").read_bytes()
    second = start(data.name)
    assert answers(second.ready())
    assert (data / "keys.json").read_bytes() == keys
    children = second.children()
    second.process.kill()
    second.process.wait()
    wait(lambda: alive(children) == [], seconds=10)
    for cluster in data.glob("postgres/cluster/PG_VERSION"):
        cluster.write_text("9\n")
    assert "was created by PostgreSQL 9" in refused(start(data.name))


def check_two_services_run_at_once_with_two_folders_but_not_with_one(
    start: Callable[..., Up], running: Up
) -> None:
    """The second one archives by age, as the owner of the database that it started."""
    two = start("two", archive_after_days="1")
    addresses = {running.ready(), two.ready()}
    assert len(addresses) == 2
    assert all(answers(address) for address in addresses)
    message = refused(Up(two.data.with_name("other"), "--data", str(running.data)))
    assert f"in use by process {running.process.pid}" in message
    archiver = two.data / "logs" / "archiver.log"
    wait(lambda: archiver.exists() and "0 of 0 games archived" in archiver.read_text())
    two.stop(signal.SIGTERM)
    assert two.process.returncode == 0
    assert answers(running.ready()), "stopping one must leave the other alone"


def check_every_program_is_restarted_after_a_sigkill(up: Up) -> None:
    address = up.ready()
    servers = ("bin/postgres", "valkey-server", "granian", "shithead fork server")
    alone = ("while IFS= read -r line", *servers)
    jobs = ("worker", "searches", "trials", "webhooks", "relay", "sweeper", "sequencer")
    together = tuple(f"workers.main {job}" for job in jobs)
    for killed in (*((words,) for words in alone), together):
        victims = {words: up.child(words) for words in killed}
        for victim in victims.values():
            os.kill(victim, signal.SIGKILL)
        for words, victim in victims.items():
            wait(partial(up.runs, words, instead_of=victim), seconds=20)
        wait(lambda: answers(address), seconds=20)


def check_later_lines_have_their_time(up: Up) -> None:
    """Lines about what happened after the start, at night, are compared with the logs."""
    _, _, after = up.output.partition("Start a game against two bots:")
    _, *later = filter(None, after.splitlines())
    texts = [re.sub(r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ ", "@ ", line) for line in later]
    assert all(text.startswith("@ ") for text in texts), texts
    assert "@ PostgreSQL ended; restarting it" in texts
    assert any(text.startswith("@ the relay ended (SIGKILL); restarting in") for text in texts)
    assert texts[-1] == "@ stopped"


def refused(up: Up) -> str:
    """Return the one message of an `ops/up` that cannot start and leaves nothing running."""
    up.process.wait(timeout=PATIENCE)
    assert up.process.returncode == 1, up.output
    assert "Traceback" not in up.output
    assert up.children() == {}
    return up.output


def test_given_servers_are_used_and_missing_workers_are_warned_of(
    start: Callable[..., Up], empty_database_url: str, redis_url: str
) -> None:
    servers = ("--database-url", empty_database_url, "--redis-url", redis_url)
    up = start("data", *servers, "--workers", "0")
    assert answers(up.ready())
    assert "warning: --workers 0: bots do not move" in up.output
    assert not any("workers.main worker" in command for command in up.children().values())
    assert not any("bin/postgres" in command for command in up.children().values())
    up.stop()


def test_the_help_names_every_option() -> None:
    answer = subprocess.run(
        [ROOT / "ops" / "up", "--help"], capture_output=True, text=True, check=True
    )
    for option in (name for parameter in up_command.params for name in parameter.opts):
        assert option in answer.stdout
