"""The processes of a service on one machine, started and supervised."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import redis

import service
from service.job_queue import client_of
from service.local.console import report
from service.local.forked_programs import ForkedProgram, can_fork, kill_fork_server
from service.local.processes import (
    Child,
    EmbeddedError,
    kill_group,
    log_tail,
    make_folder,
    make_log_folder,
    name_for,
    rotate_log,
    start_child,
    stop_child,
)
from service.local.servers import EmbeddedPostgres, EmbeddedValkey
from service.local.wal_archive import WalArchive, release
from service.runtime.config import (
    CONNECTIONS,
    LogFormat,
    Setting,
    Settings,
    settings_from,
    variable,
    variables_of,
)
from service.runtime.heartbeat import LIFE_PIPE, ROUNDS, NamedPipe, silent_at_start
from service.runtime.telemetry import LOG_FILE, SHARED_FOLDER
from service.startup_checks import redis_fault
from service.store.migrate import LaterSchema, finish, migrate, service_url

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds before an ended program is restarted
_START_ATTEMPTS = 3  # of a program; one that is killed once does not end the service
_STEADY = 30.0  # seconds of running after which the next pause is the shortest again

STREAM_INTERFACE = ("--interface", "asginl", "--loop", "asyncio", "--workers", "1")
"""Options of granian for the stream process, which reads the sizes of its pools from settings."""


WEB_SERVER = "granian"
"""The begin of the name under which the system lists the processes of the API and of streams."""


class StartError(Exception):
    """The service cannot start; the message states the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A Python program to keep running, with its name in messages and log files."""

    name: str
    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)  # beside that of all
    shows_life: bool = False  # on the pipe of its supervisor

    @property
    def command(self) -> list[str]:
        """Return the command that runs the program in a new Python."""
        return [sys.executable, "-m", self.module, *self.arguments]

    def start(self, *, log: Path, environment: Mapping[str, str], folder: Path) -> Child:
        """Start the program in its own session, with its output appended to the file `log`."""
        environment = {**environment, **self.environment, LOG_FILE: str(log)}
        if can_fork(environment):
            make_log_folder(log)
            rotate_log(log)
            return ForkedProgram(
                self.module, self.arguments, log=log, environment=environment, folder=folder
            )
        return start_child(self.command, log=log, environment=environment, folder=folder)


@dataclass(slots=True, kw_only=True)
class _Running:
    program: Program
    child: Child | None = None
    started: float = 0.0
    failures: int = 0  # ends in a row, each soon after the start
    due: float = field(default=0.0)  # when to restart it, monotonic
    silent: int | None = None  # rounds since its last sign of life; None if it shows none
    unreported: int = 0  # rounds since it ended, while the fork server did not report that


class Supervisor:
    """Starts the programs of one service, and restarts those that end or hang."""

    def __init__(
        self, *, logs: Path, environment: Mapping[str, str], folder: Path, pipe: Path | None = None
    ) -> None:
        """Without a named `pipe` programs that hang are not noticed."""
        self._logs = logs
        self._folder = folder
        self._pipe = None if pipe is None else NamedPipe(pipe)
        interval = HUNG_SECONDS / ROUNDS
        life = {} if pipe is None else {LIFE_PIPE: f"{pipe} {interval}"}
        self._environment = {**environment, **life}
        self._round = 0.0  # when signs of life are counted next, monotonic
        self._running: list[_Running] = []

    def start(self, program: Program) -> None:
        """Start `program` and keep it running."""
        running = _Running(program=program)
        self._running.append(running)
        self._launch(running)

    def supervise(self) -> list[str]:
        """
        Restart ended programs, after a pause that doubles with each early end.

        Returns the names of those that have ended since the last call.
        """
        now, ended = time.monotonic(), []
        self._end_hung(now)
        for running in self._running:
            if running.child is not None and running.child.poll() is not None:
                self._clean_up(running, now)
                ended.append(running.program.name)
            if running.child is None and now >= running.due:
                self._launch(running)
        return ended

    def _end_hung(self, now: float) -> None:
        """
        Kill the programs that showed no sign of life in ROUNDS rounds; then they have ended.

        Rounds count and not time: while this process itself is held up, nothing is killed.
        """
        if self._pipe is None or now < self._round:
            return
        # Counted from the round before: a round would end only at the next look of `up`.
        self._round = max(self._round + HUNG_SECONDS / ROUNDS, now)
        self._end_hung_fork_server()
        heard = self._pipe.heard()
        for running in self._running:
            child = running.child
            if child is None or child.poll() is not None:
                continue
            if running.silent is not None:
                running.silent = 0 if child.pid in heard else running.silent + 1
            if running.silent == ROUNDS:
                report(f"the {running.program.name} hangs and is killed")
                kill_group(child)

    def _end_hung_fork_server(self) -> None:
        """Kill the fork server if it did not report in ROUNDS rounds that a program has ended."""
        for running in self._running:
            running.unreported = running.unreported + 1 if _is_unreported(running.child) else 0
        if any(running.unreported == ROUNDS for running in self._running):
            report("the fork server hangs and is killed")
            kill_fork_server()

    def check_running(self) -> None:
        """Raise StartError if a program ended several times while the service was starting."""
        for running in self._running:
            if running.failures >= _START_ATTEMPTS:
                tail = log_tail(self._log_of(running.program), lines=8)
                raise StartError(f"the {running.program.name} does not start:\n{tail}")

    def processes(self) -> dict[str, int]:
        """Return the process id of each running program."""
        return {r.program.name: r.child.pid for r in self._running if r.child is not None}

    def stop(self, *, seconds: float) -> None:
        """Send SIGTERM to all programs, and kill those still running after `seconds`."""
        children = [r.child for r in self._running if r.child is not None]
        self._running.clear()
        for child in children:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        end = time.monotonic() + seconds
        while time.monotonic() < end and any(child.poll() is None for child in children):
            time.sleep(0.02)
        if any(_is_unreported(child) for child in children):
            kill_fork_server()  # it hangs, and this process would wait for it at its own end
        for child in children:
            stop_child(child, [])

    def _launch(self, running: _Running) -> None:
        running.child = running.program.start(
            log=self._log_of(running.program),
            environment=self._environment,
            folder=self._folder,
        )
        running.started = time.monotonic()
        if running.program.shows_life:
            running.silent = silent_at_start(seconds=HUNG_SECONDS, start_seconds=START_SECONDS)

    def _clean_up(self, running: _Running, now: float) -> None:
        """Clean up after an ended program, and report when it restarts."""
        child, running.child = running.child, None
        if child is None:
            return
        kill_group(child)
        running.failures = 1 if now - running.started > _STEADY else running.failures + 1
        pause = min(_SHORTEST_PAUSE * 2 ** (running.failures - 1), _LONGEST_PAUSE)
        running.due = now + pause
        reason = _reason(child.returncode)
        report(f"the {running.program.name} ended ({reason}); restarting in {pause:.1f} s")

    def _log_of(self, program: Program) -> Path:
        return self._logs / f"{program.name.replace(' ', '-')}.log"


def _is_unreported(child: Child | None) -> bool:
    return isinstance(child, ForkedProgram) and child.is_unreported


def _reason(code: int) -> str:
    if code >= 0:
        return f"status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


_PAUSE = 5.0  # seconds between two attempts to restart an ended server
HEAD_MILLISECONDS = 30_000  # time limit for receiving the head of a request, idle time included
HEAD_BYTES = 32 << 10  # size of the head of a request; one of 400 KiB took 3 s to parse
HUNG_SECONDS = 5.0  # without a sign of life; then it is replaced (bench/results/scale-hung.md)
START_SECONDS = 300.0  # the same for the first one; that took 27 s at a load of 11 on two cores
BACKLOG = 4096  # connections that wait to be accepted

_MEMORY = Path("/dev/shm")  # noqa: S108 - the folder in it is private, or another is used
_ROOT = Path(service.__file__).resolve().parent.parent  # contains the packages and sql/


class Servers:
    """PostgreSQL and Valkey: embedded, or external if an address is set."""

    def __init__(self, data: Path, stack: ExitStack) -> None:
        self._data = data
        self._stack = stack
        self._embedded: list[EmbeddedPostgres | EmbeddedValkey] = []
        self._archive: WalArchive | None = None
        self._due = 0.0

    def database(
        self, address: str | None, *, archive: Path | None = None, synchronous: bool = False
    ) -> str:
        """
        Return the address of a migrated database, with the role that can only append and read.

        The WAL of an embedded server goes to the folder `archive` if there is one. If an external
        server does not accept that role without a password, the address itself is used, and only
        the triggers keep the record append-only.
        """
        url = address or self._archived(archive, synchronous=synchronous)
        _migrate(url, alone=address is None)
        as_service = service_url(url)
        return as_service if _accepts(as_service) else url

    def redis(self, address: str | None) -> str:
        """Return the address of Redis."""
        if address is None:
            return self._start(EmbeddedValkey(self._data))
        if (fault := redis_fault(address)) is not None:
            print(f"warning: {fault}", file=sys.stderr, flush=True)
        return address

    @property
    def names(self) -> list[str]:
        """Return the names of the embedded servers, and of the archive."""
        archive = [] if self._archive is None else [self._archive.name]
        return [*(server.name for server in self._embedded), *archive]

    @property
    def base_backup(self) -> float | None:
        """Return when the newest base backup began, in seconds since 1970; None without one."""
        return None if self._archive is None else self._archive.newest

    def supervise(self) -> list[str]:
        """
        Restart embedded servers that have ended, at the same addresses; return their names.

        One that hangs, or whose socket was removed, is ended before: nothing can connect to it.
        """
        ended = []
        for server in self._embedded:
            if server.process is None or time.monotonic() < self._due or not _has_ended(server):
                continue
            ended.append(server.name)
            try:
                server.start()
            except EmbeddedError as error:
                report(error)
                self._due = time.monotonic() + _PAUSE
        return ended if self._archive is None else [*ended, *self._archive.supervise()]

    def _archived(self, folder: Path | None, *, synchronous: bool) -> str:
        """Start PostgreSQL, and its archive if there is a folder for it; return its address."""
        server = EmbeddedPostgres(self._data)
        if folder is None:
            address = self._start(server)
            release(server)
            return address
        self._archive = WalArchive(folder, server, synchronous=synchronous)
        self._stack.callback(self._archive.stop)  # after the server, which sends it the last WAL
        address = self._start(server)
        self._archive.start()
        return address

    def _start(self, server: EmbeddedPostgres | EmbeddedValkey) -> str:
        self._stack.callback(server.stop)
        address = server.start()
        self._embedded.append(server)
        return address


def _has_ended(server: EmbeddedPostgres | EmbeddedValkey) -> bool:
    """Return whether a server has ended; end and report one that nothing can connect to."""
    process = server.process
    if process is None or process.poll() is not None:
        report(f"{server.name} ended; restarting it")
        server.probe.ended(hung=False)
        return True
    is_gone = not server.probe.path.exists()
    if not is_gone and not server.probe.hangs(process.pid):
        return False
    if is_gone:
        report(f"{server.name} has lost its socket and is ended")
    else:
        report(f"{server.name} hangs and is ended")
    server.end(hung=not is_gone)
    return True


def settings_of_children(
    data: Path, declared: Iterable[Setting[Any]] | None = None, /, **known: str
) -> Settings:
    """Return the settings of the programs: from the environment, overridden by `known`."""
    environment = dict(os.environ) | {variable(name): value for name, value in known.items()}
    environment.setdefault(variable("key_file"), str(data / "keys.json"))
    environment.setdefault(variable("archive"), str(data / "archive"))
    return settings_from(environment, declared)


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the environment of the children: ours, the settings, and the path of the packages."""
    environment = dict(os.environ) | variables_of(settings)
    paths = [str(_ROOT), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    environment["PYTHONUNBUFFERED"] = "1"
    return environment


def shared_metrics(data: Path, *, memory: Path = _MEMORY) -> dict[str, str]:
    """
    Return the variable that names the folder of shared metrics, a new one at each start.

    Its files belong to processes; those of an earlier run would be counted again. They are
    memory-mapped, and on a full disk a write would kill the process: so they are in the
    in-memory file system `memory` if the system has one.
    """
    folder = memory / f"{name_for(data)}-measures"
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
    except OSError:  # it does not exist, or the name is taken
        folder = data / "measures"
        shutil.rmtree(folder, ignore_errors=True)
    return {SHARED_FOLDER: str(make_folder(folder))}


def programs(settings: Settings) -> list[Program]:
    """Return all programs of a service, in the order of their start."""
    jobs = [(f"worker {number}", "worker") for number in range(1, settings.workers + 1)]
    if settings.workers:
        jobs += [(kind, kind) for kind in ("searches", "trials", "webhooks")]
    return [
        *_web_servers(settings),
        *(
            _worker(name, kind)
            for name, kind in (*jobs, *((kind, kind) for kind in ("relay", "sweeper", "sequencer")))
        ),
    ]


def archiver(settings: Settings, owner: str) -> list[Program]:
    """Return the program that archives by age, as the owner of the database, if it is set."""
    if not settings.archive_after_days:
        return []
    words = ["admin", "--as", "archiver", "--yes", "archive", "--daily"]
    words += ["--older-than", str(settings.archive_after_days)]
    database = {variable("database_url"): owner}
    return [Program(name="archiver", module="service.cli", arguments=words, environment=database)]


def program_of(settings: Settings, role: str) -> Program:
    """
    Return the program of one process: `api`, `streams`, or an argument of `workers.main`.

    Raises ValueError for `streams` without SHITHEAD_STREAM_PORT.
    """
    if role not in ("api", "streams"):
        return _worker(role, role)
    servers = {program.name.lower(): program for program in _web_servers(settings)}
    if role not in servers:
        raise ValueError(f"{variable('stream_port')} is not set")
    return servers[role]


def _worker(name: str, kind: str) -> Program:
    return Program(name=name, module="workers.main", arguments=[kind], shows_life=True)


def _web_servers(settings: Settings) -> list[Program]:
    """Return the API, and the process for streams and long polls if it has a port."""
    # No HTTP/2: no client uses it without TLS, and one connection could hold 200 requests.
    server = ["--factory", "--no-ws", "--http", "1"]
    server += ["--http1-header-read-timeout", str(HEAD_MILLISECONDS)]
    server += ["--http1-buffer-size", str(HEAD_BYTES)]
    server += ["--backlog", str(BACKLOG), "--backpressure", str(CONNECTIONS)]
    if settings.log_format is LogFormat.JSON:
        server += ["--log-config", str(_ROOT / "service" / "api" / "granian_log.json")]
    server += ["--host", settings.host, "--respawn-failed-workers", "--workers-kill-timeout", "3s"]

    def served(name: str, app: str, port: int, *interface: str) -> Program:
        arguments = [name, str(HUNG_SECONDS), str(START_SECONDS), *server]
        arguments += ["--port", str(port), *interface, f"service.wsgi:{app}"]
        return Program(name=name, module="service.api.server", arguments=arguments)

    sizes = ["--workers", str(settings.api_processes)]
    sizes += ["--blocking-threads", str(settings.api_threads)]
    found = [served("API", "calls", settings.port, "--interface", "wsgi", *sizes)]
    if settings.stream_port is not None:
        found.append(served("streams", "streams", settings.stream_port, *STREAM_INTERFACE))
    return found


def _accepts(url: str) -> bool:
    """Return whether the server accepts a connection to this address."""
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def check_database(url: str) -> None:
    """Raise StartError if no database answers at this address."""
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.Error as error:
        raise StartError(f"the database does not answer: {_one_line(error)}") from error


def _migrate(database_url: str, *, alone: bool) -> None:
    """Migrate a database; `alone` states that no process of an earlier release uses it."""
    try:
        migrate(database_url)
        if alone:
            finish(database_url)
    except LaterSchema as error:
        print(f"not migrated: {_one_line(error)}", file=sys.stderr, flush=True)
    except psycopg.OperationalError as error:
        raise StartError(f"the database does not answer: {_one_line(error)}") from error
    except (psycopg.Error, ValueError, RuntimeError) as error:
        raise StartError(f"the database cannot be migrated: {_one_line(error)}") from error


def check_redis(url: str) -> None:
    """Raise StartError if no Redis answers at this address."""
    try:
        with contextlib.closing(client_of(url, socket_connect_timeout=5)) as client:
            client.ping()
    except (redis.RedisError, ValueError, OSError) as error:
        raise StartError(f"Redis does not answer: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
