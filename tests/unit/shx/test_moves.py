"""Moves: their shapes, and signatures of moves and of key changes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.shx.canonical import RecordError
from service.shx.moves import (
    check_move,
    intent,
    intent_bytes,
    intent_is_signed,
    key_change_is_signed,
    sign_intent,
    sign_key_change,
)

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
PUBLIC = KEY.public_key().public_bytes_raw()
OTHER = Ed25519PrivateKey.from_private_bytes(b"o" * 32).public_key().public_bytes_raw()
GAME = UUID(int=5)


def an_intent(**change: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "game": GAME,
        "seat": 1,
        "seen_seq": 6,
        "seen_head": b"\x01" * 32,
        "move": {"type": "ready"},
        "nonce": "ab" * 16,
    }
    return intent(**{**fields, **change})


@pytest.mark.parametrize(
    "move",
    [
        {"type": "play", "cards": ["Th", "Td"]},
        {"type": "play_blind", "slot": 0},
        {"type": "pick_up", "with": []},
        {"type": "try_stock"},
        {"type": "pass"},
        {"type": "swap", "up": ["2c"], "hand": ["3c"]},
        {"type": "lay", "stacks": [["2c", "2d"], [], ["3c"]]},
        {"type": "ready"},
        {"type": "forfeit"},
    ],
)
def test_exactly_nine_types_of_moves_are_read(move: dict[str, Any]) -> None:
    check_move(move)
    with pytest.raises(RecordError):
        check_move({**move, "note": ""})
    for name in move:
        with pytest.raises(RecordError):
            check_move({key: move[key] for key in move if key != name})


@pytest.mark.parametrize(
    "move",
    [
        None,
        [],
        {"type": ["play"]},
        {"type": "cheat"},
        {"type": "play", "cards": []},
        {"type": "play", "cards": "Th"},
        {"type": "play", "cards": ["10h"]},
        {"type": "play_blind", "slot": -1},
        {"type": "play_blind", "slot": True},
        {"type": "swap", "up": [], "hand": []},
        {"type": "swap", "up": ["2c", "2d"], "hand": ["3c"]},
        {"type": "lay", "stacks": ["2c"]},
    ],
)
def test_a_malformed_move_is_refused(move: Any) -> None:
    with pytest.raises(RecordError):
        check_move(move)


def test_the_bytes_of_an_intent_are_those_of_the_protocol() -> None:
    assert intent_bytes(an_intent()) == (
        b'shx/1/move\n{"game":"00000000-0000-0000-0000-000000000005","move":{"type":"ready"},'
        b'"nonce":"'
        + b"ab" * 16
        + b'","seat":1,"seen":{"head":"'
        + b"01" * 32
        + b'","seq":6},"v":1}'
    )


def test_a_signature_is_valid_only_for_its_key_and_intent() -> None:
    auth = sign_intent(KEY, an_intent())
    assert intent_is_signed(PUBLIC, auth)
    assert not intent_is_signed(OTHER, auth)
    assert not intent_is_signed(PUBLIC[:31], auth)
    for change in ({"seat": 2}, {"seen_seq": 7}, {"move": {"type": "pass"}}, {"nonce": "0" * 32}):
        assert not intent_is_signed(PUBLIC, {**auth, "intent": an_intent(**change)})
    assert not intent_is_signed(PUBLIC, {**auth, "sig": "not base64"})
    assert not intent_is_signed(PUBLIC, {**auth, "sig": "AAAA"})


@pytest.mark.parametrize("change", [{"nonce": "ab"}, {"seat": 64}, {"move": {"type": "draw"}}])
def test_a_malformed_intent_cannot_be_created(change: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        an_intent(**change)


def test_a_key_change_is_signed_by_the_old_key_for_its_seat() -> None:
    table = UUID(int=9)
    signature = sign_key_change(KEY, table=table, seat=0, key=OTHER)
    assert key_change_is_signed(PUBLIC, signature, table=table, seat=0, key=OTHER)
    assert not key_change_is_signed(OTHER, signature, table=table, seat=0, key=OTHER)
    assert not key_change_is_signed(PUBLIC, signature, table=table, seat=1, key=OTHER)
    assert not key_change_is_signed(PUBLIC, signature, table=GAME, seat=0, key=OTHER)
    assert not key_change_is_signed(PUBLIC, signature, table=table, seat=0, key=PUBLIC)
