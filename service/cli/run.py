"""`shithead up`, `run`, `migrate`, `settings` and `rotate-keys`: operate the service."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click

from service.cli.service_options import data_folder
from service.runtime.config import DESCRIBED, OTHERS, Settings, shared_settings, variable
from service.runtime.plain_errors import why

if TYPE_CHECKING:
    from service.store.migrate import Applied


@click.command(short_help="Run the whole service on this machine.")
@click.option(
    "--port", type=int, default=8080, show_default=True, help="Port of the API; 0: any free port."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@data_folder("Folder of the database and the keys; created if missing.")
@click.option("--database-url", help="A PostgreSQL to use instead of the embedded one.")
@click.option("--redis-url", help="A Redis or Valkey to use instead of the embedded one.")
@click.option(
    "--workers", type=int, default=2, show_default=True, help="Processes for the bots' turns."
)
@click.option(
    "--wal-archive",
    type=click.Path(path_type=Path, file_okay=False),
    help="Archive the embedded PostgreSQL in this folder, on another disk; see `recover`.",
)
@click.option(
    "--wal-archive-sync",
    is_flag=True,
    help="Acknowledge each change once it is in the archive too: a lost disk costs nothing.",
)
def up(
    port: int,
    host: str,
    data: Path,
    database_url: str | None,
    redis_url: str | None,
    workers: int,
    wal_archive: Path | None,
    *,
    wal_archive_sync: bool,
) -> int:
    """
    Run PostgreSQL, Valkey, the API and its workers until Ctrl-C.

    Nothing has to be installed or set up first: both servers come with the Python
    packages. When the service is ready, its address and data folder are printed, and a
    curl command that starts a game. Games continue after a restart with the same folder.

    Other settings come from the environment: `shithead settings` lists them. The name of the
    service in receipts, SHITHEAD_ORIGIN, can never be changed.

    With --wal-archive a lost data folder is recovered by `shithead recover` from the WAL and a
    daily base backup. Copy keys.json as well, to another place: without it no running game can
    continue.

    Exit status: 0 after Ctrl-C or SIGTERM, 1 if it cannot start, with one message.
    """
    from service.feature import settings_of
    from service.features import FEATURES
    from service.local.up import UpOptions, run

    options = UpOptions(
        port=port,
        host=host,
        data=data,
        database_url=database_url,
        redis_url=redis_url,
        workers=workers,
        wal_archive=wal_archive,
        wal_archive_sync=wal_archive_sync,
        declared=settings_of(FEATURES),
    )
    return run(options)


ROLES: Final = (
    *("api", "streams", "worker", "searches", "trials", "webhooks"),
    *("relay", "sweeper", "sequencer"),
)
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
    from service.feature import settings_of
    from service.features import FEATURES
    from service.local.programs import program_of
    from service.runtime.config import ConfigError, settings_from
    from service.runtime.telemetry import SHARED_FOLDER

    try:
        settings = settings_from(declared=settings_of(FEATURES))
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
        return f"no answer: {why(error)}", ""
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
@click.option(
    "--finish",
    is_flag=True,
    help="When no process of an earlier release runs any more: also drop the functions that only "
    "they call.",
)
def migrate(database_url: str, *, check: bool, finish: bool) -> int:
    """
    Apply missing migrations, functions and privileges to a database.

    `shithead up` does this at its start. On a database of your own, run it before you
    start the new version of the service: the old version keeps working on the new schema.
    There are no downward migrations, and a migration that was changed after it was applied
    is refused. The command is idempotent and can run concurrently. It prints the name of each
    migration that it applied.

    Exit status: 0 the schema is current, 1 it is not, with the reason.
    """
    from service.store import migrate as migrations
    from service.store.database import DatabaseError

    try:
        if check:
            migrations.check(database_url)
        else:
            done = _in_lines(migrations.migrate(database_url))
            click.echo("\n".join(done or ["nothing was to be applied"]))
            if finish:
                migrations.finish(database_url)
                click.echo("dropped the functions that only earlier releases call")
    except (DatabaseError, ValueError, RuntimeError, OSError) as error:
        raise click.ClickException(" ".join(why(error).split())) from None
    click.echo("the schema is current")
    return 0


def _in_lines(applied: Applied) -> list[str]:
    """Return what a run of the migrations applied: a line for each of them, one for the others."""
    lines = [f"applied migration {name}" for name in applied.migrations]
    if applied.others:
        lines.append(f"applied {len(applied.others)} files of functions and privileges")
    return lines


_HEAD = "| Variable | Default | Unit or form | Effect |\n| --- | --- | --- | --- |"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A variable as the settings page shows it."""

    variable: str
    default: str
    unit: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSection:
    """A part of the settings page."""

    title: str
    rows: tuple[Described, ...]


