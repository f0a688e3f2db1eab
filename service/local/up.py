"""The whole service on one machine: start in order, supervise, stop in order."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO

from service.local.console import LongWait, now, report
from service.local.predecessors import end_all, holding_deleted, working_in
from service.local.processes import (
    EmbeddedError,
    LogRotation,
    make_folder,
    restart_line_writers,
)
from service.local.programs import (
    WEB_SERVER,
    Servers,
    StartError,
    Supervisor,
    archiver,
    check_database,
    check_redis,
    environment_of,
    programs,
    settings_of_children,
    shared_metrics,
)
from service.local.servers import has_cluster, running_address
from service.local.supervisor_metrics import SupervisorMetrics
from service.local.wal_archive import SLOT, check_archive
from service.runtime.config import ConfigError, Setting, Settings, variable
from service.runtime.plain_errors import why
from service.runtime.telemetry import SHARED_FOLDER
from service.startup_checks import CannotStart, check_settings, check_start

_LOOK_SECONDS = 0.5  # between two looks at whether all programs and servers run
_READY_SECONDS = 30.0  # for the API to answer after its start
_PORT_SECONDS = 3.0  # for the port of a killed server to be free
_NO_WORKERS = (
    "warning: --workers 0: bots do not move, and time-outs are not applied, unless workers run "
    "elsewhere (python -m workers.main worker)"
)
_KILL_SECONDS = 2.0  # for killed processes to end
_STOP_SECONDS = 5.0  # for requests and jobs to end; stopping takes at most ten seconds in all


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """The options of `shithead up`; a URL replaces the embedded server."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8080  # 0: any free port
    database_url: str | None = field(default=None, repr=False)
    redis_url: str | None = field(default=None, repr=False)
    workers: int = 2
    wal_archive: Path | None = None  # a folder on another disk; only of the embedded server
    wal_archive_sync: bool = False  # a change is acknowledged once it is there too
    declared: tuple[Setting[Any], ...] | None = None  # settings of the features, for the checks


class _Stopped(BaseException):
    """Raised by a stop signal; a BaseException, so that no `except Exception` catches it."""


def run(options: UpOptions) -> int:
    """
    Run the service until it is stopped, and return the exit status.

    0 after SIGINT or SIGTERM, 1 with one message if the service cannot start. In both cases
    everything is stopped: first the API and the workers, then Valkey, then PostgreSQL.
    """
    _on_signals(_stop)
    try:
        with ExitStack() as stack:
            try:
                _serve(options, stack)
            finally:
                _on_signals(signal.SIG_IGN)  # a second signal does not interrupt stopping
    except _Stopped:
        print(f"{now()} stopped", flush=True)
        return 0
    except (StartError, EmbeddedError, ConfigError, CannotStart) as error:
        print(f"cannot start: {error}", file=sys.stderr, flush=True)
        return 1
    except OSError as error:
        if error.filename is None:
            raise
        print(f"cannot start: {why(error)}", file=sys.stderr, flush=True)
        return 1


def _serve(options: UpOptions, stack: ExitStack) -> NoReturn:
    """Start everything in order, print the addresses, and supervise it."""
    began = time.monotonic()
    data = options.data.expanduser().absolute()
    asked = _check(options, data)
    if not data.exists():
        _ports(options, asked)  # before a folder is created
    make_folder(data)
    lock = stack.enter_context(lock_data(data))
    end_web_servers(data)
    ports = _ports_soon(options, asked)
    servers = Servers(data, stack)
    settings = _settings(options, data, ports, servers)
    check_start(settings)
    metrics_environment = shared_metrics(data)
    os.environ.update(metrics_environment)  # for the modules that the programs share
    for folder in metrics_environment.values():
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
    supervisor = Supervisor(
        logs=make_folder(data / "logs"),
        environment=environment_of(settings) | metrics_environment,
        folder=data,
        pipe=Path(metrics_environment[SHARED_FOLDER]) / "life",
    )
    stack.callback(supervisor.stop, seconds=_STOP_SECONDS)
    owner = options.database_url or running_address(data) or ""
    for program in (*programs(settings), *archiver(settings, owner)):
        supervisor.start(program)
    address = f"http://{_reachable(options.host)}:{settings.port}"
    _wait_ready(address, supervisor, servers)
    metrics = f"http://{_reachable(settings.metrics_host or options.host)}:{settings.metrics_port}"
    _print_addresses(address, data, metrics, seconds=time.monotonic() - began)
    if settings.workers == 0:
        print(_NO_WORKERS, file=sys.stderr, flush=True)
    measured = _measured_folders(options, data, settings)
    metrics_of_us = SupervisorMetrics(Path(metrics_environment[SHARED_FOLDER]), measured)
    metrics_of_us.begin([*servers.names, *supervisor.processes()])
    _supervise(servers, supervisor, LogRotation(data / "logs"), metrics_of_us, lock)


