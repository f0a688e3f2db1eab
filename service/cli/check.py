"""`shithead check`: verify the integrity of everything stored."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from service.cli.service_options import database_of, find_keys, missing_keys, service_selection

if TYPE_CHECKING:
    from service.backup.check import Progress
    from service.keys.keyring import Keyring
    from service.shx.tlog.notes import NoteVerifier

FOUND = 1
SAVE_EVERY = 5.0
"""Seconds between two saves of the progress."""


@click.command(short_help="Verify the integrity of the database and the archive.")
@service_selection
@click.option(
    "--archive",
    envvar="SHITHEAD_ARCHIVE",
    show_envvar=True,
    type=click.Path(path_type=Path),
    help="The folder of archived games.  [default: archive in --data]",
)
@click.option(
    "--origin",
    envvar="SHITHEAD_ORIGIN",
    show_envvar=True,
    default="shithead.localhost",
    show_default=True,
    help="The name of the service in its signatures.",
)
@click.option("--deep", is_flag=True, help="Verify every game as `shithead verify` does.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Save progress to this file; an interrupted check continues from it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def check(
    database_url: str | None,
    data: Path,
    key_file: Path | None,
    archive: Path | None,
    origin: str,
    state: Path | None,
    *,
    deep: bool,
    as_json: bool,
) -> int:
    """
    Verify the hash chain of every stream, the summaries, the archive and the public log.

    \b
    Prints a line for each fault, up to a thousand:
      chain, head        the events of a stream are not chained, or end in another head
      row                a summary has another version than its stream; with --deep:
                         or differs from the state that its events lead to
      bundle             the bundle of an archived game is missing or has another hash
      refusals           with --deep: the stored refused attempts of a game are not those
                         named by its seal, or cannot be decrypted with the keys
      leaf, tile, root   the public log contradicts the games or its own leaves
      signature          a checkpoint is not signed by the service, or is of another tree
    If the keys are available, missing keys that running games need are reported too.
    --deep also runs the checks of `shithead verify` on every game, sealed or not, and
    compares status, result, seats and players of every summary with its events. Names,
    tokens and invites are not in events; only a signed backup protects them (see
    `shithead restore`).

    The service may be running. The database role needs only read access, to all tables.

    Exit status: 0 no faults, 1 faults found, or the check failed.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.application.signing import verifiers_of
    from service.backup.check import StateError, load_progress
    from service.store.events import StoreUnavailable

    available = find_keys(key_file, data)
    keys = None if available.keyring is None else verifiers_of(available.keyring, origin)
    try:
        progress = None if state is None else load_progress(state, deep=deep)
        with database_of(database_url, data) as url:
            folder = data / "archive" if archive is None and database_url is None else archive
            done = _run(url, folder, keys, available.keyring, progress, state, deep=deep)
            missing = available.lacking(_needed(url)) if available.keyring else []
    except (StateError, StoreUnavailable) as error:
        raise click.ClickException(str(error)) from None
    if state is not None:
        state.unlink(missing_ok=True)
    _print(done, missing, signatures=keys is not None, as_json=as_json)
    if missing:
        click.echo(missing_keys(available, missing), err=True)
    return FOUND if done.faults or missing else 0


def _run(
    url: str,
    archive: Path | None,
    keys: tuple[NoteVerifier, ...] | None,
    keyring: Keyring | None,
    progress: Progress | None,
    state: Path | None,
    *,
    deep: bool,
) -> Progress:
    from service.backup.check import Progress, save_progress, size_of_check, whole_check
    from service.store.database import Database

    start = current = progress or Progress(deep=deep)
    with closing(Database(url, size=2)) as database, _bars() as bars:
        extent, saved = size_of_check(database), time.monotonic()
        streams = bars.add_task("streams", total=extent.streams)
        leaves = bars.add_task("public log", total=extent.leaves)
        try:
            for current in whole_check(database, archive, keys, start, keyring):
                bars.update(streams, completed=current.streams)
                bars.update(leaves, completed=current.edge.size)
                if state is not None and time.monotonic() - saved > SAVE_EVERY:
                    save_progress(state, current)
                    saved = time.monotonic()
        finally:
            if state is not None:
                save_progress(state, current)
    return current


def _bars() -> Bars:
    """Return progress bars for a terminal, removed at the end."""
    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def _needed(url: str) -> Sequence[str]:
    """Return the ids of the keys with which the seeds of running games are encrypted."""
    from service.store.database import Database

    with closing(Database(url, size=1)) as database:
        [(_, _, _, _, keys)] = database.fetch("backup_facts")
    return tuple(keys)


def _print(done: Progress, missing: list[str], *, signatures: bool, as_json: bool) -> None:
    if as_json:
        fields = {
            "streams": done.streams,
            "leaves": done.edge.size,
            "deep": done.deep,
            "signatures": signatures,
            "lacking": missing,
            "faults": [asdict(fault) for fault in done.faults],
            "unlisted": done.unlisted,
        }
        click.echo(json.dumps(fields))
        return
    for fault in done.faults:
        words = f"{fault.where}: {fault.check}: {fault.reason}"
        click.echo("".join(c if c.isprintable() else "\ufffd" for c in words))
    count = len(done.faults) + done.unlisted
    if done.unlisted:
        click.echo(f"and {done.unlisted} more")
    result = f"{count} faults" if count else "no faults"
    click.echo(f"{done.streams} streams, {done.edge.size} leaves: {result}")
    if not signatures:
        click.echo("the signatures of checkpoints were not checked: no keys were found", err=True)
