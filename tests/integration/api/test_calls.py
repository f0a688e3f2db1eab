"""The effects of calls, tested over HTTP."""

from __future__ import annotations

import hashlib
import io
import json
import re
import time
from copy import copy
from typing import Any

import prometheus_client
import pytest
import structlog

from service.api.app import create_app
from service.application.handler import Handler
from service.application.rulesets import Rulemaking
from service.features import FEATURES
from service.runtime.config import Settings
from service.shx.chain import head
from tests.worlds.api_world import Person, World, make_world, problem_of


def test_an_erased_person_leaves_no_name(world: World, ada: Person) -> None:
    game = ada.game()
    assert problem_of(ada.call("DELETE", "/v1/players/me")) == "hand-running"
    ada.post(f"{game}/moves", {"type": "forfeit"})
    assert ada.call("DELETE", "/v1/players/me").status_code == 204
    assert problem_of(ada.get("/v1/players/me")) == "unauthorized"
    assert world.get(f"/v1/players/{ada.id}").json["name"] is None


def test_a_closed_table_has_the_id_of_an_erased_player_but_no_name(
    world: World, ada: Person
) -> None:
    table = ada.table({"bot": "greedy"}, deal=False)
    assert ada.call("DELETE", f"/v1/tables/{table['id']}").status_code == 204
    assert ada.call("DELETE", "/v1/players/me").status_code == 204
    shown = world.get(f"/v1/tables/{table['id']}").json
    assert (shown["host"], shown["seats"][0]["player"]) == (ada.id, ada.id)
    assert shown["seats"][0]["name"] is None


def test_names_are_normalized_to_nfc(world: World) -> None:
    assert world.client.post("/v1/players", json={"name": "e\u0301"}).json["name"] == "\u00e9"


def test_the_last_player_to_sit_down_triggers_the_deal(ada: Person, bob: Person) -> None:
    table = ada.table("open", visibility="private")
    path = f"/v1/tables/{table['id']}/seats"
    assert problem_of(bob.post(path)) == "not-found"
    seated = bob.post(path, {"invite": table["invite"]})
    assert (seated.status_code, seated.json["status"], seated.json["as"]) == (201, "playing", 1)
    assert problem_of(bob.post(path)) in ("seat-taken", "hand-running")
    assert bob.get(f"/v1/games/{seated.json['game']}").json["as"] == 1


def test_a_full_table_is_dealt_on_request(ada: Person, bob: Person) -> None:
    table = ada.table("open", deal=False)
    path = f"/v1/tables/{table['id']}"
    assert problem_of(ada.post(f"{path}/games")) == "table-not-full"
    seated = bob.post(f"{path}/seats")
    assert (seated.status_code, seated.json["game"]) == (201, None)
    dealt = ada.post(f"{path}/games")
    assert (dealt.status_code, dealt.json["game"]["hand"]) == (201, 1)


def test_a_table_is_left_and_closed_by_its_host(ada: Person) -> None:
    table = ada.table("open", deal=False)
    path = f"/v1/tables/{table['id']}"
    assert ada.call("DELETE", f"{path}/seats/me").status_code == 204
    assert problem_of(ada.call("DELETE", f"{path}/seats/me")) == "not-seated"
    assert ada.call("DELETE", path).status_code == 204
    assert ada.get(path).json["status"] == "closed"


def test_the_log_is_the_stored_bytes(ada: Person) -> None:
    game = ada.game()
    answer = ada.get(f"{game}/events", headers={"Accept": "application/x-ndjson"})
    lines = answer.data.splitlines()
    view = ada.get(game).json
    assert len(lines) == view["version"]
    assert head(lines[-1]).hex() == view["head"]
    assert hashlib.sha256(b"\x00" + lines[0]).hexdigest() == json.loads(lines[1])["prev"]
    page = ada.get(f"{game}/events?after=1&limit=1").json
    assert page["items"] == [json.loads(lines[1])]
    assert (page["next"], page["version"]) == (2, view["version"])
    assert ada.get(f"{game}/events?after={view['version']}").json["items"] == []


def test_a_stream_sends_the_stored_bytes_and_ends_after_the_seal(ada: Person, way: str) -> None:
    game = ada.game()
    ada.post(f"{game}/moves", {"type": "forfeit"})
    lines = ada.get(f"{game}/events", headers={"Accept": "application/x-ndjson"}).data.splitlines()
    answer = ada.get(f"{game}/stream", headers={"Last-Event-ID": "0"})
    assert answer.mimetype == "text/event-stream"
    parts = answer.data.split(b"\n\n")
    data = [part.partition(b"data: ")[2] for part in parts if part.startswith(b"id: ")]
    assert data == lines[1:]
    assert parts[1].startswith(b"id: 1\nevent: ")
    assert parts[-2].startswith(b"event: end")