def _check(options: UpOptions, data: Path) -> Settings:
    """
    Refuse wrong options and settings before anything is written or started; return the settings.

    Those of embedded servers are not known yet. Raises StartError, EmbeddedError, ConfigError or
    CannotStart.
    """
    if not 0 <= options.port <= 65535:  # getaddrinfo would use the port modulo 65536
        raise StartError(
            f"port {options.port} does not exist: choose one from 1 to 65535 with --port"
        )
    _check_archive(options, data)
    settings = settings_of_children(
        data,
        options.declared,
        database_url=options.database_url or "postgresql://",
        redis_url=options.redis_url or "",
        **_known(options, {"port": str(options.port or 1)}),
    )
    check_settings(settings)
    if options.redis_url is not None:
        check_redis(options.redis_url)
    if options.database_url is not None:
        check_database(options.database_url)
    return settings


def _check_archive(options: UpOptions, data: Path) -> None:
    """Raise StartError or EmbeddedError if the WAL archive cannot be used."""
    if options.wal_archive is None:
        if options.wal_archive_sync:
            raise StartError("--wal-archive-sync needs --wal-archive")
    elif options.database_url is not None:
        raise StartError(
            "--wal-archive archives the embedded PostgreSQL only: archive your own with pgBackRest "
            f"or WAL-G, and set {variable('wal_archive')}"
        )
    else:
        check_archive(options.wal_archive.expanduser().absolute(), of_new=not has_cluster(data))


def _settings(options: UpOptions, data: Path, ports: dict[str, str], servers: Servers) -> Settings:
    """Start PostgreSQL, its archive and Valkey, unless external; return the programs' settings."""
    archive = _archive_folder(options, data)
    database_url = servers.database(
        options.database_url, archive=archive, synchronous=options.wal_archive_sync
    )
    redis_url = servers.redis(options.redis_url)
    known = _known(options, ports)
    return settings_of_children(
        data, options.declared, database_url=database_url, redis_url=redis_url, **known
    )


def _known(options: UpOptions, ports: dict[str, str]) -> dict[str, str]:
    """Return the settings that follow from options and ports, without the servers' addresses."""
    slot = {} if options.wal_archive is None else {"wal_archive": SLOT}
    return {"host": options.host, "workers": str(options.workers), **ports, **slot}


def _archive_folder(options: UpOptions, data: Path) -> Path | None:
    """Return the folder of the WAL archive, created if missing; warn if a lost disk takes both."""
    if options.wal_archive is None:
        return None
    folder = make_folder(options.wal_archive.expanduser().absolute())
    if folder.stat().st_dev == data.stat().st_dev:
        print(f"warning: {folder} is on the disk of {data}", file=sys.stderr, flush=True)
    return folder


def _measured_folders(options: UpOptions, data: Path, settings: Settings) -> dict[str, Path]:
    """
    Return the folders of this machine that can fill their disks, by the names in metrics.

    The gravest is the first: of several on one disk only that is shown.
    """
    archive, wal = settings.archive, options.wal_archive
    return {
        "data": data,
        **({"wal_archive": wal.expanduser().absolute()} if wal is not None else {}),
        **({"archive": archive} if isinstance(archive, Path) else {}),
    }


def end_web_servers(data: Path) -> None:
    """
    End the web servers that a killed `up` left in its data folder: they hold the port.

    The kernel sent them SIGTERM; each lets its requests end before.
    """
    found = partial(working_in, data, WEB_SERVER)
    end_all(found, ((None, _STOP_SECONDS), (signal.SIGKILL, _KILL_SECONDS)))


def _supervise(
    servers: Servers,
    supervisor: Supervisor,
    rotation: LogRotation,
    measured: SupervisorMetrics,
    lock: DataLock,
) -> NoReturn:
    while True:
        time.sleep(_LOOK_SECONDS)
        lock.renew()
        for name in (*servers.supervise(), *supervisor.supervise()):
            measured.restarted(name)
        measured.show_base_backup(servers.base_backup)
        measured.measure_disks_due()
        measured.measure_machine_due()
        restart_line_writers()
        rotation.rotate_due()


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Stopped


def _on_signals(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, handler)


class DataLock:
    """
    The lock of a data folder, which the kernel releases if we are killed.

    Its file can be deleted while it is held, and then another program can lock a new one. So the
    file is compared with its name, after locking and later again, and a program that holds a
    deleted one is found by its open files (on Linux).
    """

    def __init__(self, data: Path) -> None:
        self._path = data / "lock"
        self._file: TextIO | None = None

    def take(self) -> None:
        """Lock the folder; raises StartError if another process holds its lock."""
        while not self._is_ours():
            holder = self._try()
            if holder is not None:
                raise self._in_use(holder)
        others = holding_deleted(self._path.resolve())
        if others:
            self.release()
            raise self._in_use(", ".join(map(str, others)))

    def renew(self) -> None:
        """Lock the folder again if its file was deleted or replaced and no process holds it."""
        if not self._is_ours():
            with contextlib.suppress(OSError):
                if self._try() is None:
                    report(f"{self._path} was deleted; it is locked again")

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _is_ours(self) -> bool:
        try:
            return self._file is not None and os.path.samestat(
                os.fstat(self._file.fileno()), self._path.stat()
            )
        except FileNotFoundError:
            return False

    def _try(self) -> str | None:
        """Lock the file of this name, in place of the one before; else return who has locked it."""
        file = self._path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with file:
                file.seek(0)
                return file.read().strip() or "unknown"
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self.release()
        self._file = file
        return None

    def _in_use(self, holder: str) -> StartError:
        return StartError(
            f"the folder {self._path.parent} is in use by process {holder}: "
            "stop it, or choose another folder with --data"
        )


