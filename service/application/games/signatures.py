"""Signatures and versions of moves: signed by the seat, and decided on what the seat saw."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from schemas.moves import move_json
from service.application.errors import Refusal, stale
from service.application.games.record import GameRecord
from service.domain.commands import AgreeEnd, ClaimAbsence, Forfeit, Move, Seat
from service.domain.game import Status
from service.replay.sentences import said
from service.shx.canonical import RecordError
from service.shx.moves import (
    check_auth,
    intent_is_signed,
)


def check_signature(
    record: GameRecord, seat: Seat, move: Move, auth: Mapping[str, Any] | None
) -> None:
    """
    Raise Refusal unless the move is signed with its seat's key, or has neither key nor signature.

    The codes, in the order of the checks: `signature-required`, `bad-signature`,
    `nonce-reused`, `stale-version`.
    """
    key = record.game.setup.seats[seat].key
    if key is None:
        if auth is not None:
            raise Refusal("bad-signature", said("request.keyless"))
        return
    if auth is None:
        raise Refusal("signature-required", said("request.signs"))
    try:
        check_auth(auth, "/auth")
    except RecordError as error:
        raise Refusal(
            "bad-signature", said("request.unreadable_intent", reason=error.detail)
        ) from None
    intent = auth["intent"]
    _check_intent(record, seat, move, intent)
    if not intent_is_signed(b64decode(key), auth):
        raise Refusal("bad-signature", said("request.other_key"))
    if intent["nonce"] in record.nonces:
        raise Refusal("nonce-reused", said("request.nonce_used"))
    seen = intent["seen"]["seq"]
    if not is_current(record, seat, move, seen_seq=seen):
        raise stale("game", record.version, (seen + 1,))


def _check_intent(record: GameRecord, seat: Seat, move: Move, intent: Mapping[str, Any]) -> None:
    if intent["game"] != str(record.identity) or intent["seat"] != seat:
        raise Refusal("bad-signature", said("request.other_game"))
    if intent["move"] != move_json(move):
        raise Refusal("bad-signature", said("request.other_move"))
    seen = intent["seen"]
    if seen["seq"] < record.version and seen["head"] != record.heads[seen["seq"]].hex():
        raise Refusal("bad-signature", said("request.other_head"))


def is_current(record: GameRecord, seat: Seat, move: Move, *, seen_seq: int) -> bool:
    """
    Return whether there is no action between event `seen_seq` and a move made now.

    In the exchange phase, for an agreement to end the hand and for a claim only the seat's own
    actions count, for a forfeit none (SHX/1, section 5). A seq outside the log is never current.
    """
    if not 0 <= seen_seq < record.version:
        return False
    if isinstance(move, Forfeit):
        return True
    if record.game.status is Status.SWAPPING or isinstance(move, AgreeEnd | ClaimAbsence):
        return record.last_own.get(seat, -1) <= seen_seq
    return record.last_action <= seen_seq
