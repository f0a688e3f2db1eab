"""Rate limits by address and by token; forged addresses do not evade them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import Parameter, signature
from typing import Any

import pytest

from service.api.app import Application
from service.api.context import context
from service.api.limits import PAGES, REDIS_SLOTS, published
from service.api.operation import operation
from service.api.pages import loaded_assets
from service.feature import quotas_of
from service.features import FEATURES
from tests.worlds.api_world import World, make_world, problem_of


@contextmanager
def limited(database_url: str, **settings: Any) -> Iterator[World]:
    """Return an application with rate limits."""
    made = make_world(database_url, rate_limits=True, **settings)
    yield made
    made.services.close()


def calls(world: World, count: int, *, path: str = "/v1/bots", **more: Any) -> list[int]:
    """Return the statuses of `count` calls."""
    return [world.client.get(path, **more).status_code for _ in range(count)]


def test_an_address_above_its_rate_limit_is_refused(database_url: str) -> None:
    with limited(database_url, calls_per_address=3) as world:
        assert calls(world, 4) == [200, 200, 200, 429]
        refused = world.get("/v1/nothing")
        assert problem_of(refused) == "rate-limited"
        assert 1 <= int(refused.headers["Retry-After"]) <= 61
        assert calls(world, 1, environ_base={"REMOTE_ADDR": "10.0.0.9"}) == [200]
        assert calls(world, 2, path="/healthz") == [200, 200]


def test_a_token_is_counted_wherever_it_comes_from(database_url: str) -> None:
    with limited(database_url, calls_per_token=3) as world:
        ada, bob = world.person(), world.person()
        for number in range(3):
            origin = {"REMOTE_ADDR": f"10.0.0.{number}"}
            assert ada.get("/v1/players/me", environ_base=origin).status_code == 200
        refused = ada.get("/v1/players/me", environ_base={"REMOTE_ADDR": "10.0.0.9"})
        assert problem_of(refused) == "rate-limited"
        assert bob.get("/v1/players/me").status_code == 200


def test_answers_state_what_is_left_of_each_limit_and_the_document_publishes_them(
    database_url: str,
) -> None:
    """RateLimit and RateLimit-Policy as in the IETF draft ratelimit-headers-10."""
    with limited(database_url, calls_per_token=2, calls_per_address=50) as world:
        ada = world.person()
        answers = [ada.get("/v1/players/me") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        for number, answer in enumerate(answers):
            policy = '"address";q=50;w=60, "player";q=2;w=60'
            assert answer.headers["RateLimit-Policy"] == policy
            left = re.findall(r'"(\w+)";r=(\d+);t=(\d+)', answer.headers["RateLimit"])
            assert [(name, int(r)) for name, r, _ in left] == [
                ("address", 48 - number),
                ("player", max(0, 1 - number)),
            ]
            assert all(1 <= int(t) <= 60 for *_, t in left)
        registered = world.client.post("/v1/players", json={"name": "Bob"})
        assert '"operation";q=1200;w=60' in registered.headers["RateLimit-Policy"]
        assert '"operation";r=1198;' in registered.headers["RateLimit"]
        assert "RateLimit" not in world.get("/healthz").headers
        stored = world.get(loaded_assets().address("app/dom.js"))  # by caches, for a year
        assert stored.status_code == 200 and "RateLimit" not in stored.headers
        # All worlds of a process share one document, so this one's limits are not in it.
        assert world.get("/v1/openapi.json").json["x-limits"].keys() == {"requests", "quotas"}
        with world.app.app_context():
            limits = published(
                context().settings, context().rate_limits.weights, quotas_of(FEATURES)
            )
        assert {"policy": "player", "requests": 2, "seconds": 60} in limits["requests"]
        assert [one for one in limits["quotas"] if one["name"] in ("games", "new_disputes")] == [
            {
                "name": "games",
                "of": "player",
                "most": 200,
                "unit": "items",
                "counts": "running hands",
                "seconds": None,
                "problem": "limit-reached",
            },
            {
                "name": "new_disputes",
                "of": "player",
                "most": 10,
                "unit": "items",
                "counts": "disputes opened",
                "seconds": 24 * 3600,
                "problem": "rate-limited",
            },
        ]


def test_a_made_up_token_is_counted_by_its_address_alone(database_url: str) -> None:
    """Invented tokens must not create counters."""
    with limited(database_url, calls_per_token=1, calls_per_address=5) as world:
        made_up = {"Authorization": "Bearer " + "0" * 43}
        assert calls(world, 3, path="/v1/tables", headers=made_up) == [401] * 3
        assert calls(world, 3, path="/v1/tables") == [200, 200, 429]


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Client-IP"])
def test_without_a_trusted_proxy_a_made_up_address_counts_as_the_real_one(
    database_url: str, header: str
) -> None:
    with limited(database_url, calls_per_address=3) as world:
        made_up = [calls(world, 1, headers={header: f"10.0.0.{number}"})[0] for number in range(4)]
        assert made_up == [200, 200, 200, 429]


def test_behind_a_proxy_only_the_address_added_by_the_proxy_counts(database_url: str) -> None:
    """The proxy appends the address it saw; everything before it was sent by the caller."""
    with limited(database_url, calls_per_address=3, trusted_proxies=1) as world:

        def through(made_up: str, seen: str) -> int:
            forwarded = f"{made_up}, {seen}"
            return calls(world, 1, headers={"X-Forwarded-For": forwarded})[0]

        assert [through(f"10.0.0.{n}", "192.0.2.7") for n in range(4)] == [200, 200, 200, 429]
        assert through("10.0.0.1", "192.0.2.8") == 200


def test_recovery_attempts_are_limited_by_the_address_that_the_proxy_added(
    database_url: str,
) -> None:
    with limited(database_url, trusted_proxies=1) as world:
        guess = {"recovery": "x" * 43}
        for number in range(60):
            forwarded_for = {"X-Forwarded-For": f"10.0.0.{number}, 192.0.2.7"}
            answer = world.client.post("/v1/players/recover", json=guess, headers=forwarded_for)
            assert answer.status_code == 401
        answer = world.client.post("/v1/players/recover", json=guess, headers=forwarded_for)
        assert problem_of(answer) == "rate-limited"


def test_an_address_with_a_port_is_counted_as_the_address(database_url: str) -> None:
    """Some proxies append ports, which change with every connection."""
    forms = (
        *("203.0.113.7:{n}", '"203.0.113.8:{n}"', "[2001:db8::{n}]:443", "[2001:db8:0:1::7]:{n}"),
        *("2001:db8:0:2::{n}", "[::ffff:203.0.113.9]:{n}", "2001:db8:0:3::7%{n}"),
    )
    with limited(database_url, calls_per_address=2, trusted_proxies=1) as world:
        for form in forms:
            headers = [{"X-Forwarded-For": f"10.0.0.{n}, {form.format(n=n)}"} for n in (1, 2, 3)]
            statuses = [calls(world, 1, headers=header)[0] for header in headers]
            assert statuses == [200, 200, 429], form


def test_addresses_that_cannot_be_read_are_counted_together(database_url: str) -> None:
    """Else a caller who can choose them evades every limit, and fills the memory with keys."""
    unreadable = (
        *("unknown", "_hidden1", "_hidden2", "", "1.2.3.4:port", "256.0.0.1", "x" * 5000),
        *("[2001:db8::1", "for=203.0.113.7", "203.0.113.7:1:2"),
    )
    with limited(database_url, calls_per_address=len(unreadable), trusted_proxies=1) as world:
        for seen in unreadable:
            assert calls(world, 1, headers={"X-Forwarded-For": f"10.0.0.1, {seen}"}) == [200], seen
        assert calls(world, 1, headers={"X-Forwarded-For": "_hidden3"}) == [429]
        assert calls(world, 1, headers={"X-Forwarded-For": "203.0.113.7"}) == [200]


def test_a_quotation_mark_does_not_swallow_the_address_that_the_proxy_added(
    database_url: str,
) -> None:
    with limited(database_url, calls_per_address=2, trusted_proxies=1) as world:
        headers = [{"X-Forwarded-For": f'"made up {n}, 203.0.113.7'} for n in range(2)]
        assert [calls(world, 1, headers=header)[0] for header in headers] == [200, 200]
        assert calls(world, 1, headers={"X-Forwarded-For": "203.0.113.7"}) == [429]


def test_routes_of_long_methods_are_not_cached(world: World) -> None:
    """The caller chooses the method too, of up to 30 KB."""
    assert isinstance(world.app, Application)
    before = world.app.cached_route.cache_info().currsize
    assert world.client.open("/v1/bots", method="X" * 5000).status_code == 405
    assert world.app.cached_route.cache_info().currsize == before


def test_an_ipv6_address_is_counted_by_its_network(database_url: str) -> None:
    """A client with one address of an IPv6 /64 can use all of them."""
    with limited(database_url, calls_per_address=3) as world:
        here = [
            calls(world, 1, environ_base={"REMOTE_ADDR": f"2001:db8::{n:x}"})[0] for n in range(4)
        ]
        assert here == [200, 200, 200, 429]
        assert calls(world, 1, environ_base={"REMOTE_ADDR": "2001:db8:0:1::1"}) == [200]


def test_without_a_free_redis_slot_calls_are_counted_in_the_process(
    database_url: str, redis_server: str
) -> None:
    """A slow Redis holds eight threads at most."""
    with limited(database_url, redis_url=redis_server) as world:
        with world.client.application.app_context():
            slots = context().rate_limits._redis_slots
        assert all(slots.acquire("192.0.2.1") for _ in range(REDIS_SLOTS))
        guess = {"recovery": "x" * 43}
        answers = [world.client.post("/v1/players/recover", json=guess) for _ in range(61)]
        assert [answer.status_code for answer in answers] == [401] * 60 + [429]
        slots.release("192.0.2.1")
        answer = world.client.post("/v1/players/recover", json=guess)
        assert answer.status_code == 401, "Redis has counted none of those before"


def test_a_list_weighs_by_its_rows_and_their_seats(database_url: str) -> None:
    """An anonymous list of a hundred tables counted like a call that reads nothing."""
    with limited(database_url, calls_per_address=1000) as world:
        ada = world.person()
        for _ in range(8):
            ada.table(*["open"] * 4)

        def left(path: str) -> int:
            return int(re.findall(r'"address";r=(\d+)', world.get(path).headers["RateLimit"])[0])

        left("/v1/tables")  # folds the tables, which weighs too
        before = left("/v1/bots")
        assert left("/v1/tables?limit=1") == before - 1
        weighed = left("/v1/tables?limit=100")
        assert weighed == before - 2 - 8 * 5 // 16, "a call for each sixteen seats"
        assert left("/v1/bots") == weighed - 1


def test_every_weight_is_that_of_an_operation_or_a_page(world: World) -> None:
    """An operation cannot be declared without one; pages weigh a call, but for those listed."""
    assert signature(operation).parameters["weight"].default is Parameter.empty
    endpoints = {rule.endpoint for rule in world.app.url_map.iter_rules()}
    assert PAGES.keys() <= endpoints
    document = world.get("/v1/openapi.json").json
    [call] = [c for c in document["paths"]["/v1/tables"].values() if c.get("operationId") == LIST]
    assert call["x-limits"]["weight"] == {
        "calls": 1,
        "grows": "a call for each 16 seats in the rows",
    }


LIST = "tables.list_tables"
