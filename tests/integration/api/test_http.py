"""HTTP conventions of all operations: ETags, idempotency, caching, lists, order of errors."""

from __future__ import annotations

import re
import threading
import time

import pytest

from tests.worlds.api_world import Person, World, problem_of

YEAR = "max-age=31536000, immutable"
READY = {"type": "ready"}


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def test_every_answer_has_an_id(world: World) -> None:
    assert re.fullmatch(r"[0-9a-f]{32}", world.get("/v1/bots").headers["X-Request-ID"])
    assert world.get("/v1/none").headers["X-Request-ID"]
    headers = {"X-Request-ID": "from-my-proxy"}
    assert world.get("/v1/bots", headers=headers).headers["X-Request-ID"] == "from-my-proxy"


def test_a_path_begins_with_one_slash_and_a_request_names_its_host(world: World) -> None:
    for path in ("//v1/bots", "///v1/bots", "/v1//bots"):
        answer = world.client.open("/", environ_overrides={"PATH_INFO": path})
        assert answer.status_code == 404, path
    for version, status in (("HTTP/1.1", 400), ("HTTP/1.0", 200)):
        environ = {"HTTP_HOST": "", "SERVER_PROTOCOL": version}
        answer = world.client.open("/v1/bots", environ_overrides=environ)
        assert answer.status_code == status, version


def test_an_etag_states_the_version_and_a_known_one_gets_304(ada: Person) -> None:
    table = ada.table()
    for path in (f"/v1/games/{table['game']}", f"/v1/tables/{table['id']}"):
        first = ada.get(path)
        assert re.fullmatch(rf'"v{first.json["version"]}\.[0-9a-f]{{32}}"', first.headers["ETag"])
        again = ada.get(path, headers={"If-None-Match": f'"x", {first.headers["ETag"]}'})
        assert again.status_code == 304
        assert again.data == b""


def test_if_match_is_refused_after_a_move_of_another_seat(ada: Person) -> None:
    game = ada.game({"bot": "lowest"})
    seen = ada.get(game).headers["ETag"]
    assert ada.post(f"{game}/moves", READY, headers={"If-Match": seen}).status_code == 201
    for tag in (seen, '"v999"', '"other"', '"v0"'):
        answer = ada.post(f"{game}/moves", READY, headers={"If-Match": tag})
        assert problem_of(answer) == "stale-version", tag
        assert answer.json["version"] == ada.get(game).json["version"]


def test_the_same_key_and_body_get_the_first_answer_again(ada: Person) -> None:
    game, key = ada.game(), {"Idempotency-Key": "once"}
    first = ada.post(f"{game}/moves", READY, headers=key)
    again = ada.post(f"{game}/moves", READY, headers=key | {"If-Match": '"v1"'})
    assert (again.status_code, again.data) == (201, first.data)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["ETag"] == first.headers["ETag"]


def test_an_id_in_capitals_names_the_same_object_for_a_key(ada: Person) -> None:
    """Otherwise the repetition of a request to the address in capitals is carried out again."""
    table = ada.table("open", deal=False)["id"]
    key, game = {"Idempotency-Key": "k"}, ada.game().rpartition("/")[2]
    first = ada.post(f"/v1/games/{game}/moves", READY, headers=key)
    again = ada.post(f"/v1/games/{game.upper()}/moves", READY, headers=key)
    assert (again.status_code, again.data) == (first.status_code, first.data)
    assert again.headers["Idempotency-Replayed"] == "true"
    other = ada.post(f"/v1/games/{game.upper()}/moves", {"type": "forfeit"}, headers=key)
    assert problem_of(other) == "idempotency-conflict"
    assert ada.get(f"/v1/tables/{table.upper()}").json["id"] == table


def test_a_key_belongs_to_the_caller_and_the_path(ada: Person, bob: Person) -> None:
    key = {"Idempotency-Key": "k"}
    one, two = ada.game(), ada.game()
    assert ada.post(f"{one}/moves", READY, headers=key).status_code == 201
    other = ada.post(f"{two}/moves", READY, headers=key)
    assert "Idempotency-Replayed" not in other.headers
    body = {"ruleset": "shithead", "seats": ["me", "open"]}
    for person in (ada, bob):
        answer = person.post("/v1/tables", body, headers=key)
        assert answer.json["host"] == person.id


