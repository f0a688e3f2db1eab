"""Another line of a sealed game as a transcript: the option `--what-if` of `shithead replay`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import orjson
from marshmallow import ValidationError

from schemas.errors import pointers
from schemas.moves import move_of
from schemas.views import ViewFacts
from schemas.what_if import WhatIfRequestSchema
from service.bots.bot import every_seat
from service.bots.simple import ON_A_LINE
from service.cli.load_game import Recording
from service.cli.screen import printable
from service.domain.view import Viewer
from service.replay.frames import frames_of, transcript_of
from service.replay.history import Known, steps_of
from service.replay.what_if import IllegalMove, line_from, line_steps

_NEEDED = "--what-if needs a sealed game whose log is valid"
_HEAD = "Hypothetical, from version {at} on: these moves were not made."


def line_transcript(recording: Recording, viewer: Viewer, text: str) -> str:
    """
    Return the transcript of a line, as `viewer` would see it; `text` is JSON as in the API.

    Raises UsageError for a log that is invalid or not sealed, and for a line that is not legal.
    """
    if recording.failed or not recording.sealed:
        raise click.UsageError(_NEEDED)
    wanted = _wanted(recording, text)
    at, then = wanted["at"], wanted["then"]
    begin = list(steps_of((one.event for one in recording.log), recording.deck))[at - 1]
    if begin.known is not Known.DECK:
        raise click.UsageError(_NEEDED)
    moves = [move_of(one["move"], one["seat"]) for one in wanted["moves"]]
    choose = None if then is None else every_seat(ON_A_LINE[then], _facts(recording))
    try:
        made = tuple(line_from(begin.game, moves, choose))
    except IllegalMove as illegal:
        raise click.UsageError(printable(f"--what-if: {illegal}")) from None
    frames = frames_of(line_steps(begin, made), viewer=viewer, first=at + 1)
    return _HEAD.format(at=at) + "\n" + transcript_of(frames)


def _facts(recording: Recording) -> ViewFacts:
    """Return the facts of the views that bots see; its head is that of the whole log."""
    created = recording.log[0].fields
    return ViewFacts(
        id=created["game"],
        head=recording.log[-1].head,
        ruleset_hash=created["data"]["ruleset_hash"],
        settings=created["data"]["ruleset"]["settings"],
    )


def _wanted(recording: Recording, text: str) -> Mapping[str, Any]:
    """Return a line as it was typed, after the same checks as in a request."""
    try:
        found: Mapping[str, Any] = WhatIfRequestSchema().load(orjson.loads(text))
    except orjson.JSONDecodeError as error:
        raise click.UsageError(printable(f"--what-if is not JSON: {error}")) from None
    except ValidationError as error:
        first = pointers(error.messages)[0]
        raise click.UsageError(printable(f"--what-if: {first['at']} {first['message']}")) from None
    seats = len(recording.log[0].fields["data"]["seats"])
    if found["at"] > len(recording.log) or any(one["seat"] >= seats for one in found["moves"]):
        raise click.UsageError("--what-if names a version or seat that the game does not have")
    return found
