"""The client's reference code for signing agrees with the service's."""

from __future__ import annotations

import json
from base64 import b64decode
from uuid import UUID

import pytest

from service.client import signing
from service.shx import canonical, chain, moves, shuffle
from service.shx.validators import MAX_EVENTS
from tests.random_games import TABLE, private_key
from tests.tamper import SAMPLES

GAME = UUID("0fc748d3-0703-4559-9fac-ecfbc35f4c2b")
KEY = private_key("reference")


@pytest.mark.parametrize("name", ["shithead-keyed", "leeds", "threes-time-outs"])
def test_events_have_the_canonical_bytes_and_heads_of_the_service(name: str) -> None:
    lines = (SAMPLES / f"{name}.jsonl").read_bytes().splitlines()
    for line in lines:
        assert signing.canonical(json.loads(line)) == line
        assert signing.head(line) == chain.head(line)
    game = UUID(json.loads(lines[0])["game"])
    assert signing.genesis(game).hex() == json.loads(lines[0])["prev"]


@pytest.mark.parametrize("value", [{"b": 1, "a": [None, True]}, 'né\n"\\\u2028', {}, [0, -7]])
def test_other_values_have_the_same_canonical_bytes(value: object) -> None:
    assert signing.canonical(value) == canonical.canonical(value)


def test_a_signed_move_is_accepted_by_server_and_verifier() -> None:
    move: dict[str, object] = {"type": "pick_up", "with": ["Kd"]}
    body = signing.signed_move(
        KEY, game=GAME, seat=3, seen_seq=17, seen_head=bytes(range(32)), move=move
    )
    auth = body.pop("auth")
    assert body == move
    moves.check_auth(auth, "/auth")
    assert auth["intent"]["seen"]["seq"] < MAX_EVENTS
    assert moves.intent_is_signed(KEY.public_key().public_bytes_raw(), auth)
    assert auth["intent"]["nonce"] != _nonce(move), "a nonce is used once"


def _nonce(move: dict[str, object]) -> str:
    again = signing.signed_move(KEY, game=GAME, seat=3, seen_seq=17, seen_head=bytes(32), move=move)
    nonce: str = again["auth"]["intent"]["nonce"]
    return nonce


def test_commitments_and_key_changes_agree_with_the_service() -> None:
    value = bytes(range(32))
    assert signing.client_commit(GAME, 2, value) == shuffle.client_commit(GAME, 2, value).hex()
    key = signing.public_text(private_key("next"))
    sig = signing.signed_key_change(KEY, table=UUID(TABLE), seat=1, key=key)
    new, old = b64decode(key), KEY.public_key().public_bytes_raw()
    assert moves.key_change_is_signed(old, sig, table=UUID(TABLE), seat=1, key=new)
