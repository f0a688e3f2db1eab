"""`shithead simulate` and `dataset`: let bots play, count results, write hands as rows."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from service.cli.connection import url_option
from service.cli.statuses import FAILED, ReadPath, Unreadable
from service.runtime.atomic_files import PUBLIC, whole_file

if TYPE_CHECKING:
    from service.rulesets.catalogue import Definition
    from service.simulation.simulate import Plan, SimulationReport


def bots_named(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> tuple[str, ...]:
    """
    Return the names in the option; without it, those of the bots that do not search.

    Raises BadParameter for an unknown name.
    """
    from service.bots.registry import bots, quick_bots

    names = tuple(value.split(",")) if value else quick_bots()
    for name in names:
        if name not in bots():
            raise click.BadParameter(f"unknown bot {name!r}; known are {', '.join(bots())}")
    return names


def options_named(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, Any]:
    """
    Return options by name; a value is parsed as JSON if possible, else it is a text.

    Raises BadParameter for a value without `=`.
    """
    options: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE")
        try:
            options[name] = json.loads(text)
        except ValueError:
            options[name] = text
    return options


_SIMULATED: Final = (
    click.option(
        "--ruleset",
        default="shithead",
        show_default=True,
        help="The ruleset to play: an id, a custom id at --url, or a .json file.",
    ),
    url_option,
    click.option(
        "--seats",
        type=click.IntRange(1, 64),
        help="Seats at each table.  [default: 4, or the nearest allowed]",
    ),
    click.option(
        "--bots",
        metavar="NAME,…",
        callback=bots_named,
        help="Bots, seated in turn and rotated at each table.  [default: those that do not search]",
    ),
    click.option(
        "--option",
        "options",
        multiple=True,
        metavar="NAME=VALUE",
        callback=options_named,
        help="An option of the ruleset; `shithead rulesets RULESET` lists them.",
    ),
    click.option(
        "--seed", type=int, default=0, show_default=True, help="Seed of the random games."
    ),
)


def simulated_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that determine simulated hands: ruleset, seats, bots, options and seed."""
    for option in reversed(_SIMULATED):
        command = option(command)
    return command


