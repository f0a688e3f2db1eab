"""`shithead backup`, `restore` and `check`: the database to a file, back, and verified."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from service.cli.service_options import (
    ArchivePlace,
    ServiceKeys,
    complete_keyring,
    database_of,
    find_keys,
    find_signer,
    key_file_of,
    missing_keys,
    read_keys,
    restored_state,
    service_selection,
    write_keys,
)
from service.cli.statuses import ReadPath
from service.local.supervisor_metrics import CHECKED_FILE
from service.runtime.config import variable
from service.runtime.plain_errors import why

if TYPE_CHECKING:
    from service.application.retention import ErasureFile
    from service.backup.backup import Authenticity, Corrections, Manifest
    from service.backup.check import Progress
    from service.keys import Keyring
    from service.public_log.signed_checkpoints import SignedCheckpoints
    from service.shx.tlog.notes import NoteVerifier


@click.command(short_help="Write the database to a file while the service runs.")
@click.argument("target", type=click.Path(path_type=Path))
@service_selection
@click.option(
    "--keys",
    type=click.Path(path_type=Path),
    help="Copy the keys to this new file too; store it apart from the backup.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
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
    Write a backup of the whole database to TARGET, a new file or a folder.

    It is a consistent snapshot of all tables; the service may be running. The keys are
    not part of it, and without them the cards of running games cannot be decrypted: back
    up the keys with --keys, to another place, once and after every `rotate-keys`. If the
    keys are available, the backup is signed, so that a restore detects changes.
    Archived games (`shithead admin archive`) are not in the database: copy the archive
    folder as well.

    Exit status: 0 the backup is complete and on disk, 1 it failed, with the reason.
    """
    from service.backup.backup import BackupError, back_up, described

    if keys is not None and keys.exists():
        raise click.ClickException(f"{keys} already exists: name a new file for the keys")
    now, signer = datetime.now(UTC), find_signer(key_file, data)
    path = target / f"shithead-{now:%Y%m%dT%H%M%SZ}.backup" if target.is_dir() else target
    try:
        with database_of(database_url, data) as url:
            manifest = back_up(url, path, now=now, signer=signer)
    except BackupError as error:
        raise click.ClickException(str(error)) from None
    if keys is not None:
        write_keys(complete_keyring(find_keys(key_file, data), manifest.keys), keys)
    _print(described(manifest), path, as_json=as_json)
    if signer is None and not as_json:
        click.echo("the backup is not signed: no keys were found", err=True)
    if keys is None and not as_json:
        click.echo("the backup does not contain the keys: see --keys", err=True)
    return 0