def test_a_refused_request_does_not_use_up_its_key(ada: Person) -> None:
    game, key = ada.game(), {"Idempotency-Key": "k"}
    assert problem_of(ada.post(f"{game}/moves", {"type": "pass"}, headers=key)) != ""
    assert ada.post(f"{game}/moves", READY, headers=key).status_code == 201


@pytest.mark.parametrize("path", ["/v1/players", "/v1/players/me/tokens", "/v1/players/recover"])
def test_calls_that_answer_with_a_token_accept_no_idempotency_key(ada: Person, path: str) -> None:
    answer = ada.post(path, {"name": "x"}, headers={"Idempotency-Key": "k"})
    assert problem_of(answer) == "malformed"


@pytest.mark.attack("ERROR_TEXTS", "faults reported out of order", check="the order of faults")
def test_faults_are_reported_in_the_order_of_the_contract(ada: Person, bob: Person) -> None:
    """The order: token, idempotency, seat, body, game over, …, If-Match, turn, rule."""
    game = ada.game()
    used = {"Idempotency-Key": "used"}
    assert ada.post(f"{game}/moves", READY, headers=used).status_code == 201
    bad, late = {"type": "none"}, {"If-Match": '"v1"'}
    moves = f"{game}/moves"
    assert problem_of(ada.world.client.post(moves, json=bad, headers=used)) == "unauthorized"
    assert problem_of(ada.post(moves, bad, headers=used | late)) == "idempotency-conflict"
    assert problem_of(bob.post(moves, bad, headers=late)) == "not-seated"
    assert problem_of(ada.post(moves, bad, headers=late)) == "invalid-body"
    assert problem_of(ada.post(moves, READY, headers=late)) == "stale-version"
    assert ada.post(moves, {"type": "forfeit"}).status_code == 201
    assert problem_of(ada.post(moves, READY, headers=late)) == "game-over"
    assert problem_of(bob.post(moves, READY, headers=late)) == "not-seated"


def test_an_unreadable_if_match_is_reported_in_its_place(ada: Person, bob: Person) -> None:
    """The faults before If-Match in the order of the contract are reported first."""
    game = ada.game()
    moves, unreadable = f"{game}/moves", {"If-Match": "v1"}
    assert problem_of(bob.post(moves, READY, headers=unreadable)) == "not-seated"
    unknown = "/v1/games/00000000-0000-4000-8000-000000000000/moves"
    assert problem_of(ada.post(unknown, READY, headers=unreadable)) == "not-found"
    assert problem_of(ada.post(moves, READY, headers=unreadable)) == "malformed"
    assert ada.post(moves, {"type": "forfeit"}).status_code == 201
    assert problem_of(ada.post(moves, READY, headers=unreadable)) == "game-over"
    table = f"/v1/tables/{ada.get(game).json['table']}"
    assert problem_of(bob.call("DELETE", table, headers=unreadable)) == "forbidden"
    assert problem_of(ada.call("DELETE", table, headers=unreadable)) == "malformed"


def test_answers_that_depend_on_the_token_are_not_cacheable(ada: Person) -> None:
    table = ada.table()
    for path in (f"/v1/games/{table['game']}", f"/v1/tables/{table['id']}", "/v1/players/me"):
        answer = ada.get(path)
        assert answer.headers["Cache-Control"] == "private, no-store"
        assert "Authorization" in answer.headers["Vary"]


