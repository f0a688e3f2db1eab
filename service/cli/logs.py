"""`shithead logs`: the log lines about one request, game or player, in the order of time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Final
from uuid import UUID

import click

from service.cli.service_options import data_folder
from service.cli.statuses import ReadPath
from service.runtime.plain_errors import why

NOTHING: Final = 1
"""Exit status if no line was found."""

IN_MEMORY: Final = 16 * 1024 * 1024
"""Bytes of lines that may belong to a found request; more of them go to a temporary file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A line of a log: its time and request as text, empty if it has none."""

    at: str
    request: str
    text: str


@click.command(short_help="Find the log lines about a request, a game or a player.")
@click.argument("files", nargs=-1, type=ReadPath(file=True, stream=True))
@click.option("--request", metavar="ID", help="The X-Request-ID of an answer.")
@click.option("--game", type=click.UUID, metavar="ID", help="The id of a game or table.")
@click.option("--player", type=click.UUID, metavar="ID", help="The id of a player.")
@data_folder("The data folder of `shithead up`; its logs are read if no FILES are named.")
def logs(
    files: Sequence[Path], request: str | None, game: UUID | None, player: UUID | None, data: Path
) -> int:
    """
    Print the log lines that name a request, a game or a player, in the order of time.

    With several options a line has to name all of them. Lines that were written while a found
    request was answered are included, such as the trace of an error. FILES are logs of any
    processes and machines, `-` is the standard input:

    \b
      shithead logs --request 19a52cb31ffffaefc692c06c89b0367c
      journalctl -u 'shithead-*' -o cat | shithead logs --game ID -
      docker compose -f ops/compose.yaml logs --no-log-prefix | shithead logs --player ID -

    A refused attempt is found by its request and game only: until the seal the record hides from
    everybody who made it.

    Exit status: 0 lines were found, 1 none were.
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    wanted = [str(one) for one in (game, player) if one is not None]
    wanted += [] if request is None else [f'"{request}"']  # whole: the caller chose it
    if not wanted:
        raise click.UsageError("name a request, a game or a player")
    try:
        found = _found(list(files) or _logs_of(data), wanted)
    except OSError as error:
        raise click.ClickException(why(error)) from None
    for line in sorted(found, key=lambda line: line.at):
        click.echo(line.text)
    return 0 if found else NOTHING


def _logs_of(data: Path) -> list[Path]:
    """Return the logs of a data folder, also the rotated ones; raises ClickException."""
    found = [*data.glob("logs/*.log"), *data.glob("logs/*.log.*")]
    if not found:
        raise click.ClickException(f"{data / 'logs'} has no logs: name files, or a --data folder")
    return found


def _found(files: Sequence[Path], wanted: Sequence[str]) -> list[_Line]:
    """Return the lines that have all of the ids, and the others of their requests."""
    found, requests = list[_Line](), set[str]()
    with SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8", newline="\n") as others:
        for text in _texts(files):
            if all(one in text for one in wanted):
                line = _line_of(text)
                found.append(line)
                requests.add(line.request)
            elif '"request"' in text and '"event":"request"' not in text:
                # A request has one line with this event; that one named none of the ids.
                others.write(f"{text}\n")
        requests.discard("")
        others.seek(0)
        lines = (_line_of(text.rstrip("\n")) for text in others if requests)
        return found + [line for line in lines if line.request in requests]


def _texts(files: Sequence[Path]) -> Iterator[str]:
    for file in files:
        with click.open_file(str(file), errors="replace") as lines:
            for line in lines:
                yield line.rstrip("\n")


def _line_of(text: str) -> _Line:
    """Return a line; one that is no JSON, as of PostgreSQL, begins with its time."""
    try:
        fields = json.loads(text)
    except ValueError:
        return _Line(at=text[:19].replace(" ", "T"), request="", text=text)
    fields = fields if isinstance(fields, dict) else {}
    return _Line(
        at=str(fields.get("timestamp", "")), request=str(fields.get("request", "")), text=text
    )
