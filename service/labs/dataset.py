"""Positions, moves and outcomes of finished hands as rows, for statistics and machine learning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias, assert_never

from schemas.moves import move_json
from schemas.views import ViewFacts, view_json
from service.domain.commands import Move
from service.domain.game import Game
from service.domain.legal import legal_moves
from service.domain.view import seen_by
from service.replay.history import History, RecordedMove, decode_log, sealed_deck
from service.shx.canonical import RecordError
from service.shx.chain import read_chain

Json = dict[str, Any]


class Scalar(StrEnum):
    """The scalar types; each may be null."""

    STRING = "string"
    INTEGER = "integer"
    BOOLEAN = "boolean"


Type: TypeAlias = "Scalar | tuple[Type] | dict[str, Type]"
"""A scalar, a list of a type, or a record of named fields."""

STRING, INTEGER, BOOLEAN = Scalar.STRING, Scalar.INTEGER, Scalar.BOOLEAN
CARDS: Final[Type] = (STRING,)
SLOTS: Final[Type] = (CARDS,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The type and the content of a column."""

    type: Type
    text: str


def _column(type_: Type, text: str) -> Column:
    return Column(type=type_, text=text)


COLUMNS: Final[Mapping[str, Column]] = {
    "game": _column(STRING, "id of the hand"),
    "ruleset": _column(STRING, "id of its ruleset"),
    "options": _column(STRING, "options of the ruleset, a JSON object"),
    "seats": _column(INTEGER, "number of seats"),
    "version": _column(
        INTEGER, "number of events before the move; with `game` it identifies the row"
    ),
    "seat": _column(INTEGER, "the seat that moved, from 0, clockwise"),
    "player": _column(STRING, "name of the bot on the seat, or `person`"),
    "timed_out": _column(BOOLEAN, "whether the server made the move because the time was up"),
    "phase": _column(STRING, "`swapping`: the exchange; `playing`"),
    "dealer": _column(INTEGER, "seat of the dealer"),
    "turn": _column(INTEGER, "seat on turn; null in the exchange and at a first-come opening"),
    "direction": _column(INTEGER, "1: clockwise, -1: counterclockwise"),
    "stock": _column(INTEGER, "cards in the stock"),
    "pile": _column(CARDS, "cards of the pile, bottom card first"),
    "burned": _column(CARDS, "cards out of play"),
    "demand": _column(
        {"kind": STRING, "rank": STRING, "ranks": (STRING,)},
        "the demand of the pile: `kind` and `rank`, and the `ranks` with which a play may begin",
    ),
    "hand": _column(CARDS, "cards in the own hand"),
    "up": _column(SLOTS, "own face-up cards by slot"),
    "down": _column(INTEGER, "number of own face-down cards"),
    "others": _column(
        ({"hand": INTEGER, "known": CARDS, "up": SLOTS, "down": INTEGER, "out": INTEGER},),
        "the other seats, clockwise from the next: number of cards in the `hand`, those `known`"
        " to all, `up` by slot, number `down`, place if `out`",
    ),
    "legal": _column(
        (
            {
                "type": STRING,
                "cards": CARDS,
                "slot": INTEGER,
                "with": CARDS,
                "up": CARDS,
                "hand": CARDS,
                "stacks": SLOTS,
            },
        ),
        "the legal moves as the API lists them, and the move made; a field that a move does not"
        " have is absent in NDJSON and null in Parquet",
    ),
    "chosen": _column(INTEGER, "index of the move made in `legal`"),
    "reason": _column(
        STRING,
        "how the hand ended: `shithead`, `winner`, `stalemate`, `forfeit`; null if it was aborted",
    ),
    "shithead": _column(INTEGER, "1 if the seat became the shithead, else 0; null if no seat did"),
    "place": _column(INTEGER, "place of the seat, from 1; null if it has none"),
}
"""Every column of a row, its type and its content; the same in both formats."""


def described(type_: Type) -> str:
    """
    Return a type as words.

    >>> described(({"hand": Scalar.INTEGER, "known": (Scalar.STRING,)},))
    'list of {hand: integer, known: list of string}'
    """
    match type_:
        case Scalar():
            return type_.value
        case (element,):
            return f"list of {described(element)}"
        case dict():
            fields = (f"{name}: {described(of)}" for name, of in type_.items())
            return f"{{{', '.join(fields)}}}"
        case _:
            assert_never(type_)


