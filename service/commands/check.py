"""`shithead check`: everything that is stored, read again and held to what was recorded of it."""

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

from service.commands.keeping import database_of, of_a_service
from service.commands.keys import closed, keys_at_hand

if TYPE_CHECKING:
    from service.keeping.faults import Progress
    from service.record.notes import NoteVerifier

FOUND = 1
SAVE_EVERY = 5.0
"""Seconds after which the state is kept; a check that is killed does so much again."""


@click.command(short_help="Read everything that is stored again, and say what does not fit.")
@of_a_service
@click.option(
    "--archive",
    envvar="SHITHEAD_ARCHIVE",
    show_envvar=True,
    type=click.Path(path_type=Path),
    help="The folder of archived games; without it, archive in --data.",
)
@click.option(
    "--origin",
    envvar="SHITHEAD_ORIGIN",
    show_envvar=True,
    default="shithead.localhost",
    show_default=True,
    help="The name that the service signs with.",
)
@click.option("--deep", is_flag=True, help="Verify every game as `shithead verify` does.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep here how far the check is; a check that was stopped goes on from it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
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
    Hold every stream to its head, and the public log to the games and to what was signed.

    \b
    A line is printed for each thing that does not fit, up to a thousand:
      chain, head        a stream whose events do not follow from one another, or end elsewhere
      row                a summary that shows another version than the stream has
      bundle             an archived game whose bundle is not there, or not the one recorded
      leaf, tile, root   a public log that its games, or its own leaves, contradict
      signature          a checkpoint that no key of the service signed, or of another tree
    With the keys at hand it also says which of them are lacking to go on with running games.
    With --deep also the checks of `shithead verify`, on every game, sealed or not.

    The service may run meanwhile. Any role that may read everything will do.

    Exit status: 0 all fits, 1 something does not, or the check could not be made.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.application.server_keys import verifiers_of
    from service.event_store.protocol import StoreUnavailable
    from service.keeping.faults import StateError, load_progress

    at_hand = keys_at_hand(key_file, data)
    keys = None if at_hand.keyring is None else verifiers_of(at_hand.keyring, origin)
    try:
        progress = None if state is None else load_progress(state, deep=deep)
        with database_of(database_url, data) as url:
            folder = data / "archive" if archive is None and database_url is None else archive
            done = _run(url, folder, keys, progress, state, deep=deep)
            lost = at_hand.lacking(_needed(url)) if at_hand.keyring else []
    except (StateError, StoreUnavailable) as error:
        raise click.ClickException(str(error)) from None
    if state is not None:
        state.unlink(missing_ok=True)
    _tell(done, lost, signatures=keys is not None, as_json=as_json)
    if lost:
        click.echo(closed(at_hand, lost), err=True)
    return FOUND if done.faults or lost else 0


def _run(
    url: str,
    archive: Path | None,
    keys: tuple[NoteVerifier, ...] | None,
    progress: Progress | None,
    state: Path | None,
    *,
    deep: bool,
) -> Progress:
    from service.event_store.database import Database
    from service.keeping.check import extent_of, whole_check
    from service.keeping.faults import Progress, save_progress

    begin = at = progress or Progress(deep=deep)
    with closing(Database(url, size=2)) as database, _bars() as bars:
        extent, saved = extent_of(database), time.monotonic()
        streams = bars.add_task("streams", total=extent.streams)
        leaves = bars.add_task("public log", total=extent.leaves)
        try:
            for at in whole_check(database, archive, keys, begin):
                bars.update(streams, completed=at.streams)
                bars.update(leaves, completed=at.edge.size)
                if state is not None and time.monotonic() - saved > SAVE_EVERY:
                    save_progress(state, at)
                    saved = time.monotonic()
        finally:
            if state is not None:
                save_progress(state, at)
    return at


def _bars() -> Bars:
    """Return progress bars where a person sees them; they leave nothing behind."""
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
    """Return which keys the running games are sealed with."""
    from service.event_store.database import Database

    with closing(Database(url, size=1)) as database:
        [(_, _, _, _, keys)] = database.fetch("backup_facts")
    return tuple(keys)


def _tell(done: Progress, lost: list[str], *, signatures: bool, as_json: bool) -> None:
    if as_json:
        told = {
            "streams": done.streams,
            "leaves": done.edge.size,
            "deep": done.deep,
            "signatures": signatures,
            "lacking": lost,
            "faults": [asdict(fault) for fault in done.faults],
            "unlisted": done.unlisted,
        }
        click.echo(json.dumps(told))
        return
    for fault in done.faults:
        words = f"{fault.where}: {fault.check}: {fault.reason}"
        click.echo("".join(c if c.isprintable() else "\ufffd" for c in words))
    count = len(done.faults) + done.unlisted
    if done.unlisted:
        click.echo(f"and {done.unlisted} more, which are not listed")
    result = f"{count} faults" if count else "all fits"
    click.echo(f"{done.streams} streams, {done.edge.size} leaves: {result}")
    if not signatures:
        click.echo("signatures of checkpoints were not looked at: no keys", err=True)
