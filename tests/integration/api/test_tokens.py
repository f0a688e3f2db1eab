"""Several tokens a player: scopes, ends, issue and revocation, over HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from schemas.tokens import Scope
from service.application.quotas import QUOTAS
from service.shx.canonical import format_time
from service.store.database import query
from service.store.events import QuotaKind
from tests.streams import numbered
from tests.worlds.api_world import Person, World, make_world, problem_of

TOKENS = "/v1/players/me/tokens"


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    made = make_world(database_url)
    yield made
    made.services.close()


@pytest.fixture
def ada(world: World) -> Person:
    return world.person()


def issue(person: Person, *scopes: str, **more: Any) -> Person:
    """Return the same player with a further token."""
    body: dict[str, Any] = {"name": "bot", **more}
    if scopes:
        body["scopes"] = list(scopes)
    answer = person.post(TOKENS, body)
    assert answer.status_code == 201, answer.text
    token = answer.json["token"]
    return Person(id=person.id, token=token, recovery=person.recovery, world=person.world)


def soon(seconds: float) -> str:
    return format_time(datetime.now(UTC) + timedelta(seconds=seconds))


def calls(world: World) -> Iterator[tuple[str, str, list[str]]]:
    """Yield method, path and scopes of each operation that reads a token."""
    for path, operations in world.get("/v1/openapi.json").json["paths"].items():
        for method, call in operations.items():
            for way in () if method == "parameters" else call["security"]:
                if way:
                    yield method.upper(), path, way["bearer"]


def test_every_operation_refuses_a_token_without_its_scope_and_names_it(
    world: World, ada: Person
) -> None:
    """A token with all other scopes is refused, one with this scope alone is not."""
    wanting = {s: issue(ada, *(other for other in Scope if other is not s)) for s in Scope}
    # Calls may end a token or erase a player: each has one of its own.
    for method, path, scopes in calls(world):
        filled = path.replace("{level}", "0").replace("{seq}", "1").replace("{card}", "Th")
        filled = re.sub(r"\{(?!ruleset)\w+_id\}", str(uuid4()), filled)
        body: dict[str, Any] | None = {} if method == "POST" else None
        if not scopes:
            assert path == "/v1/token"
            assert all(one.call(method, filled).status_code == 200 for one in wanting.values())
            continue
        [scope] = scopes
        refused = wanting[Scope(scope)].call(method, filled, json=body)
        assert (problem_of(refused), refused.json["scope"]) == ("missing-scope", scope), path
        assert f"`{scope}`" in refused.json["detail"]
        only = issue(world.person(), scope)
        permitted = only.call(method, filled, json=body)
        assert permitted.status_code != 403 or problem_of(permitted) != "missing-scope", path


def test_reads_need_the_scope_read_and_changes_another_one(world: World) -> None:
    found = {(method, scope) for method, _, scopes in calls(world) for scope in scopes}
    assert {scope for method, scope in found if method == "GET"} == {"read", "account"}
    changes = {
        (path, scope)
        for method, path, scopes in calls(world)
        for scope in scopes
        if method != "GET"
    }
    assert {scope for _, scope in changes} - {"read"} == {"play", "dispute", "account"}
    # A computation whose question has a body changes nothing.
    assert {path.rpartition("/")[2] for path, scope in changes if scope == "read"} == {"what-if"}


def test_what_belongs_to_the_account_needs_the_scope_account(world: World) -> None:
    """A bot with a token to play can neither read nor change it, and needs it for nothing else."""
    own = "/v1/players/me"
    found = [(method, path, scopes) for method, path, scopes in calls(world) if scopes]
    account = {(method, path) for method, path, scopes in found if scopes == ["account"]}
    changes = {(method, path) for method, path, _ in found if method != "GET"}
    read = {("GET", f"{own}/tokens"), ("GET", f"{own}/webhook")}
    assert account == read | {(method, path) for method, path in changes if path.startswith(own)}


def test_an_invalid_token_is_reported_before_a_missing_scope(ada: Person) -> None:
    reader = issue(ada, "read")
    [token] = [t for t in ada.get(TOKENS).json["items"] if t["scopes"] == ["read"]]
    assert ada.call("DELETE", f"{TOKENS}/{token['id']}").status_code == 204
    assert problem_of(reader.post("/v1/tables", {})) == "unauthorized"


def test_a_further_token_ends_no_other_one_unless_asked(ada: Person) -> None:
    second = issue(ada)
    assert ada.get("/v1/players/me").status_code == 200
    assert second.get("/v1/players/me").json["id"] == ada.id
    third = issue(second, replaces=True)
    assert problem_of(second.get("/v1/players/me")) == "unauthorized"
    assert ada.get("/v1/players/me").status_code == 200
    lower = {"Authorization": f"bearer {third.token}"}
    assert ada.world.get("/v1/players/me", headers=lower).json["id"] == ada.id


def test_a_token_describes_itself_and_the_list_has_no_secret(ada: Person) -> None:
    limited = issue(ada, "play", "read", ends_at=soon(60))
    own = limited.get("/v1/token").json
    today = datetime.now(UTC).date()
    assert (own["name"], own["scopes"], own["player"]) == ("bot", ["read", "play"], ada.id)
    assert own["current"]
    assert own["used_on"] in (today.isoformat(), (today - timedelta(days=1)).isoformat())
    listed = ada.get(TOKENS)
    assert [token["name"] for token in listed.json["items"]] == ["bot", "registration"]
    assert [token["current"] for token in listed.json["items"]] == [False, True]
    assert limited.token not in listed.text
    assert ada.token not in listed.text


def test_a_token_never_exceeds_its_issuer(ada: Person) -> None:
    limited = issue(ada, "account", "read", ends_at=soon(60))
    more = limited.post(TOKENS, {"name": "x", "scopes": ["read", "play"]})
    assert [error["at"] for error in more.json["errors"]] == ["/scopes"]
    later = limited.post(TOKENS, {"name": "x", "ends_at": soon(90)})
    assert [error["at"] for error in later.json["errors"]] == ["/ends_at"]
    past = limited.post(TOKENS, {"name": "x", "ends_at": soon(-1)})
    assert [error["at"] for error in past.json["errors"]] == ["/ends_at"]
    never = limited.post(TOKENS, {"name": "x", "ends_at": "2030-02-31T00:00:00.000000Z"})
    assert [error["at"] for error in never.json["errors"]] == ["/ends_at"]
    same = limited.post(TOKENS, {"name": "x"}).json
    assert (same["scopes"], same["ends_at"]) == (
        ["read", "account"],
        limited.get("/v1/token").json["ends_at"],
    )


def test_an_end_is_any_time_and_is_answered_in_one_form(ada: Person) -> None:
    issued = ada.post(TOKENS, {"name": "x", "ends_at": "2046-05-03T22:30:00.000000000-02:00"})
    assert issued.json["ends_at"] == "2046-05-04T00:30:00.000000Z"
    refused = ada.post(TOKENS, {"name": "x", "ends_at": "2046-05-04"})
    assert refused.json["detail"] == "/ends_at: is no time such as 2026-11-26T18:30:00Z"


def test_a_token_ends_at_its_end_also_for_a_move_of_a_cached_game(
    ada: Person, database_url: str
) -> None:
    """The commit of a move checks the end, because the player of the token is cached."""
    player = issue(ada, "read", "play", ends_at=soon(3600))
    game = player.game()
    assert player.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE tokens SET ends_at = now() WHERE name = 'bot'")
    assert problem_of(player.post(f"{game}/moves", {"type": "forfeit"})) == "unauthorized"


def test_a_move_with_a_cached_token_needs_the_scope_play(ada: Person) -> None:
    game, reader = ada.game(), issue(ada, "read")
    assert reader.get(game).json["as"] == 0
    assert problem_of(reader.post(f"{game}/moves", {"type": "ready"})) == "missing-scope"


def test_recovery_and_erasure_end_all_tokens(world: World, ada: Person) -> None:
    bot, recover = issue(ada, "read"), "/v1/players/recover"
    wrong = world.client.post(recover, json={"recovery": "wrong"})
    assert problem_of(wrong) == "unauthorized"
    answer = world.client.post(recover, json={"recovery": ada.recovery})
    assert answer.status_code == 201
    assert {problem_of(one.get("/v1/players/me")) for one in (ada, bot)} == {"unauthorized"}
    back = Person(id=ada.id, token=answer.json["token"], recovery="", world=world)
    assert [token["name"] for token in back.get(TOKENS).json["items"]] == ["recovery"]
    bot = issue(back, "read")
    assert back.call("DELETE", "/v1/players/me").status_code == 204
    assert problem_of(bot.get("/v1/players/me")) == "unauthorized"


def test_a_token_that_replaces_that_of_the_request_has_its_scopes_and_end(ada: Person) -> None:
    """The other tokens stay."""
    bot = issue(ada, "read", "account", ends_at=soon(60))
    other = issue(ada, "read")
    before = bot.get("/v1/token").json
    answer = bot.post(TOKENS, {"name": "again", "replaces": True})
    assert answer.status_code == 201, answer.text
    again = Person(id=ada.id, token=answer.json["token"], recovery="", world=ada.world)
    after = again.get("/v1/token").json
    for name in ("scopes", "ends_at"):
        assert after[name] == before[name]
    assert problem_of(bot.get("/v1/token")) == "unauthorized"
    assert other.get("/v1/token").status_code == 200


def test_a_player_has_a_limited_number_of_tokens(
    ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUOTAS, *numbered(QuotaKind.TOKENS, 2))
    issue(ada, "read")
    assert problem_of(ada.post(TOKENS, {"name": "third"})) == "limit-reached"


def test_nobody_ends_the_token_of_another_player(world: World, ada: Person) -> None:
    bob = world.person("Bob")
    [token] = ada.get(TOKENS).json["items"]
    assert problem_of(bob.call("DELETE", f"{TOKENS}/{token['id']}")) == "not-found"
    assert ada.get("/v1/token").status_code == 200


def test_the_day_of_use_is_written_once_a_day(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[bytes] = []
    reads = ada.world.services.first_reads
    note = reads._note_use

    def noting(token: bytes) -> None:
        noted.append(token)
        note(token)

    monkeypatch.setattr(reads, "_note_use", noting)
    for _ in range(3):
        assert ada.get("/v1/players/me").status_code == 200
    assert len(noted) == 1


def test_the_query_of_tokens_reads_no_secret() -> None:
    assert b"token_hash" not in query("tokens_of")
