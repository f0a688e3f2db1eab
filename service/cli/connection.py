"""Options, addresses and errors of the commands that talk to a running service."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

import click

from service.cli.screen import printable
from service.client.api import Api, NotAnswered, Refused
from service.client.player import Player
from service.client.player_files import BadFile, PlayerFolder

DEFAULT_URL: Final = "http://127.0.0.1:8080"
PROBE_SECONDS: Final = 5.0

_WHERE: Final = re.compile(
    r"(?P<url>https?://.+?)/v1/(?P<kind>tables|games|disputes)/(?P<id>[0-9a-fA-F-]{36})/?"
)


class NoService(click.ClickException):
    """The service does not answer, or refuses the request."""

    exit_code = 2


def url_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option --url."""
    return click.option(
        "--url",
        envvar="SHITHEAD_URL",
        show_envvar=True,
        default=DEFAULT_URL,
        show_default=True,
        help="The address of the service.",
    )(command)


def player_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select a player of a service: --url, --home and --token."""
    home = click.option(
        "--home",
        envvar="SHITHEAD_HOME",
        show_envvar=True,
        type=click.Path(path_type=Path),
        default=Path("~/.shithead"),
        show_default=True,
        help="Folder of tokens, keys, receipts and logs, in a subfolder for each service.",
    )
    token = click.option(
        "--token", "token_file", type=click.Path(path_type=Path), help="Another token file."
    )
    return url_option(home(token(command)))


def place_of(where: str, url: str) -> tuple[str, str, UUID]:
    """
    Return the address of the service, `tables`, `games`, `disputes` or '', and the id.

    `where` is an address such as http://127.0.0.1:8080/v1/tables/ID, or an id at `url`. Raises
    click.UsageError for any other text.
    """
    match = _WHERE.fullmatch(where)
    try:
        if match is None:
            return url.rstrip("/"), "", UUID(where)
        return match["url"], match["kind"], UUID(match["id"])
    except ValueError:
        raise click.UsageError(f"{where!r} is neither an address nor an id") from None


def api_of(url: str, *, invite: str | None = None) -> Api:
    """
    Return the client of a service.

    Raises NoService if nothing listens at an address of this machine: at once, because
    repeating the request would only delay the answer.
    """
    try:
        api = Api(url=url.rstrip("/"), invite=invite)
        parts = urlsplit(url)
        if parts.hostname in ("127.0.0.1", "::1", "localhost"):
            port = parts.port or (443 if parts.scheme == "https" else 80)
            socket.create_connection((parts.hostname, port), PROBE_SECONDS).close()
    except (NotAnswered, ValueError) as error:
        raise NoService(printable(str(error))) from None
    except OSError:
        raise NoService(
            f"no service answers at {printable(url)}: start one with `shithead up`, or name "
            "another with --url"
        ) from None
    return api


def known_player(url: str, home: Path, token_file: Path | None) -> Player:
    """
    Return the player registered in a folder, or one without a token if there is none.

    Raises BadFile if the token cannot be read.
    """
    kept = PlayerFolder.at(home.expanduser(), url)
    player = Player(api=api_of(url), kept=kept)
    path = token_file or kept.folder / "token"
    if path.exists():
        player.register(path, "")
    return player


@contextmanager
def answered() -> Iterator[None]:
    """Turn the errors of the client into messages with exit status 2, or 64 for a bad file."""
    try:
        yield
    except BadFile as error:
        raise click.UsageError(str(error)) from None
    except Refused as refused:
        account = "; `shithead play` registers you" if refused.kind == "unauthorized" else ""
        raise NoService(printable(f"refused: {refused.text}{account}")) from None
    except NotAnswered as error:
        raise NoService(printable(str(error))) from None
