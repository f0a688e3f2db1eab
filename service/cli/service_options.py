"""Options shared by several commands: database, data folder and keys; a public log."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click


def of_a_service(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select a service: --database-url, --data and --key-file."""
    url = click.option(
        "--database-url",
        envvar="SHITHEAD_DATABASE_URL",
        show_envvar=True,
        metavar="URL",
        help="The database.  [default: the one of `shithead up` in --data]",
    )
    data = click.option(
        "--data",
        type=click.Path(path_type=Path),
        default=Path(".shithead"),
        show_default=True,
        help="The data folder of `shithead up`.",
    )
    key_file = click.option(
        "--key-file",
        envvar="SHITHEAD_KEY_FILE",
        show_envvar=True,
        type=click.Path(path_type=Path),
        help="The key file of the service.  [default: SHITHEAD_KEYS, or keys.json in --data]",
    )
    return url(data(key_file(command)))


def of_a_log(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name a public log and its keys: --log and --log-key."""
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
    Yield the address of a database, as its owner if it is the one of `shithead up`.

    A server of `shithead up` that is not running is started for the duration of the
    context; `new` creates one if the folder has none. Raises ClickException if there is
    no such folder, or its server does not start.
    """
    from service.local.postgres import EmbeddedPostgres, running_address
    from service.local.processes import EmbeddedError
    from service.local.programs import StartError
    from service.local.up import only_one

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
        with _nothing_left(data), ExitStack() as stack:
            data.mkdir(mode=0o700, parents=True, exist_ok=True)
            stack.enter_context(only_one(data.absolute()))
            server = EmbeddedPostgres(data.absolute())
            stack.callback(server.stop)
            yield server.start()
    except (EmbeddedError, StartError) as error:
        raise click.ClickException(str(error)) from None


@contextmanager
def _nothing_left(data: Path) -> Iterator[None]:
    """Remove files and folders that the block created if it raises."""
    whole = data.absolute()
    above = [folder for folder in (whole, *whole.parents) if not folder.exists()]
    before = set(data.iterdir()) if data.is_dir() else set()
    had_cluster = (data / "postgres").exists()
    try:
        yield
    except BaseException:
        if above:
            shutil.rmtree(above[-1], ignore_errors=True)
        elif not had_cluster:
            for made in set(data.iterdir()) - before:
                _remove(made)
        raise


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
