"""Positions, moves and outcomes of finished hands as rows, for statistics and learning programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from schemas.moves import move_json
from schemas.views import Facts, view_json
from service.domain.commands import Move
from service.domain.game import Game
from service.domain.legal import legal_moves
from service.domain.view import seen_by
from service.replay.history import History, RecordedMove, decode_log, sealed_deck

Json = dict[str, Any]

COLUMNS: Final[Mapping[str, str]] = {
    "game": "id of the hand",
    "ruleset": "id of its ruleset",
    "options": "options of the ruleset",
    "seats": "number of seats",
    "version": "number of events before the move; with `game` it identifies the row",
    "seat": "the seat that moved, from 0, clockwise",
    "player": "name of the bot on the seat, or `person`",
    "timed_out": "whether the server made the move because the time was up",
    "phase": "`swapping`: the exchange; `playing`",
    "dealer": "seat of the dealer",
    "turn": "seat on turn; null in the exchange and at a first-come opening",
    "direction": "1: clockwise, -1: against it",
    "stock": "cards in the stock",
    "pile": "cards of the pile, the lowest first",
    "burned": "cards out of play",
    "demand": "what the pile asks: `kind` and `rank`, and the `ranks` that may be played alone",
    "hand": "cards in the own hand",
    "up": "own face-up cards by slot",
    "down": "number of own face-down cards",
    "others": (
        "the other seats, clockwise from the next: number of cards in the `hand`, those `known`"
        " to all, `up` by slot, number `down`, place if `out`"
    ),
    "legal": "the legal moves as the API lists them, and the move made",
    "chosen": "index of the move made in `legal`",
    "reason": "how the hand ended: `shithead`, `winner`, `stalemate`, `forfeit`",
    "shithead": "1 if the seat became the shithead, else 0; null if no seat did",
    "place": "place of the seat, from 1; null if it has none",
}
"""Every column of a row and its content."""


class Unfinished(ValueError):
    """A log without a seal: its hidden cards and its outcome are not known."""


def rows(lines: Sequence[bytes]) -> Iterator[Json]:
    """
    Yield a row for every move of a sealed log: what the seat saw, could do, did and achieved.

    The row has nothing that the seat could not see at the time, except the outcome. Forfeits
    are left out: they are no choice of the game.

    Raises Unfinished for a log without a seal, RecordError for one that cannot be read.
    """
    log = decode_log(lines)
    deck = sealed_deck(log)
    if deck is None:
        raise Unfinished("the log has no seal")
    history = History(log, deck)
    created = log[0].fields
    final = history.games[-1]
    facts = Facts(id=created["game"], head="", ruleset_hash=created["data"]["ruleset_hash"])
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
            "options": created["data"]["ruleset"]["options"],
            "seats": len(before.seats),
            "version": move.first,
            "seat": move.seat,
            "player": before.setup.seats[move.seat].bot or "person",
            "timed_out": move.timed_out,
            **_position(before, move, facts),
            **_choice(legal, move.command),
            **_outcome(final, move.seat),
        }


def _position(before: Game, move: RecordedMove, facts: Facts) -> Json:
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
        "demand": view["demand"],
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
    """Return the legal moves and the index of the one made, which may stand for equal ones."""
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
    if result is None:  # aborted after the deal: sealed without a result
        return {"reason": None, "shithead": None, "place": None}
    places = list(result.places)
    return {
        "reason": result.reason,
        "shithead": None if result.shithead is None else int(result.shithead == seat),
        "place": places.index(seat) + 1 if seat in places else None,
    }
