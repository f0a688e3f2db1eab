"""`shithead tables`, `watch` and `bots`: list tables and bots, and watch a game."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.cli.challenges import received
from service.cli.connection import (
    api_of,
    errors_as_messages,
    game_of,
    known_player,
    place_of,
    player_options,
    same_player,
    url_option,
)
from service.cli.dispute_text import concerns
from service.cli.narration import Event, named
from service.cli.play_screen import Pane, Story
from service.cli.screen import View, printable
from service.client.api import WAIT, Api, NotAnswered
from service.client.hand import OVER

STATUSES: Final = ("open", "between", "playing", "closed")
MAX_TABLES: Final = 200
OWN_DISPUTES: Final = "/disputes?mine=true&limit=50"


@click.command(short_help="List the tables of a service.")
@player_options
@click.option("--status", type=click.Choice(STATUSES), help="Only tables in this state.")
@click.option("--ruleset", help="Only tables with this ruleset.")
@click.option("--mine", is_flag=True, help="Only tables that you host or sit at.")
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON.")
def tables(
    url: str,
    home: Path,
    token_file: Path | None,
    status: str | None,
    ruleset: str | None,
    *,
    mine: bool,
    as_json: bool,
) -> None:
    """
    List the disputes that concern you, challenges of you, then the tables that you may see.

    The newest first; a dispute that is closed is left out.

    \b
      open     a seat is free
      playing  a hand is being played
      between  the next hand can be dealt
      closed   no more hands are dealt; listed with --status closed only

    Below each table is the command to take a seat, watch the hand, or replay the last hand.

    --json prints one object: `disputes`, `challenges` and `tables` as the API answers them, and
    `older`: whether there are older tables than those.

    Exit status: 0 listed, 2 no answer from the service, 64 invalid command line.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    with errors_as_messages():
        player = known_player(url, home, token_file)
        query = [f"limit={MAX_TABLES}"]
        query += [f"status={status}"] if status else []
        query += [f"ruleset={ruleset}"] if ruleset else []
        query += ["mine=true"] if mine else []
        page = player.api.get("/tables?" + "&".join(query))
        own = player.api.get(OWN_DISPUTES)["items"] if player.api.token else []
        asked = player.challenges()["received"] if player.api.token else []
    found = [one for one in page["items"] if status or one["status"] != "closed"]
    if as_json:
        answer = {
            "disputes": own,
            "challenges": asked,
            "tables": found,
            "older": page["next"] is not None,
        }
        click.echo(json.dumps(answer, indent=1))
        return
    for line in (*concerns(own, url, same_player()), *received(asked, url, same_player())):
        click.echo(line)
    _print(found, url, older=page["next"] is not None)


def _print(found: Sequence[Mapping[str, Any]], url: str, *, older: bool) -> None:
    """Print tables, each with its command; `older`: whether there are others."""
    if not found and older:
        click.echo(
            f"the newest {MAX_TABLES} tables are closed; `--status open` lists older open ones"
        )
        return
    if not found:
        click.echo(f"no tables; `shithead play --url {url}{same_player()}` opens one")
        return
    console = Console(soft_wrap=True, highlight=False)
    for one in found:
        console.print(_listed(one, url, same_player()))
    if older:
        click.echo(f"there are older tables than the newest {MAX_TABLES}")


def _listed(table: Mapping[str, Any], url: str, player: str) -> Text:
    """Return a table in two lines: its state and seats, and a command."""
    seats = ", ".join(_seat_label(seat, table["as"]) for seat in table["seats"])
    hand = f", hand {table['hand']}" if table["hand"] else ""
    private = ", private" if table["visibility"] == "private" else ""
    head = (f"{table['status']}{hand}{private}", "bold")
    return Text.assemble(
        head,
        printable(f"   {table['ruleset']['id']}   {seats}"),
        (f"\n  {_command(table, url, player)}", "dim"),
    )


def _command(table: Mapping[str, Any], url: str, player: str) -> str:
    """
    Return the command for a table, or its address if no hand was dealt and none can be.

    `player` are the options that name the same player.
    """
    address = f"{url.rstrip('/')}/v1/tables/{table['id']}"
    if (table["as"] is not None and table["status"] != "closed") or table["status"] == "open":
        return f"shithead play {address}{player}"
    if table["game"] is not None:
        return f"shithead watch {address}{player}"
    if not table["games"]:
        return address
    return f"shithead replay {url.rstrip('/')}/v1/games/{table['games'][0]['id']}"


def _seat_label(seat: Mapping[str, Any], me: int | None) -> str:
    if seat["kind"] == "open":
        return "(free)"
    return "you" if seat["seat"] == me else named(seat) or "?"


@click.command(short_help="List the bots of a service.")
@url_option
def bots(url: str) -> None:
    """
    List the bots of a service, with their strength from 1 to 5.

    Seat one with `shithead play --with NAME`.

    Exit status: 0 listed, 2 no answer from the service, 64 invalid command line.
    """
    with errors_as_messages():
        page = api_of(url).get("/bots")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("Bot", "Strength", "How it plays"):
        table.add_column(title, no_wrap=title != "How it plays")
    for one in page["items"]:
        cells = (one["name"], "*" * one["strength"], one["description"])
        table.add_row(*(Text(printable(cell)) for cell in cells))
    Console().print(table)


@click.command(short_help="Watch a game as it is played.")
@click.argument("game", metavar="GAME")
@player_options
@click.option("--invite", help="The invite of a private table.")
def watch(game: str, url: str, home: Path, token_file: Path | None, invite: str | None) -> None:
    """
    Watch a running game, as the public sees it.

    GAME is the address or id of a game, or of a table: then its present or last hand. On a
    terminal the table is redrawn after each event; otherwise each state is printed below the
    previous one. Stop with Ctrl-C.

    Exit status: 0 the hand is over, 2 no answer from the service or no such game, 64 invalid
    command line.
    """
    where, kind, identity = place_of(game, url)
    with errors_as_messages():
        player = known_player(where, home, token_file)
        player.api.invite = invite
        identity = game_of(player.api, kind, identity)
        _follow(player.api, identity)
    click.echo(f"to replay it: shithead replay {where}/v1/games/{identity}")


def _follow(api: Api, game: UUID) -> None:
    """Draw each state of a game until it is over."""
    events: list[Event] = []
    pane = Pane(console=Console(file=sys.stdout), story=Story(events=lambda: events))
    for view in _views(api, game):
        lines = api.lines(f"/games/{game}/events?after={len(events)}")
        events += [json.loads(line) for line in lines]
        pane.show(view, ())


def _views(api: Api, game: UUID) -> Iterator[View]:
    """
    Yield the public view now and after each change, until the game is over.

    Versions between two answers are skipped. Raises NotAnswered if the version decreases.
    """
    view: View = api.get(f"/games/{game}?as=public")
    while True:
        yield view
        if view["status"] in OVER:
            return
        version = view["version"]
        while view["version"] == version:
            view = api.get(f"/games/{game}?as=public&after={version}&wait={WAIT}")
        if view["version"] < version:
            raise NotAnswered("the service shows an older state of the game than before")
