"""`shithead play`: a hand in the terminal, over HTTP alone; signed where that is asked for."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import click

from service.commands.evidence_options import seat_keys_of

if TYPE_CHECKING:
    from service.client.hand import Hand
    from service.client.player import Player
    from service.commands.playing import Chooser

HELD, CONTRADICTED, UNFINISHED = 0, 1, 2

_WHERE: Final = re.compile(
    r"(?P<url>https?://.+?)/v1/(?P<kind>tables|games)/(?P<id>[0-9a-fA-F-]{36})/?"
)


@click.command(short_help="Play at a table of a service, in the terminal.")
@click.argument("where", required=False, metavar="[WHERE]")
@click.option(
    "--url",
    envvar="SHITHEAD_URL",
    show_envvar=True,
    default="http://127.0.0.1:8080",
    show_default=True,
    help="The service, where WHERE does not name it.",
)
@click.option("--name", default="Player", show_default=True, help="To register by, the first time.")
@click.option("--ruleset", default="shithead", show_default=True, help="Of a new table.")
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="BOT|open",
    help="Who else sits at a new table; repeat it.  [default: greedy]",
)
@click.option("--private", is_flag=True, help="Open a private table and print its invite.")
@click.option("--invite", help="Of a private table.")
@click.option("--hands", type=click.IntRange(min=1), default=1, show_default=True, help="To play.")
@click.option("--auto", type=click.Choice(("greedy", "lowest", "first")), help="Play by itself.")
@click.option("--keyed", is_flag=True, help="Sign every move with a key of your own.")
@click.option(
    "--entropy",
    type=click.Choice(("none", "value", "commit")),
    help="Your part in the shuffle.  [default: commit if keyed, else none]",
)
@click.option(
    "--seat-key",
    "seat_keys",
    multiple=True,
    metavar="SEAT=KEY",
    callback=seat_keys_of,
    help="The key of another player, who gave it to you; level L3 takes that of every person.",
)
@click.option(
    "--home",
    envvar="SHITHEAD_HOME",
    show_envvar=True,
    type=click.Path(path_type=Path),
    default=Path("~/.shithead"),
    show_default=True,
    help="Where token, key, receipts and logs are kept, for each service apart.",
)
@click.option("--token", "token_file", type=click.Path(path_type=Path), help="Another token file.")
@click.option("--key", "key_file", type=click.Path(path_type=Path), help="Another key file.")
def play(where: str | None, url: str, **given: Any) -> int:
    """
    Play a hand over HTTP: at the table or in the game of WHERE, else at a new table.

    WHERE is an address such as http://127.0.0.1:8080/v1/tables/ID, of a table or of
    a game; a bare id is looked for at --url. A move is typed as its number, or in
    cards: `7c 7h` plays two sevens. A move that the rules refuse is answered with the
    statement that decides it.

    Nothing is believed that can be checked: every event is held to the one before,
    the server's receipts to the log and to the key that was met first, and at the
    end the whole record is verified with the receipts of this folder. With --keyed
    each move is signed too, bound to all that was seen before it, and the deck is
    shuffled with entropy of yours, which is looked for in the log before you sign
    `ready`. The level that this reaches is printed last; L3 where every person at the
    table is keyed and their keys are known here (--seat-key).

    The program may be stopped at any time; WHERE takes the game up again.

    \b
    Exit status:
      0   played to the end, and the record holds
      1   the server contradicts itself, or a check fails: what was seen is kept
      2   not played to the end: left, not reached, or no seat in it
      64  the command line is wrong

    \b
    Examples:
      shithead play --with greedy --with lowest
      shithead play --keyed --ruleset leeds --with open --with open
      shithead play --keyed --auto lowest http://127.0.0.1:8080/v1/tables/ID
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.client.api import NotAnswered, Refused
    from service.client.files import BadFile
    from service.client.hand import NotSeated
    from service.commands.playing import Left
    from service.commands.screen import printable

    url, kind, identity = _where(where, url)
    try:
        return _play(_player(url, given), kind, identity, given)
    except Left:
        click.echo("left; the game goes on")
    except BadFile as error:
        raise click.UsageError(str(error)) from None
    except Refused as refused:
        click.echo(printable(f"refused: {refused.told}"), err=True)
    except (NotAnswered, NotSeated) as error:
        click.echo(printable(str(error)), err=True)
    return UNFINISHED


