"""`shithead backup` and `shithead restore`: the database in a file, and back out of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from service.commands.keeping import database_of, of_a_service
from service.commands.keys import (
    KeysAtHand,
    closed,
    key_file_of,
    keys_at_hand,
    opening,
    read_keys,
    write_keys,
)

if TYPE_CHECKING:
    from service.keeping.backup_file import Manifest
    from service.keyring import Keyring
    from service.public_log.signed import Signed


@click.command(short_help="Write the database to a file while the service runs.")
@click.argument("target", type=click.Path(path_type=Path))
@of_a_service
@click.option(
    "--keys",
    type=click.Path(path_type=Path),
    help="Copy the keys as well, to this file; keep it elsewhere than the backup.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def backup(
    target: Path,
    database_url: str | None,
    data: Path,
    key_file: Path | None,
    keys: Path | None,
    *,
    as_json: bool,
) -> int:
    """
    Write a backup of everything in the database to TARGET, a new file, or a folder for one.

    It holds all tables as they were at one moment; the service may run meanwhile. Cards
    of running games cannot be read from it without the keys, which are never in it:
    back them up with --keys, to another place and a new file, once and after every
    `rotate-keys`.
    Bundles that `shithead admin archive` moved out of the database are files of their
    own and are copied as such.

    Exit status: 0 all that was asked for is whole and on disk, 1 something is not and why.
    """
    from service.keeping.back_up import back_up
    from service.keeping.backup_file import BackupError, described

    if keys is not None and keys.exists():
        raise click.ClickException(f"{keys} is there already: name a new file for the keys")
    now = datetime.now(UTC)
    path = target / f"shithead-{now:%Y%m%dT%H%M%SZ}.backup" if target.is_dir() else target
    try:
        with database_of(database_url, data) as url:
            manifest = back_up(url, path, now=now)
    except BackupError as error:
        raise click.ClickException(str(error)) from None
    if keys is not None:
        write_keys(opening(keys_at_hand(key_file, data), manifest.keys), keys)
    _tell(described(manifest), path, as_json=as_json)
    if keys is None and not as_json:
        click.echo("the keys are not in it: see --keys", err=True)
    return 0


@click.command(short_help="Put a backup into an empty database.")
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@of_a_service
@click.option(
    "--keys",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The backup of the keys; it becomes the key file, where there is none yet.",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The newest checkpoint of the public log that anybody has; see below.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what came back as JSON.")
def restore(
    source: Path,
    database_url: str | None,
    data: Path,
    key_file: Path | None,
    keys: Path | None,
    checkpoint: Path | None,
    *,
    as_json: bool,
) -> int:
    """
    Put the backup SOURCE into an empty database, as its owner; `shithead up` goes on from it.

    The hashes in the backup are checked before anything is written, and its schema is
    brought to that of this release. Whole or not at all; a database that is not empty is
    refused.

    \b
    A backup older than what the public log has shown the world is a danger: a service
    that goes on from it would sign a second tree, which proves it false for ever. Give
    the newest checkpoint with --checkpoint, and such a backup is refused. It is
      log.checkpoint, beside the key file of the service that was lost, or
      what a witness, a monitor or anybody else fetched from /v1/log/checkpoint.
    Where none is given, the log's process asks the witnesses and log.checkpoint before
    it signs anything, and signs nothing if they know more. Run `shithead check` next.

    Cards of running games come back only with the keys that sealed them. Give the
    backup of the keys with --keys, or have them where the service looks for them; where
    they are not, that is said, and the games are back all the same.

    Exit status: 0 the backup is back, 1 nothing was changed and why.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.keeping import restore as restoring
    from service.keeping.backup_file import Backup, BackupError, described
    from service.public_log.signed import beside

    place, at_hand = key_file_of(key_file, data), keys_at_hand(key_file, data)
    given = None if keys is None else KeysAtHand(where=str(keys), keyring=read_keys(keys))
    newest = None if checkpoint is None else checkpoint.read_bytes()
    try:
        if given is not None:
            _refuse_other_keys(at_hand, opening(given, Backup(source).manifest.keys))
        with database_of(database_url, data, new=True) as url:
            manifest = restoring.restore(url, source, checkpoint=newest)
    except BackupError as error:
        raise click.ClickException(str(error)) from None
    if at_hand.keyring is None and given is not None and given.keyring is not None:
        write_keys(given.keyring, place)
        at_hand = given
    if newest is not None:
        _remember(beside(place), newest)
    lost = at_hand.lacking(manifest.keys)
    _tell({**described(manifest), "lacking": lost}, source, as_json=as_json)
    if lost:
        click.echo(f"{closed(at_hand, lost)}: put them there before the service starts", err=True)
    if newest is None and not as_json:
        click.echo(_warned(manifest), err=True)
    return 0


def _remember(memory: Signed, newest: bytes) -> None:
    """Keep the checkpoint for the log's process; the backup is back, whatever comes of it."""
    from service.record.canonical import RecordError

    try:
        memory.keep(newest)
    except (OSError, RecordError) as error:
        click.echo(f"log.checkpoint beside the keys was not written: {error}", err=True)


def _refuse_other_keys(at_hand: KeysAtHand, keyring: Keyring) -> None:
    if at_hand.keyring is not None and at_hand.keyring.to_text() != keyring.to_text():
        raise click.ClickException(f"{at_hand.where} is there already, and holds other keys")


def _tell(told: dict[str, Any], path: Path, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"file": str(path), **told}))
        return
    click.echo(f"{path}: of {told['made_at']}, written by {told['engine']}")
    click.echo(
        f"{told['rows']} rows, {told['games']} games, {told['running']} of them running, "
        f"{told['leaves']} leaves of the public log"
    )
    if told["keys"]:
        click.echo(f"its running games need the keys {', '.join(told['keys'])}")


def _warned(manifest: Manifest) -> str:
    return (
        f"the public log is back at {manifest.leaves} leaves: if a checkpoint of more was ever "
        "published, do not go on from this backup (see --checkpoint)"
    )
