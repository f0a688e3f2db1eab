"""`shithead audit`: what a move was decided on, where a card was, what a seat knew; offline."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from schemas.moves import move_of
from schemas.views import Json
from service.audit.answering import who_answers
from service.audit.custody import custody
from service.audit.decision import decision
from service.audit.knowledge import knowledge
from service.audit.story import Story
from service.audit.text import custody_text, decision_text, knowledge_text
from service.commands.evidence_options import brought
from service.commands.recording import Recording, read_recording
from service.commands.replay import NotALog, printable_lines
from service.commands.screen import printable
from service.domain.errors import UnknownCard
from service.domain.view import ALL, Viewer
from service.record.bundle import REFUSALS, NotABundle, read_log
from service.record.canonical import RecordError, parse
from service.replay.wording import counted
from service.rulesets.catalogue import catalogue
from service.rulesets.statements import text_of
from service.verify.command import Asked, contents
from service.verify.finding import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is wanted of a log: one of a move, a card, a seat's knowledge."""

    move: int | None
    card: str | None
    seat: int | None
    at: int | None


@click.command(short_help="Settle a question about one move, card or seat.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--move", type=click.IntRange(0), metavar="SEQ", help="The decision at this event.")
@click.option("--card", metavar="CODE", help="Where this card was, and who saw it: Th, X1, 7c/2.")
@click.option(
    "--knowledge", type=click.IntRange(0), metavar="SEAT", help="Which cards this seat could know."
)
@click.option(
    "--at",
    type=click.IntRange(1),
    metavar="VERSION",
    help="With --knowledge: at this version.  [default: the end]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the object that the API gives.")
@brought
def audit(
    file: Path,
    move: int | None,
    card: str | None,
    knowledge: int | None,
    at: int | None,
    outside: Asked,
    *,
    as_json: bool,
) -> int:
    """
    Look closely at one thing in a recorded game: without server, database or network.

    FILE is an evidence bundle (.shx) or a log (events.jsonl); ask for one of

    \b
      --move SEQ        what the seat could see then; every legal move and the statement
                        that allows it; why each other card was not legal; what it did;
                        what followed, by which statement; how long it took; and what was
                        refused to it before (where the bundle brings that along)
      --card CODE       where the card was from event to event, and who could see it
      --knowledge SEAT  the cards whose place the seat could know, since which event, and
                        those that it had not seen

    Any event of a move will do as SEQ; `shithead replay FILE --text` numbers them.
    Before the seal a log shows what is public, and a bundle of a seat (profile=seat)
    what that seat could see itself.

    The log is verified first, and held against the receipts, keys and proofs that are
    given. One that does not hold is shown with what is wrong with it: where deck or history
    do not hold judge no case by it; an action that does not hold is the case itself. Where
    the deck contradicts an event, what follows is told from what all could see.

    \b
    Exit status: 0 shown, 1 the log does not hold, 2 shown, but what was given cannot be
                 checked without --server-key, 3 not a bundle or log, or what was given
                 cannot be read, 64 the command line is wrong, or there is no such event,
                 card or seat

    \b
    Examples:
      shithead audit game.shx --move 57
      shithead audit game.shx --card Th
      shithead audit game.shx --knowledge 2 --at 57
      shithead audit game.shx --move 57 --receipt receipts/ --server-key keys.json
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    asked = _Asked(move=move, card=card, seat=knowledge, at=at)
    if sum(one is not None for one in (move, card, knowledge)) != 1:
        raise click.UsageError("ask for one of --move, --card and --knowledge")
    if at is not None and knowledge is None:
        raise click.UsageError("--at goes with --knowledge")
    recording, refused = _read(file, outside)
    for said in recording.warnings:
        click.echo(f"shithead audit: {printable(said)}", err=True)
    try:
        story = Story(recording.log, recording.deck)
        found, text = _answer(story, recording, refused, asked)
    except (ValueError, LookupError, TypeError, AttributeError):
        if not recording.fault:
            raise
        raise click.ClickException("of a log that says this nothing more can be told") from None
    if as_json and (unknown := story.unknown(story.end)):
        click.echo(f"shithead audit: {unknown}", err=True)
    warning = f"{recording.fault}\n\n" if recording.fault else ""
    shown = json.dumps(found, indent=2, ensure_ascii=False) + "\n" if as_json else warning + text
    click.echo(printable_lines(shown), nl=False)
    return recording.status


def _read(file: Path, outside: Asked) -> tuple[Recording, list[dict[str, Any]]]:
    try:
        data = contents(file)
        return read_recording(data, outside), list(_refused(data))
    except (NotABundle, RecordError, OSError) as error:
        raise NotALog(printable(f"{file}: {error}")) from None


def _refused(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the refused moves that came along, those that can be read as such."""
    for line in read_log(data).files.get(REFUSALS, b"").splitlines():
        try:
            row = parse(line)
            move_of(row["move"], row["seat"])
            yield {
                "at": str(row["at"]),
                "seat": int(row["seat"]),
                "move": row["move"],
                "rule": str(row["rule"]),
            }
        except (RecordError, LookupError, TypeError, ValueError, AttributeError):
            continue


def _answer(
    story: Story, recording: Recording, refused: list[dict[str, Any]], asked: _Asked
) -> tuple[Json, str]:
    viewer = _viewer(recording)
    if asked.move is not None:
        if asked.move > story.end:
            raise click.UsageError(f"events go from 0 to {story.end}{_unread(recording)}")
        return _decision(story, recording, asked.move, refused)
    if asked.card is not None:
        try:
            found = custody(story, asked.card, viewer=viewer)
        except UnknownCard as error:
            raise click.UsageError(printable(str(error))) from None
        return found, custody_text(found, unknown=story.unknown(story.end))
    seat, at = asked.seat or 0, asked.at or story.end + 1
    if seat >= recording.seats:
        raise click.UsageError(f"seats go from 0 to {recording.seats - 1}")
    if at > story.end + 1:
        raise click.UsageError(f"versions go from 1 to {story.end + 1}{_unread(recording)}")
    if viewer not in (ALL, seat):
        why = "what another seat knows is shown after the seal"
        raise click.UsageError(f"{why}{_unread(recording)}")
    found = knowledge(story, seat, at)
    return found, knowledge_text(found, unknown=story.unknown(at - 1))


def _decision(
    story: Story, recording: Recording, seq: int, refused: list[dict[str, Any]]
) -> tuple[Json, str]:
    found = decision(story, seq, viewer=_viewer(recording), refused=refused)
    against = recording.against_move(found["first"], found["last"])
    broken = any(one.check in _OF_MOVES for one in against)
    text = decision_text(
        found,
        _rule_text(story),
        against,
        unknown=story.unknown(found["last"]),
        answers=who_answers(story, story.done_at(seq)) if broken else (),
    )
    return found, text


_OF_MOVES: Final = (Check.DEAL, Check.CUSTODY, Check.LEGALITY, Check.HIDDEN)
"""The checks on what was done, for which whoever did it answers."""


def _unread(recording: Recording) -> str:
    more = recording.unread
    return f" ({counted(more, 'more line')}: not the next events)" if more else ""


def _viewer(recording: Recording) -> Viewer:
    return ALL if recording.sealed else recording.owner


def _rule_text(story: Story) -> Callable[[str], str | None]:
    known = catalogue().get(story.games[0].ruleset.id)
    statements = known.statements if known else ()
    return lambda rule: text_of(statements, rule)