class Unfinished(ValueError):
    """A log without a seal that publishes the deck: its hidden cards are not known."""


def rows(lines: Sequence[bytes]) -> Iterator[Json]:
    """
    Yield a row for every move of a sealed log: the view, the legal moves, the choice, the outcome.

    Except for the outcome, a row has only data that the seat could see at the time. Forfeits are
    left out, because they are not a choice of play.

    Raises Unfinished for a log without a seal that publishes the deck, RecordError for one that
    cannot be read.
    """
    history = _history(lines)
    log = history.log
    created = log[0].fields
    final = history.games[-1]
    facts = ViewFacts(id=created["game"], head="", ruleset_hash=created["data"]["ruleset_hash"])
    for move in history.moves:
        if move.command is None or move.seat is None or move.first == 0:
            continue
        before = history.games[move.first - 1]
        legal = [move_json(one) for one in legal_moves(before, move.seat)]
        if not legal or move_json(move.command)["type"] == "forfeit":
            continue
        yield {
            "game": created["game"],
            "ruleset": created["data"]["ruleset"]["id"],
            "options": json.dumps(created["data"]["ruleset"]["options"], sort_keys=True),
            "seats": len(before.seats),
            "version": move.first,
            "seat": move.seat,
            "player": before.setup.seats[move.seat].bot or "person",
            "timed_out": move.timed_out,
            **_position(before, move, facts),
            **_choice(legal, move.command),
            **_outcome(final, move.seat),
        }


def _history(lines: Sequence[bytes]) -> History:
    for _ in read_chain(lines):  # lines may come from a file
        pass
    try:
        log = decode_log(lines)
        deck = sealed_deck(log)
        if deck is None:
            raise Unfinished("the log has no seal, or one without a deck")
        return History(log, deck)
    except Unfinished:
        raise
    except (ValueError, LookupError) as error:
        raise RecordError("bad_log", f"its rules or its first event are invalid: {error}") from None


def _position(before: Game, move: RecordedMove, facts: ViewFacts) -> Json:
    seat = move.seat or 0
    view = view_json(seen_by(before, seat), seat, facts)
    seats = view["seats"]
    own = seats[seat]
    return {
        "phase": view["status"],
        "dealer": view["dealer"],
        "turn": view["turn"],
        "direction": view["direction"],
        "stock": view["stock"],
        "pile": view["pile"],
        "burned": view["burned"],
        "demand": {name: view["demand"][name] for name in ("kind", "rank", "ranks")},
        "hand": own["hand"]["cards"],
        "up": own["up"],
        "down": sum(own["down"]),
        "others": [
            {
                "hand": one["hand"]["count"],
                "known": one["hand"]["known"],
                "up": one["up"],
                "down": sum(one["down"]),
                "out": one["out"],
            }
            for one in (*seats[seat + 1 :], *seats[:seat])
        ],
    }


def _choice(legal: list[Json], command: Move) -> Json:
    """
    Return the legal moves and the index of the move made, whatever the order of its cards.

    A move that is legal but not listed is appended.
    """
    did = move_json(command)
    ordered = [_ordered(one) for one in legal]
    if _ordered(did) not in ordered:
        legal, ordered = [*legal, did], [*ordered, _ordered(did)]
    return {"legal": legal, "chosen": ordered.index(_ordered(did))}


def _ordered(move: Json) -> Json:
    """Return a move with its cards in code order; the stacks of a layout keep their slots."""
    return {
        name: sorted(value) if isinstance(value, list) and name != "stacks" else value
        for name, value in move.items()
    }


def _outcome(final: Game, seat: int) -> Json:
    result = final.result
    if result is None:  # the log contradicts itself, so its end was not applied
        return {"reason": None, "shithead": None, "place": None}
    places = list(result.places)
    return {
        "reason": result.reason,
        "shithead": None if result.shithead is None else int(result.shithead == seat),
        "place": places.index(seat) + 1 if seat in places else None,
    }
