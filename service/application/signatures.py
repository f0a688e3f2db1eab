"""Signed moves at the door: who must sign, what must be in the intent (SHX/1, section 5)."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from schemas.moves import move_json
from service.application.errors import Refusal
from service.application.game_record import GameRecord
from service.application.seen import still_holds
from service.domain.commands import Move, Seat
from service.record.canonical import RecordError
from service.record.moves import check_auth, intent_holds


def check_signature(
    record: GameRecord, seat: Seat, move: Move, auth: Mapping[str, Any] | None
) -> None:
    """
    Raise unless the move is signed as its seat's key asks for.

    In this order: `signature-required`, `bad-signature`, `nonce-reused`,
    `stale-version`. A seat without a key signs nothing.
    """
    key = record.game.setup.seats[seat].key
    if key is None:
        if auth is not None:
            raise Refusal("bad-signature", "this seat has no key")
        return
    if auth is None:
        raise Refusal("signature-required", "this seat signs its moves")
    try:
        check_auth(auth, "/auth")
    except RecordError as error:
        raise Refusal("bad-signature", error.detail) from None
    intent = auth["intent"]
    _check_intent(record, seat, move, intent)
    if not intent_holds(b64decode(key), auth):
        raise Refusal("bad-signature", "the signature is not by this seat's key")
    if intent["nonce"] in record.nonces:
        raise Refusal("nonce-reused", "this nonce was used in this game")
    seen = intent["seen"]["seq"]
    if not still_holds(record, seat, move, seen_seq=seen):
        raise Refusal("stale-version", "the game has moved on", version=record.version)


def _check_intent(
    record: GameRecord, seat: Seat, move: Move, intent: Mapping[str, Any]
) -> None:
    if intent["game"] != str(record.identity) or intent["seat"] != seat:
        raise Refusal("bad-signature", "the intent is for another game or seat")
    if intent["move"] != move_json(move):
        raise Refusal("bad-signature", "the intent is for another move")
    seen = intent["seen"]
    if seen["seq"] < record.version and seen["head"] != record.heads[seen["seq"]].hex():
        raise Refusal("bad-signature", "the head that was seen is not in this log")
