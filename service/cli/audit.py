"""`shithead audit`: examine one move, one card, or the knowledge of a seat, offline."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from schemas.moves import move_of
from schemas.views import Json
from service.audit.custody import custody
from service.audit.decision import decision, responsible_parties
from service.audit.knowledge import knowledge
from service.audit.text import (
    AuditAnswer,
    answer_html,
    answer_text,
    custody_answer,
    decision_answer,
    knowledge_answer,
)
from service.cli.load_game import Recording, read_recording
from service.cli.replay import printable_lines
from service.cli.screen import printable
from service.cli.statuses import Unreadable
from service.cli.verify import evidence_options
from service.domain.commands import UnknownCard
from service.domain.view import ALL, Viewer
from service.domain.words import counted
from service.replay.history import History
from service.replay.sentences import sentence
from service.rulesets.catalogue import catalogue
from service.rulesets.statements import text_of
from service.runtime.plain_errors import why
from service.shx.bundle import REFUSALS, NotABundle, read_log
from service.shx.canonical import RecordError, parse
from service.shx.moves import UNPROVEN
from service.verify.file_work import contents
from service.verify.files import VerifyOptions
from service.verify.finding import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The question of a command line: a move, a card, or the knowledge of a seat."""

    move: int | None
    card: str | None
    seat: int | None
    at: int | None


@click.command(short_help="Examine one move, card or seat of a recorded game.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--move", type=click.IntRange(0), metavar="SEQ", help="The move at this event.")
@click.option(
    "--card", metavar="CODE", help="Where this card was, and which seats saw it: Th, X1, 7c/2."
)
@click.option(
    "--knowledge",
    type=click.IntRange(0),
    metavar="SEAT",
    help="Which cards this seat, counted from 0, could know.",
)
@click.option(
    "--at",
    type=click.IntRange(1),
    metavar="VERSION",
    help="With --knowledge: at this version.  [default: the last]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as returned by the API.")
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the answer to this file as a self-contained page.",
)
@evidence_options
def audit(
    file: Path,
    move: int | None,
    card: str | None,
    knowledge: int | None,
    at: int | None,
    outside: VerifyOptions,
    *,
    as_json: bool,
    html: Path | None,
) -> int:
    """
    Examine one aspect of a recorded game: without server, database or network.

    FILE is an evidence bundle (.shx) or a log (events.jsonl). Use one of

    \b
      --move SEQ        what the seat could see at that moment; every legal move and the
                        statement that allows it; why each other card was illegal; the
                        move; its effects and their statements; how long it took; and
                        earlier refused attempts (if the bundle has them)
      --card CODE       where the card was, event by event, and which seats could see it
      --knowledge SEAT  the cards whose place the seat could know, with the event that
                        showed each, and the cards that the seat had not seen

    SEQ can be any event of a move; `shithead replay FILE --text` shows the numbers.
    Before the game is sealed, a log shows public information only, and a bundle of a seat
    (profile=seat) also what that seat could see.

    The log is verified first, with the receipts, keys and proofs of the options. An
    invalid log is shown with its faults. Do not settle a dispute by a log whose deck or
    history is invalid; an invalid action is itself evidence. After an event that
    contradicts the deck, only public information is used.

    \b
    Exit status: 0 shown, 1 shown, but the log is invalid, 2 shown, but receipts or proofs
                 could not be checked without --server-key, 3 a file cannot be read, or is
                 no bundle or log, or the page cannot be written, 64 invalid command line, or
                 no such event, card or seat

    \b
    Examples:
      shithead audit game.shx --move 57
      shithead audit game.shx --move 57 --html move57.html
      shithead audit game.shx --card Th
      shithead audit game.shx --knowledge 2 --at 57
      shithead audit game.shx --move 57 --receipt receipts/ --server-key keys.json
    """  # noqa: D301 - \b is click's mark for a block that keeps its lines
    question = _Question(move=move, card=card, seat=knowledge, at=at)
    if sum(one is not None for one in (move, card, knowledge)) != 1:
        raise click.UsageError("use exactly one of --move, --card and --knowledge")
    if at is not None and knowledge is None:
        raise click.UsageError("--at is used only with --knowledge")
    recording, refused = _read(file, outside)
    for warning in recording.warnings:
        click.echo(f"shithead audit: {printable(warning)}", err=True)
    try:
        history = History(recording.log, recording.deck)
        found, answer = _answer(history, recording, refused, question)
    except (ValueError, LookupError, TypeError, AttributeError):
        if not recording.fault:
            raise
        raise click.ClickException("this invalid log cannot be examined further") from None
    if as_json and (unknown := history.unknown(history.end)):
        click.echo(f"shithead audit: {unknown}", err=True)
    if html is not None:
        _write_page(html, file.name, recording, answer)
    head = "".join(f"{line}\n" for line in _head(recording, str(file)))
    text = head + answer_text(answer)
    shown = json.dumps(found, indent=2, ensure_ascii=False) + "\n" if as_json else text
    click.echo(printable_lines(shown), nl=False)
    return recording.status


