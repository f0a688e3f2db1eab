"""What the commands that keep the record share: the options that say which service is meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click


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
        help="The file that holds the keys; without it SHITHEAD_KEYS, or keys.json in --data.",
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