def settings_page() -> tuple[SettingsSection, ...]:
    """Return all variables, those of the service first."""
    from service.feature import settings_of
    from service.features import FEATURES

    fixed = {
        one.name: _text(one.default)
        for one in shared_settings()
        if one.default is not MISSING and one.default is not None
    }
    shared = {one.title: one.rows for one in _sections(DESCRIBED, fixed)}
    for one in settings_of(FEATURES):
        row = Described(
            variable=variable(one.name),
            default="none" if one.default is None else _text(one.default),
            unit=one.unit,
            effect=one.effect,
        )
        shared[one.section] = (*shared.get(one.section, ()), row)
    sections = [SettingsSection(title=title, rows=rows) for title, rows in shared.items()]
    return (*sections, *_sections(OTHERS, {}))


def markdown() -> str:
    """Return the page as Markdown, for the runbook."""
    lines = []
    for section in settings_page():
        lines += [f"### {section.title}", "", _HEAD]
        lines += [
            f"| `{row.variable}` | {row.default} | {row.unit} | {row.effect} |"
            for row in section.rows
        ]
        lines.append("")
    return "\n".join(lines)


@click.command(short_help="List all settings with default, unit and effect.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the tables of the runbook.")
def settings(*, as_markdown: bool) -> None:
    """
    List all environment variables: default, unit or form, and effect.

    The service reads them when it starts, and refuses to start with an invalid value or an
    unknown name. `shithead up` sets the addresses of its own servers, the port and the
    number of workers from its options. It stores the key file and the archive in its data
    folder, and chooses a free port of 127.0.0.1 for the metrics, unless these are set.

    Exit status: 0.
    """
    if as_markdown:
        click.echo(markdown(), nl=False)
        return
    for section in settings_page():
        click.echo(f"{section.title}\n")
        for row in section.rows:
            click.echo(f"  {row.variable:<34} {row.default} ({row.unit})\n      {row.effect}")
        click.echo()


def _sections(text: str, fixed: dict[str, str]) -> Iterator[SettingsSection]:
    """Yield the sections of a description; `fixed` has the defaults that it does not name."""
    for block in text.strip().removeprefix("= ").split("\n= "):
        title, *lines = block.splitlines()
        yield SettingsSection(title=title, rows=tuple(_row(line, fixed) for line in lines))


def _row(line: str, fixed: dict[str, str]) -> Described:
    name, default, unit, effect = (cell.strip() for cell in line.split("|"))
    standard = name.isupper()  # of OpenTelemetry, without our prefix
    return Described(
        variable=name if standard else variable(name),
        default=default or fixed[name],
        unit=unit,
        effect=effect,
    )


def _text(default: object) -> str:
    """Return a default as it is written in the environment."""
    if isinstance(default, bool):
        return "on" if default else "off"
    return default.value if isinstance(default, StrEnum) else str(default)


@click.command(name="rotate-keys", short_help="Make new keys for the service.")
@click.option(
    "--key-file",
    envvar="SHITHEAD_KEY_FILE",
    show_envvar=True,
    type=click.Path(path_type=Path),
    default=Path(".shithead/keys.json"),
    show_default=True,
    help="The key file of the service.",
)
@click.option(
    "--only",
    type=click.Choice(("sealing", "signing")),
    help="Rotate this kind only.  [default: both]",
)
@click.option(
    "--overlap",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="Days during which the old signing key also signs checkpoints.",
)
@click.option(
    "--new", is_flag=True, help="Create a new file after the old one was lost for good; see below."
)
def rotate_keys(key_file: Path, only: str | None, overlap: float, *, new: bool) -> int:
    """
    Add new keys to the key file; a running service reloads it.

    The sealing key encrypts the secrets of running games; old ones remain in the file, to
    decrypt the games that were sealed with them. The signing key signs receipts
    and checkpoints; the new one is signed by the old one, so that clients that trust the
    old key can accept the new one. During the overlap, checkpoints carry both signatures.
    `/v1/keys` lists all keys permanently.

    Back up the key file afterwards: running games cannot be decrypted without it.

    --new creates a missing key file. Use it only if every copy of the old file is lost: the
    hidden cards of running games can then never be decrypted, and the new signatures cannot
    be distinguished from forged ones. A service whose database has games refuses to start
    without its key file. Start it once with SHITHEAD_KEYS_CHECK=off, until it has dealt a
    game and signed a checkpoint.

    Exit status: 0 the file has new keys, 1 it could not be read or written.
    """
    from service.keys import Keyring, KeyringError, load_or_create, rotate

    def change(keyring: Keyring) -> Keyring:
        if only != "signing":
            keyring = keyring.rotated()
        if only != "sealing":
            keyring = keyring.with_new_signing_key(
                datetime.now(UTC), overlap=timedelta(days=overlap)
            )
        return keyring

    try:
        if new and key_file.exists():
            raise click.ClickException(f"{key_file} already exists")
        keyring = load_or_create(key_file) if new else rotate(key_file, change)
    except (KeyringError, OSError) as error:
        raise click.ClickException(why(error)) from None
    click.echo(f"sealing key {keyring.current}, signing key of {keyring.signing_since}")
    click.echo("a running service reloads them; back up the key file")
    return 0