def test_immutable_answers_are_cacheable_for_ever(ada: Person) -> None:
    game = ada.game()
    whole = ada.get(f"{game}/events").json["version"]
    part = f"{game}/events?after=0&limit={whole - 1}"
    lines = ada.get(part, headers={"Accept": "application/x-ndjson"})
    assert lines.headers["Cache-Control"] == f"public, {YEAR}"
    # The JSON of the same events also has the version, which increases.
    assert ada.get(part).headers["Cache-Control"] == "no-cache"
    assert "immutable" not in ada.get(f"{game}/events").headers["Cache-Control"]
    assert "immutable" not in ada.get(f"{game}?at=1&as=public").headers["Cache-Control"]
    ada.post(f"{game}/moves", {"type": "forfeit"})
    whole = ("/events", "/events?after=0&limit=3")
    for path in (*whole, "?at=1&as=public", "/replay?as=all", "/transcript?as=public"):
        assert ada.get(game + path).headers["Cache-Control"] == f"public, {YEAR}", path
    assert "immutable" not in ada.get(f"{game}/replay").headers["Cache-Control"]
    assert "immutable" not in ada.get(game).headers["Cache-Control"]


def test_immutable_answers_about_a_private_table_are_cacheable_only_by_the_caller(
    ada: Person,
) -> None:
    game = ada.game(visibility="private")
    ada.post(f"{game}/moves", {"type": "forfeit"})
    answer = ada.get(f"{game}/transcript?as=public")
    assert answer.headers["Cache-Control"] == f"private, {YEAR}"
    running = ada.get(f"{ada.game(visibility='private')}/events?after=0&limit=3")
    assert running.headers["Cache-Control"] == "private, no-store"
    assert "Authorization" in answer.headers["Vary"]


def test_a_private_table_is_not_found_by_others(ada: Person, bob: Person) -> None:
    table = ada.table({"bot": "lowest"}, visibility="private")
    invite = {"Shithead-Invite": table["invite"]}
    game = f"/v1/games/{table['game']}"
    paths = [f"/v1/tables/{table['id']}", game]
    paths += [f"{game}/{part}" for part in ("events", "receipt", "openings", "replay", "audit")]
    paths += [f"{game}/{part}" for part in ("transcript", "evidence", "stream")]
    for path in paths:
        assert problem_of(bob.get(path)) == "not-found", path
    for path in paths[:-1]:
        assert bob.get(path, headers=invite).status_code == 200, path
        assert ada.get(path).status_code == 200, path
    assert table["id"] not in [t["id"] for t in bob.get("/v1/tables").json["items"]]
    assert table["game"] not in [g["id"] for g in bob.get("/v1/games").json["items"]]


def test_lists_are_read_page_by_page(ada: Person) -> None:
    made = [ada.table("open")["id"] for _ in range(5)]
    found, path = [], "/v1/tables?limit=2&mine=true"
    while path:
        page = ada.get(path).json
        assert len(page["items"]) <= 2
        found += [table["id"] for table in page["items"]]
        path = page["next"] and f"/v1/tables?limit=2&mine=true&cursor={page['next']}"
    assert found == made[::-1]


def test_a_long_poll_is_answered_as_soon_as_the_game_changes(ada: Person) -> None:
    game = ada.game()
    version = ada.get(game).json["version"]
    timer = threading.Timer(0.3, lambda: ada.post(f"{game}/moves", READY))
    timer.start()
    began = time.monotonic()
    answer = ada.get(f"{game}?after={version}&wait=10")
    timer.join()
    assert answer.json["version"] > version
    assert time.monotonic() - began < 5


def test_a_long_poll_without_a_change_is_answered_with_the_current_state(ada: Person) -> None:
    table = ada.table("open")
    path = f"/v1/tables/{table['id']}"
    began = time.monotonic()
    answer = ada.get(f"{path}?after={table['version']}&wait=1")
    assert answer.json["version"] == table["version"]
    assert 0.9 < time.monotonic() - began < 3
    began = time.monotonic()
    assert ada.get(f"{path}?after=0&wait=5").status_code == 200
    assert time.monotonic() - began < 1


def test_head_and_options_are_answered(ada: Person) -> None:
    game = ada.game()
    head = ada.call("HEAD", game)
    assert head.status_code == 200
    assert head.data == b""
    assert head.headers["ETag"]
    assert "GET" in ada.call("OPTIONS", game).headers["Allow"]
