"""`shithead replay`: show a game step by step in the terminal, or as text."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.live import Live

from service.cli.connection import api_of, errors_as_messages, game_of, place_of, url_option
from service.cli.load_game import (
    NotFetched,
    Recording,
    ReplayStep,
    fetch_log,
    marks,
    read_recording,
    steps_of,
)
from service.cli.screen import (
    ReplayPosition,
    Shown,
    after_key,
    keyboard,
    printable,
    screen,
    viewer_name,
)
from service.cli.statuses import NoService, Unreadable
from service.cli.verify import evidence_options
from service.cli.what_if import line_transcript
from service.domain.view import Viewer
from service.domain.words import counted
from service.replay.frames import marked, transcript
from service.replay.history import Known
from service.runtime.plain_errors import why
from service.shx.bundle import NotABundle
from service.shx.canonical import RecordError
from service.verify.file_work import contents
from service.verify.files import VerifyOptions
from service.verify.finding import Check

REDRAW_SECONDS = 0.5  # interval of redraws, so that a resized window is noticed


@click.command(short_help="Go through a game step by step.")
@click.argument("game", metavar="GAME")
@click.option(
    "--as",
    "viewer",
    metavar="public|all|SEAT",
    help="The view to show, seats from 0.  [default: all if sealed, else the seat of the bundle, "
    "or public]",
)
@click.option(
    "--at", type=click.IntRange(1), default=1, metavar="VERSION", help="The version to start at."
)
@url_option
@click.option("--text", is_flag=True, help="Print a transcript instead.")
@click.option(
    "--what-if",
    "line",
    metavar="JSON",
    help='Print another line of a sealed game: {"at": 41, "moves": [{"seat": 0, "move": {"type": '
    '"pick_up"}}], "then": "greedy"}, as in POST /v1/games/{id}/what-if.',
)
@evidence_options
def replay(
    game: str,
    viewer: str | None,
    at: int,
    url: str,
    outside: VerifyOptions,
    *,
    text: bool,
    line: str | None,
) -> int:
    """
    Go through a recorded game, turn by turn.

    GAME is an evidence bundle (.shx), a log (events.jsonl), or the address or id of a game,
    whose log is fetched from the service. The address or id of a table means its
    present or last hand. An id is looked up at --url. To replay a private game, download its
    bundle with your token and replay the file.

    \b
    Keys:
      → n space enter   next          g   go to a version (type it, then enter)
      ← p backspace     back          v   the next viewer
      home, end         first, last   q   quit

    Cards are written as in the log: Th is the ten of hearts, X1 a joker, 7c/2 the
    seven of clubs of the second deck, ?? a hidden card, ## a face-down card. Cards that an
    event moved are highlighted.

    Of a running game only the public view can be shown, or your own from a bundle with
    profile=seat. The log is verified first, with the receipts, keys and proofs of the
    options. An invalid log is shown with its faults, and events with faults are marked with
    !. After an event that contradicts the deck, only public information is shown.

    With --text, or without a terminal, the game is printed as text: equal games give
    equal text, so that two can be compared with diff.

    With --what-if the transcript is that of moves that were not made, from the version `at`
    on, with the real deck; `then` names the bot that plays on for all seats (greedy or lowest), or
    is null. The line is hypothetical: other players might have acted differently.

    Exit status: 0 shown, 1 shown, but the log is invalid, 2 shown, but receipts or proofs could
    not be checked without --server-key, or the service does not return the game, 3 a file
    cannot be read, or is no bundle or log.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    recording = _recording(game, url, outside)
    viewers = _viewers(recording, viewer)
    for warning in recording.warnings:
        click.echo(f"shithead replay: {printable(warning)}", err=True)
    if line is not None:
        click.echo(printable_lines(line_transcript(recording, viewers[0], line)), nl=False)
        return recording.status
    if text or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _print(recording, viewers[0])
    _play(recording, viewers, at)
    return recording.status


def _recording(game: str, url: str, outside: VerifyOptions) -> Recording:
    try:
        return read_recording(_data(game, url), outside)
    except NotFetched as error:
        raise NoService(printable(str(error))) from None
    except OSError as error:
        raise Unreadable(printable(why(error))) from None
    except (NotABundle, RecordError) as error:
        raise Unreadable(printable(f"{game}: {error}")) from None


