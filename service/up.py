"""The whole service on one machine: started in order, watched, and stopped in order."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import http.client
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NoReturn

from service.config import ConfigError
from service.embedded import EmbeddedError, make_folder
from service.machine import (
    Servers,
    environment_of,
    programs,
    settings_of_children,
    shared_measures,
)
from service.starting import CannotStart, check_start
from service.supervise import StartError, Supervisor

_READY_WITHIN = 30.0  # seconds
_APPLICATION_PATIENCE = 5.0  # seconds for requests and jobs to end; the servers need the rest of 10


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """What the command line asks for; a URL replaces the embedded server."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8080  # 0: any that is free
    database_url: str | None = field(default=None, repr=False)
    redis_url: str | None = field(default=None, repr=False)
    workers: int = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `up` with the words of a command line and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="up",
        description="Run the whole service on this machine until Ctrl-C.",
        epilog="Further settings come from the environment: SHITHEAD_ORIGIN, SHITHEAD_LOG_LEVEL, …",
    )
    parser.add_argument("--port", type=int, default=8080, help="of the API; 0: any (8080)")
    parser.add_argument("--host", default="127.0.0.1", help="to listen on (127.0.0.1)")
    parser.add_argument(
        "--data", type=Path, default=Path(".shithead"), help="folder of games and keys (.shithead)"
    )
    parser.add_argument("--database-url", help="a PostgreSQL to use instead of an embedded one")
    parser.add_argument("--redis-url", help="a Redis or Valkey to use instead of an embedded one")
    parser.add_argument("--workers", type=int, default=2, help="processes for the bots' turns (2)")
    return run(UpOptions(**vars(parser.parse_args(arguments))))


class _Stopped(BaseException):
    """Somebody asked us to stop; not an Exception, so that nobody catches it in passing."""


def run(options: UpOptions) -> int:
    """
    Run the service until somebody stops it, and return the exit status.

    0 after SIGINT or SIGTERM, 1 with one message where something cannot start. Either way what
    was started has been stopped: first the API and the workers, then Valkey, then PostgreSQL.
    """
    _on_signals(_stop)
    try:
        with ExitStack() as stack:
            try:
                _serve(options, stack)
            finally:
                _on_signals(signal.SIG_IGN)  # stopping has an end of its own within ten seconds
    except _Stopped:
        print("stopped", flush=True)
        return 0
    except (StartError, EmbeddedError, ConfigError, CannotStart) as error:
        print(f"cannot start: {error}", file=sys.stderr, flush=True)
        return 1


def _serve(options: UpOptions, stack: ExitStack) -> NoReturn:
    """Start everything in order, tell where it is, and look after it for ever."""
    began = time.monotonic()
    data = make_folder(options.data.expanduser().absolute())
    stack.enter_context(only_one(data))
    port = _free_port(options.host, options.port)
    servers = Servers(data, stack)
    settings = settings_of_children(
        data,
        database_url=servers.database(options.database_url),
        redis_url=servers.redis(options.redis_url),
        host=options.host,
        port=str(port),
        workers=str(options.workers),
    )
    check_start(settings)
    measures = shared_measures(data)
    for folder in measures.values():
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
    supervisor = Supervisor(
        logs=make_folder(data / "logs"),
        environment=environment_of(settings) | measures,
        folder=data,
    )
    stack.callback(supervisor.stop, patience=_APPLICATION_PATIENCE)
    for program in programs(settings):
        supervisor.start(program)
    address = f"http://{_reachable(options.host)}:{port}"
    _wait_ready(address, supervisor, servers)
    _tell(address, data, seconds=time.monotonic() - began)
    while True:
        time.sleep(0.2)
        servers.look_after()
        supervisor.look_after()


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Stopped


def _on_signals(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, handler)


@contextmanager
def only_one(data: Path) -> Iterator[None]:
    """Hold the lock of the data folder; the system lets go of it even if we are killed."""
    with (data / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise StartError(
                f"the folder {data} is in use by process {lock.read().strip() or 'unknown'}: "
                "stop that one, or choose another with --data"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def _free_port(host: str, port: int) -> int:
    """Return `port`, or a free one for 0; tried here, since the server would share a taken one."""
    if not 0 <= port <= 65535:  # getaddrinfo would take the rest of a division
        raise StartError(f"port {port} does not exist: choose one from 1 to 65535 with --port")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
    except OSError as error:
        raise StartError(
            f"port {port} on {host} cannot be used ({error.strerror}): choose another with --port"
        ) from error


def _reachable(host: str) -> str:
    """Return `host` as a client on this machine writes it."""
    local = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 - compared only
    return f"[{local}]" if ":" in local and not local.startswith("[") else local


def _wait_ready(address: str, supervisor: Supervisor, servers: Servers) -> None:
    end = time.monotonic() + _READY_WITHIN
    answer = ""
    while (answer := _readiness(address)) != "ready":
        supervisor.refuse_deaths()
        servers.look_after()
        if time.monotonic() > end:
            raise StartError(f"the API was not ready within {_READY_WITHIN:.0f} s: {answer}")
        time.sleep(0.05)


def _readiness(address: str) -> str:
    """Return "ready", or what /readyz answers instead; straight there, past any proxy."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=5)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            body = answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return str(error)
    return "ready" if answer.status == 200 else f"{answer.status} {body}"


def _tell(address: str, data: Path, *, seconds: float) -> None:
    """Print what a person needs next; scripts read the first two lines."""
    print(f"ready  {address}")
    print(f"data   {data}")
    print(f"logs   {data / 'logs'}   (started in {seconds:.1f} s; Ctrl-C stops)")
    print(f"\nStart a game against two bots:\n\n{curl_line(address)}\n", flush=True)


def curl_line(address: str) -> str:
    """Return one shell line that makes a player, keeps the token in TOKEN and starts a game."""
    json = "-H 'Content-Type: application/json'"
    return (
        f'TOKEN=$(curl -s {address}/v1/players {json} -d \'{{"name":"Ada"}}\' '
        '| sed \'s/.*"token": *"\\([^"]*\\)".*/\\1/\') && '
        f'curl -s {address}/v1/tables {json} -H "Authorization: Bearer $TOKEN" '
        '-d \'{"ruleset":"shithead","seats":["me",{"bot":"greedy"},{"bot":"lowest"}]}\''
    )


if __name__ == "__main__":
    sys.exit(main())