def test_a_stream_sends_new_events(ada: Person, way: str) -> None:
    game = ada.game()
    version = ada.get(game).json["version"]
    answer = ada.get(f"{game}/stream?after={version}", buffered=False)
    parts = iter(answer.response)
    assert next(parts).startswith(b"retry:")
    ada.post(f"{game}/moves", {"type": "ready"})
    began = time.monotonic()
    assert next(parts).startswith(f"id: {version}\nevent: seat_ready\n".encode())
    assert time.monotonic() - began < 2
    answer.close()


def test_a_stream_sends_the_last_events_if_the_hand_ends_while_it_sends(
    ada: Person, way: str
) -> None:
    game = ada.game()
    version = ada.get(game).json["version"]
    answer = ada.get(f"{game}/stream?after={version - 1}", buffered=False)
    parts = iter(answer.response)
    assert next(parts).startswith(b"retry:")
    assert next(parts).startswith(f"id: {version - 1}\n".encode())
    ada.post(f"{game}/moves", {"type": "forfeit"})
    rest = list(parts)
    assert rest[-1].startswith(b"event: end")
    assert len(rest) - 1 == ada.get(game).json["version"] - version
    answer.close()


def test_a_second_stream_is_refused_if_the_api_has_two_threads(database_url: str) -> None:
    world = make_world(database_url, api_threads=2)
    ada = world.person()
    game = ada.game()
    open_one = ada.get(f"{game}/stream")
    assert problem_of(ada.get(f"{game}/stream")) == "unavailable"
    open_one.close()
    again = ada.get(f"{game}/stream")
    assert again.status_code == 200
    again.close()
    world.services.close()


@pytest.mark.attack("EARLY_REPLAY", "a replay as a seat before the seal", check="views")
@pytest.mark.attack("AS_OTHERS", "a request for another seat's view", check="views")
def test_other_seats_are_shown_after_the_seal(ada: Person, bob: Person) -> None:
    game = ada.game()
    for query in ("?as=all", "?as=1", "?at=2&as=all"):
        assert problem_of(ada.get(game + query)) == "sealed"
        assert problem_of(bob.get(game + query)) == "sealed"
    assert problem_of(ada.get(f"{game}/replay?as=1")) == "sealed"
    ada.post(f"{game}/moves", {"type": "forfeit"})
    assert bob.get(f"{game}?as=1").json["seats"][1]["hand"]["cards"]
    whole = bob.get(f"{game}?as=all").json
    assert whole["as"] == "all"
    assert whole["seats"][0]["name"] == "Ada", "it is a view of the present"
    assert bob.get(f"{game}?at=2&as=all").json["seats"][0]["name"] is None
    frames = bob.get(f"{game}/replay?as=all&from=2&to=3").json
    assert [frame["version"] for frame in frames["items"]] == [2, 3]


def test_a_bundle_is_verified_with_a_receipt_from_outside(world: World, ada: Person) -> None:
    game = ada.game()
    ada.post(f"{game}/moves", {"type": "forfeit"})
    bundle = ada.get(f"{game}/evidence")
    assert bundle.mimetype == "application/zip"
    assert bundle.headers["Content-Disposition"].endswith('.shx"')
    form = {
        "file": (io.BytesIO(bundle.data), "game.shx"),
        "receipt": ada.get(f"{game}/receipt").text,
        "key": str(world.services.verifier),
    }
    answer = world.client.post("/v1/verify", data=form)
    assert (answer.status_code, answer.json["level"]) == (200, "L2")
    form = {**form, "file": (io.BytesIO(bundle.data), "x"), "key": world.get("/v1/keys").text}
    assert world.client.post("/v1/verify", data=form).json["level"] == "L2"
    for wrong in ("{}", "{", '{"items": 1}', '{"items": [{"name": "x"}]}', "{\x00}"):
        form = {"file": (io.BytesIO(bundle.data), "x"), "key": wrong}
        assert problem_of(world.client.post("/v1/verify", data=form)) == "invalid-body"
    assert ada.get(f"{game}/audit").json["result"] == "pass"
    form = {"file": (io.BytesIO(b"PK"), "x"), "more": "x"}
    assert problem_of(world.client.post("/v1/verify", data=form)) == "invalid-body"


@pytest.mark.heavy
def test_a_service_without_its_database_answers_unavailable(world: World) -> None:
    assert world.get("/readyz").json["parts"]["database"] == "ok"
    gone = make_world("postgresql://nobody@127.0.0.1:9/none")
    assert gone.get("/healthz").status_code == 200
    answer = gone.get("/readyz")
    assert answer.status_code == 503
    assert "failed" in answer.json["parts"]["database"]
    answer = gone.get("/v1/tables")
    assert problem_of(answer) == "unavailable"
    assert answer.headers["Retry-After"]


