"""Request and response headers as RFC 9110 defines them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.worlds.api_world import Person, World, problem_of

READY = {"type": "ready"}


@pytest.mark.parametrize(
    ("tags", "status"),
    [
        ("*", 201),
        (' "v{version}" ', 201),
        ('"v{version}", "v999"', 201),
        ('"other","v{version}"', 201),
        (', "v{version}",', 201),
        ('"v999", "other"', 412),
        ('W/"v{version}"', 412),
        ('W/"v{version}", "v0"', 412),
        ('"v0{version}"', 412),
        ("v{version}", 400),
        ('"v{version}" "v{version}"', 400),
        ('"v{version}', 400),
        ("", 400),
        ('*, "v{version}"', 400),
        ('"v99999999999999999999"', 412),
    ],
)
def test_if_match_takes_a_list_of_strong_tags(ada: Person, tags: str, status: int) -> None:
    """One matching tag suffices; a weak tag never matches; anything else is malformed."""
    game = ada.game()
    version = ada.get(game).json["version"]
    answer = ada.post(f"{game}/moves", READY, headers={"If-Match": tags.format(version=version)})
    assert answer.status_code == status, answer.text
    if status == 412:
        assert problem_of(answer) == "stale-version"
        assert answer.json["version"] == version
    if status == 400:
        assert problem_of(answer) == "malformed"
        assert answer.json["errors"][0]["at"] == "If-Match"


@pytest.mark.parametrize("seq", ["x", "-1", "1.5", "9" * 30])
def test_a_last_event_id_that_is_not_a_seq_is_malformed(ada: Person, seq: str, way: str) -> None:
    """Otherwise a reader with a wrong header would get the whole game again without notice."""
    answer = ada.get(f"{ada.game()}/stream", headers={"Last-Event-ID": seq}, buffered=False)
    assert problem_of(answer) == "malformed"
    assert answer.json["errors"][0]["at"] == "Last-Event-ID"


def test_a_table_that_changed_meanwhile_is_not_closed(ada: Person, bob: Person) -> None:
    table = ada.table("open", "open", deal=False)
    path = f"/v1/tables/{table['id']}"
    seen = ada.get(path).headers["ETag"]
    assert bob.post(f"{path}/seats").status_code == 201
    refused = ada.call("DELETE", path, headers={"If-Match": seen})
    assert problem_of(refused) == "stale-version"
    assert refused.json["version"] == ada.get(path).json["version"]
    assert problem_of(bob.call("DELETE", path, headers={"If-Match": seen})) == "forbidden"
    seen = ada.get(path).headers["ETag"]
    assert ada.call("DELETE", path, headers={"If-Match": seen}).status_code == 204
    assert ada.call("DELETE", path).status_code == 204
    assert ada.get(path).json["status"] == "closed"


def test_a_change_is_made_and_answered_regardless_of_if_none_match(ada: Person) -> None:
    """If-None-Match applies to GET only; a change always has its own answer."""
    table = ada.table("open", deal=False)
    path = f"/v1/tables/{table['id']}/seats/me"
    known = {"If-None-Match": '"v2"'}
    answer = ada.call("PATCH", path, json={"entropy": "value"}, headers=known)
    assert (answer.status_code, answer.headers["ETag"]) == (200, '"v2"')
    assert answer.json["seats"][0]["entropy"] == "value"


@pytest.mark.parametrize("accept", ["text/html", "application/zip", "application/json;q=0"])
def test_an_answer_without_a_body_fits_every_accept_header(ada: Person, accept: str) -> None:
    table = ada.table("open", deal=False)
    path = f"/v1/tables/{table['id']}"
    headers = {"Accept": accept}
    assert problem_of(ada.get(path, headers=headers)) == "not-acceptable"
    for done in (f"{path}/seats/me", path):
        assert ada.call("DELETE", done, headers=headers).status_code == 204


def test_the_media_type_of_a_log_has_no_parameters(ada: Person) -> None:
    """JSON and JSON lines are always UTF-8, so their media types have no charset."""
    game = ada.game()
    for accept, result in (
        ("application/x-ndjson", "application/x-ndjson"),
        ("application/json;q=0.4, application/x-ndjson;q=0.5", "application/x-ndjson"),
        ("application/json;q=0.5, application/x-ndjson;q=0.4", "application/json"),
        ("application/*", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
        ("application/json; charset=utf-8; q=0.1, application/*;q=0.05", "application/json"),
    ):
        answer = ada.get(f"{game}/events", headers={"Accept": accept})
        assert answer.headers["Content-Type"] == result, accept
        assert "Accept" in answer.headers["Vary"]


def test_an_error_that_depends_on_the_token_is_not_cacheable(
    world: World, ada: Person, bob: Person
) -> None:
    game = ada.game(visibility="private")
    answers: list[Any] = [bob.get(game), world.get(game), bob.get("/v1/games?cursor=x")]
    answers.append(ada.post(f"{game}/moves", {"type": "pass"}))
    for answer in answers:
        assert problem_of(answer)
        assert answer.headers["Cache-Control"] == "private, no-store"
        assert "Authorization" in answer.headers["Vary"]


def test_a_new_dispute_is_answered_with_its_location(ada: Person, bob: Person) -> None:
    table = ada.table("open")
    game = bob.post(f"/v1/tables/{table['id']}/seats").json["game"]
    accusation = {"accused": None, "seq": 0, "charge": "wrong_deal", "statement": "It was not so."}
    made = ada.post(f"/v1/games/{game}/disputes", accusation)
    assert made.headers["Location"] == f"/v1/disputes/{made.json['id']}"
    assert ada.get(made.headers["Location"]).json["id"] == made.json["id"]


def test_two_authorization_headers_are_refused(world: World, ada: Person, bob: Person) -> None:
    both = [("Authorization", f"Bearer {person.token}") for person in (ada, bob)]
    for path in ("/v1/players/me", "/v1/tables"):
        assert problem_of(world.get(path, headers=both)) == "unauthorized"
