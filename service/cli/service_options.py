"""Options shared by several commands: database, data folder and keys; a public log."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from service.cli.statuses import ReadPath
from service.runtime.config import archive_place, variable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from service.keys import Keyring


class TimeOption(click.ParamType[datetime]):
    """A time as requests have it, such as 2026-11-26T02:15:07Z; with `dates` also a date."""

    name = "time"

    def __init__(self, *, dates: bool = False) -> None:
        self._dates = dates

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the moment, in UTC."""
        from marshmallow import ValidationError

        from schemas.strict_fields import time_of

        if not isinstance(value, str):
            return value
        try:
            return time_of(value, dates=self._dates)
        except ValidationError as error:
            self.fail(f"{value} {error.messages[0]}", param, ctx)


class ArchivePlace(click.ParamType[Path | str]):
    """The folder of archived games, or the address of an object store."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a Path, or the address as text."""
        if not isinstance(value, str):
            return value
        try:
            return archive_place(value)
        except ValueError as error:
            self.fail(f"{value} {error}", param, ctx)


def data_folder(help_text: str) -> Callable[..., Any]:
    """Return the option --data, with its default, for a command that explains it so."""
    option: Callable[..., Any] = click.option(
        "--data",
        type=click.Path(path_type=Path),
        default=Path(".shithead"),
        show_default=True,
        metavar="FOLDER",
        help=help_text,
    )
    return option


