"""`shithead up`, `run` and `migrate`: the service, one of its processes, the database schema."""

from __future__ import annotations

import os
import re
import tempfile
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click


@click.command(short_help="Run the whole service on this machine.")
@click.option(
    "--port", type=int, default=8080, show_default=True, help="Port of the API; 0: any free port."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=Path(".shithead"),
    show_default=True,
    help="Folder of the database and the keys; created if missing.",
)
@click.option("--database-url", help="A PostgreSQL to use instead of the embedded one.")
@click.option("--redis-url", help="A Redis or Valkey to use instead of the embedded one.")
@click.option(
    "--workers", type=int, default=2, show_default=True, help="Processes for the bots' turns."
)
def up(
    port: int,
    host: str,
    data: Path,
    database_url: str | None,
    redis_url: str | None,
    workers: int,
) -> int:
    """
    Run PostgreSQL, Valkey, the API and its workers until Ctrl-C.

    Nothing has to be installed or set up first: both servers come with the Python
    packages. When the service is ready, its address and data folder are printed, and a
    curl command that starts a game. Games continue after a restart with the same folder.

    Other settings come from the environment: `shithead settings` lists them. The name of the
    service in receipts, SHITHEAD_ORIGIN, can never be changed.

    Back up the whole data folder. Without keys.json in it no running game can continue.

    Exit status: 0 after Ctrl-C or SIGTERM, 1 if it cannot start, with one message.
    """
    from service.local.up import UpOptions, run

    options = UpOptions(
        port=port,
        host=host,
        data=data,
        database_url=database_url,
        redis_url=redis_url,
        workers=workers,
    )
    return run(options)


if TYPE_CHECKING:
    from service.config import Settings

ROLES: Final = ("api", "streams", "worker", "searches", "trials", "relay", "sweeper", "sequencer")
SILENT_SECONDS: Final = 60.0
"""Seconds without a successful round after which relay, sweeper or sequencer is not healthy."""

_ROUND = re.compile(r'shithead_last_round_timestamp_seconds\{process="(\w+)"\} (\S+)')
_TIMEOUT = 5.0  # seconds


@click.command(short_help="Run one process of the service, as containers do.")
@click.argument("role", type=click.Choice(ROLES))
@click.option("--check", is_flag=True, help="Report whether the running process is healthy.")
def run(role: str, *, check: bool) -> int:
    """
    Run one process of the service in the foreground, configured by the environment.

    `shithead settings` lists the variables. The command neither migrates the database nor
    starts PostgreSQL and Redis: use `shithead migrate` and a supervisor. `shithead up` runs
    all processes.

    With --check it tests the process that runs on this machine: `api` and `streams` must
    answer at their ports, the others at SHITHEAD_METRICS_PORT; relay, sweeper and sequencer
    must also have completed a round within the last minute.

    Exit status with --check: 0 healthy, 1 not.
    """
    from service.config import ConfigError, settings_from
    from service.local.programs import program_of
    from service.metrics import SHARED_FOLDER

    try:
        settings = settings_from()
        if check:
            return _report(_fault(settings, role))
        program = program_of(settings, role)
    except (ConfigError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    if role in ("api", "streams"):  # several processes of one server share their metrics
        os.environ.setdefault(SHARED_FOLDER, tempfile.mkdtemp(prefix="shithead-metrics-"))
    return _replace_process(program.command)


def _replace_process(command: list[str]) -> NoReturn:
    os.execv(command[0], command)  # noqa: S606 - the command is ours, and no shell is wanted


def _report(fault: str | None) -> int:
    click.echo("healthy" if fault is None else fault)
    return 0 if fault is None else 1


def _fault(settings: Settings, role: str) -> str | None:
    """Return why a process is not healthy, None if it is; raises ValueError without a port."""
    if role in ("api", "streams"):
        port = settings.port if role == "api" else settings.stream_port
        return _get(port, "/healthz")[0]
    fault, text = _get(settings.metrics_port, "/metrics")
    if fault is not None or role not in ("relay", "sweeper", "sequencer"):
        return fault
    last = float(dict(_ROUND.findall(text)).get(role, 0))
    if not last:
        return "no round has succeeded yet"
    age = time.time() - last
    return None if age < SILENT_SECONDS else f"the last round was {age:.0f} s ago"


def _get(port: int | None, path: str) -> tuple[str | None, str]:
    """Return a fault or None, and the text at a local port; raises ValueError without a port."""
    if port is None:
        raise ValueError("the port of this process is not set")
    connection = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, HTTPException) as error:
        return f"no answer: {error}", ""
    finally:
        connection.close()
    return (None if answer.status == 200 else f"status {answer.status}"), text


@click.command(short_help="Bring a database to the current schema.")
@click.option(
    "--database-url",
    envvar="SHITHEAD_DATABASE_URL",
    show_envvar=True,
    required=True,
    metavar="URL",
    help="postgresql://owner@host/database: connect as the owner, not as the service's role.",
)
@click.option(
    "--check", is_flag=True, help="Change nothing; only report whether the schema is current."
)
def migrate(database_url: str, *, check: bool) -> int:
    """
    Apply missing migrations, functions and privileges to a database.

    `shithead up` does this at its start. On a database of your own, run it before you
    start the new version of the service: the old version keeps working on the new schema.
    There are no downward migrations, and a migration that was changed after it was applied
    is refused. The command is idempotent and can run concurrently.

    Exit status: 0 the schema is current, 1 it is not, with the reason.
    """
    from service.store import migrate as migrations
    from service.store.database import DatabaseError

    try:
        (migrations.check if check else migrations.migrate)(database_url)
    except (DatabaseError, ValueError, RuntimeError, OSError) as error:
        raise click.ClickException(" ".join(str(error).split())) from None
    click.echo("the schema is current")
    return 0