@click.command(short_help="Let bots play, verify every game, count the losers.")
@simulated_options
@click.option("--all", "every", is_flag=True, help="Play every ruleset at every number of seats.")
@click.option(
    "--hands",
    "games",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Hands to play; with --all, for each ruleset and number of seats.",
)
@click.option(
    "--per-table",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Hands at each table.",
)
@click.option(
    "--turn-limit", type=click.IntRange(1), help="Turns after which a hand is a stalemate."
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    help="Number of processes.  [default: one for each processor]",
)
@click.option(
    "--verify/--no-verify", "verified", default=True, help="Verify each log.  [default: verify]"
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write every log to this folder as ID.jsonl.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def simulate(
    ruleset: str,
    url: str,
    seats: int | None,
    games: int,
    bots: tuple[str, ...],
    options: dict[str, Any],
    per_table: int,
    turn_limit: int | None,
    seed: int,
    jobs: int | None,
    keep: Path | None,
    *,
    every: bool,
    verified: bool,
    as_json: bool,
) -> int:
    """
    Play hands between bots, without a server, and count how often each was the shithead.

    Rules, shuffle and log are those of a server, and every log is verified as by
    `shithead verify`. The same options give the same games, byte for byte, on any number
    of processors.

    \b
      shithead simulate --ruleset leeds --seats 6 --hands 1000
                                    how often each bot was the shithead
      shithead simulate --all --hands 200
                                    every ruleset at every number of seats: the rate of
                                    stalemates and of invalid logs (takes long)
      shithead simulate --ruleset mine.json
                                    a custom ruleset: the body of POST /v1/rulesets

    Exit status: 0 all verified logs are valid, 1 at least one is invalid.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.simulation.parallel import every_plan
    from service.simulation.simulate import Plan

    if every and (seats is not None or options):
        raise click.UsageError("--all plays every number of seats, with the default options")
    table = _table(ruleset, url, seats, bots, options)
    plan = Plan(**table, games=games, per_table=per_table, turn_limit=turn_limit, seed=seed)
    plans = list(every_plan(plan)) if every else [plan]
    began = time.monotonic()
    reports = _play(plans, jobs or os.cpu_count() or 1, verified=verified, keep=keep)
    if as_json:
        rows = [_json(plan, report) for plan, report in zip(plans, reports, strict=True)]
        click.echo(json.dumps(rows if every else rows[0], indent=1))
    else:
        seconds = time.monotonic() - began
        _print(_rates(plans, reports) if every else _losers(reports[0]))
        _print(*map(Text, _summary(reports, seconds, verified=verified)))
    return FAILED if any(report.failed for report in reports) else 0


def _print(*parts: Table | Text) -> None:
    """Print in the width of the terminal; without one, in 100 columns."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=100)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))


def _table(
    ruleset: str, url: str, seats: int | None, bots: tuple[str, ...], options: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a plan that describe its tables; raises as `playable_ruleset`."""
    from service.cli.ruleset_argument import playable_ruleset

    rules = playable_ruleset(ruleset, url)
    return {
        "ruleset": rules.id,
        "rules": rules,
        "seats": seats_allowed(rules, seats),
        "bots": bots,
        "options": options,
    }


def seats_allowed(rules: Definition, seats: int | None) -> int:
    """
    Return `seats` if set, else the number nearest to 4 that the ruleset allows.

    `seats` is returned unchecked.
    """
    players = rules.settings({})["players"]
    return seats or int(max(players["min"], min(4, players["max"])))


def _play(
    plans: Sequence[Plan], jobs: int, *, verified: bool, keep: Path | None
) -> list[SimulationReport]:
    from service.simulation.parallel import TableNotOpened, add, played
    from service.simulation.simulate import SimulationReport

    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    reports = [SimulationReport() for _ in plans]
    try:
        with closing(played(plans, jobs=jobs, verified=verified, keep=keep)) as tables:
            for number, report in _with_progress(tables, plans):
                add(reports[number], report)
    except TableNotOpened as error:
        raise click.UsageError(str(error)) from None
    return reports


def _with_progress(
    tables: Iterable[tuple[int, SimulationReport]], plans: Sequence[Plan]
) -> Iterator[tuple[int, SimulationReport]]:
    """Yield the reports, and show a progress bar on the terminal."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("hands"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task("", total=sum(plan.games for plan in plans))
        for number, report in tables:
            plan = plans[number]
            words = f"{plan.ruleset}, {plan.seats} seats"
            bar.update(task, advance=report.games, description=words)
            yield number, report


def _losers(report: SimulationReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Bot")
    for title in ("Hands played", "Shithead", "", "First out", ""):
        table.add_column(title, justify="right")
    for bot in sorted(report.sat, key=lambda bot: report.shitheads[bot] / report.sat[bot]):
        sat, lost, first = report.sat[bot], report.shitheads[bot], report.first_out[bot]
        rates = f"{lost}", f"{lost / sat:.1%}", f"{first}", f"{first / sat:.1%}"
        table.add_row(bot, f"{sat}", *rates)
    return table


def _rates(plans: Sequence[Plan], reports: Sequence[SimulationReport]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Ruleset")
    for title in ("Seats", "Hands", "Stalemates", "", "Events, median", "most", "Failed"):
        table.add_column(title, justify="right")
    for plan, report in zip(plans, reports, strict=True):
        stale = report.stalemates
        table.add_row(
            plan.ruleset,
            f"{plan.seats}",
            f"{report.games}",
            f"{stale}",
            f"{stale / report.games:.1%}",
            f"{statistics.median(report.lengths.elements()):.0f}",
            f"{max(report.lengths)}",
            f"{len(report.failed)}",
            style="bold red" if report.failed else None,
        )
    return table


def _summary(
    reports: Sequence[SimulationReport], seconds: float, *, verified: bool
) -> Iterator[str]:
    games = sum(report.games for report in reports)
    stale = sum(report.stalemates for report in reports)
    lengths = sum((report.lengths for report in reports), Counter[int]())
    failed = [fault for report in reports for fault in report.failed]
    yield f"{games} hands in {seconds:.1f} s ({games / seconds:.3g} a second)"
    yield f"stalemates: {stale} ({stale / games:.2%})"
    yield f"events a hand: median {statistics.median(lengths.elements()):.0f}, most {max(lengths)}"
    if not verified:
        yield "not verified"
    elif failed:
        yield f"verified: {len(failed)} of {games} are invalid"
        yield from (f"  {identity}: {fault}" for identity, fault in failed[:20])
    else:
        yield f"verified: all {games}, no evidence of tampering, level L1"


def _json(plan: Plan, report: SimulationReport) -> dict[str, Any]:
    return {
        "ruleset": plan.ruleset,
        "seats": plan.seats,
        "games": report.games,
        "stalemates": report.stalemates,
        "endings": {reason.value: count for reason, count in sorted(report.endings.items())},
        "bots": {
            bot: {
                "played": report.sat[bot],
                "shithead": report.shitheads[bot],
                "first_out": report.first_out[bot],
            }
            for bot in sorted(report.sat)
        },
        "failed": [{"game": str(game), "fault": fault} for game, fault in report.failed],
    }


FORMATS: Final = ("ndjson", "parquet")
STANDARD_OUTPUT: Final = Path("-")

Json = dict[str, Any]


@click.command(short_help="Write finished hands as rows for machine learning.")
@click.argument("logs", nargs=-1, type=ReadPath(file=True))
@simulated_options
@click.option(
    "--hands",
    "games",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Hands to play.",
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
    url: str,
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
      shithead dataset --ruleset leeds --seats 4 --hands 1000 --seed 1 -o leeds.ndjson
      shithead dataset --hands 1000 --format parquet -o hands.parquet
      shithead dataset game.shx

    Exit status: 0 all rows are written, 3 a log is not a sealed game.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    from service.labs.dataset import Unfinished
    from service.shx.bundle import NotABundle
    from service.shx.canonical import RecordError
    from service.simulation.simulate import Plan

    if described:
        return _describe()
    write = _writer(form or ("parquet" if output.suffix == ".parquet" else "ndjson"), output)
    plan = Plan(**_table(ruleset, url, seats, bots, options), games=games, seed=seed)
    try:
        with _opened(output) as file:
            write(_of_files(logs) if logs else _simulated(plan), file)
    except (Unfinished, NotABundle, RecordError) as error:
        raise Unreadable(f"not a sealed game: {error}") from None
    except OSError as error:
        raise click.FileError(str(output), error.strerror or "") from None
    return 0


def _describe() -> int:
    """Print a line for each column; return the exit status."""
    from service.labs.dataset import COLUMNS, described

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
        from service.labs.parquet import write_parquet
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
    from service.labs.dataset import rows
    from service.shx.bundle import NotABundle, read_log

    for path in logs:
        bundle = read_log(path.read_bytes())
        if bundle.changed:
            raise NotABundle(str(bundle.changed[0]))
        yield from rows(bundle.lines)


def _simulated(plan: Plan) -> Iterator[dict[str, Any]]:
    from service.application.errors import Refusal
    from service.labs.dataset import rows
    from service.simulation.parallel import tables_of
    from service.simulation.simulate import simulated_games

    try:
        for table in tables_of(plan):
            for game in simulated_games(table):
                yield from rows(game.lines)
    except Refusal as error:
        raise click.UsageError(str(error)) from None
