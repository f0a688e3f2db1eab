"""What of a stored answer only its seat may know: left out when it is kept, and put back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson

from schemas.moves import move_json
from service.application.entries import Entries
from service.application.game_record import load
from service.domain.cards import in_code_order
from service.domain.legal import legal_moves

Json = dict[str, Any]


def without_hand(body: bytes) -> bytes:
    """
    Return an answer without the hand of its seat and its legal moves.

    How long an answer is would tell how many moves there were, however well it is
    encrypted; what is left has the length that everybody could work out.
    """
    answer = orjson.loads(body)
    view = _view(answer)
    if view is None:
        return body
    view["moves"] = []
    view["seats"][view["as"]]["hand"]["cards"] = None
    return orjson.dumps(answer)


def with_hand(body: bytes, entries: Entries) -> bytes:
    """Return the answer as it was given, with what it lacks worked out from the log."""
    answer = orjson.loads(body)
    view = _view(answer)
    if view is None:
        return body
    game, seat, version = UUID(view["id"]), view["as"], view["version"]
    entry = entries.fresh(game)
    if entry is None:
        return body
    lines = entries.lines(game, limit=version)
    past = load(game, lines, seed=entry.record.seed).game
    view["moves"] = [move_json(move) for move in legal_moves(past, seat)]
    view["seats"][seat]["hand"]["cards"] = list(in_code_order(past.seats[seat].hand))
    return orjson.dumps(answer)


def _view(answer: Any) -> Json | None:
    """Return the view of a seat in an answer, which is one itself or has it as its game."""
    if not isinstance(answer, dict):
        return None
    found = answer.get("game")
    view = found if isinstance(found, dict) else answer
    seated = isinstance(view.get("as"), int) and "moves" in view
    return view if seated else None
