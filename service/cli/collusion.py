"""`shithead collusion`: whether two players spare each other, computed from dumps."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from service.cli.ratings import FAILED, dump_folders
from service.cli.verify import progress_bar
from service.replay.sentences import said
from service.runtime.plain_errors import why

if TYPE_CHECKING:
    from service.audit.collusion import Pair


@click.command(short_help="Compute from dumps whether two players spare each other.")
@dump_folders
@click.option(
    "--pair",
    nargs=2,
    required=True,
    metavar="ID ID",
    type=click.UUID,
    help="The ids of the two players.",
)
@click.option(
    "--leaves",
    nargs=2,
    metavar="FIRST LAST",
    type=click.IntRange(min=0),
    help="Count only hands between these leaves of the public log, as a referee's figures state.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def collusion(
    folders: tuple[Path, ...],
    pair: tuple[UUID, UUID],
    leaves: tuple[int, int] | None,
    *,
    as_json: bool,
) -> int:
    """
    Compute from dumps of `shithead dump` whether two players spare each other.

    For each decision, the legal moves are ranked by their harm to the next player. The ranks of
    the moves before the one player are compared with those before all others, in positions of the
    same kind (ops/spec/statistics.md). A large e-value says that this difference is not chance; it
    does not say why. Name the two players because of a suspicion, and not because of this figure:
    of a hundred innocent pairs one may reach the threshold.

    The dumps are those of months that follow one another, one edition of each, of one public log.
    Who sat at a table is the testimony of the operator. Each bundle is compared with its hash in
    the index; whether the hands were played by the rules is for `shithead verify --dump DIR`.

    Exit status: 0 computed, 1 a dump is damaged or does not go with another, with the reason.
    """
    from service.audit.collusion import FALSE_ALARM, MARGIN, THRESHOLD, Pair
    from service.shx.bundle import NotABundle
    from service.shx.canonical import RecordError
    from service.shx.dump_series import DumpSeries
    from service.shx.tar_files import NotATarFile

    first, second = map(str, pair)
    if first == second:
        raise click.UsageError("--pair needs two different players")
    found = Pair(first, second)
    try:
        series = DumpSeries(folders)
        for hand, data in progress_bar(series.hands(), series.count):
            players = [None if one is None else str(one) for one in hand.players]
            counted = leaves is None or leaves[0] <= hand.leaf <= leaves[1]
            if counted and {first, second} & set(players):
                _count(found, players, data)
    except (RecordError, NotABundle, NotATarFile, OSError, ValueError, KeyError) as error:
        click.echo(f"shithead collusion: {why(error)}: see shithead verify --dump", err=True)
        return FAILED
    if as_json:
        limits = {"threshold": THRESHOLD, "false_alarm": FALSE_ALARM, "margin": MARGIN}
        json.dump({**found.numbers, **limits}, sys.stdout, indent=1)
        click.echo()
        return 0
    _print(found)
    return 0


def _count(found: Pair, players: list[str | None], data: bytes) -> None:
    """Count a hand; aborted hands are left out."""
    from service.bots.sparing import decisions
    from service.replay.history import History, decode_log, sealed_deck
    from service.shx.bundle import read_bundle

    log = decode_log(read_bundle(data).lines)
    if log[-1].type == "game_sealed":
        history = History(log, sealed_deck(log))
        found.count(players, partial(decisions, history, game=log[0].fields["game"]))


def _print(found: Pair) -> None:
    from service.audit.collusion import THRESHOLD

    numbers = found.numbers
    sentences = [said("collusion.hands", n=numbers["hands"])]
    for one in numbers["directions"]:
        who = {"player": one["player"], "partner": one["partner"]}
        sentences.append(said("collusion.direction", **who, **_shown(one)))
    sentences.append(said("collusion.joint", **_shown(numbers["joint"])))
    code = "collusion.reached" if found.e_value >= THRESHOLD else "collusion.not_reached"
    value = f"{numbers['e_value']:g}"
    sentences.append(said(code, value=value, threshold=f"{THRESHOLD:g}"))
    sentences.append(said("about.collusion"))
    for one in sentences:
        click.echo(one.text)


def _shown(figures: Mapping[str, Any]) -> dict[str, str | int]:
    """Return figures as values of a sentence."""
    difference = figures["difference"]
    return {
        "n": figures["n"],
        "difference": "–" if difference is None else f"{difference:+.2f}",
        "value": f"{figures['e_value']:g}",
    }