def test_without_redis_no_call_fails_or_waits(database_url: str) -> None:
    world = make_world(database_url, redis_url="redis://127.0.0.1:9/0", rate_limits=True)
    began = time.monotonic()
    ada = world.person()
    game = ada.game()
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    assert time.monotonic() - began < 3
    ready = world.get("/readyz")
    assert (ready.status_code, ready.json["parts"]["database"]) == (200, "ok")
    assert ready.json["parts"]["redis"] != "ok"
    version = ada.get(game).json["version"]
    assert ada.get(f"{game}?after={version}&wait=1").status_code == 200
    world.services.close()


def test_metrics_on_the_operator_port_count_requests(world: World) -> None:
    world.get("/v1/bots")
    text = prometheus_client.generate_latest().decode()
    assert 'shithead_http_requests_total{call="bots.list_bots",method="GET",problem="",' in text


@pytest.mark.attack(
    "COUNTERS", "a refused move seen in /metrics", check="the list of public metrics"
)
def test_the_public_metrics_are_gauges_that_reveal_no_single_call(ada: Person) -> None:
    """The public metrics reveal neither refused moves nor the duration of a single call."""

    def metrics() -> dict[str, str]:
        answer = ada.get("/metrics")
        assert answer.status_code == 200
        assert set(re.findall(r"^# TYPE \S+ (\S+)$", answer.text, re.MULTILINE)) == {"gauge"}
        lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
        return dict(line.rsplit(" ", 1) for line in lines)

    game, before = ada.game(), metrics()
    assert ada.post(f"{game}/moves", {"type": "pass"}).status_code in (409, 422)
    after = metrics()
    assert {name for name in after if before.get(name) != after[name]} <= {
        *("process_virtual_memory_bytes", "process_resident_memory_bytes", "process_open_fds")
    }
    for part in ("process_start_time", "shithead_build_info", "sweeper_lag", "log_unsigned"):
        assert any(part in name for name in after), part
    for part in ("http", "moves", "conflicts", "jobs", "cpu", "seconds_sum", "seconds_count"):
        assert not any(part in name for name in after), part


def test_a_value_of_the_caller_has_at_most_100_characters_in_the_log(ada: Person) -> None:
    """Methods and parameters of paths may have 30 KB."""
    with structlog.testing.capture_logs() as lines:
        ada.call("X" * 5000, "/v1/bots")
        ada.get(f"/v1/log/tile/entries/{'x' * 5000}")
        ada.get(f"{ada.game()}/audit/cards/{'x' * 5000}")
        ada.get(f"/v1/rulesets/{'x' * 5000}")
    assert len(lines) >= 4
    assert max(len(json.dumps(line, default=str)) for line in lines) < 600


def test_the_request_log_holds_no_secret(ada: Person) -> None:
    with structlog.testing.capture_logs() as lines:
        ada.get("/v1/tables?cursor=SECRET")
        ada.get("/v1/players/me", headers={"Shithead-Invite": "SECRET"})
    written = json.dumps(lines, default=str)
    assert ada.token not in written
    assert "SECRET" not in written
    assert '"path": "/v1/tables"' in written


def test_the_line_of_a_request_names_who_sent_it_and_the_outcome(ada: Person, bob: Person) -> None:
    game = ada.game()
    with structlog.testing.capture_logs() as lines:
        ada.get("/v1/players/me")
        ada.post(f"{game}/moves", {"type": "ready"}, headers={"If-Match": '"v999"'})
        bob.post(f"{game}/moves", {"type": "ready"})
        ada.post(f"{game}/moves", {"type": "forfeit"})
    found = [(one["status"], one["problem"], one["player"], one.get("seat")) for one in lines]
    assert found == [
        (200, None, ada.id, None),
        (412, "stale-version", ada.id, 0),
        (403, "not-seated", bob.id, None),
        (201, None, ada.id, 0),
    ]


@pytest.mark.parametrize("move", [{"type": "pass"}, {"type": "play", "cards": ["2c", "2d"]}])
def test_the_line_of_a_refused_attempt_names_neither_its_player_nor_its_seat(
    ada: Person, move: Any
) -> None:
    """The record hides attempts until the seal, and the operator may be a player of the hand."""
    game = ada.game()
    with structlog.testing.capture_logs() as lines:
        answer = ada.post(f"{game}/moves", move)
    [line] = lines
    assert (line["status"], line["problem"]) == (answer.status_code, "refused")
    assert {"player", "seat"}.isdisjoint(line)
    assert ada.id not in json.dumps(line, default=str)


