"""A player's own name and recovery code, changed after the registration."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
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


@pytest.mark.parametrize("name", ["x" * 41, "Ada\u00ad", None])
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


def test_the_longest_name_is_stored(world: World) -> None:
    """Of 40 characters with four bytes each."""
    made = world.client.post("/v1/players", json={"name": "\U0001f600" * 40})
    assert made.status_code == 201, made.text
    assert made.json["name"] == "\U0001f600" * 40


def test_a_stored_name_of_an_earlier_release_is_still_shown(
    world: World, ada: Person, database_url: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("UPDATE players SET name = 'A\u00adda' WHERE player_id = %s", (ada.id,))
    assert world.get(f"/v1/players/{ada.id}").json["name"] == "A\u00adda"
    assert world.get(ada.game()).json["seats"][0]["name"] == "A\u00adda"


def test_names_of_a_table_that_look_alike_have_a_short_id(world: World, ada: Person) -> None:
    second = "\uff21DA"
    other = world.person(second)
    table = ada.post("/v1/tables", {"ruleset": "leeds", "seats": ["me", "open", {"bot": "lowest"}]})
    alone = world.get(f"/v1/tables/{table.json['id']}").json["seats"]
    assert [seat["name"] for seat in alone] == ["Ada", None, None]
    sat = other.post(f"/v1/tables/{table.json['id']}/seats", {"seat": None})
    shown = [f"Ada ({ada.id[:4]})", f"{second} ({other.id[:4]})", None]
    assert [seat["name"] for seat in sat.json["seats"]] == shown
    game = world.get(f"/v1/games/{sat.json['game']}").json
    assert [seat["name"] for seat in game["seats"]] == shown
    listed = world.get("/v1/games").json["items"][0]
    assert [seat["name"] for seat in listed["seats"]] == shown
    assert other.get("/v1/players/me").json["name"] == second


def test_names_of_rulesets_and_statements_have_visible_characters(ada: Person) -> None:
    ruleset = {"name": "My rules\u00ad", "base": "shithead", "changes": {"opening": {"first": 4}}}
    assert ada.post("/v1/rulesets", ruleset).json["errors"][0]["at"] == "/name"
    game = ada.game()
    accusation = {"accused": None, "seq": 1, "charge": "wrong_deal", "statement": "\u3164 \u2800"}
    refused = ada.post(f"{game}/disputes", accusation)
    assert refused.json["errors"] == [{"at": "/statement", "message": "is empty"}]


SPOKEN = (
    "\u0622\u0645\u062f\u0647\u200c\u0627\u0646\u062f \u200f(a) \U0001f469\u200d\U0001f467\n\t- so?"
)
"""Persian with a joiner, a mark of direction, an emoji of three characters, and lines."""


def test_spaces_at_the_edges_are_left_out_and_scripts_keep_what_they_need(
    world: World, ada: Person
) -> None:
    assert world.person("\u3000 Ada\u00a0").id
    assert rename(ada, " Zoe\u0308\u2003")["name"] == "Zo\u00eb"
    assert problem_of(ada.call("PATCH", "/v1/players/me", json={"name": "A\n"})) == "invalid-body"
    game = ada.game()
    assert ada.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    stored = ada.call(
        "PUT", f"{game}/notes/1", json={"visibility": "me", "text": f"\n {SPOKEN}\r\n"}
    )
    assert stored.json["text"] == SPOKEN
    again = ada.call("PUT", f"{game}/notes/1", json={"visibility": "me", "text": " \n\u00a0"})
    assert again.json["errors"][0]["at"] == "/text"
