"""`shithead decisions`: search the decisions of sealed hands, and count what was chosen."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, get_args

import click

from service.audit.decisions import (
    SPECIAL,
    ChoiceCount,
    Decided,
    DecisionFilter,
    Kind,
    decisions_of,
    shares_of,
)
from service.cli.audit import refused_in
from service.cli.screen import printable
from service.cli.statuses import ReadPath
from service.domain.words import counted
from service.replay.history import History, decode_log, sealed_deck
from service.replay.sentences import seat_words
from service.runtime.plain_errors import why
from service.shx.bundle import NotABundle, read_log
from service.shx.canonical import RecordError
from service.shx.dump_series import DumpSeries
from service.shx.dumps import MANIFEST
from service.shx.tar_files import NotATarFile
from service.verify.file_work import contents

FAILED: Final = 1
SHOWN: Final = 20
"""Decisions that are listed unless --limit says otherwise; all of them are counted."""

REFUSED: Final = ".refusals.jsonl"
"""The end of the names of files with refused attempts beside a log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandFile:
    """A log with the way to it: its file, the tar file of a dump around it, and its players."""

    file: str
    data: bytes
    tar: str | None = None
    players: tuple[str | None, ...] = ()

    def player(self, seat: int) -> str | None:
        """Return the player of a seat, None if the file does not name one."""
        return self.players[seat] if self.players else None

    def command(self, event: int) -> str:
        """Return the command line that shows a decision."""
        unpack = f"tar -xf {self.tar} {self.file} && " if self.tar else ""
        return f"{unpack}shithead replay {self.file} --at {event + 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceCounts:
    """Counts of each choice, and of the hands that its seat lost."""

    hands: set[str] = field(default_factory=set)
    choices: dict[str, ChoiceCount] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Return the number of decisions."""
        return sum(one.n for one in self.choices.values())

    def count(self, one: Decided, hand: HandFile) -> None:
        """Count a decision."""
        self.hands.add(hand.file)
        found = self.choices.setdefault(one.choice, ChoiceCount())
        found.n += 1
        found.ended += one.lost is not None
        found.lost += bool(one.lost)


def hands_of(
    places: Sequence[Path], report: Callable[[Path, str], None] = lambda _path, _fault: None
) -> Iterator[HandFile]:
    """
    Yield the hands in folders: of dumps with their players, else of every bundle and log in them.

    A file that cannot be read is reported. Raises RecordError, NotATarFile or OSError for a dump.
    """
    dumps = [place for place in places if (place / MANIFEST).is_file()]
    if dumps:
        for dumped, data in DumpSeries(dumps).hands():
            players = tuple(None if one is None else str(one) for one in dumped.players)
            yield HandFile(file=dumped.name, data=data, tar=dumped.tar, players=players)
    for place in places:
        if place in dumps:
            continue
        found = [place] if place.is_file() else sorted(place.rglob("*"))
        for path in found:
            if path.name.endswith(REFUSED) or path.suffix not in (".shx", ".jsonl"):
                continue
            if path.is_file():
                try:
                    yield HandFile(file=str(path), data=contents(path))
                except (NotABundle, OSError) as error:
                    report(path, why(error))


def found_in(
    hands: Iterator[HandFile],
    wanted: DecisionFilter,
    tally: ChoiceCounts,
    report: Callable[[Path, str], None],
) -> Iterator[tuple[HandFile, Decided]]:
    """Yield the decisions of sealed hands that are wanted, and count them."""
    for hand in hands:
        try:
            bundle = read_log(hand.data)
            log = decode_log(bundle.lines)
            if wanted.ruleset not in (None, log[0].fields["data"]["ruleset"]["id"]):
                continue
            history = History(log, sealed_deck(log))
            every = list(decisions_of(history, tuple(refused_in(hand.data))))
        except (NotABundle, RecordError, ValueError, LookupError, TypeError) as error:
            report(Path(hand.file), why(error))
            continue
        for one in every:
            if wanted.fits(one, hand.player(one.seat)):
                tally.count(one, hand)
                yield hand, one


def _range(
    _context: click.Context, option: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    """Return the numbers of `5`, `3-6` or `10-`; raises BadParameter for another text."""
    if value is None:
        return None
    low, dash, high = value.partition("-")
    try:
        least = int(low or 0)
        return least, (int(high) if high else sys.maxsize) if dash else least
    except ValueError:
        raise click.BadParameter(f"{option.name} is a number, or two with - between") from None


@click.command(short_help="Search the decisions of many hands, and count what was chosen.")
@click.argument(
    "places", nargs=-1, required=True, metavar="DIR...", type=ReadPath(file=True, folder=True)
)
@click.option("--ruleset", metavar="ID", help="Hands of this ruleset.")
@click.option("--player", metavar="ID", help="Decisions of this player; only dumps name players.")
@click.option("--bot", metavar="NAME", help="Decisions of this bot; `none` for those of people.")
@click.option(
    "--phase", type=click.Choice(("hand", "up", "down")), help="What the seat played from."
)
@click.option("--demand", metavar="KIND", help="The kind of demand: at_least, at_most, anything, …")
@click.option("--asked", metavar="RANK", help="The rank that the demand names.")
@click.option("--top", metavar="RANK", help="The rank of the top card of the pile.")
@click.option("--held", callback=_range, metavar="N|N-M", help="Cards in the hand.")
@click.option("--cards", metavar="6,9,K", help="The ranks that the seat played from, as sorted.")
@click.option("--left", callback=_range, metavar="N|N-M", help="Seats still in play.")
@click.option("--kind", type=click.Choice((*get_args(Kind), *SPECIAL)), help="What was done.")
@click.option("--rank", metavar="RANK", help="The rank that was played.")
@click.option("--count", type=click.IntRange(1), help="How many cards were played.")
@click.option("--had-other/--no-other", default=None, help="Whether another move was legal.")
@click.option("--took", callback=_range, metavar="N|N-M", help="Whole seconds of the turn.")
@click.option("--lost/--not-lost", default=None, help="Whether the seat lost the hand.")
@click.option("--limit", type=click.IntRange(0), default=SHOWN, show_default=True, help="Lines.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def decisions(places: tuple[Path, ...], *, limit: int, as_json: bool, **wanted: Any) -> int:
    """
    Search the decisions of sealed hands, without a server, and count what was chosen.

    DIR is a folder of bundles and logs, a file, or a dump of `shithead dump`. A decision is a move
    in play, with what its seat could know: its own cards, the pile, the demand. Each line ends with
    the command that shows it; `shithead audit FILE --move SEQ` explains it. All decisions that
    were found are counted: how often each move was chosen, and how often its seat lost, each with
    an interval of 95 % (ops/spec/statistics.md, section 4). The hands are not verified: see
    `shithead verify`.

    Exit status: 0 searched, 1 a file could not be read, or a dump is damaged.

    \b
    Examples:
      shithead decisions hands/ --kind pick_up --had-other
      shithead decisions 2026-11 --ruleset leeds --asked K --held 3-5 --bot none
      shithead decisions hands/ --kind refused --json
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    tally, faults = ChoiceCounts(), list[str]()

    def report(path: Path, fault: str) -> None:
        faults.append(f"shithead decisions: {path}: {fault}")

    conditions = DecisionFilter(**wanted)
    shown: list[tuple[HandFile, Decided]] = []
    try:
        found = found_in(hands_of(places, report), conditions, tally, report)
        shown = list(islice(found, limit))
        for _ in found:
            pass
    except (RecordError, NotATarFile, OSError) as error:
        faults.append(f"shithead decisions: {why(error)}: see shithead verify --dump")
    for fault in faults:
        click.echo(printable(fault), err=True)
    if as_json:
        rows = [{"file": hand.file, **asdict(one)} for hand, one in shown]
        totals = {"decisions": tally.total, "hands": len(tally.hands)}
        json.dump(
            {**totals, "choices": shares_of(tally.choices), "found": rows}, sys.stdout, indent=1
        )
        click.echo()
    else:
        _print(shown, tally)
    return FAILED if faults else 0