@contextmanager
def lock_data(data: Path) -> Iterator[DataLock]:
    """Lock the data folder; raises StartError if another process has locked it."""
    lock = DataLock(data)
    try:
        lock.take()
        yield lock
    finally:
        lock.release()


def _ports(options: UpOptions, asked: Settings) -> dict[str, str]:
    """
    Return the settings of the ports; that of the metrics is a free one of loopback, unless set.

    Raises StartError if one is in use, or is that of two servers.
    """
    api = _free_port(options.host, options.port)
    found = [(options.host, api)]
    if asked.stream_port is not None:
        stream = _free_port(options.host, asked.stream_port, variable("stream_port"))
        found.append((options.host, stream))
    host = asked.metrics_host or ("127.0.0.1" if asked.metrics_port is None else options.host)
    names = f"{variable('metrics_port')} or {variable('metrics_host')}"
    metrics = _free_port(host, asked.metrics_port or 0, names)
    found.append((host, metrics))
    for place in found:
        if found.count(place) > 1:
            raise StartError(f"port {place[1]} is that of two servers: choose another for one")
    return {"port": str(api), "metrics_host": host, "metrics_port": str(metrics)}


def _ports_soon(options: UpOptions, asked: Settings) -> dict[str, str]:
    """
    Return the settings of the ports; raises StartError if one is in use for some seconds.

    A killed server is a zombie before its last thread, which can still have its port, has ended.
    """
    end = time.monotonic() + _PORT_SECONDS
    while True:
        try:
            return _ports(options, asked)
        except StartError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def _free_port(host: str, port: int, names: str = "--port or --host") -> int:
    """Return `port`, or a free one for 0; raises StartError, with the `names` of its settings."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
    except OSError as error:
        raise StartError(
            f"port {port} on {host} cannot be used ({error.strerror}): choose another with {names}"
        ) from error


def _reachable(host: str) -> str:
    """
    Return the address of `host` for a client on this machine.

    >>> [_reachable(host) for host in ("0.0.0.0", "::", "fd00::1", "here.example")]
    ['127.0.0.1', '[::1]', '[fd00::1]', 'here.example']
    """
    local = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 - compared only
    return f"[{local}]" if ":" in local and not local.startswith("[") else local


def _wait_ready(address: str, supervisor: Supervisor, servers: Servers) -> None:
    end = time.monotonic() + _READY_SECONDS
    wait = LongWait(f"the API is ready at {address}")
    while (answer := readiness(address)) != "ready":
        supervisor.supervise()
        supervisor.check_running()
        servers.supervise()
        if time.monotonic() > end:
            raise StartError(f"the API was not ready within {_READY_SECONDS:.0f} s: {answer}")
        wait.goes_on(answer)
        time.sleep(0.05)


def readiness(address: str, *, timeout: float = 5) -> str:
    """
    Return "ready", or the error or response of /readyz; bypasses proxies.

    `address` is `host:port` or a URL without a path; `timeout` is in seconds.
    """
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=timeout)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            body = answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return why(error)
    return "ready" if answer.status == 200 else f"{answer.status} {body}"


def _print_addresses(address: str, data: Path, metrics: str, *, seconds: float) -> None:
    """Print addresses and a first command; scripts parse the first two lines, without a time."""
    print(f"ready  {address}")
    print(f"data   {data}")
    print(f"metrics  {metrics}/metrics")
    print(f"logs   {data / 'logs'}   (ready at {now()}, after {seconds:.1f} s; Ctrl-C stops)")
    print(f"\nStart a game against two bots:\n\n{curl_line(address)}\n", flush=True)


def curl_line(address: str) -> str:
    """Return a shell command that registers a player (TOKEN) and starts a game."""
    json = "-H 'Content-Type: application/json'"
    return (
        f'TOKEN=$(curl -s {address}/v1/players {json} -d \'{{"name":"Ada"}}\' '
        '| sed \'s/.*"token": *"\\([^"]*\\)".*/\\1/\') && '
        f'curl -s {address}/v1/tables {json} -H "Authorization: Bearer $TOKEN" '
        '-d \'{"ruleset":"shithead","seats":["me",{"bot":"greedy"},{"bot":"lowest"}]}\''
    )
