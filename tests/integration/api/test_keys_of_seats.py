"""Keys of seats over HTTP: refused where they prove nothing, checked by the verifier."""

from __future__ import annotations

import io
from base64 import b64encode
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.record.moves import sign_intent
from tests.api_world import Person, World, problem_of

WEAK = {
    "the neutral point": bytes([1, *bytes(31)]),
    "order four": bytes(32),
    "order four, the other sign": bytes([*bytes(31), 0x80]),
    "zero spelled as the prime": (2**255 - 19).to_bytes(32, "little"),
    "order eight": bytes.fromhex(
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"
    ),
}


def text(public: bytes) -> str:
    return b64encode(public).decode()


@pytest.mark.parametrize("public", WEAK.values(), ids=list(WEAK))
def test_a_key_that_proves_nothing_is_refused_wherever_it_comes(
    ada: Person, bob: Person, public: bytes
) -> None:
    table = ada.table("open", deal=False)
    key = {"key": text(public)}
    path = f"/v1/tables/{table['id']}/seats"
    body = {"ruleset": "shithead", "seats": ["me", "open"]}
    for answer in (
        ada.post("/v1/tables", {**body, **key}),
        bob.post(path, key),
        ada.call("PATCH", f"{path}/me", json=key),
    ):
        assert problem_of(answer) == "invalid-body"
        assert [error["at"] for error in answer.json["errors"]] == ["/key"]


def test_a_key_that_somebody_made_is_taken(ada: Person) -> None:
    public = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    assert ada.table("open", key=text(public))["seats"][0]["key"] == text(public)


def test_the_verifier_takes_keys_of_seats(world: World, ada: Person) -> None:
    key = Ed25519PrivateKey.generate()
    public = text(key.public_key().public_bytes_raw())
    game = ada.game(key=public)
    view = ada.get(game).json
    intent = {
        "v": 1,
        "game": str(UUID(view["id"])),
        "seat": 0,
        "seen": {"seq": view["version"] - 1, "head": view["head"]},
        "move": {"type": "forfeit"},
        "nonce": "00" * 16,
    }
    move = {"type": "forfeit", "auth": sign_intent(key, intent)}
    assert ada.post(f"{game}/moves", move).status_code == 201
    bundle = ada.get(f"{game}/evidence").data
    other = text(Ed25519PrivateKey.generate().public_key().public_bytes_raw())
    for word, result in ((f"0={public}", "pass"), (f"0={other}", "fail")):
        form = {"file": (io.BytesIO(bundle), "game.shx"), "seat_key": word}
        answer = world.client.post("/v1/verify", data=form)
        assert answer.status_code == 200, answer.text
        [check] = [c for c in answer.json["checks"] if c["check"] == "signatures"]
        assert check["result"] == result, check
    for word in (public, f"x={public}", "0=short"):
        form = {"file": (io.BytesIO(bundle), "game.shx"), "seat_key": word}
        answer = world.client.post("/v1/verify", data=form)
        assert problem_of(answer) == "invalid-body"
        assert [error["at"] for error in answer.json["errors"]] == ["/seat_key"]


def test_too_many_parts_are_told_so(world: World) -> None:
    form = {"file": (io.BytesIO(b"PK"), "x"), "receipt": ["r"] * 200}
    answer = world.client.post("/v1/verify", data=form)
    assert problem_of(answer) == "too-large"
    assert "200 parts" in answer.json["detail"]
    fewer = {"file": (io.BytesIO(b"PK"), "x"), "receipt": ["r"] * 199}
    assert problem_of(world.client.post("/v1/verify", data=fewer)) == "not-a-bundle"
