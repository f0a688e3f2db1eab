"""Keys are changed under running processes: nobody restarts, and nothing gets lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.cli import run
from service.record.receipts import check_receipt
from service.record.server_keys import followed, read_keys
from tests.api_world import Person, World, make_world


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def process(database_url: str, path: Path) -> World:
    """Return one more process of the service, with what it needs from the others' file."""
    return make_world(database_url, keys=None, key_file=path)


def in_(world: World, person: Person) -> Person:
    """Return the same person, asking another process."""
    return Person(id=person.id, token=person.token, recovery=person.recovery, world=world)


def test_processes_take_up_new_keys_and_go_on_with_their_games(
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
    seen = in_(other, ada).get(later)
    assert seen.json["seats"][0]["hand"]["cards"], "sealed with the new key, opened elsewhere"
    again = in_(other, ada).get(game)
    assert again.json["seats"][0]["hand"]["cards"], "sealed with the old key"
    for world in (one, other):
        world.services.close()


def test_a_wrong_file_makes_a_process_unready_and_ends_no_game(
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
