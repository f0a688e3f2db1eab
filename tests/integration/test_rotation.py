"""Key rotation under running processes, without a restart or a lost event."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from service.cli.__main__ import run
from service.keys import load
from service.shx.canonical import canonical
from service.shx.keys import followed, read_key_list, read_keys, retire
from service.shx.receipts import check_receipt
from service.shx.tlog.notes import NoteVerifier
from tests.worlds.api_world import Person, World, make_world, problem_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def process(database_url: str, path: Path) -> World:
    """Return one more process of the service, with the same key file."""
    return make_world(database_url, keys=None, key_file=path)


def as_client_of(world: World, person: Person) -> Person:
    """Return the same person as a client of the process `world`."""
    return Person(id=person.id, token=person.token, recovery=person.recovery, world=world)


def test_processes_load_new_keys_and_continue_their_games(
    database_url: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = process(database_url, path), process(database_url, path)
    ada = one.person()
    game = ada.game()
    pinned = [one.services.verifier]
    check_receipt(ada.get(f"{game}/receipt").data, pinned)

    assert run(["rotate-keys", "--key-file", str(path)]) == 0
    assert "running service" in capsys.readouterr().out

    for world in (one, other):
        assert world.get("/readyz").status_code == 200
        keys = followed(pinned, read_keys(world.get("/v1/keys").json["items"]))
        assert len(keys) == 2, "the new key is signed by the one that was pinned"
        receipt = world.get(f"{game}/receipt").data
        check_receipt(receipt, [key for key in keys if key not in pinned])
    moved = ada.post(f"{game}/moves", {"type": "ready"})
    assert moved.status_code == 201, moved.text

    later = ada.game()
    seen = as_client_of(other, ada).get(later)
    assert seen.json["seats"][0]["hand"]["cards"], (
        "encrypted with the new key, decrypted by the other process"
    )
    again = as_client_of(other, ada).get(game)
    assert again.json["seats"][0]["hand"]["cards"], "encrypted with the old key"
    for world in (one, other):
        world.services.close()


def test_a_game_whose_key_is_lost_is_unavailable_and_no_other(
    database_url: str, path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As after `rotate-keys --new`: it is no error of the program, so it is 503 and not 500."""
    before = process(database_url, path)
    ada = before.person()
    lost = ada.game()
    after = process(database_url, tmp_path / "new.json")
    ada = as_client_of(after, ada)
    for answer in (ada.get(lost), ada.post(f"{lost}/moves", {"type": "ready"})):
        assert problem_of(answer) == "unavailable"
        assert answer.json["code"] == "request.no_game_key"
        assert "a stored game cannot be decrypted: no key " in caplog.messages[-1]
    page = after.get(lost.replace("/v1/games/", "/replay/"))
    assert page.status_code == 200, "its script reports the problem"
    assert ada.get(ada.game()).json["seats"][0]["hand"]["cards"]
    for world in (before, after):
        world.services.close()


def test_an_invalid_key_file_makes_a_process_unready_and_ends_no_game(
    database_url: str, path: Path
) -> None:
    world = process(database_url, path)
    ada = world.person()
    game = ada.game()
    good = path.read_text()
    path.write_text("{}")
    answer = world.get("/readyz")
    assert answer.status_code == 503
    assert "KeyringError" in answer.text
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    path.write_text(good)
    assert world.get("/readyz").status_code == 200
    world.services.close()


def test_the_list_of_keys_has_a_new_key_at_once(
    database_url: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new key signs the next answer, so the list of keys must not be cached."""
    world = process(database_url, path)
    before = world.get("/v1/keys")
    assert before.headers["Cache-Control"] == "no-cache"
    known = {"If-None-Match": before.headers["ETag"]}
    assert world.get("/v1/keys", headers=known).status_code == 304
    assert before.json["retirements"] == []
    assert run(["rotate-keys", "--key-file", str(path), "--overlap", "2"]) == 0
    capsys.readouterr()
    after = world.get("/v1/keys", headers=known)
    assert after.status_code == 200
    [new, old] = after.json["items"]
    [end] = after.json["retirements"]
    assert (end["id"], end["to"], end["signed_by"]) == (old["id"], old["to"], new["id"])
    fields = ("id", "name", "public", "from", "to", "signed_by_previous")
    assert {*new} == {*old} == set(fields)
    endorsement = {"v": 1, "name": old["name"], "public": old["public"]}
    message = canonical({**endorsement, "from": old["from"], "to": old["to"]})
    key = Ed25519PublicKey.from_public_bytes(b64decode(new["public"]))
    key.verify(b64decode(end["signature"]), b"shx/1/server-key-end\n" + message)
    world.services.close()


@pytest.mark.attack(
    "KEY_SWAP",
    "a newer server key ended by the holder of an old one",
    check="/v1/keys",
    needs="WITNESS",
)
def test_the_end_of_a_key_counts_only_if_a_later_key_signed_it(
    database_url: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stolen old key can end no newer key and move no end."""
    world = process(database_url, path)
    stolen = load(path).signing_key
    for _ in range(2):
        assert run(["rotate-keys", "--key-file", str(path), "--overlap", "2"]) == 0
    capsys.readouterr()
    answer = world.get("/v1/keys").json
    listed = read_key_list(answer)
    newest, middle, oldest = (key.verifier for key in listed.keys)
    assert set(listed.retired([newest, middle, oldest])) == {middle, oldest}
    assert set(listed.retired([oldest])) == set(), "the signer is unknown"
    forged = []
    for item in answer["items"][:2]:
        until = "2000-01-01T00:00:00.000000Z"
        key = NoteVerifier(name=item["name"], public=b64decode(item["public"]))
        signature = b64encode(retire(stolen, key, item["from"], until)).decode()
        signer = answer["items"][2]["id"]
        forged.append({"id": item["id"], "to": until, "signed_by": signer, "signature": signature})
    listed = read_key_list({**answer, "retirements": forged})
    assert listed.retired([newest, middle, oldest]) == {}
    world.services.close()
