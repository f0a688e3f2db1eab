"""CORS: only the origins in the settings may send tokens; every origin may read without one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.worlds.api_world import Person, World, make_world

FRIEND, OTHER = "https://play.example", "https://evil.example"
READABLE = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "*"}
"""What every origin gets with an answer to a request without a token."""

PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type",
}


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


@pytest.fixture
def open_world(database_url: str) -> Iterator[World]:
    """Return an application that one origin's pages may call."""
    made = make_world(database_url, cors_origins=f"{FRIEND}, http://localhost:5173")
    yield made
    made.services.close()


def cors_of(headers: object) -> dict[str, str]:
    """Return the CORS headers of an answer."""
    return {n: v for n, v in dict(headers).items() if n.startswith("Access-Control-")}  # type: ignore[call-overload] # headers are pairs


def test_without_the_setting_every_origin_reads_and_none_sends_a_token(
    world: World, ada: Person
) -> None:
    for headers in ({"Origin": FRIEND}, {"Origin": FRIEND, **PREFLIGHT}):
        assert cors_of(world.client.options("/v1/tables", headers=headers).headers) == {}
        assert cors_of(world.get("/v1/tables", headers=headers).headers) == READABLE
        assert cors_of(ada.get("/v1/tables", headers=headers).headers) == {}


def test_a_listed_origin_is_allowed_and_may_read_the_needed_headers(open_world: World) -> None:
    headers = open_world.get("/v1/bots", headers={"Origin": FRIEND}).headers
    assert headers["Access-Control-Allow-Origin"] == FRIEND
    exposed = set(headers["Access-Control-Expose-Headers"].split(", "))
    assert exposed >= {"ETag", "Location", "Retry-After", "X-Request-ID", "Idempotency-Replayed"}
    assert exposed >= {"Link", "Deprecation", "Sunset"}
    assert "Access-Control-Allow-Credentials" not in headers


def test_an_error_can_be_read_by_a_listed_origin(open_world: World) -> None:
    for path in ("/v1/players/me", "/v1/nothing", "/v1/games?limit=0"):
        headers = open_world.get(path, headers={"Origin": FRIEND}).headers
        assert headers["Access-Control-Allow-Origin"] == FRIEND, path


@pytest.mark.parametrize(
    "origin",
    [
        *(OTHER, "null", "*", "", f"{FRIEND}.evil.example", f"{FRIEND}:444", FRIEND.upper()),
        *("http://play.example", f"{FRIEND}/", f"{FRIEND}, {OTHER}", "http://localhost"),
    ],
)
def test_an_unlisted_origin_may_only_read(open_world: World, origin: str) -> None:
    read = open_world.get("/v1/bots", headers={"Origin": origin})
    assert cors_of(read.headers) == READABLE
    asked = open_world.client.options("/v1/tables", headers={"Origin": origin, **PREFLIGHT})
    sent = open_world.client.post("/v1/players", json={}, headers={"Origin": origin})
    assert cors_of(asked.headers) == cors_of(sent.headers) == {}
    assert all("Origin" in answer.headers["Vary"] for answer in (read, asked, sent))


def test_a_preflight_names_methods_and_headers(open_world: World) -> None:
    headers = {"Origin": FRIEND, **PREFLIGHT}
    answer = open_world.client.options("/v1/tables", headers=headers)
    assert (answer.status_code, answer.data) == (200, b"")
    result = cors_of(answer.headers)
    assert result.pop("Access-Control-Allow-Origin") == FRIEND
    assert set(result.pop("Access-Control-Allow-Methods").split(", ")) >= {"GET", "POST"}
    allowed = result.pop("Access-Control-Allow-Headers").split(", ")
    assert {"Authorization", "Content-Type", "Idempotency-Key", "If-Match"} <= set(allowed)
    assert "Shithead-Invite" in allowed
    assert result == {"Access-Control-Max-Age": "600"}


def test_every_answer_varies_by_origin_even_cacheable_ones(open_world: World) -> None:
    for path in ("/", "/v1/bots", "/v1/rulesets/leeds"):
        assert "Origin" in open_world.get(path).headers["Vary"], path
