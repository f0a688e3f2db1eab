"""`shithead dump`: the sealed public hands of a month as files that anybody can verify."""

from __future__ import annotations

import fcntl
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.cli.service_options import (
    ArchivePlace,
    complete_keyring,
    database_of,
    find_keys,
    service_selection,
)
from service.cli.verify import progress_bar
from service.runtime.plain_errors import why

UNFINISHED = ".unfinished"
"""The file in a folder whose dump was not completed."""

if TYPE_CHECKING:
    from service.application.dumps import Dumps
    from service.keys import Keyring


@click.command(short_help="Write the public hands of a month as files.")
@click.argument("to", metavar="DIR", type=ArchivePlace())
@click.option("--month", required=True, metavar="YYYY-MM", help="The month, in UTC.")
@click.option(
    "--archive",
    envvar="SHITHEAD_ARCHIVE",
    show_envvar=True,
    type=ArchivePlace(),
    metavar="PLACE",
    help="The archived games, if there are any: a folder, or s3://bucket/folder.",
)
@service_selection
def dump(
    to: Path | str,
    month: str,
    archive: Path | str | None,
    database_url: str | None,
    data: Path,
    key_file: Path | None,
) -> int:
    """
    Write all sealed hands of public tables of a month to DIR, a new or empty folder, or one whose
    dump was killed.

    DIR can be the address of an object store, such as s3://bucket/2026-11: the files are written
    to a temporary folder, then uploaded.

    \b
    DIR then has
      hands-0001.tar …  the bundles, at most 100 MB in a file
      index.ndjson      a line for each hand: its bundle, and the players of its seats
      checkpoint, tile  the signed head of the public log, and its tree
      dump.json         what the dump consists of, written last

    Every bundle has a proof that leads to this checkpoint, and no files about disputes. Any web
    server can serve DIR; `shithead verify --dump DIR` checks a copy, and `shithead ratings DIR`
    computes ratings from it, both without the service.

    Equal data gives equal bytes. A later edition of a month differs if a player of it has been
    erased, or a final ruling about one of its hands has been made. The index of players is
    the testimony of the operator: nothing in the record proves who sat at a table.

    Hands that no signed checkpoint covers yet are left out: dump a month after its end.

    Exit status: 0 the dump is complete and on disk, 1 it failed, with the reason.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.application.errors import Refusal
    from service.keys import KeyringError
    from service.shx.bundle import NotABundle
    from service.shx.dumps import month_of
    from service.store.database import DatabaseError
    from service.store.events import StoreError

    try:
        month_of(month)  # first: nothing else is wrong with a mistyped one
    except ValueError as error:
        raise click.ClickException(why(error)) from None
    keyring = complete_keyring(find_keys(key_file, data), needed=())
    try:
        with _folder_for(to) as folder, database_of(database_url, data) as url:
            written = _dumps(url, keyring, archive or data / "archive").write(
                month, folder, progress_bar
            )
    except Refusal as refusal:
        raise click.ClickException(refusal.detail) from None
    except DatabaseError as error:
        raise click.ClickException(" ".join(str(error).split())) from None
    except (StoreError, KeyringError, NotABundle, OSError, ValueError) as error:
        raise click.ClickException(why(error)) from None
    size = sum(tar.size for tar in written.tars)
    click.echo(
        f"{written.hands} hands of {month} in {len(written.tars)} tar files, {size} bytes, "
        f"up to a tree of {written.tree_size} leaves"
    )
    return 0


@contextmanager
def _folder_for(to: Path | str) -> Iterator[Path]:
    """
    Yield a folder for the dump; for an object store a temporary one, which is then uploaded.

    Raises ClickException if the place is not empty, and OSError.
    """
    from service.shx.dumps import MANIFEST
    from service.store.archive_files import StoredObjects

    if isinstance(to, Path):
        with _new_folder(to):
            yield to
        return
    stored = StoredObjects(to)
    if stored.holds_any():
        raise click.ClickException(
            f"{to} is not empty: name a new folder, or remove it if an upload was killed"
        )
    with tempfile.TemporaryDirectory(prefix="dump-") as name:
        folder = Path(name)
        yield folder
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        for path in sorted(files, key=lambda path: path.name == MANIFEST):  # the manifest is last
            stored.upload(path.relative_to(folder).as_posix(), path)


@contextmanager
def _new_folder(folder: Path) -> Iterator[None]:
    """
    Hold a new or empty folder, or one whose dump did not end, without what that dump wrote.

    A mark in the folder says so: it is made before all other files, locked by the dump that runs,
    and removed at the end. A folder that this made is removed if the dump fails.
    """
    mark, is_new = folder / UNFINISHED, not folder.exists()
    if not is_new and any(folder.iterdir()) and not mark.exists():
        raise click.ClickException(f"{folder} is not empty: name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    with mark.open("ab") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise click.ClickException(f"another dump is being written to {folder}") from None
        _clear(folder)
        try:
            yield
        except BaseException:
            _clear(folder)
            mark.unlink(missing_ok=True)
            if is_new:
                folder.rmdir()
            raise
        mark.unlink(missing_ok=True)


def _clear(folder: Path) -> None:
    """Remove the files of a dump, also drafts of them; raises ClickException for any other."""
    from service.shx.dumps import CHECKPOINT, INDEX, MANIFEST

    drafts = rf"\.({'|'.join(map(re.escape, (CHECKPOINT, INDEX, MANIFEST)))}|hands-\d+\.tar)\.\w+"
    for path in folder.iterdir():
        if path.name == "tile" and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name in (CHECKPOINT, INDEX, MANIFEST) or re.fullmatch(
            rf"hands-\d+\.tar|{drafts}", path.name
        ):
            path.unlink()
        elif path.name != UNFINISHED:
            raise click.ClickException(f"{path} is not of a dump: name a new folder")


def _dumps(url: str, keyring: Keyring, archive: Path | str) -> Dumps:
    from service.bootstrap import Ports, Services, Terms
    from service.store.archive import Bundles
    from service.store.database import Database
    from service.store.directory import Directory
    from service.store.lookups import Lookups
    from service.store.postgres_events import PostgresStore
    from service.store.public_log import PostgresLog

    database = Database(url, size=1)
    store = PostgresStore(database, Bundles(archive))
    ports = Ports(
        store=store,
        directory=Directory(database),
        lookups=Lookups(database, store),
        keyring=keyring,
        log_store=PostgresLog(database),
        close=database.close,
    )
    # The origin is a placeholder: a dump signs nothing.
    return Services(ports, Terms(origin="shithead.localhost")).dumps
