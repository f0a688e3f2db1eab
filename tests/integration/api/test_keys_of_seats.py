"""Keys of seats over HTTP: weak keys are refused, and the verifier checks signatures."""

from __future__ import annotations

import io
from base64 import b64encode
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.shx.keys import read_key_changes
from service.shx.moves import sign_intent, sign_key_change
from service.shx.tlog.notes import key_id
from tests.worlds.api_world import Person, World, problem_of

WEAK = {
    "the neutral point": bytes([1, *bytes(31)]),
    "order four": bytes(32),
    "order four, the other sign": bytes([*bytes(31), 0x80]),
    "zero spelled as the prime": (2**255 - 19).to_bytes(32, "little"),
    "order eight": bytes.fromhex(
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"
    ),
    "no point of the curve": bytes([2, *bytes(31)]),
    "no point of the curve, the other sign": bytes([2, *bytes(30), 0x80]),
    "three encoded as the prime and three": (2**255 - 16).to_bytes(32, "little"),
    "three encoded as the prime and three, the other sign": (2**256 - 16).to_bytes(32, "little"),
}


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def text(public: bytes) -> str:
    return b64encode(public).decode()


@pytest.mark.attack("KEY_SWAP", "a weak key for a seat", check="422")
@pytest.mark.parametrize("public", WEAK.values(), ids=list(WEAK))
def test_a_weak_seat_key_is_refused_everywhere(ada: Person, bob: Person, public: bytes) -> None:
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


def test_an_ordinary_seat_key_is_accepted(ada: Person) -> None:
    public = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    assert ada.table("open", key=text(public))["seats"][0]["key"] == text(public)


@pytest.mark.parametrize("public", WEAK.values(), ids=list(WEAK))
@pytest.mark.parametrize("algorithm", [b"\x01", b"\x04"], ids=["server", "witness"])
def test_a_weak_server_or_witness_key_is_refused(
    world: World, ada: Person, public: bytes, algorithm: bytes
) -> None:
    bundle = ada.get(f"{ada.game()}/evidence").data
    word = f"a.example+{key_id('a.example', algorithm, public).hex()}+{text(algorithm + public)}"
    form = {"file": (io.BytesIO(bundle), "game.shx"), "key": word}
    answer = world.client.post("/v1/verify", data=form)
    assert problem_of(answer) == "invalid-body"
    assert [error["at"] for error in answer.json["errors"]] == ["/key"]


def test_the_verifier_accepts_keys_of_seats(world: World, ada: Person) -> None:
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
    for word in (public, f"x={public}", "0=short", *(f"0={text(weak)}" for weak in WEAK.values())):
        form = {"file": (io.BytesIO(bundle), "game.shx"), "seat_key": word}
        answer = world.client.post("/v1/verify", data=form)
        assert problem_of(answer) == "invalid-body"
        assert [error["at"] for error in answer.json["errors"]] == ["/seat_key"]


def test_a_table_shows_only_signed_key_changes(world: World, ada: Person, bob: Person) -> None:
    """The verifier of later hands gets only changes signed by the old key."""
    old, new = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    table = ada.table("open", key=text(old.public_key().public_bytes_raw()), deal=False)
    path = f"/v1/tables/{table['id']}"
    public = new.public_key().public_bytes_raw()
    sig = sign_key_change(old, table=UUID(table["id"]), seat=0, key=public)
    body = {"key": text(public), "sig": sig}
    assert ada.call("PATCH", f"{path}/seats/me", json=body).status_code == 200
    version = ada.get(path).json["version"]
    for again in (body, {"key": text(public)}, {}):
        answer = ada.call("PATCH", f"{path}/seats/me", json=again)
        assert (answer.status_code, answer.json["version"]) == (200, version), again
    third = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    assert ada.call("PATCH", f"{path}/seats/me", json={"key": text(third)}).status_code == 200
    answer = world.get(f"{path}/keys")
    change = {"v": 1, "table": table["id"], "seat": 0, "key": text(public)}
    assert answer.json == {"items": [{"change": change, "sig": sig}], "next": None}
    assert read_key_changes(answer.data)[0].as_json() == answer.json["items"][0]
    hidden = ada.table("open", deal=False, visibility="private")
    assert ada.get(f"/v1/tables/{hidden['id']}/keys").json["items"] == []
    assert problem_of(bob.get(f"/v1/tables/{hidden['id']}/keys")) == "not-found"


def test_key_changes_and_proofs_reach_the_verifier(world: World, ada: Person) -> None:
    bundle = ada.get(f"{ada.game()}/evidence").data

    def sent(**parts: object) -> Any:
        form = {"file": (io.BytesIO(bundle), "game.shx"), **parts}
        return world.client.post("/v1/verify", data=form)

    for name in ("key_change", "proof"):
        assert problem_of(sent(**{name: ["{}", "{}"]})) == "invalid-body"
    answer = sent(proof="no proof")
    [check] = [c for c in answer.json["checks"] if c["check"] == "anchor"]
    assert check["result"] == "fail", check


def test_too_many_parts_are_refused(world: World) -> None:
    form = {"file": (io.BytesIO(b"PK"), "x"), "receipt": ["r"] * 1000}
    answer = world.client.post("/v1/verify", data=form)
    assert problem_of(answer) == "too-large"
    assert "1000 parts" in answer.json["detail"]
    fewer = {"file": (io.BytesIO(b"PK"), "x"), "receipt": ["r"] * 999}
    assert problem_of(world.client.post("/v1/verify", data=fewer)) == "not-a-bundle"
