"""The run under `shithead up`: its programs hang one after another, then the machine is busy."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from ops.bench.faults.calls import Address
from ops.bench.faults.checks import check_all
from ops.bench.faults.load import Load
from ops.bench.faults.steps import ROOT
from ops.bench.footprint import family, name_of
from ops.bench.scale.fleet import START_SECONDS, FailedJobs
from ops.bench.scale.report import Report, Size
from service.local.servers import EmbeddedValkey, running_address

HUNG = ("sequencer", "relay", "sequencer", "sweeper", "sequencer", "worker", "sequencer")
"""The programs that hang (SIGSTOP), one after another."""

LIMIT_SECONDS = 10.0
"""From the moment in which a program hangs until another one does its work."""

BUSY = 20
"""Processes that compute without end in the second part, in which no program may be replaced."""

_KILLED = "hangs and is killed"
_ROUND = r'^shithead_last_round_timestamp_seconds\{process="%s"\} (\S+)$'
_HEADS = "SELECT count(*) FROM log_heads WHERE note IS NOT NULL AND made_at > to_timestamp(%s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    """A running `shithead up`."""

    process: subprocess.Popen[bytes]
    data: Path
    log: Path

    def line(self, name: str) -> str:
        """Return the address that it printed after a name; raises RuntimeError if it ended."""
        end = time.monotonic() + START_SECONDS
        while (found := re.search(rf"^{name}  (\S+)$", self.log.read_text(), re.MULTILINE)) is None:
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"it does not start:\n{self.log.read_text()}")
            time.sleep(0.1)
        return found[1]

    @property
    def address(self) -> Address:
        """Return the address of the API."""
        host, _, port = self.line("ready").removeprefix("http://").partition(":")
        return host, int(port)

    @property
    def owner(self) -> str:
        """Return the address of the database, as its owner."""
        return running_address(self.data) or ""

    @property
    def replaced(self) -> int:
        """Return how many programs it has killed because they hung."""
        return self.log.read_text().count(_KILLED)

    def processes(self, name: str) -> set[int]:
        """Return the ids of its processes that run a program."""
        return {pid for pid in family(self.process.pid) if name_of(pid) == name}

    def worked(self, name: str, since: float, hung: int) -> bool:
        """Return whether a program did its work after `since`; of a worker, whether it runs."""
        if name == "sequencer":
            with psycopg.connect(self.owner) as connection:
                row = connection.execute(_HEADS, (since,)).fetchone()
                return row is not None and row[0] > 0
        if name == "worker":
            return bool(self.processes(name) - {hung}) and not Path(f"/proc/{hung}").exists()
        with urllib.request.urlopen(self.line("metrics"), timeout=5) as answer:
            found = re.search(_ROUND % name, answer.read().decode(), re.MULTILINE)
        return found is not None and float(found[1]) > since


def hung(size: Size, logs: Path | None = None) -> Report:
    """Return the report of a run in which programs of `shithead up` hang under load."""
    report = Report(title="Programs that hang under `shithead up`")
    with tempfile.TemporaryDirectory(prefix="hung-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            with _up(folder) as up:
                _play(up, size, report)
        finally:
            if logs is not None:
                logs.mkdir(parents=True, exist_ok=True)
                for log in (*folder.glob("*.log"), *folder.glob("data/logs/*.log")):
                    (logs / log.name).write_bytes(log.read_bytes())
    return report


def _play(up: Up, size: Size, report: Report) -> None:
    report.parts.append("`shithead up` with its defaults, and its own PostgreSQL and Valkey")
    address, began = up.address, time.monotonic()
    jobs = FailedJobs(EmbeddedValkey(up.data).url)
    load = Load(
        report.notes,
        lambda: (address,),
        tables=size.tables,
        seed=size.seed,
        readers=size.readers,
    )
    load.begin()

    def record(text: str) -> None:
        report.timeline.append((time.monotonic() - began, text))

    for name in HUNG:
        time.sleep(size.seconds / len(HUNG))
        _hang(up, name, report, record, limit=LIMIT_SECONDS)
    with _computing():
        record(f"{BUSY} processes begin to compute")
        time.sleep(size.seconds / 2)
        wrong = up.replaced - len(HUNG)
        report.measured.append(
            (f"replaced by mistake beside {BUSY} computing processes", f"{wrong}")
        )
        if wrong:
            report.notes.wrong.append(f"{wrong} programs were replaced that did not hang")
        _hang(up, "sequencer", report, record, limit=None)
        record("they end")
    load.end()
    report.seconds = time.monotonic() - began
    record("every hand has ended")
    report.add_failed_jobs(*jobs.end())
    report.readers = load.readers
    report.checked = check_all(
        up.owner, f"http://{address[0]}:{address[1]}", report.notes, load.readers
    )


def _hang(
    up: Up, name: str, report: Report, record: Callable[[str], None], *, limit: float | None
) -> None:
    """Stop a program, wait until another one does its work, and report the seconds."""
    stopped = min(up.processes(name))
    os.kill(stopped, signal.SIGSTOP)
    at = time.time()
    record(f"the {name} hangs")
    before = len(report.notes.requests)
    while not up.worked(name, at, stopped):
        if time.time() > at + 6 * LIMIT_SECONDS:
            report.notes.wrong.append(f"the {name} that hangs was not replaced")
            return
        time.sleep(0.1)
    seconds = time.time() - at
    moves = sum(one.status == 201 and one.sent > at for one in report.notes.requests[before:])
    what = {"sequencer": "next head", "worker": "next process"}.get(name, "next round")
    beside = "" if limit else f", beside {BUSY} computing processes"
    report.measured.append(
        (f"the {name} hangs{beside}: its {what}; moves meanwhile", f"{seconds:.1f} s; {moves}")
    )
    if limit is not None and (seconds > limit or not moves):
        report.notes.wrong.append(f"the {name} was replaced after {seconds:.1f} s, {moves} moves")


@contextlib.contextmanager
def _up(folder: Path) -> Iterator[Up]:
    """Yield a running `shithead up`, without rate limits."""
    data, log = folder / "data", folder / "up.log"
    command = [sys.executable, "-m", "service.cli", "up", "--port", "0", "--data", str(data)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SHITHEAD_RATE_LIMITS": "off"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=output
        )
    try:
        yield Up(process=process, data=data, log=log)
        if process.poll() is not None:
            raise RuntimeError(f"`shithead up` ended by itself:\n{log.read_text()}")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


@contextlib.contextmanager
def _computing() -> Iterator[None]:
    """Let BUSY processes compute without end meanwhile."""
    found = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    try:
        yield
    finally:
        for process in found:
            process.kill()
            process.wait()