def _print(shown: Sequence[tuple[HandFile, Decided]], tally: ChoiceCounts) -> None:
    for hand, one in shown:
        click.echo(f"{_line(one)}\n    {printable(hand.command(one.event))}")
    total = counted(tally.total, "decision")
    click.echo(f"{total} in {counted(len(tally.hands), 'hand')}")
    for row in shares_of(tally.choices):
        share, lost = _percent(row["share"]), _percent(row["lost"])
        click.echo(f"  {row['choice']:<14} {row['n']:>7}  {share}  lost {lost}")


def _percent(share: Mapping[str, Any] | None) -> str:
    if share is None:
        return "–"
    part, low, high = (100 * share[name] for name in ("share", "low", "high"))
    return f"{part:5.1f} % ({low:.1f}–{high:.1f})"


def _line(one: Decided) -> str:
    """Return a decision in a line."""
    asks = f"{one.demand} {one.asked}" if one.asked else one.demand
    more = [
        *(["burned"] if one.burned else []),
        *(["timed out"] if one.timed_out else []),
        *([f"after {counted(one.refused, 'refused attempt')}"] if one.refused else []),
        *(["no other move"] if not one.had_other else []),
        *(["lost"] if one.lost else []),
    ]
    who = f"{seat_words(one.seat)} ({printable(one.bot) if one.bot else 'person'})"
    return ", ".join((f"{who}: {asks}, {one.held} in hand, from {one.phase}: {one.choice}", *more))
