"""Notes on events over HTTP: who writes, who reads, before and after the seal."""

from __future__ import annotations

import pytest

from schemas.notes import NotesSchema
from tests.worlds.api_world import Answer, Person, World, problem_of


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


@pytest.fixture
def game(ada: Person, bob: Person) -> str:
    """Return the path of a running hand between two people."""
    table = ada.table("open")
    seated = bob.post(f"/v1/tables/{table['id']}/seats")
    return f"/v1/games/{seated.json['game']}"


def put(person: Person, game: str, seq: int, text: str, visibility: str = "me") -> Answer:
    return person.call("PUT", f"{game}/notes/{seq}", json={"text": text, "visibility": visibility})


def texts(person: Person, game: str) -> list[str]:
    found = person.get(f"{game}/notes").json
    assert NotesSchema().validate(found) == {}
    return [note["text"] for note in found["items"]]


def test_before_the_seal_a_note_is_for_its_author_alone(
    ada: Person, bob: Person, game: str
) -> None:
    assert problem_of(put(ada, game, 2, "see?", "dispute")) == "sealed"
    assert put(ada, game, 2, "mine").status_code == 200
    assert texts(ada, game) == ["mine"]
    assert texts(bob, game) == []


def test_after_the_seal_seats_share_notes_and_outsiders_see_their_own_only(
    world: World, ada: Person, bob: Person, game: str
) -> None:
    put(ada, game, 2, "mine")
    ada.post(f"{game}/moves", {"type": "forfeit"})
    assert put(bob, game, 1, "for all of us", "dispute").status_code == 200
    assert texts(ada, game) == ["for all of us", "mine"]
    assert texts(bob, game) == ["for all of us"]
    eve = world.person("Eve")
    assert problem_of(put(eve, game, 1, "heard", "dispute")) == "not-seated"
    put(eve, game, 1, "hers")
    assert texts(eve, game) == ["hers"]


def test_a_note_is_replaced_and_deleted(ada: Person, bob: Person, game: str) -> None:
    put(ada, game, 1, "stays")
    put(bob, game, 2, "of another author")
    put(ada, game, 2, "first")
    put(ada, game, 2, "second")
    assert texts(ada, game) == ["stays", "second"]
    assert ada.call("DELETE", f"{game}/notes/2").status_code == 204
    assert problem_of(ada.call("DELETE", f"{game}/notes/2")) == "not-found"
    assert (texts(ada, game), texts(bob, game)) == (["stays"], ["of another author"])


def test_a_note_stands_in_no_log_and_no_bundle(world: World, ada: Person, game: str) -> None:
    before = world.get(f"{game}/events").json["items"]
    put(ada, game, 2, "nowhere to be seen")
    assert world.get(f"{game}/events").json["items"] == before
    assert b"nowhere" not in ada.get(f"{game}/evidence?profile=seat").get_data()


def test_a_wrong_note_is_refused(ada: Person, game: str) -> None:
    assert problem_of(put(ada, game, 999, "x")) == "not-found"
    for text in ("", " ", "x" * 1001):
        assert problem_of(put(ada, game, 1, text)) == "invalid-body"
    assert problem_of(put(ada, game, 1, "x", "all")) == "invalid-body"
