"""`shithead replay`: a game step by step in the terminal, or as text."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Final
from uuid import UUID

import click
from rich.console import Console
from rich.live import Live

from service.commands.against import marks
from service.commands.evidence_options import brought
from service.commands.keyboard import keyboard
from service.commands.recording import (
    NotFetched,
    Recording,
    Step,
    fetch_log,
    read_recording,
    steps_of,
)
from service.commands.screen import Shown, printable, screen, viewer_name
from service.commands.stepping import Place, after_key
from service.domain.following import Known
from service.domain.view import Viewer
from service.record.bundle import NotABundle
from service.record.canonical import RecordError
from service.replay.transcript import marked, transcript
from service.replay.wording import counted
from service.verify.command import Asked, contents
from service.verify.finding import Check

LOOK_AGAIN = 0.5  # seconds, after which a window of another size is noticed


class NotGiven(click.ClickException):
    """The server does not give the game."""

    exit_code = 1


class NotALog(click.ClickException):
    """There is no file to read, or it is none of a game; the status is that of `verify`."""

    exit_code = 3


@click.command(short_help="Go through a game step by step.")
@click.argument("game", metavar="GAME")
@click.option(
    "--as",
    "viewer",
    metavar="public|all|SEAT",
    help="Whose view to show.  [default: all once sealed, else the seat of the bundle, or public]",
)
@click.option("--at", type=click.IntRange(1), default=1, metavar="VERSION", help="Where to begin.")
@click.option(
    "--url",
    envvar="SHITHEAD_URL",
    show_envvar=True,
    default="http://127.0.0.1:8080",
    show_default=True,
    help="The server to ask where GAME is an id.",
)
@click.option("--text", is_flag=True, help="Print the transcript, as without a terminal.")
@brought
def replay(
    game: str, viewer: str | None, at: int, url: str, outside: Asked, *, text: bool
) -> int:
    """
    Go through a recorded game, turn by turn.

    GAME is an evidence bundle (.shx), a log (events.jsonl), or the id of a game,
    whose public log is then fetched from the server. Of a private game fetch the
    bundle with your token and replay the file.

    \b
    Keys:
      → n space enter   next          g   go to a version (type it, then enter)
      ← p backspace     back          v   the next viewer
      home, end         first, last   q   quit

    Cards are written as in the log: Th is the ten of hearts, X1 a joker, 7c/2 the
    seven of clubs of the second deck, ?? a card that the viewer may not see, ## a
    card lying face down. What an event moved is set off.

    While a game runs only its public side can be shown, or your own from a bundle
    with profile=seat. The log is verified first, and held against the receipts, keys
    and proofs that are given. One that does not hold is shown with what is wrong with it,
    and the events concerned are marked with !; where the deck contradicts an event, what
    follows is told from what all could see.

    With --text, or where there is no terminal, it prints the game as text: equal
    games give equal text, so that two can be compared with diff.

    Exit status: 0 shown, 1 the server does not give it, or the log does not hold,
    2 shown, but what was given cannot be checked without --server-key, 3 not a bundle
    or log, or what was given cannot be read.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    recording = _recording(game, url, outside)
    viewers = _viewers(recording, viewer)
    for said in recording.warnings:
        click.echo(f"shithead replay: {printable(said)}", err=True)
    if text or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _print(recording, viewers[0])
    _play(recording, viewers, at)
    return recording.status


def _recording(game: str, url: str, outside: Asked) -> Recording:
    try:
        return read_recording(_data(game, url), outside)
    except NotFetched as error:
        raise NotGiven(printable(str(error))) from None
    except (NotABundle, RecordError, OSError) as error:
        raise NotALog(printable(f"{game}: {error}")) from None


def _data(game: str, url: str) -> bytes:
    path = Path(game)
    if path.exists():
        return contents(path)
    try:
        identity = UUID(game)
    except ValueError:
        raise NotALog(printable(f"{game}: neither a file nor the id of a game")) from None
    return fetch_log(url, identity)


def _viewers(recording: Recording, wanted: str | None) -> tuple[Viewer, ...]:
    """Return whose views can be shown, the one asked for first."""
    viewers = recording.viewers()
    if wanted is None:
        return viewers
    named = {viewer_name(viewer): number for number, viewer in enumerate(viewers)}
    if wanted not in named:
        known = "public, all or the number of a seat"
        why = f"--as is {known}" if recording.sealed else "that is shown after the seal"
        raise click.UsageError(f"no view of {wanted!r}: {why}; here: {', '.join(named)}")
    first = named[wanted]
    return (*viewers[first:], *viewers[:first])


def _print(recording: Recording, viewer: Viewer) -> int:
    said = transcript(
        [record.event for record in recording.log],
        deck=recording.deck,
        viewer=viewer,
        marks=marks(recording.against),
    )
    click.echo(printable_lines(_head(recording) + said + _rest(recording)), nl=False)
    return recording.status


def _head(recording: Recording) -> str:
    """Return what stands before a transcript that is not to be believed; nothing before others."""
    if not recording.failed:
        return ""
    lines = [recording.wording]
    for finding in recording.failed:
        where = "" if finding.seq is None else f"seq {finding.seq}: "
        rule = f" [{finding.rule}]" if finding.rule else ""
        lines.append(f"{finding.check}  {where}{finding.said}{rule}")
    if any(finding.check is Check.RECEIPTS for finding in recording.failed):
        lines.append(_KEPT)
    lines.append("What is said against an event stands under it, in lines that begin with !")
    return "".join(f"{line}\n" for said in lines for line in marked(said)) + "\n"


_KEPT: Final = (
    "Who kept the events of that other history as they came (events.jsonl) can show it: "
    "verify or replay them with the same receipts."
)


def _rest(recording: Recording) -> str:
    """Return that there is more in the log, where it could not be read to its end."""
    if not recording.unread:
        return ""
    count = counted(recording.unread, "more line")
    lines = marked(f"The log has {count}: the first of them is not the next event.")
    return "".join(f"{line}\n" for line in lines)


def printable_lines(text: str) -> str:
    """Return text of several lines with nothing in it that steers a terminal."""
    return "".join(f"{printable(line)}\n" for line in text.split("\n")[:-1])


def _play(recording: Recording, viewers: tuple[Viewer, ...], at: int) -> None:
    """Show step after step on the whole screen, as the keys say."""

    @cache
    def seen(number: int) -> tuple[list[Step], str | None]:
        return steps_of(recording, viewers[number])

    count = len(seen(0)[0])
    place = Place(step=min(at, count) - 1)
    with keyboard() as read, Live(screen=True, auto_refresh=False, console=Console()) as live:
        while not place.over:
            steps, fault = seen(place.viewer)
            step = steps[min(place.step, len(steps) - 1)]
            shown = Shown(
                viewer=viewers[place.viewer],
                versions=len(recording.log),
                typed=place.typed,
                warning=warning_of(recording, step, fault),
            )
            live.update(screen(step, shown), refresh=True)
            for key in read(LOOK_AGAIN):
                place = after_key(place, key, steps=count, viewers=len(viewers))


def warning_of(recording: Recording, step: Step, fault: str | None) -> str | None:
    """Return what is said against an event; where nothing is, what is said of the log."""
    said = [one.line for one in recording.against_move(step.seq, step.seq)] or recording.warnings
    if fault and step.known is not Known.DECK:
        said = [*said, fault]
    return "; ".join(said) + " (shithead verify says more)" if said else None