def service_selection(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select a service: --database-url, --data and --key-file."""
    url = click.option(
        "--database-url",
        envvar="SHITHEAD_DATABASE_URL",
        show_envvar=True,
        metavar="URL",
        help="The database.  [default: the one of `shithead up` in --data]",
    )
    data = data_folder("The data folder of `shithead up`.")
    key_file = click.option(
        "--key-file",
        envvar="SHITHEAD_KEY_FILE",
        show_envvar=True,
        type=click.Path(path_type=Path),
        help="The key file of the service.  [default: SHITHEAD_KEYS, or keys.json in --data]",
    )
    added: Callable[..., Any] = url(data(key_file(command)))
    return added


def restored_state(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that a restore takes beside the data: --keys, --checkpoint, --erasures."""
    keys = click.option(
        "--keys",
        type=ReadPath(file=True),
        help="The backup of the keys; it becomes the key file if there is none.",
    )
    checkpoints = click.option(
        "--checkpoint",
        "checkpoints",
        multiple=True,
        type=ReadPath(file=True),
        help="A known checkpoint of the public log, repeatable: the newest counts; see below.",
    )
    erasures = click.option(
        "--erasures",
        envvar="SHITHEAD_ERASURES",
        show_envvar=True,
        type=click.Path(path_type=Path, dir_okay=False),
        help="The list of erased players.  [default: erased-players.txt beside the key file]",
    )
    return keys(checkpoints(erasures(command)))


def log_selection(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select a public log and its keys: --log and --log-key."""
    url = click.option(
        "--log", "url", required=True, metavar="URL", help="The address of the service."
    )
    keys = click.option(
        "--log-key",
        "log_keys",
        multiple=True,
        metavar="KEY",
        help="The key of its log, name+id+key; can be repeated.",
    )
    return url(keys(command))


@contextmanager
def database_of(database_url: str | None, data: Path, *, new: bool = False) -> Iterator[str]:
    """
    Yield `database_url` if set, else the address of the database of `shithead up` in `data`.

    The user in the second address is the owner of the database. If its server is not running,
    the server is started for the duration of the context, and a database is created if `data`
    has none. With `new` the folder `data` is created if it does not exist.

    Raises ClickException if the folder does not exist (without `new`) or another process has
    locked it, or if the server does not start.
    """
    from service.local.processes import EmbeddedError
    from service.local.servers import EmbeddedPostgres, running_address

    if database_url is not None:
        yield database_url
        return
    running = running_address(data)
    if running is not None:
        yield running
        return
    if not new and not data.is_dir():
        raise click.ClickException(f"{data} does not exist: name the data folder with --data")
    try:
        with new_data_folder(data) as folder, ExitStack() as stack:
            server = EmbeddedPostgres(folder)
            stack.callback(server.stop)
            yield server.start()
    except EmbeddedError as error:
        raise click.ClickException(str(error)) from None


@contextmanager
def new_data_folder(data: Path) -> Iterator[Path]:
    """
    Create a data folder if it is missing, lock it and yield its absolute path.

    What the block creates is removed if it raises. Raises ClickException if it is in use.
    """
    from service.local.programs import StartError
    from service.local.up import lock_data

    try:
        with _undone_on_error(data), ExitStack() as stack:
            data.mkdir(mode=0o700, parents=True, exist_ok=True)
            stack.enter_context(lock_data(data.absolute()))
            yield data.absolute()
    except StartError as error:
        raise click.ClickException(str(error)) from None


@contextmanager
def _undone_on_error(data: Path) -> Iterator[None]:
    """
    Remove the files and folders that the block created, if it raises.

    Nothing is removed if the folder already had a database cluster.
    """
    path = data.absolute()
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    before = set(data.iterdir()) if data.is_dir() else set()
    had_cluster = (data / "postgres").exists()
    try:
        yield
    except BaseException:
        if missing:
            shutil.rmtree(missing[-1], ignore_errors=True)
        elif not had_cluster:
            for created in set(data.iterdir()) - before:
                _remove(created)
        raise


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceKeys:
    """The keys that the service would read, and their source."""

    where: str  # SHITHEAD_KEYS, or a path
    keyring: Keyring | None  # None: the file does not exist

    def lacking(self, needed: Iterable[str]) -> list[str]:
        """Return the ids of needed keys that are missing."""
        return sorted(set(needed) - set(self.keyring.keys if self.keyring else ()))


def key_file_of(key_file: Path | None, data: Path) -> Path:
    """Return the path of a service's key file."""
    return key_file if key_file is not None else data / "keys.json"


def find_keys(key_file: Path | None, data: Path) -> ServiceKeys:
    """
    Return the keys that the service would read: from SHITHEAD_KEYS, else from its key file.

    A file named on the command line takes precedence. Raises ClickException if
    the keys cannot be read.
    """
    from service.keys import Keyring, KeyringError

    name, text = variable("keys"), os.environ.get(variable("keys"), "").strip()
    is_explicit = key_file is not None and str(key_file) != os.environ.get(variable("key_file"))
    if text and not is_explicit:
        try:
            return ServiceKeys(where=name, keyring=Keyring.from_text(text))
        except KeyringError as error:
            raise click.ClickException(f"{name}: {error}") from None
    path = key_file_of(key_file, data)
    return ServiceKeys(where=str(path), keyring=read_keys(path) if path.exists() else None)


def find_signer(key_file: Path | None, data: Path) -> Ed25519PrivateKey | None:
    """Return the key that signs backups; None if there are no keys or they cannot be read."""
    try:
        keyring = find_keys(key_file, data).keyring
    except (click.ClickException, OSError):
        return None
    return None if keyring is None else keyring.signing_key


def read_keys(path: Path) -> Keyring:
    """Return the keys in a file; raises ClickException if it cannot be read."""
    from service.keys import KeyringError, load

    try:
        return load(path)
    except KeyringError as error:
        raise click.ClickException(str(error)) from None


def complete_keyring(found: ServiceKeys, needed: Iterable[str]) -> Keyring:
    """Return the keyring; raises ClickException if it, or a needed key, is missing."""
    if found.keyring is None:
        raise click.ClickException(f"the keys are missing: {found.where} does not exist")
    if missing := found.lacking(needed):
        raise click.ClickException(missing_keys(found, missing))
    return found.keyring


def missing_keys(found: ServiceKeys, ids: Iterable[str]) -> str:
    """Return the message about missing keys with these ids."""
    return f"{found.where} has no key {', '.join(ids)}, which running games need"


def write_keys(keyring: Keyring, path: Path) -> None:
    """
    Write keys to a new file that only its owner can read.

    Raises ClickException if the file exists or cannot be written.
    """
    from service.keys import save_new

    try:
        save_new(keyring, path)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from None
