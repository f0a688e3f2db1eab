"""Options, addresses and errors of the commands that call a running service."""

from __future__ import annotations

import re
import shlex
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

import click
from click.core import ParameterSource

from service.cli.screen import printable
from service.cli.statuses import NoService, Unreadable
from service.client.api import Api, NotAnswered, Refused
from service.client.player import Player
from service.client.player_files import BadFile, PlayerFolder

DEFAULT_URL: Final = "http://127.0.0.1:8080"
PROBE_SECONDS: Final = 5.0

_WHERE: Final = re.compile(
    r"(?P<url>https?://.+?)/(?:v1/(?P<kind>tables|games|disputes)|(?:play|replay))"
    r"/(?P<id>[0-9a-fA-F-]{36})/?(?:[?#].*)?"
)
"""The address of a table, game or dispute in the API, or of the page of a game."""


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
        "--token",
        "token_file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="File with your token: one line, as the service sent it when you registered, and "
        "readable by you alone (mode 0600).  [default: `token` in the subfolder of --home]",
    )
    return url_option(home(token(command)))


def place_of(where: str, url: str) -> tuple[str, str, UUID]:
    """
    Return the address of the service, the kind of resource, and its id.

    `where` is an address such as http://127.0.0.1:8080/v1/tables/ID, the address of a game's page,
    or an id at `url`. The kind is `tables`, `games` or `disputes`, or '' for an id. Raises
    click.UsageError for any other text.
    """
    match = _WHERE.fullmatch(where)
    try:
        if match is None:
            return url.rstrip("/"), "", UUID(where)
        return match["url"], match["kind"] or "games", UUID(match["id"])
    except ValueError:
        raise click.UsageError(f"{where!r} is neither an address nor an id") from None


def api_of(url: str, *, invite: str | None = None) -> Api:
    """
    Return the client of a service; raises click.UsageError for a text that is no address.

    Raises NoService at once if no program listens at an address of this machine: repeated
    requests would only delay that message.
    """
    try:
        api, parts = Api(url=url.rstrip("/"), invite=invite), urlsplit(url)
    except (NotAnswered, ValueError) as error:
        raise click.UsageError(printable(str(error))) from None
    try:
        if parts.hostname in ("127.0.0.1", "::1", "localhost"):
            port = parts.port or (443 if parts.scheme == "https" else 80)
            socket.create_connection((parts.hostname, port), PROBE_SECONDS).close()
    except OSError:
        raise NoService(no_answer(url)) from None
    return api


def no_answer(url: str) -> str:
    """Return the error message for an address at which no service answers."""
    return (
        f"no service answers at {printable(url)}: start one with `shithead up`, or name another"
        " with --url"
    )


def game_of(api: Api, kind: str, identity: UUID) -> UUID:
    """
    Return the game with this id, or the present or last hand of the table with this id.

    `kind` is that of `place_of`. Raises NoService if there is none, Refused or NotAnswered.
    """
    if kind != "tables":
        try:
            api.get(f"/games/{identity}?as=public")
        except Refused as refused:
            if kind == "games" or refused.kind != "not-found":
                raise
        else:
            return identity
    try:
        table = api.get(f"/tables/{identity}")
    except Refused as refused:
        if kind == "tables" or refused.kind != "not-found":
            raise
        raise NoService(f"there is no game or table {identity} at {printable(api.url)}") from None
    if table["game"] is not None:
        return UUID(table["game"])
    if not table["games"]:
        raise NoService("no hand has been played at this table yet")
    return UUID(table["games"][0]["id"])


def same_player() -> str:
    """
    Return the options --home and --token of the command line, for a printed command.

    Other options are not needed: the printed command has the address of the service, and
    environment variables remain set.
    """
    context = click.get_current_context()
    options = (("home", "--home"), ("token_file", "--token"))
    return "".join(
        f" {option} {shlex.quote(str(context.params[name]))}"
        for name, option in options
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )


def known_player(url: str, home: Path, token_file: Path | None) -> Player:
    """
    Return the player of the token in a file or folder, or a player without a token.

    Raises BadFile if the token cannot be read, or is not in the file that was named for it.
    """
    if token_file is not None and not token_file.exists():
        raise BadFile(f"--token: there is no file {token_file}")
    files = PlayerFolder.at(home.expanduser(), url)
    player = Player(api=api_of(url), files=files)
    path = token_file or files.folder / "token"
    if path.exists():
        player.register(path, "")
    return player


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Report errors of the client as messages, with exit status 2, or 3 for BadFile."""
    try:
        yield
    except BadFile as error:
        raise Unreadable(str(error)) from None
    except Refused as refused:
        raise NoService(printable(_in_options(refused))) from None
    except NotAnswered as error:
        raise NoService(printable(str(error))) from None


_OPTIONS: Final = (
    (r"^/ruleset: ", "--ruleset: "),
    (r"^/seats/\d+/bot: ", "--with: "),
    (r"^/name: ", "--name "),
    (r"^/handle: ", "HANDLE "),
    (r"^/player: ", "--challenge: "),
    (r"^/receipt: ", ""),
    (r"GET /v1/rulesets lists them", "`shithead rulesets` lists them"),
    (r"GET /v1/bots lists them", "`shithead bots` lists them"),
)
"""Patterns of parts of refusals, and the words of the command line that replace them."""


def _in_options(refused: Refused) -> str:
    """Return a refusal in words of the command line: options and commands, not calls."""
    text = refused.text
    if refused.kind == "not-found" and text.startswith("nothing exists at this address"):
        return "there is no Shithead service at this address: check --url"
    if refused.kind == "unauthorized":
        return f"refused: {_without_account()}"
    for pattern, words in _OPTIONS:
        text = re.sub(pattern, words, text)
    return f"refused: {text}"


def _without_account() -> str:
    """Return the error message for a missing, unknown or expired token."""
    context = click.get_current_context(silent=True)
    token_file = None if context is None else context.params.get("token_file")
    if token_file is not None:
        return f"the service does not know the token in {token_file}; use another --token FILE"
    if context is not None and context.info_name == "play":
        return (
            "the service does not know the token in your folder: delete the file `token` there to"
            " register again, or use another folder with --home"
        )
    return "you are not registered here, or your token has expired; `shithead play` registers you"
