"""What the commands that keep the record share: which database is meant, and the keys beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from service.keyring import Keyring


def of_a_service(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which service is meant."""
    url = click.option(
        "--database-url",
        envvar="SHITHEAD_DATABASE_URL",
        show_envvar=True,
        metavar="URL",
        help="The database; without it, the one that `shithead up` runs over --data.",
    )
    data = click.option(
        "--data",
        type=click.Path(path_type=Path),
        default=Path(".shithead"),
        show_default=True,
        help="The folder of `shithead up`.",
    )
    key_file = click.option(
        "--key-file",
        envvar="SHITHEAD_KEY_FILE",
        show_envvar=True,
        type=click.Path(path_type=Path),
        help="The file that holds the keys; without it, keys.json in --data.",
    )
    return url(data(key_file(command)))


@contextmanager
def database_of(database_url: str | None, data: Path, *, new: bool = False) -> Iterator[str]:
    """
    Give the address of a database for as long as the context lasts, the owner's where it is ours.

    A server of `shithead up` that does not run is started for the time being; `new`
    makes one in a folder that has none.
    """
    from service.embedded import EmbeddedError
    from service.embedded_postgres import EmbeddedPostgres, running_address
    from service.supervise import StartError
    from service.up import only_one

    if database_url is not None:
        yield database_url
        return
    running = running_address(data)
    if running is not None:
        yield running
        return
    if not new and not data.is_dir():
        raise click.ClickException(f"{data} is not there: name a folder with --data")
    try:
        with ExitStack() as stack:
            data.mkdir(mode=0o700, parents=True, exist_ok=True)
            stack.enter_context(only_one(data.absolute()))
            server = EmbeddedPostgres(data.absolute())
            stack.callback(server.stop)
            yield server.start()
    except (EmbeddedError, StartError) as error:
        raise click.ClickException(str(error)) from None


def keys_of(key_file: Path | None, data: Path) -> Path:
    """Return where the keys of a service lie."""
    return key_file if key_file is not None else data / "keys.json"


def read_keys(path: Path, needed: Iterable[str]) -> Keyring:
    """Return the keys of a file; an error where one is missing that running games need."""
    from service.keyring import KeyringError, load

    try:
        keyring = load(path)
    except KeyringError as error:
        raise click.ClickException(str(error)) from None
    if lost := sorted(set(needed) - set(keyring.keys)):
        raise click.ClickException(
            f"{path} has no key {', '.join(lost)}, which running games of this backup need"
        )
    return keyring


def write_keys(keyring: Keyring, path: Path) -> None:
    """Write keys to a new file that its owner alone may read."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(keyring.to_text())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from None
