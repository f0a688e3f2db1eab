"""The whole service in processes of its own, which tests can kill."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from service.feature import settings_of
from service.features import FEATURES
from service.keys import Keyring
from service.local.forked_programs import can_fork
from service.local.processes import Child
from service.local.programs import environment_of, programs
from service.local.up import readiness
from service.runtime.config import Settings
from service.store.migrate import service_url

READY_SECONDS = 90.0

can_fork({})  # decided for this process before a test sets the variable of shared metrics


@dataclass(kw_only=True)
class Running:
    """API processes, workers, relay and sweeper over a database and a Redis."""

    settings: Settings
    logs: Path
    children: dict[str, Child] = field(default_factory=dict)

    @property
    def port(self) -> int:
        """Return the port of the API on this machine."""
        return self.settings.port

    def start(self, name: str) -> None:
        """Start one program, or start it again."""
        program = next(p for p in programs(self.settings) if p.name == name)
        self.children[name] = program.start(
            log=self.logs / f"{name}.log",
            environment=environment_of(self.settings),
            folder=self.logs,
        )

    def kill(self, name: str) -> None:
        """End one program with SIGKILL."""
        child = self.children.pop(name)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()

    def stop(self) -> None:
        """End all programs with SIGTERM, and after 10 seconds with SIGKILL."""
        for child in self.children.values():
            child.terminate()
        for child in self.children.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=10)
        for child in self.children.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def written(self) -> str:
        """Return everything that the programs have logged."""
        return "".join(path.read_text(errors="replace") for path in self.logs.glob("*.log"))


@contextlib.contextmanager
def running(
    database_url: str,
    redis_url: str,
    folder: Path,
    *,
    workers: int | None = 1,
    **more: Any,
) -> Iterator[Running]:
    """
    Run the service in its restricted database role, if it can connect with it.

    If `workers` is None, only the API runs.
    """
    known: dict[str, Any] = {
        "keys": Keyring.generate().to_text(),
        "origin": "tests.example",
        "port": free_port(),
        "api_processes": 2,
        "api_threads": 16,
    }
    of_features = {
        one.name: more.pop(one.name) for one in settings_of(FEATURES) if one.name in more
    }
    settings = Settings(
        database_url=_restricted(database_url),
        redis_url=redis_url,
        workers=workers or 0,
        of_features=of_features,
        **known | more,
    )
    service = Running(settings=settings, logs=folder)
    try:
        for program in programs(settings):
            if program.name == "API" or workers is not None:
                service.start(program.name)
        for port in filter(None, (settings.port, settings.stream_port)):
            wait_for(partial(is_ready, port), seconds=READY_SECONDS)
        yield service
    finally:
        service.stop()


def wait_for(condition: Callable[[], object], *, seconds: float) -> None:
    """Wait until `condition()` is true; fail after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not true after {seconds} seconds: {condition}"
        time.sleep(0.05)


def _restricted(owner_url: str) -> str:
    """Return the address for the restricted role; the owner's if that role cannot connect."""
    restricted = service_url(owner_url)
    try:
        psycopg.connect(restricted, connect_timeout=5).close()
    except psycopg.OperationalError:
        return owner_url
    return restricted


def free_port() -> int:
    """
    Return a free port of this machine, for a program that is started a little later.

    It is none of those that the system gives to connections, or one of these might have it then.
    """
    while True:
        port = secrets.randbelow(12_768) + 20_000  # Linux gives connections those from 32,768 on
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def is_ready(port: int) -> bool:
    """Return whether a service on this port of this machine is ready."""
    return readiness(f"127.0.0.1:{port}") == "ready"
