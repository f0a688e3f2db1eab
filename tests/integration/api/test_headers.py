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
        ('W/"v{version}"', 201),
        ('W/"v{version}.0123456789abcdef", "v0"', 201),
        ('"v{version}.0123456789abcdef0123456789abcdef"', 201),
        ('"v{version}.", "v{version}.x", "xv{version}"', 412),
        ('"v0{version}"', 412),
        ("v{version}", 400),
        ('"v{version}" "v{version}"', 400),
        ('"v{version}', 400),
        ("", 400),
        ('*, "v{version}"', 400),
        ('"v99999999999999999999"', 412),
    ],
)
def test_if_match_takes_a_list_of_tags(ada: Person, tags: str, status: int) -> None:
    """One matching version suffices, also weak, since proxies weaken tags; else malformed."""
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


def test_if_match_says_whether_a_version_is_past_or_never_was(ada: Person) -> None:
    game = ada.game({"bot": "lowest"})
    moves, table = f"{game}/moves", f"/v1/tables/{ada.get(game).json['table']}"
    assert ada.post(moves, READY).status_code == 201
    for tag, part in (
        ('"v2"', "the game has moved on"),
        ('"v9999"', "the game never had version 9999"),
        ('"v0"', "the game never had version 0"),
        ('"other"', "If-Match names no version"),
    ):
        refused = ada.post(moves, READY, headers={"If-Match": tag})
        assert problem_of(refused) == "stale-version"
        assert part in refused.json["detail"]
        assert str(refused.json["version"]) in refused.json["detail"]
    refused = ada.call("DELETE", table, headers={"If-Match": '"v9999"'})
    assert "the table never had version 9999" in refused.json["detail"]


def test_an_etag_names_one_answer_and_not_a_version(world: World, ada: Person) -> None:
    """A viewer with the public's tag gets the own hand; names change a view without an event."""
    table = ada.table({"bot": "lowest"})
    for path in (f"/v1/games/{table['game']}", f"/v1/tables/{table['id']}"):
        tags = {world.get(path).headers["ETag"]}
        for name in ("Ada", "Augusta"):
            assert ada.call("PATCH", "/v1/players/me", json={"name": name}).status_code == 200
            for known in tags:
                seen = ada.get(path, headers={"If-None-Match": known})
                assert (seen.status_code, seen.json["as"]) == (200, 0), name
            tags.add(seen.headers["ETag"])
            assert ada.get(path, headers={"If-None-Match": ", ".join(tags)}).status_code == 304
        assert len(tags) == 3
        assert {tag.partition(".")[0] for tag in tags} == {f'"v{seen.json["version"]}'}
    past = f"/v1/games/{table['game']}?at=1"
    public = {"If-None-Match": world.get(past).headers["ETag"]}
    assert ada.get(past, headers=public).status_code == 200


def test_the_answer_to_a_change_has_the_etag_of_its_object(ada: Person) -> None:
    table = ada.table("open", deal=False)
    path = f"/v1/tables/{table['id']}"
    changed = ada.call("PATCH", f"{path}/seats/me", json={"entropy": "value"})
    known = {"If-None-Match": changed.headers["ETag"]}
    assert ada.get(path, headers=known).status_code == 304


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
    assert answer.status_code == 200
    assert answer.headers["ETag"].startswith('"v2.')
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