def _data(game: str, url: str) -> bytes:
    path = Path(game)
    if path.exists():
        return contents(path)
    try:
        url, kind, identity = place_of(game, url)
    except click.UsageError:
        message = f"{game} is neither a file nor the address or id of a game"
        raise Unreadable(printable(message)) from None
    api = api_of(url)
    if kind == "tables":
        with errors_as_messages():
            identity = game_of(api, kind, identity)
    return fetch_log(url, identity)


def _viewers(recording: Recording, requested: str | None) -> tuple[Viewer, ...]:
    """Return the available viewers, the requested one first."""
    viewers = recording.viewers()
    if requested is None:
        return viewers
    named = {viewer_name(viewer): number for number, viewer in enumerate(viewers)}
    if requested not in named:
        known = "public, all or the number of a seat, from 0"
        why = f"--as is {known}" if recording.sealed else "the game is not sealed"
        raise click.UsageError(f"no view of {requested!r}: {why}; available: {', '.join(named)}")
    first = named[requested]
    return (*viewers[first:], *viewers[:first])


def _print(recording: Recording, viewer: Viewer) -> int:
    text = transcript(
        [record.event for record in recording.log],
        deck=recording.deck,
        viewer=viewer,
        marks=marks(recording.against),
    )
    click.echo(printable_lines(_head(recording) + text + _rest(recording)), nl=False)
    return recording.status


def _head(recording: Recording) -> str:
    """Return the faults of an invalid log, printed above its transcript; '' for a valid one."""
    if not recording.failed:
        return ""
    lines = [recording.wording]
    for finding in recording.failed:
        where = "" if finding.seq is None else f"seq {finding.seq}: "
        rule = f" [{finding.rule}]" if finding.rule else ""
        lines.append(f"{finding.check}  {where}{finding.text}{rule}")
    if any(finding.check is Check.RECEIPTS for finding in recording.failed):
        lines.append(_OTHER_HISTORY)
    lines.append("Faults of an event are printed below it, in lines that begin with !")
    return "".join(f"{line}\n" for text in lines for line in marked(text)) + "\n"


_OTHER_HISTORY: Final = (
    "A player who saved the events of the other history (events.jsonl) can prove that history: "
    "verify or replay that file with the same receipts."
)


def _rest(recording: Recording) -> str:
    """Return a note on lines that could not be read as events; '' if there are none."""
    if not recording.unread:
        return ""
    count = counted(recording.unread, "more line")
    lines = marked(f"The log has {count}: the first of them is not a valid next event.")
    return "".join(f"{line}\n" for line in lines)


def printable_lines(text: str) -> str:
    """Return text with control characters replaced in each line."""
    return "".join(f"{printable(line)}\n" for line in text.split("\n")[:-1])


def _play(recording: Recording, viewers: tuple[Viewer, ...], at: int) -> None:
    """Show the steps on the whole screen, controlled by keys."""

    @cache
    def steps_for(number: int) -> tuple[list[ReplayStep], str | None]:
        return steps_of(recording, viewers[number])

    count = len(steps_for(0)[0])
    place = ReplayPosition(step=min(at, count) - 1)
    with keyboard() as read, Live(screen=True, auto_refresh=False, console=Console()) as live:
        while not place.over:
            steps, fault = steps_for(place.viewer)
            step = steps[min(place.step, len(steps) - 1)]
            shown = Shown(
                viewer=viewers[place.viewer],
                versions=len(recording.log),
                typed=place.typed,
                warning=warning_of(recording, step, fault),
            )
            live.update(screen(step, shown), refresh=True)
            for key in read(REDRAW_SECONDS):
                place = after_key(place, key, steps=count, viewers=len(viewers))


def warning_of(recording: Recording, step: ReplayStep, fault: str | None) -> str | None:
    """Return the faults of an event, or those of the log if it has none; None without any."""
    own = [one.line for one in recording.against_move(step.seq, step.seq)]
    faults = own or recording.warnings
    if fault and step.known is not Known.DECK:
        faults = [*faults, fault]
    return " ".join(faults) + " (details: shithead verify)" if faults else None
