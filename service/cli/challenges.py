"""`shithead challenges` and `handle`: list, decline and withdraw challenges; choose a handle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from service.cli.connection import (
    errors_as_messages,
    known_player,
    place_of,
    player_options,
    same_player,
)
from service.cli.screen import printable
from service.client.answers import KnownPlayer, OwnChallenge


def person(one: KnownPlayer) -> str:
    """Return the name of a player with the handle, for a terminal."""
    name = printable(one["name"] or "?")
    return name if one["handle"] is None else f"{name} ({one['handle']})"


def received(challenges: Sequence[OwnChallenge], url: str, player: str) -> Iterator[str]:
    """
    Yield two lines for each challenge of a player by others: who it is by, and how to answer.

    `player` are the options that name the same player.
    """
    for one in challenges:
        private = ", private" if one["visibility"] == "private" else ""
        by = person(one["challenger"])
        yield f"challenge   {by} challenges you: {one['ruleset']}{private}; until {_until(one)}"
        yield f"  shithead play {url.rstrip('/')}/v1/tables/{one['id']}{player}"
        yield f"  shithead challenges --decline {one['id']}{_at(url)}{player}"


def _sent(challenges: Sequence[OwnChallenge], url: str, player: str) -> Iterator[str]:
    for one in challenges:
        yield f"sent        to {person(one['player'])}: {one['ruleset']}; {one['status']}"
        if one["status"] in ("open", "accepted"):
            yield f"  shithead play {url.rstrip('/')}/v1/tables/{one['id']}{player}"
        if one["status"] == "open":
            yield f"  shithead challenges --decline {one['id']}{_at(url)}{player}"


def _at(url: str) -> str:
    return f" --url {url.rstrip('/')}"


def _until(one: OwnChallenge) -> str:
    return f"{one['expires_at'][:16].replace('T', ' ')} UTC"


@click.command(short_help="List, decline and withdraw challenges.")
@player_options
@click.option(
    "--decline",
    "declined",
    metavar="WHERE",
    help="Decline the challenge of this table, or withdraw your own.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the challenges as JSON.")
def challenges(
    url: str, home: Path, token_file: Path | None, declined: str | None, *, as_json: bool
) -> None:
    """
    List the open challenges of you by other players, then those that you made.

    Below each is the command that accepts or declines it. A challenge is open for a day.
    `shithead play --challenge PLAYER` challenges a player.

    Exit status: 0 listed or declined, 2 no answer from the service or no such challenge, 64
    invalid command line.
    """
    place = None if declined is None else place_of(declined, url)
    with errors_as_messages():
        player = known_player(url if place is None else place[0], home, token_file)
        if place is not None:
            player.decline(place[2])
            return
        found = player.challenges()
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    lines: list[str] = [*received(found["received"], url, same_player())]
    lines += _sent(found["sent"], url, same_player())
    for line in lines or ["no challenges; `shithead play --challenge PLAYER` makes one"]:
        click.echo(line)


@click.command(short_help="Show or choose your handle, or find players.")
@click.argument("handle", required=False, metavar="[HANDLE]")
@player_options
@click.option("--find", "prefix", metavar="TEXT", help="Find players whose handles begin so.")
def handle(
    handle: str | None, url: str, home: Path, token_file: Path | None, prefix: str | None
) -> None:
    """
    Choose a handle, by which other players find and challenge you; without HANDLE show yours.

    A handle has 3 to 20 lower-case letters, digits and single hyphens between them, and is
    changed at most once in 30 days.

    Exit status: 0 done, 2 refused or no answer from the service, 64 invalid command line.
    """
    with errors_as_messages():
        player = known_player(url, home, token_file)
        if prefix is not None:
            for one in player.find(prefix):
                click.echo(person(one))
            return
        if handle is not None:
            player.choose_handle(handle)
        own: dict[str, Any] = player.api.get("/players/me")
    click.echo(own["handle"] or "you have no handle; `shithead handle HANDLE` chooses one")
