"""Security headers of answers, size limits of requests, HEAD and OPTIONS."""

from __future__ import annotations

import json
from hashlib import sha256

import psycopg
import pytest

from tests.worlds.api_world import Person, World, make_world, problem_of

EVERYWHERE = (
    *("/", "/docs", "/rules", "/style.css", "/nope", "/v1/nope", "/healthz", "/readyz"),
    *("/v1/bots", "/v1/rulesets", "/v1/rulesets/leeds", "/v1/tables", "/v1/games", "/v1/keys"),
    *("/v1/openapi.json", "/v1/players/me", "/v1/games?limit=0", "/problems/malformed"),
)


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


@pytest.mark.parametrize("path", EVERYWHERE)
def test_every_answer_has_the_security_headers(world: World, path: str) -> None:
    headers = world.get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"]
    assert headers["X-Request-ID"]


@pytest.mark.parametrize("path", EVERYWHERE)
def test_head_is_get_without_a_body(world: World, path: str) -> None:
    got, head = world.get(path), world.client.head(path)
    assert (head.status_code, head.data) == (got.status_code, b"")
    assert head.content_type == got.content_type
    assert head.headers.get("ETag") == got.headers.get("ETag")


def test_private_answers_are_not_cacheable(ada: Person) -> None:
    game = ada.game()
    for path in (game, f"{game}/openings", "/v1/players/me", "/v1/tables", "/v1/games"):
        headers = ada.get(path).headers
        assert headers["Cache-Control"] == "private, no-store", path
        assert "Authorization" in headers["Vary"]
    made = ada.world.client.post("/v1/players", json={"name": "Eve"})
    assert "no-store" in made.headers["Cache-Control"]


def test_options_names_the_methods(world: World) -> None:
    answer = world.client.options("/v1/tables")
    assert answer.status_code == 200
    assert {"GET", "HEAD", "POST", "OPTIONS"} == set(answer.headers["Allow"].split(", "))
    assert answer.data == b""
    assert "Content-Type" not in answer.headers


@pytest.mark.parametrize("depth", [33, 5000])
def test_a_body_nested_too_deeply_is_refused(ada: Person, depth: int) -> None:
    body = b'{"a":' * depth + b"1" + b"}" * depth
    answer = ada.call(
        "POST", "/v1/rulesets", data=body, headers={"Content-Type": "application/json"}
    )
    assert problem_of(answer) == "malformed"


def test_a_body_with_little_nesting_is_read(ada: Person) -> None:
    body = json.dumps({"name": "x", "base": "leeds", "changes": {"a": {"b": [[[{}]]]}}})
    answer = ada.call(
        "POST", "/v1/rulesets", data=body, headers={"Content-Type": "application/json"}
    )
    assert problem_of(answer) == "ruleset-refused"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/moves", {"type": "play", "cards": ["7c"] * 4000}),
        ("/moves", {"type": "lay", "stacks": [["7c"]] * 4000}),
        ("/moves", {"type": "lay", "stacks": [["7c"] * 4000]}),
        ("/moves", {"type": "swap", "up": ["7c"] * 4000, "hand": ["7c"]}),
        ("/moves", {f"field {n}": 1 for n in range(400)}),
    ],
)
def test_a_very_long_list_is_refused_with_a_short_answer(
    ada: Person, path: str, body: object
) -> None:
    answer = ada.post(ada.game() + path, body)
    assert problem_of(answer) == "invalid-body"
    assert len(answer.data) < 20_000


@pytest.mark.attack("WITHOUT_BOUND", "endless lists of seats", check="the limit on body size")
def test_a_very_long_list_of_seats_is_refused_with_a_short_answer(ada: Person) -> None:
    answer = ada.post("/v1/tables", {"ruleset": "shithead", "seats": ["me"] * 4000})
    assert problem_of(answer) == "invalid-body"
    assert len(answer.data) < 1000


def test_the_items_of_a_list_that_is_too_long_are_not_read(ada: Person) -> None:
    """Reading 15,000 seats took more than 250 ms: the number of seats is refused first."""
    answer = ada.post("/v1/tables", {"ruleset": "shithead", "seats": [{"bot": 7}] * 2500})
    [error] = answer.json["errors"]
    assert error["at"] == "/seats"
    assert "64" in error["message"]


def test_a_body_above_the_limit_is_refused(ada: Person) -> None:
    answer = ada.post("/v1/tables", {"ruleset": "x" * 2**18, "seats": ["me", "open"]})
    assert problem_of(answer) == "too-large"


def test_over_https_answers_have_strict_transport_security(database_url: str) -> None:
    """Only a trusted proxy may state scheme and address of the caller."""
    https = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
    for trusted, secured in ((1, True), (0, False)):
        world = make_world(database_url, trusted_proxies=trusted)
        for path in ("/", "/v1/bots", "/v1/nope"):
            headers = world.get(path, headers=https).headers
            assert ("Strict-Transport-Security" in headers) is secured, path
            assert "Strict-Transport-Security" not in world.get(path).headers
        world.services.close()


def test_below_a_path_of_a_trusted_proxy_every_request_is_refused_with_the_reason(
    database_url: str,
) -> None:
    """Pages and links begin at `/`, and a browser keeps tokens by host name."""
    for trusted, status in ((1, 421), (0, 200)):
        world = make_world(database_url, trusted_proxies=trusted)
        for path in ("/", "/v1/bots"):
            answer = world.get(path, headers={"X-Forwarded-Prefix": "/cards/"})
            assert answer.status_code == status, path
            assert trusted == 0 or problem_of(answer) == "about:blank"
            assert trusted == 0 or answer.json["code"] == "request.below_path"
            assert world.get(path, headers={"X-Forwarded-Prefix": "/"}).status_code == 200
        world.services.close()


def test_an_invite_is_compared_in_constant_time(
    ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ada.table("open", visibility="private")
    compared: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, kept: bytes) -> bool:
        compared.append((given, kept))
        return given == kept

    monkeypatch.setattr("hmac.compare_digest", compare)
    for invite, status in ((table["invite"], 200), ("x" * 43, 404)):
        answer = bob.get(f"/v1/tables/{table['id']}", headers={"Shithead-Invite": invite})
        assert answer.status_code == status
    assert len(compared) == 2
    assert {len(one) for pair in compared for one in pair} == {32}  # hashes, never the invites


def test_tokens_codes_and_invites_are_stored_as_hashes(
    ada: Person, module_database_url: str
) -> None:
    made = ada.table("open", visibility="private")
    with psycopg.connect(module_database_url) as connection:
        [person] = connection.execute(
            "SELECT token_hash, recovery_hash FROM players JOIN tokens USING (player_id)"
            " WHERE player_id = %s",
            (ada.id,),
        ).fetchall()
        [table] = connection.execute(
            "SELECT invite_hash FROM tables WHERE table_id = %s", (made["id"],)
        ).fetchall()
    kept = [
        sha256(secret.encode()).digest() for secret in (ada.token, ada.recovery, made["invite"])
    ]
    assert [*person, *table] == kept