def _where(where: str | None, url: str) -> tuple[str, str, UUID | None]:
    """Return the service, `tables` or `games` or nothing, and the id."""
    if where is None:
        return url.rstrip("/"), "", None
    match = _WHERE.fullmatch(where)
    try:
        if match is None:
            return url.rstrip("/"), "", UUID(where)
        return match["url"], match["kind"], UUID(match["id"])
    except ValueError:
        raise click.UsageError(f"{where!r} is neither an address nor an id") from None


def _player(url: str, given: dict[str, Any]) -> Player:
    """Return the player whose files these are, registered."""
    from service.client.api import Api
    from service.client.files import Kept, read_seat_key
    from service.client.player import Player

    kept = Kept.at(given["home"].expanduser(), url)
    player = Player(api=Api(url=url, invite=given["invite"]), kept=kept)
    player.entropy = given["entropy"] or ("commit" if given["keyed"] else "none")
    if given["keyed"]:
        player.key = read_seat_key(given["key_file"] or kept.folder / "seat.key")
        click.echo(f"your key: {player.public}", err=True)
    token_file = given["token_file"] or kept.folder / "token"
    if player.register(token_file, given["name"]):
        click.echo(f"registered as {given['name']}; the token is in {token_file}", err=True)
    return player


def _play(player: Player, kind: str, identity: UUID | None, given: dict[str, Any]) -> int:
    """Play as many hands as were asked for; return the gravest status."""
    from service.client.api import Refused

    if kind == "" and identity is not None:
        try:
            player.table(identity)
            kind = "tables"
        except Refused:
            kind = "games"
    if kind == "games" and identity is not None:
        return _hand(player, identity, given)
    table = player.sit(identity) if identity is not None else _opened(player, given)
    status, game = HELD, None
    for _ in range(given["hands"]):
        game = player.next_game(table, after=None if game is None else str(game))
        status = max(status, _hand(player, game, given), key=(HELD, UNFINISHED, CONTRADICTED).index)
        table = player.table(UUID(table["id"]))
    return status


def _opened(player: Player, given: dict[str, Any]) -> dict[str, Any]:
    names = given["others"] or ("greedy",)
    others = [name if name == "open" else {"bot": name} for name in names]
    visibility = "private" if given["private"] else "public"
    table = player.open_table(given["ruleset"], others, visibility=visibility)
    click.echo(f"table: {player.api.url}/v1/tables/{table['id']}", err=True)
    if "invite" in table:
        click.echo(f"invite: {table['invite']}", err=True)
        player.api.invite = table["invite"]
    return table


def _hand(player: Player, game: UUID, given: dict[str, Any]) -> int:
    """Play one hand and verify it; return the status."""
    from service.client.hand import Hand
    from service.client.seen import Contradicted
    from service.commands.playing import play_hand, tell_report
    from service.commands.screen import printable

    click.echo(f"game: {player.api.url}/v1/games/{game}", err=True)
    hand: Hand | None = None
    try:
        hand = Hand(player, game)
        play_hand(hand, _chooser(given["auto"], hand))
        return HELD if tell_report(hand, hand.verified(given["seat_keys"])) else CONTRADICTED
    except Contradicted as error:
        click.echo(printable(f"THE SERVER CONTRADICTS ITSELF: {error}"))
        if hand is not None:
            _keep(hand)
        return CONTRADICTED


def _keep(hand: Hand) -> None:
    """Keep what the server shows now; where it shows nothing any more, say so."""
    from service.client.api import NotAnswered, Refused
    from service.commands.screen import printable

    click.echo(f"kept: {hand.folder} has what was seen; nothing was signed on what is shown now")
    try:
        click.echo(f"kept: {hand.keep_contradiction()} has what is shown now")
    except (NotAnswered, Refused) as error:
        click.echo(printable(f"what is shown now could not be fetched: {error}"))


def _chooser(rule: str | None, hand: Hand) -> Chooser:
    from rich.console import Console

    from service.commands.playing import Automatic, Person

    console = Console(file=sys.stdout)
    if rule is not None:
        return Automatic(rule=rule, console=console)
    return Person(hand=hand, console=console)