@pytest.mark.parametrize(
    "move", [{"type": "pass"}, {"type": "play", "cards": ["2c", "2d", "2h", "2s"]}, "unknown-card"]
)
def test_at_an_opening_the_line_of_an_attempt_does_not_show_who_holds_the_card(
    ada: Person, bob: Person, move: Any
) -> None:
    """
    T3: whoever holds a three may open, so only this seat's attempt fails for a rule.

    Its caller learns that; the status, which logs and proxies state, is that of the others.
    """
    path = opened_by_one_of(ada, bob)
    code = "rule-refused"
    if move == "unknown-card":
        code, move = move, {"type": "play", "cards": ["9c/7"]}
    with structlog.testing.capture_logs() as lines:
        answers = [person.post(path, move) for person in (ada, bob)]
    assert {problem_of(answer) for answer in answers} == {code, "not-your-turn"}
    assert [answer.status_code for answer in answers] == [409, 409]
    assert [answer.json["status"] for answer in answers] == [409, 409]
    one, other = ({**line, "milliseconds": 0} for line in lines)
    assert one == other
    assert (one["status"], one["problem"]) == (409, "refused")


def opened_by_one_of(ada: Person, bob: Person) -> str:
    """Return the moves of a hand that only one of the two may open, by the cards of their hands."""
    for _ in range(50):
        table = ada.post("/v1/tables", {"ruleset": "threes", "seats": ["me", "open"]}).json["id"]
        game = bob.post(f"/v1/tables/{table}/seats", {"seat": 1}).json["game"]
        for person in (ada, bob):
            assert person.post(f"/v1/games/{game}/moves", {"type": "ready"}).status_code == 201
        views = [person.get(f"/v1/games/{game}").json for person in (ada, bob)]
        if views[0]["turn"] is None and sum(bool(view["moves"]) for view in views) == 1:
            return f"/v1/games/{game}/moves"
        ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
        ada.call("DELETE", f"/v1/tables/{table}")
    raise AssertionError("in no hand of fifty one of the two held a three alone")


class AcceptingTrials:
    """Trials that accept every ruleset."""

    def refusal(self, settings: Any, by: Any, address: str) -> str | None:
        return None


def test_a_seat_may_return_even_if_no_bot_stood_in(ada: Person, bob: Person) -> None:
    game = ada.game()
    answer = ada.post(f"{game}/back", headers={"Idempotency-Key": "back"})
    assert (answer.status_code, answer.json["as"]) == (200, 0)
    again = ada.post(f"{game}/back", headers={"Idempotency-Key": "back"})
    assert (again.status_code, again.data) == (200, answer.data)
    assert "Idempotency-Replayed" not in again.headers  # nothing changed, so nothing was stored
    assert problem_of(bob.post(f"{game}/back")) == "not-seated"


def test_a_custom_ruleset_can_be_created_and_played(database_url: str) -> None:
    world = make_world(database_url)
    services = copy(world.services)
    services.rulemaking = Rulemaking(
        directory=services.directory,
        rulebook=services.rulebook,
        trials=AcceptingTrials(),
        world=services.world,
        handler=Handler(services.store, services.answers),
    )
    world = World(services=services, app=create_app(FEATURES, services, Settings(database_url="")))
    ada = world.person()
    body = {"name": "Fives", "base": "shithead", "changes": {"refill": {"size": 5}}}
    key = {"Idempotency-Key": "fives"}
    made = ada.post("/v1/rulesets", body, headers=key)
    assert made.status_code == 201, made.text
    assert "Idempotency-Replayed" not in made.headers
    assert made.headers["Location"] == f"/v1/rulesets/{made.json['id']}"
    assert ada.get(f"/v1/rulesets/{made.json['id']}").json == made.json
    again = ada.post("/v1/rulesets", body, headers=key)
    assert (again.json, again.headers["Idempotency-Replayed"]) == (made.json, "true")
    for _ in range(2):  # it exists, so that nothing changes and no answer is stored
        equal = ada.post("/v1/rulesets", body, headers={"Idempotency-Key": "equal"})
        assert (equal.json, "Idempotency-Replayed" in equal.headers) == (made.json, False)
    other = ada.post("/v1/rulesets", {**body, "name": "Other"}, headers=key)
    assert problem_of(other) == "idempotency-conflict"
    table = ada.post("/v1/tables", {"ruleset": made.json["id"], "seats": ["me", {"bot": "lowest"}]})
    assert table.json["ruleset"]["id"] == made.json["id"]
    services.close()


def test_a_contradictory_ruleset_is_refused_with_a_pointer(ada: Person) -> None:
    changes = {"deal": {"down": 999}}
    answer = ada.post("/v1/rulesets", {"name": "x", "base": "shithead", "changes": changes})
    assert problem_of(answer) == "ruleset-refused"
    assert answer.json["errors"][0]["at"].startswith("/changes")
