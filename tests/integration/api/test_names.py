"""A player's own name and recovery code, changed after the registration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from service.application.games import cache
from tests.running import wait_for
from tests.worlds.api_world import Person, World, make_world, problem_of


@pytest.fixture
def second(world: World, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Return a second process of the service, in which names are cached for a short time."""
    monkeypatch.setattr(cache, "KEPT_SECONDS", 0.3)
    made = make_world(database_url, keys=world.services.keyring.present.to_text())
    yield made
    made.services.close()


def rename(player: Person, name: str) -> dict[str, object]:
    answer = player.call("PATCH", "/v1/players/me", json={"name": name})
    assert answer.status_code == 200, answer.text
    return dict(answer.json)


def test_a_new_name_is_shown_in_games_tables_and_lists(world: World, ada: Person) -> None:
    table = ada.table()
    game = f"/v1/games/{table['game']}"
    ada.post(f"{game}/moves", {"type": "forfeit"})
    log = world.get(f"{game}/events").data
    assert rename(ada, "e\u0301")["name"] == "\u00e9", "in normal form NFC"
    assert ada.get("/v1/players/me").json["name"] == "\u00e9"
    assert world.get(f"/v1/players/{ada.id}").json["name"] == "\u00e9"
    assert world.get(game).json["seats"][0]["name"] == "\u00e9", "of a hand that is over, too"
    assert world.get(f"/v1/tables/{table['id']}").json["seats"][0]["name"] == "\u00e9"
    assert world.get("/v1/games").json["items"][0]["seats"][0]["name"] == "\u00e9"
    assert world.get(f"{game}/events").data == log
    assert b"Ada" not in log


def test_another_process_shows_a_new_name_within_seconds(
    world: World, second: World, ada: Person
) -> None:
    game = ada.game()

    def shown() -> object:
        return second.get(game).json["seats"][0]["name"]

    assert shown() == "Ada"
    rename(ada, "Augusta")
    assert world.get(game).json["seats"][0]["name"] == "Augusta", "here at once"
    wait_for(lambda: shown() == "Augusta", seconds=20)


@pytest.mark.parametrize("name", ["", " ", "x" * 41, "a\u0000", "a\u202e", None, 7])
def test_a_name_that_registration_refuses_is_refused_as_a_new_name(
    world: World, ada: Person, name: object
) -> None:
    registered = world.client.post("/v1/players", json={"name": name})
    changed = ada.call("PATCH", "/v1/players/me", json={"name": name})
    assert problem_of(changed) == problem_of(registered) == "invalid-body"
    assert changed.json["errors"] == registered.json["errors"]
    assert ada.get("/v1/players/me").json["name"] == "Ada"


def test_a_name_is_changed_even_during_a_hand_and_only_by_its_player(
    world: World, ada: Person
) -> None:
    ada.game()
    rename(ada, "Augusta")
    anonymous = world.client.patch("/v1/players/me", json={"name": "Bob"})
    assert problem_of(anonymous) == "unauthorized"


def test_an_erased_player_cannot_get_a_name_again(world: World, ada: Person) -> None:
    """The change is a single statement that skips erased players."""
    rename(ada, "Augusta")
    assert ada.call("DELETE", "/v1/players/me").status_code == 204
    assert world.get(f"/v1/players/{ada.id}").json["name"] is None
    late = ada.call("PATCH", "/v1/players/me", json={"name": "Again"})
    assert problem_of(late) == "unauthorized"
    assert problem_of(ada.post("/v1/players/me/recovery")) == "unauthorized"


def test_a_new_recovery_code_ends_the_old_one(world: World, ada: Person) -> None:
    answer = ada.post("/v1/players/me/recovery")
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "private, no-store"
    code = answer.json["recovery"]
    assert code != ada.recovery
    old = world.client.post("/v1/players/recover", json={"recovery": ada.recovery})
    assert problem_of(old) == "unauthorized"
    assert ada.get("/v1/players/me").status_code == 200, "the token stays"
    assert world.client.post("/v1/players/recover", json={"recovery": code}).status_code == 201


def test_a_new_recovery_code_cannot_be_requested_with_an_idempotency_key(ada: Person) -> None:
    """The stored answer would contain the code."""
    key = {"Idempotency-Key": "twice"}
    assert problem_of(ada.post("/v1/players/me/recovery", headers=key)) == "malformed"
