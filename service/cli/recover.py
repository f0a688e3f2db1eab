"""`shithead recover`: the database from a WAL archive into a new data folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

import click

from service.cli.backup import keep_for_service
from service.cli.service_options import (
    ServiceKeys,
    TimeOption,
    complete_keyring,
    find_keys,
    key_file_of,
    new_data_folder,
    read_keys,
    restored_state,
)
from service.cli.statuses import ReadPath

if TYPE_CHECKING:
    from service.backup.backup import Corrections
    from service.local.recovery import Recovered
    from service.shx.restores import Restore


@click.command(short_help="Recover the database from a WAL archive into a new folder.")
@click.argument("archive", type=ReadPath(folder=True))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    required=True,
    help="The new data folder, without a database.",
)
@click.option(
    "--key-file",
    envvar="SHITHEAD_KEY_FILE",
    show_envvar=True,
    type=click.Path(path_type=Path),
    help="The key file of the service.  [default: SHITHEAD_KEYS, or keys.json in --data]",
)
@restored_state
@click.option(
    "--origin",
    envvar="SHITHEAD_ORIGIN",
    show_envvar=True,
    default="shithead.localhost",
    show_default=True,
    help="The name of the service in its signatures.",
)
@click.option("--game", type=click.UUID, help="Only write the events that this game had, to --to.")
@click.option(
    "--until",
    type=TimeOption(dates=True),
    metavar="TIME",
    help="With --game: as of this time, in UTC.",
)
@click.option(
    "--to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.shx",
    help="With --game: the bundle to write.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def recover(
    archive: Path,
    data: Path,
    key_file: Path | None,
    keys: Path | None,
    checkpoints: tuple[Path, ...],
    erasures: Path | None,
    origin: str,
    *,
    game: UUID | None,
    until: datetime | None,
    to: Path | None,
    as_json: bool,
) -> int:
    """
    Recover from ARCHIVE, the folder of `shithead up --wal-archive`, after the data folder is lost.

    The newest base backup that is intact is copied, and all WAL in the archive is replayed. Then
    start `shithead up` with the new folder and the same archive: running games go on.

    An archive that lacks WAL before its end is refused. Moves of the last moments may be missing
    unless it was written with `--wal-archive-sync`, its end is not cut off, and it reaches to the
    newest --checkpoint, of which log.checkpoint.wal beside the file has the position. Then the
    restore is declared: the public log gets a leaf with the time after which moves may be missing,
    and /v1/keys shows it signed. `shithead admin lost` then ends the running games of which players
    have a receipt for a missing move.

    Checkpoints, the list of erased players and the keys are used as in `shithead restore`. The
    folder of archived games is not in the archive: copy it too.

    With --game nothing is recovered for the service: the events that a game had at a past time are
    written as a bundle, for `shithead admin archive --from`, and the new folder is removed again.

    Exit status: 0 recovered, 1 nothing was changed, with the reason.
    """
    if (game, until, to) != (None, None, None):
        return _write_game(archive.absolute(), data, game, until, to)
    from service.application.retention import ErasureFile
    from service.backup.backup import BackupError, Corrections, continue_from, newest_checkpoint
    from service.local.processes import EmbeddedError
    from service.local.recovery import recovered
    from service.public_log.signed_checkpoints import position_beside, size_of
    from service.runtime.config import ERASURES

    path, available = key_file_of(key_file, data), find_keys(key_file, data)
    supplied = None if keys is None else ServiceKeys(where=str(keys), keyring=read_keys(keys))
    complete_keyring(available if supplied is None else supplied, needed=())
    erased = ErasureFile(erasures or path.with_name(ERASURES))
    try:
        newest = newest_checkpoint(file.read_bytes() for file in checkpoints)
        corrections = Corrections(erased=erased.read())
        with new_data_folder(data) as folder, recovered(archive.absolute(), folder) as found:
            signed = continue_from(found.url, newest, corrections)
            known = [one for file in checkpoints if (one := position_beside(file)) is not None]
            doubts = found.doubts(None if newest is None else size_of(newest), known)
            restore = declare_restore(found.url, found.until, origin) if doubts else None
    except (BackupError, EmbeddedError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    keep_for_service(path, available, supplied, signed, erased)
    _print(found, restore, doubts, corrections, as_json=as_json)
    return 0


def _write_game(
    archive: Path, data: Path, game: UUID | None, until: datetime | None, to: Path | None
) -> int:
    """
    Write the events that a game had at a past time; nothing else of the recovery stays.

    Raises UsageError if one of the options is missing, or if `data` exists.
    """
    if game is None or until is None or to is None or data.exists():
        raise click.UsageError("--game needs --until, --to and a --data that does not exist")
    from service.local.processes import EmbeddedError
    from service.local.recovery import recovered
    from service.runtime.atomic_files import write_whole
    from service.shx.bundle import write_bundle
    from service.shx.canonical import RecordError
    from service.store.database import Database
    from service.store.events import StoreError
    from service.store.postgres_events import PostgresStore

    try:
        with new_data_folder(data) as folder:
            try:
                with (
                    recovered(archive, folder, until=until) as found,
                    closing(Database(found.url, size=1)) as database,
                ):
                    stored = PostgresStore(database).read(game)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        if stored is None or not stored.events:
            raise click.ClickException(f"there was no game {game} at that time")
        write_whole(to, write_bundle(stored.events))
    except (EmbeddedError, StoreError, RecordError, OSError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{to}  {len(stored.events)} events of game {game}, as of {until:%FT%TZ}")
    return 0


def declare_restore(database_url: str, since: datetime, origin: str) -> Restore:
    """Append the declaration of a restore to the public log; raises ClickException."""
    from service.public_log.sequencer import Sequencer
    from service.shx.tlog.checkpoint import parse_checkpoint
    from service.shx.tlog.notes import parse_note
    from service.store.database import Database
    from service.store.public_log import PostgresLog

    with closing(Database(database_url, size=1)) as database:
        store = PostgresLog(database)
        published = store.published()
        if published is not None:
            signed = parse_checkpoint(parse_note(published.note).text).origin
            if signed != origin:
                raise click.ClickException(f"the public log is that of {signed}: see --origin")
        sequencer = Sequencer(
            store=store,
            origin=origin,
            signers=lambda _now: (),
            now=lambda: datetime.now(UTC),
        )
        return sequencer.declare(since)


def _print(
    found: Recovered,
    restore: Restore | None,
    doubts: Sequence[str],
    corrections: Corrections,
    *,
    as_json: bool,
) -> None:
    fields = {
        "base": found.base,
        "until": f"{found.until:%Y-%m-%dT%H:%M:%S.%fZ}",
        "end": found.end,
        "doubts": list(doubts),
        "declared": None if restore is None else restore.leaf,
        "erased": corrections.erased,
    }
    if as_json:
        click.echo(json.dumps(fields))
        return
    click.echo(f"recovered up to {fields['until']}, from the base backup {found.base}")
    if restore is None:
        click.echo(_COMPLETE)
    for doubt in doubts:
        click.echo(f"moves may be missing: {doubt}")
    if restore is not None:
        click.echo(f"declared in leaf {restore.leaf} of the public log: later moves may be missing")
    if corrections.erased:
        click.echo(f"{corrections.erased} players erased again")


_COMPLETE: Final = (
    "nothing that was acknowledged is missing: the archive was synchronous, has no gap, and "
    "reaches beyond the checkpoint (an older copy of it would lack what came after that)"
)
