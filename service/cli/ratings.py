"""`shithead ratings`: computes ratings from dumps, without the service."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich import box
from rich.console import Console
from rich.table import Table

from service.cli.statuses import ReadPath
from service.cli.verify import progress_bar
from service.replay.sentences import said
from service.runtime.plain_errors import why

if TYPE_CHECKING:
    from service.audit.ratings import FinishedHand, Standings
    from service.shx.bundle import Bundle
    from service.shx.dumps import DumpedHand

FAILED: Final = 1

dump_folders = click.argument(
    "folders",
    nargs=-1,
    required=True,
    metavar="DIR...",
    type=ReadPath(folder=True),
)
"""The folders of dumps, an argument of each command that reads them."""


@click.command(short_help="Compute ratings from dumps, offline.")
@dump_folders
@click.option("--ruleset", metavar="ID", help="Print the ratings of this ruleset only.")
@click.option("--json", "as_json", is_flag=True, help="Print the ratings as JSON.")
def ratings(folders: tuple[Path, ...], ruleset: str | None, *, as_json: bool) -> int:
    """
    Compute the ratings of players and bots from dumps of `shithead dump`, in any order.

    With the dumps of all months the numbers are those of the service (/v1/ratings) after the last
    of them, to four decimals. The model is OpenSkill (Plackett-Luce) with its default parameters,
    over the places of each hand in the order of the public log. Not rated are aborted hands,
    stalemates, and hands that the index marks `cad`: a final ruling calls a player of it a cad.
    Seats without a place share one; a player who gave the hand up is last. An erased player is a
    newcomer in each hand. A rating of fewer than 10 hands is provisional, and marked with `?`.

    The dumps are those of months that follow one another, one edition of each, of one public log.
    Each bundle is compared with its hash in the index. Whether the hands were played by the rules,
    and whether one is missing, is for `shithead verify --dump DIR`.

    Who sat at a table, and which hands are marked, is the testimony of the operator. A rating does
    not show whether friends at one table helped each other, or whether one person played under
    several names.

    Exit status: 0 computed, 1 a dump is damaged or does not go with another, with the reason.
    """
    from service.audit.ratings import Standings
    from service.shx.bundle import NotABundle, read_bundle
    from service.shx.canonical import RecordError
    from service.shx.dump_series import DumpSeries
    from service.shx.tar_files import NotATarFile

    standings = Standings()
    try:
        series = DumpSeries(folders)
        for hand, data in progress_bar(series.hands(), series.count):
            standings.add(_finished(hand, read_bundle(data)))
    except (RecordError, NotABundle, NotATarFile, OSError, ValueError, KeyError) as error:
        click.echo(f"shithead ratings: {why(error)}: see shithead verify --dump", err=True)
        return FAILED
    if series.before is not None:
        click.echo(f"Hands up to {series.before} are not counted: their dump is missing.", err=True)
    wanted = [ruleset] if ruleset is not None else standings.rulesets
    if as_json:
        json.dump({one: _listed(standings, one) for one in wanted}, sys.stdout, indent=1)
        click.echo()
        return 0
    for one in wanted:
        _print(standings, one)
    click.echo(said("about.ratings").text)
    return 0


def _finished(hand: DumpedHand, bundle: Bundle) -> FinishedHand:
    """Return what ratings need of a hand: its seats and result are in the record."""
    from service.audit.ratings import FinishedHand, bot_id
    from service.shx.chain import decode_event

    created = decode_event(bundle.lines[0])["data"]
    ended = next(
        (
            decode_event(line)["data"]
            for line in reversed(bundle.lines)
            if b'"type":"game_ended"' in line
        ),
        None,
    )
    seats: Sequence[Mapping[str, Any]] = created["seats"]
    return FinishedHand(
        ruleset=created["ruleset"]["id"],
        seats=[
            bot_id(seat["bot"])
            if seat["kind"] == "bot"
            else None
            if player is None
            else str(player)
            for seat, player in zip(seats, hand.players, strict=True)
        ],
        reason=None if ended is None else ended["reason"],
        places=() if ended is None else ended["places"],
        shithead=None if ended is None else ended["shithead"],
        cad=hand.cad,
    )


def _listed(standings: Standings, ruleset: str) -> list[dict[str, Any]]:
    from service.audit.ratings import bot_id

    prefix = bot_id("")
    return [
        {
            "rank": rank,
            "player": None if who.startswith(prefix) else who,
            "bot": who.removeprefix(prefix) if who.startswith(prefix) else None,
            **rating.numbers,
        }
        for rank, (who, rating) in enumerate(standings.of(ruleset), 1)
    ]


def _print(standings: Standings, ruleset: str) -> None:
    from service.audit.ratings import DIGITS

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    table.title = f"{ruleset}: {standings.hands.get(ruleset, 0)} rated hands"
    for title in ("", "Rating", "mu", "sigma", "Hands"):
        table.add_column(title, justify="right")
    table.add_column("Player or bot", no_wrap=True)
    for rank, (who, rating) in enumerate(standings.of(ruleset), 1):
        numbers = (f"{one:.{DIGITS}f}" for one in (rating.value, rating.mu, rating.sigma))
        mark = "?" if rating.provisional else ""
        table.add_row(str(rank), *numbers, f"{rating.hands}{mark}", who)
    Console(width=120, highlight=False).print(table)
