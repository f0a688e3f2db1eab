"""What one machine runs: its servers, the settings of its programs, and the programs."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import psycopg
import redis

import service
from service.config import Settings, settings_from, variable
from service.embedded import EmbeddedError, make_folder, name_for
from service.embedded_postgres import EmbeddedPostgres
from service.embedded_valkey import EmbeddedValkey
from service.event_store.migrate import LaterSchema, migrate
from service.event_store.roles import service_url
from service.measures import SHARED_FOLDER
from service.supervise import Program, StartError

_PAUSE = 5.0  # seconds between two tries to start a dead server again
_MEMORY = Path("/dev/shm")  # noqa: S108 - the folder in it is private, or another is taken
_ROOT = Path(service.__file__).resolve().parent.parent  # holds the packages, and sql/


class Servers:
    """PostgreSQL and Valkey: embedded, or somebody else's where an address is given."""

    def __init__(self, data: Path, stack: ExitStack) -> None:
        self._data = data
        self._stack = stack
        self._embedded: list[EmbeddedPostgres | EmbeddedValkey] = []
        self._due = 0.0

    def database(self, given: str | None) -> str:
        """
        Return the address of a migrated database, in the role that may only append and read.

        A given server may not let that role in without a password; then the given address
        serves, and the triggers alone keep the record append-only.
        """
        url = given or self._start(EmbeddedPostgres(self._data))
        _migrate(url)
        narrow = service_url(url)
        return narrow if _lets_in(narrow) else url

    def redis(self, given: str | None) -> str:
        """Return the address of a Redis that answers."""
        if given is None:
            return self._start(EmbeddedValkey(self._data))
        _check_redis(given)
        return given

    def look_after(self) -> None:
        """Start an embedded server again that has died; its address stays the same."""
        for server in self._embedded:
            process = server.process
            if process is None or process.poll() is None or time.monotonic() < self._due:
                continue
            print(f"{server.name} ended; starting it again", file=sys.stderr, flush=True)
            try:
                server.start()
            except EmbeddedError as error:
                print(error, file=sys.stderr, flush=True)
                self._due = time.monotonic() + _PAUSE

    def _start(self, server: EmbeddedPostgres | EmbeddedValkey) -> str:
        self._stack.callback(server.stop)
        address = server.start()
        self._embedded.append(server)
        return address


def settings_of_children(data: Path, **known: str) -> Settings:
    """Return the settings of the programs: the environment's, then what we know better."""
    environment = dict(os.environ) | {variable(name): value for name, value in known.items()}
    environment.setdefault(variable("key_file"), str(data / "keys.json"))
    environment.setdefault(variable("archive"), str(data / "archive"))
    return settings_from(environment)


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the environment of the children: ours, the settings, and where the packages are."""
    environment = dict(os.environ)
    for name in Settings.__slots__:
        value = getattr(settings, name)
        if value is not None:
            environment[variable(name)] = str(value)
    paths = [str(_ROOT), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    environment["PYTHONUNBUFFERED"] = "1"
    return environment


def shared_measures(data: Path, *, memory: Path = _MEMORY) -> dict[str, str]:
    """
    Return where the programs add up what /metrics tells: a new folder at each start.

    The files in it belong to processes; those of the last run would be counted for ever.
    They are mapped into memory, where a full disk would end the process that counts instead
    of failing a call: so they lie in `memory` where the system has such a folder.
    """
    folder = memory / f"{name_for(data)}-measures"
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
    except OSError:  # there is none, or somebody else has this name
        folder = data / "measures"
        shutil.rmtree(folder, ignore_errors=True)
    return {SHARED_FOLDER: str(make_folder(folder))}


def programs(settings: Settings) -> list[Program]:
    """Return the API, the workers, relay, sweeper and sequencer, in the order of their start."""
    python = [sys.executable, "-m"]
    jobs = [(f"worker {number}", "worker") for number in range(1, settings.workers + 1)]
    return [
        *_web_servers(settings, python),
        *(
            Program(name=name, command=[*python, "workers.main", kind])
            for name, kind in (*jobs, *((kind, kind) for kind in ("relay", "sweeper", "sequencer")))
        ),
    ]


def _web_servers(settings: Settings, python: Sequence[str]) -> list[Program]:
    """Return the API, and beside it the process for those who wait where it has a port."""
    server = [*python, "granian", "--interface", "wsgi", "--factory", "--no-ws"]
    server += ["--host", settings.host, "--respawn-failed-workers", "--workers-kill-timeout", "3s"]

    def served(name: str, app: str, port: int, processes: int, threads: int) -> Program:
        sizes = ["--workers", str(processes), "--blocking-threads", str(threads)]
        command = [*server, "--port", str(port), *sizes, f"service.api.served:{app}"]
        return Program(name=name, command=command)

    found = [
        served("API", "calls", settings.port, settings.api_processes, settings.api_threads)
    ]
    if settings.stream_port is not None:
        found.append(
            served("streams", "streams", settings.stream_port, 1, settings.stream_threads)
        )
    return found


def _lets_in(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def _migrate(database_url: str) -> None:
    try:
        migrate(database_url)
    except LaterSchema as error:
        print(f"not migrated: {_one_line(error)}", file=sys.stderr, flush=True)
    except psycopg.OperationalError as error:
        raise StartError(f"the database does not answer: {_one_line(error)}") from error
    except (psycopg.Error, ValueError, RuntimeError) as error:
        raise StartError(f"the database cannot be migrated: {_one_line(error)}") from error


def _check_redis(url: str) -> None:
    try:
        with contextlib.closing(redis.Redis.from_url(url, socket_connect_timeout=5)) as client:
            client.ping()
    except (redis.RedisError, ValueError, OSError) as error:
        raise StartError(f"Redis does not answer: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
