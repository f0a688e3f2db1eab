"""`shithead dataset`: write finished hands as rows of positions, moves and outcomes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from service.atomic_files import PUBLIC, whole_file
from service.cli.simulate import seats_allowed, simulated_options

if TYPE_CHECKING:
    from service.simulation.simulate import Plan

UNREADABLE = 1
FORMATS: Final = ("ndjson", "parquet")
STANDARD_OUTPUT: Final = Path("-")

Json = dict[str, Any]


@click.command(short_help="Write finished hands as rows for learning programs.")
@click.argument("logs", nargs=-1, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@simulated_options
@click.option(
    "--games", type=click.IntRange(1), default=100, show_default=True, help="Hands to play."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Format of the rows; Parquet needs the extra `parquet`.  "
    "[default: parquet if the file name ends in .parquet, else ndjson]",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    default="-",
    help="The file, replaced when all rows are written; - is standard output (NDJSON only).",
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
    form: str | None,
    output: Path,
    *,
    described: bool,
) -> int:
    """
    Write a row for every move of finished hands: position, legal moves, choice, outcome.

    LOGS are logs or evidence bundles of sealed games; those of public games can be downloaded
    by anyone. Without LOGS, bots play hands as in `shithead simulate`; the same options
    give the same file, byte for byte. A row is a line of JSON (NDJSON), or a row of a Parquet
    file with the same columns and types.

    \b
      shithead dataset --ruleset leeds --seats 4 --games 1000 --seed 1 -o leeds.ndjson
      shithead dataset --games 1000 --format parquet -o hands.parquet
      shithead dataset game.shx

    Exit status: 0 all rows are written, 1 a log is not a sealed game.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.shx.bundle import NotABundle
    from service.shx.canonical import RecordError
    from service.simulation.dataset import Unfinished
    from service.simulation.simulate import Plan

    if described:
        return _describe()
    write = _writer(form or ("parquet" if output.suffix == ".parquet" else "ndjson"), output)
    plan = Plan(
        ruleset=ruleset,
        seats=seats_allowed(ruleset, seats),
        bots=bots,
        options=options,
        games=games,
        seed=seed,
    )
    try:
        with _opened(output) as file:
            write(_of_files(logs) if logs else _simulated(plan), file)
    except (Unfinished, NotABundle, RecordError) as error:
        click.echo(f"not a sealed game: {error}", err=True)
        return UNREADABLE
    except OSError as error:
        raise click.FileError(str(output), error.strerror or "") from None
    return 0


def _describe() -> int:
    """Print a line for each column; return the exit status."""
    from service.simulation.dataset import COLUMNS, described

    for name, column in COLUMNS.items():
        click.echo(f"{name:<10} {described(column.type)}: {column.text}")
    return 0


def _writer(form: str, output: Path) -> Callable[[Iterable[Json], BinaryIO], None]:
    """
    Return the function that writes rows in a format to a file.

    Raises UsageError for Parquet to standard output or without pyarrow.
    """
    if form == "ndjson":
        return _write_ndjson
    if output == STANDARD_OUTPUT:
        raise click.UsageError("Parquet needs a file: -o hands.parquet")
    try:
        from service.simulation.parquet import write_parquet
    except ImportError:
        raise click.UsageError(
            "Parquet needs pyarrow, which is not installed: pip install 'shithead[parquet]'"
        ) from None
    return write_parquet


def _opened(output: Path) -> AbstractContextManager[BinaryIO]:
    if output == STANDARD_OUTPUT:
        return nullcontext(sys.stdout.buffer)
    if output.exists() and not output.is_file():  # a pipe or a device: not to be replaced
        return output.open("wb")
    return whole_file(output, mode=PUBLIC)


def _write_ndjson(rows: Iterable[Json], file: BinaryIO) -> None:
    file.writelines(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


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