def _head(recording: Recording, name: str) -> Iterator[str]:
    """Yield the faults of an invalid log, first without technical terms; none if it is valid."""
    if recording.fault is None:
        return
    if recording.summary is not None:
        yield from recording.summary.lines(name)
    yield from (recording.fault, "")


def _write_page(path: Path, name: str, recording: Recording, answer: AuditAnswer) -> None:
    summary = recording.summary.lines(name) if recording.summary is not None else ()
    page = answer_html(answer, name=name, summary=summary, fault=recording.fault)
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise Unreadable(printable(why(error))) from None


def _read(file: Path, outside: VerifyOptions) -> tuple[Recording, list[dict[str, Any]]]:
    try:
        data = contents(file)
        return read_recording(data, outside), list(refused_in(data))
    except OSError as error:
        raise Unreadable(printable(why(error))) from None
    except (NotABundle, RecordError) as error:
        raise Unreadable(printable(f"{file}: {error}")) from None


def refused_in(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the refused moves in a bundle; unreadable ones are left out."""
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
    history: History, recording: Recording, refused: list[dict[str, Any]], question: _Question
) -> tuple[Json, AuditAnswer]:
    viewer = viewer_of(recording)
    if question.move is not None:
        if question.move > history.end:
            raise click.UsageError(f"events go from 0 to {history.end}{_unread(recording)}")
        return _decision(history, recording, question.move, refused)
    if question.card is not None:
        try:
            found = custody(history, question.card, viewer=viewer)
        except UnknownCard as error:
            raise click.UsageError(printable(sentence(error.reason, error.values))) from None
        return found, custody_answer(found, unknown=history.unknown(history.end))
    seat, at = question.seat or 0, question.at or history.end + 1
    if seat >= recording.seats:
        raise click.UsageError(f"--knowledge goes from 0 to {recording.seats - 1}")
    if at > history.end + 1:
        raise click.UsageError(f"versions go from 1 to {history.end + 1}{_unread(recording)}")
    if viewer not in (ALL, seat):
        why = "the knowledge of other seats is shown once the game is sealed"
        raise click.UsageError(f"{why}{_unread(recording)}")
    found = knowledge(history, seat, at)
    return found, knowledge_answer(found, unknown=history.unknown(at - 1))


def _decision(
    history: History, recording: Recording, seq: int, refused: list[dict[str, Any]]
) -> tuple[Json, AuditAnswer]:
    found = decision(
        history,
        seq,
        viewer=viewer_of(recording),
        refused=refused,
        unproven=None if recording.refusals_proven else UNPROVEN,
    )
    against = recording.against_move(found["first"], found["last"])
    broken = any(one.check in _OF_MOVES for one in against)
    answer = decision_answer(
        found,
        _rule_text(history),
        against,
        unknown=history.unknown(found["last"]),
        responsible=_responsible(history, recording, seq) if broken else (),
    )
    return found, answer


def _responsible(history: History, recording: Recording, seq: int) -> tuple[str, ...]:
    """Return sentences on whether seat or server is responsible for a move, by its signatures."""
    move, authorship = history.move_at(seq), recording.authorship
    signed = move.first in authorship.signed
    return responsible_parties(history, move, signed=signed, denied=authorship.denied)


_OF_MOVES: Final = (Check.DEAL, Check.CUSTODY, Check.LEGALITY, Check.HIDDEN)
"""The checks whose failure is the responsibility of the seat or server that acted."""


def _unread(recording: Recording) -> str:
    more = recording.unread
    return f" ({counted(more, 'more line')}, not consecutive events)" if more else ""


def viewer_of(recording: Recording) -> Viewer:
    """Return the viewer of a recording's audit: everything after the seal, else its owner."""
    return ALL if recording.sealed else recording.owner


def _rule_text(history: History) -> Callable[[str], str | None]:
    known = catalogue().get(history.games[0].ruleset.id)
    statements = known.statements if known else ()
    return lambda rule: text_of(statements, rule)