@click.command(short_help="Restore a backup into an empty database.")
@click.argument("source", type=ReadPath(file=True))
@service_selection
@restored_state
@click.option(
    "--end-tokens",
    is_flag=True,
    help="Invalidate all tokens, also those replaced since the backup. Recovery codes stay.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def restore(
    source: Path,
    database_url: str | None,
    data: Path,
    key_file: Path | None,
    keys: Path | None,
    checkpoints: tuple[Path, ...],
    erasures: Path | None,
    *,
    end_tokens: bool,
    as_json: bool,
) -> int:
    """
    Restore the backup SOURCE into an empty database, as its owner.

    The hashes in the backup are checked before anything is written, and the schema is
    migrated to the one of this release. The restore is one transaction; a database that is
    not empty is refused. Run `shithead check` afterwards.

    \b
    Do not continue from a backup that is older than a published checkpoint of the public
    log: the service would sign a second, contradictory tree, which proves it dishonest.
    Pass every checkpoint that you have with --checkpoint, and such a backup is refused. Find
    them
      in log.checkpoint of every machine with a sequencer, beside its key file, and
      at every witness, a monitor or anybody who fetched /v1/log/checkpoint.
    It is stored as log.checkpoint (SHITHEAD_LOG_CHECKPOINT, else beside the keys) unless
    that file has a larger tree. Without --checkpoint, the newest one in the backup is used:
    the sequencer continues from it, and signs nothing if a witness or log.checkpoint proves
    a larger tree.

    The cards of running games can be decrypted only with the keys that sealed them. Pass
    the backup of the keys with --keys, or put them where the service reads them. If keys
    are missing, the restore reports it and still restores the games.

    A backup revives tokens that were replaced or revoked since, and players who were
    erased. With --end-tokens, every player needs the recovery code for a new token.
    Players in the list of erased players are erased again; the service keeps that list
    outside the database, beside the key file (SHITHEAD_ERASURES).

    A backup is signed with the key of the service. If it is unsigned, or signed with an
    unknown key, the restore prints a warning: results, players or tokens may have been
    changed. An invalid signature is refused.

    Exit status: 0 restored, 1 nothing was changed, with the reason.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.application.retention import ErasureFile
    from service.backup import backup as restoring
    from service.backup.backup import Backup, BackupError, Corrections
    from service.runtime.config import ERASURES

    path, available = key_file_of(key_file, data), find_keys(key_file, data)
    supplied = None if keys is None else ServiceKeys(where=str(keys), keyring=read_keys(keys))
    erased = ErasureFile(erasures or path.with_name(ERASURES))
    try:
        newest = restoring.newest_checkpoint(file.read_bytes() for file in checkpoints)
        corrections = Corrections(end_tokens=end_tokens, erased=erased.read())
        if supplied is not None:
            _refuse_other_keys(available, complete_keyring(supplied, Backup(source).manifest.keys))
        with database_of(database_url, data, new=True) as url:
            manifest = restoring.restore(url, source, checkpoint=newest, corrections=corrections)
            signed = restoring.newest_checkpoint((newest, _published(url)))
    except (BackupError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    available = keep_for_service(path, available, supplied, signed, erased)
    _print_restored(manifest, corrections, available, source, as_json=as_json)
    if not erased.path.exists() and not as_json:
        click.echo(_REVIVED.format(path=erased.path), err=True)
    if not as_json:
        place = "--database-url … --key-file …" if database_url else f"--data {quote(str(data))}"
        click.echo(_LATER.format(at=f"{manifest.made_at[:19]}Z", place=place), err=True)
    if newest is None and not as_json:
        click.echo(_rollback_warning(manifest), err=True)
    return 0


def keep_for_service(
    path: Path,
    available: ServiceKeys,
    supplied: ServiceKeys | None,
    signed: bytes | None,
    erased: ErasureFile,
) -> ServiceKeys:
    """Store keys (at `path`), checkpoint and erasures for the service; return its keys."""
    from service.public_log.signed_checkpoints import signed_checkpoints
    from service.runtime.config import ERASURES

    if available.keyring is None and supplied is not None and supplied.keyring is not None:
        write_keys(supplied.keyring, path)
        available = supplied
    if signed is not None:
        _store_checkpoint(signed_checkpoints(path, _log_checkpoint()), signed)
    _copy_erasures(erased, path.with_name(ERASURES))
    return available


def _published(url: str) -> bytes | None:
    """Return the newest checkpoint in the restored database, None if it has none."""
    from service.store.database import Database
    from service.store.public_log import PostgresLog

    database = Database(url, size=1)
    try:
        found = PostgresLog(database).published()
        return None if found is None else found.note
    finally:
        database.close()


def _log_checkpoint() -> Path | None:
    """Return the path in SHITHEAD_LOG_CHECKPOINT, None if it is not set."""
    path = os.environ.get(variable("log_checkpoint"), "").strip()
    return Path(path) if path else None


def _store_checkpoint(checkpoints: SignedCheckpoints, newest: bytes) -> None:
    """Store the checkpoint for the sequencer; a failure is only reported."""
    from service.shx.canonical import RecordError

    try:
        if checkpoints.path is not None:
            checkpoints.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        checkpoints.save(newest)
    except (OSError, RecordError) as error:
        click.echo(f"{checkpoints.path} was not written: {why(error)}", err=True)


def _copy_erasures(erased: ErasureFile, target: Path) -> None:
    """Copy the list of erased players to `target`, for later restores; failures are reported."""
    from service.application.retention import ErasureFile
    from service.store.directory import Erasure

    if erased.path == target or not erased.path.exists():
        return
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        erasures = [Erasure(player=player, at=at) for player, at in erased.read().items()]
        ErasureFile(target).add(erasures)
    except (OSError, ValueError) as error:
        click.echo(f"{target} was not written: {why(error)}", err=True)


def _authenticity(source: Path, available: ServiceKeys) -> Authenticity:
    """Return the authenticity of a backup: signed with one of these keys, unsigned or unknown."""
    from service.backup.backup import Backup

    known = () if available.keyring is None else available.keyring.publics
    with closing(Backup(source)) as backup:
        return backup.authenticity(known)


_LATER = (
    "if the service went on after {at}, what it acknowledged since is missing: once the restored "
    "service runs, declare the loss with `shithead admin {place} declare {at}`"
)
_REVIVED = "{path} does not exist: players erased since the backup are restored (--erasures)"
_DOUBTS: Mapping[str, str] = {
    "unsigned": "the backup is not signed",
    "unknown-key": "the backup is signed with an unknown key",
}


def _print_restored(
    manifest: Manifest,
    corrections: Corrections,
    available: ServiceKeys,
    source: Path,
    *,
    as_json: bool,
) -> None:
    """Print what was restored, ended and erased, and whether the backup is authentic."""
    from service.backup.backup import described

    missing, signed = available.lacking(manifest.keys), _authenticity(source, available).value
    checked = {"lacking": missing, "authenticity": signed}
    counts = {"tokens_ended": corrections.ended, "erased": corrections.erased}
    _print({**described(manifest), **checked, **counts}, source, as_json=as_json)
    if not as_json:
        click.echo(f"{corrections.ended} tokens ended, {corrections.erased} players erased again")
    if signed in _DOUBTS and not as_json:
        click.echo(
            f"{_DOUBTS[signed]}: its results, players and tokens may have been changed "
            "(shithead check --deep verifies all but names and tokens)",
            err=True,
        )
    if missing:
        click.echo(
            f"{missing_keys(available, missing)}: add them before you start the service", err=True
        )


def _refuse_other_keys(available: ServiceKeys, keyring: Keyring) -> None:
    if available.keyring is not None and available.keyring.to_text() != keyring.to_text():
        raise click.ClickException(f"{available.where} already exists and has other keys")


def _print(fields: dict[str, Any], path: Path, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"file": str(path), **fields}))
        return
    click.echo(f"{path}: of {fields['made_at']}, written by {fields['engine']}")
    click.echo(
        f"{fields['rows']} rows, {fields['games']} games, {fields['running']} of them running, "
        f"{fields['leaves']} leaves of the public log"
    )
    if fields["keys"]:
        click.echo(f"its running games need the keys {', '.join(fields['keys'])}")


def _rollback_warning(manifest: Manifest) -> str:
    return (
        f"the public log has {manifest.leaves} leaves: if a machine, a witness or a monitor has a "
        "checkpoint with more, do not continue from this backup (see --checkpoint)"
    )


FOUND = 1
SAVE_EVERY = 5.0
"""Seconds between two saves of the progress."""


@click.command(short_help="Verify the integrity of the database and the archive.")
@service_selection
@click.option(
    "--archive",
    envvar="SHITHEAD_ARCHIVE",
    show_envvar=True,
    type=ArchivePlace(),
    metavar="PLACE",
    help="The archived games: a folder, or s3://bucket/folder.  [default: archive in --data]",
)
@click.option(
    "--origin",
    envvar="SHITHEAD_ORIGIN",
    show_envvar=True,
    default="shithead.localhost",
    show_default=True,
    help="The name of the service in its signatures.",
)
@click.option(
    "--keep-refusals-days",
    envvar="SHITHEAD_KEEP_REFUSALS_DAYS",
    show_envvar=True,
    type=click.IntRange(min=0),
    help="With --deep: the days for which refused attempts are retained, 0: forever.",
)
@click.option("--deep", is_flag=True, help="Verify every game as `shithead verify` does.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Save progress to this file; an interrupted check continues from it.",
)
@click.option(
    "--metrics",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write time and faults of this check for Prometheus (node_exporter's textfiles).  "
    "[default: check.prom in --data, which `shithead up` shows, unless --database-url is used]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def check(
    database_url: str | None,
    data: Path,
    key_file: Path | None,
    archive: Path | str | None,
    origin: str,
    state: Path | None,
    metrics: Path | None,
    *,
    keep_refusals_days: int | None,
    deep: bool,
    as_json: bool,
) -> int:
    """
    Verify the hash chain of every stream, the summaries, the archive and the public log.

    \b
    Prints a line for each fault, up to a thousand:
      chain, head        the events of a stream are not chained, or end in another head
      row                a summary has another version than its stream; with --deep:
                         or differs from the state that its events lead to, or the
                         statements, evidence or findings of a dispute, or the blind
                         choices of a game, are not those of its stream, or a rating
                         is not that to which the hands of the public log lead
      bundle             the bundle of an archived game is missing or has another hash
      refusals           with --deep: the stored refused attempts of a game are not those
                         named by its seal, cannot be decrypted with the keys, or are
                         missing before their retention ends
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
            after = _refusals_after(keep_refusals_days)
            done = _run(url, folder, keys, available.keyring, progress, state, after, deep=deep)
            missing = available.lacking(_needed(url)) if available.keyring else []
    except (StateError, StoreUnavailable) as error:
        raise click.ClickException(str(error)) from None
    if state is not None:
        state.unlink(missing_ok=True)
    _print_result(done, missing, signatures=keys is not None, as_json=as_json)
    if file := metrics or (data / CHECKED_FILE if database_url is None else None):
        _leave_metrics(file, len(done.faults) + done.unlisted + len(missing))
    if missing:
        click.echo(missing_keys(available, missing), err=True)
    return FOUND if done.faults or missing else 0


def _leave_metrics(file: Path, faults: int) -> None:
    from service.local.supervisor_metrics import write_check

    try:
        write_check(file, time.time(), faults)
    except OSError as error:  # what was found stands: say that no alert will follow from it
        click.echo(f"the metrics of this check were not written: {why(error)}", err=True)


def _refusals_after(days: int | None) -> datetime:
    """Return the time after whose game ends refused attempts are retained; None: the default."""
    from service.application.retention import KEEP_REFUSALS

    retained = KEEP_REFUSALS.default if days is None else days
    if retained == 0:
        return datetime.min.replace(tzinfo=UTC)
    return datetime.now(UTC) - timedelta(days=retained)


def _run(
    url: str,
    archive: Path | str | None,
    keys: tuple[NoteVerifier, ...] | None,
    keyring: Keyring | None,
    progress: Progress | None,
    state: Path | None,
    refusals_after: datetime,
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
            for current in whole_check(
                database, archive, keys, start, keyring, refusals_after=refusals_after
            ):
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


def _print_result(done: Progress, missing: list[str], *, signatures: bool, as_json: bool) -> None:
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
