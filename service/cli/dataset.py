"""`shithead dataset`: finished hands as rows of positions, moves and outcomes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from service.cli.simulate import seats_allowed, simulated_options

if TYPE_CHECKING:
    from service.simulation.simulate import Plan

UNREADABLE = 1


@click.command(short_help="Write finished hands as rows for learning programs.")
@click.argument("logs", nargs=-1, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@simulated_options
@click.option(
    "--games", type=click.IntRange(1), default=100, show_default=True, help="Hands to play."
)
@click.option(
    "--output", "-o", type=click.File("w", encoding="utf-8", lazy=True), default="-", help="A file."
)
@click.option("--columns", "described", is_flag=True, help="Describe the columns, and stop.")
def dataset(
    logs: tuple[Path, ...],
    ruleset: str,
    seats: int | None,
    games: int,
    bots: tuple[str, ...],
    options: dict[str, Any],
    seed: int,
    output: IO[str],
    *,
    described: bool,
) -> int:
    """
    Write a row for every move of finished hands: position, legal moves, choice, outcome.

    LOGS are logs or evidence bundles of sealed games, as the service gives them to everybody
    for public games. Without LOGS, bots play hands as in `shithead simulate`; the same options
    give the same rows, byte for byte. A row is a line of JSON.

    \b
      shithead dataset --ruleset leeds --seats 4 --games 1000 --seed 1 -o leeds.ndjson
      shithead dataset game.shx

    Exit status: 0 all rows are written, 1 a log is not a sealed game.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.shx.bundle import NotABundle
    from service.shx.canonical import RecordError
    from service.simulation.dataset import COLUMNS, Unfinished
    from service.simulation.simulate import Plan

    if described:
        for name, text in COLUMNS.items():
            click.echo(f"{name:<10} {text}")
        return 0
    plan = Plan(
        ruleset=ruleset,
        seats=seats_allowed(ruleset, seats),
        bots=bots,
        options=options,
        games=games,
        seed=seed,
    )
    try:
        for row in _of_files(logs) if logs else _simulated(plan):
            output.write(json.dumps(row, separators=(",", ":")) + "\n")
    except (Unfinished, NotABundle, RecordError) as error:
        click.echo(f"not a sealed game: {error}", err=True)
        return UNREADABLE
    return 0


def _of_files(logs: Sequence[Path]) -> Iterator[dict[str, Any]]:
    from service.shx.bundle import read_log
    from service.simulation.dataset import rows

    for path in logs:
        yield from rows(read_log(path.read_bytes()).lines)


def _simulated(plan: Plan) -> Iterator[dict[str, Any]]:
    from service.application.errors import Refusal
    from service.simulation.dataset import rows
    from service.simulation.parallel import tables_of
    from service.simulation.simulate import simulated_games

    try:
        for table in tables_of(plan):
            for game in simulated_games(table):
                yield from rows(game.lines)
    except Refusal as error:
        raise click.UsageError(str(error)) from None
