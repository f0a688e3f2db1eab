"""Webhooks over HTTP, PostgreSQL, Redis, the relay, the worker and a real receiver."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from service.api.context import context
from service.api.limits import published
from service.application.ports import MAIN_QUEUE
from service.application.webhooks import SEND_WEBHOOK
from service.due_games import DueGames
from service.feature import quotas_of
from service.features import FEATURES, webhooks
from service.job_queue import JOB_SECONDS, client_of
from service.runtime.receivers import LOOKUPS_OF_ONE
from tests.changed import replace
from tests.receivers import receiver
from tests.running import wait_for
from tests.worlds.api_world import Person, World, make_world, problem_of
from workers import jobs, relay
from workers.jobs import GuardedWorker
from workers.relay import Relay

WEBHOOK = "/v1/players/me/webhook"
OPEN = {"ruleset": "shithead", "seats": ["me", "open"]}


@dataclass(kw_only=True)
class Service:
    """A service, with the relay and the worker of webhooks as steps of the test."""

    world: World
    client: redis.Redis

    def step(self) -> None:
        """Run a round of the relay, and all jobs that it enqueued."""
        passing = Relay(self.world.services)
        passing.pass_on()
        passing.enqueue_webhooks()
        queue = Queue(SEND_WEBHOOK.queue, connection=self.client, serializer=JSONSerializer)
        worker = GuardedWorker([queue], connection=self.client, serializer=JSONSerializer)
        worker.work(burst=True, logging_level="WARNING")

    def until(self, condition: Callable[[], bool], *, seconds: float = 15) -> None:
        """Run steps until a condition holds."""

        def stepped() -> bool:
            self.step()
            return condition()

        wait_for(stepped, seconds=seconds)


@pytest.fixture
def service(
    database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Service]:
    world = make_world(database_url, redis_url=redis_url, webhook_loopback=True)
    monkeypatch.setattr(jobs, "services", lambda: world.services)
    monkeypatch.setattr(relay, "OLDER_THAN", timedelta(0))
    monkeypatch.setattr("service.application.webhooks.IN_USE_SECONDS", 0.0)
    with client_of(redis_url) as client:
        yield Service(world=world, client=client)
    world.services.close()


@pytest.fixture
def ada(service: Service) -> Person:
    return service.world.person("Ada")


@pytest.fixture
def bob(service: Service) -> Person:
    return service.world.person("Bob")


def hook(person: Person, url: str, *types: str) -> dict[str, Any]:
    body: dict[str, Any] = {"url": url, **({"types": list(types)} if types else {})}
    answer = person.call("PUT", WEBHOOK, json=body)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json
    return made


def state_of(person: Person) -> str:
    return str(person.get(WEBHOOK).json["state"])


def sat(ada: Person, bob: Person) -> str:
    """Return the path of the hand of a new table of two."""
    table = ada.post("/v1/tables", OPEN).json["id"]
    assert bob.post(f"/v1/tables/{table}/seats").status_code == 201
    return f"/v1/games/{ada.get(f'/v1/tables/{table}').json['game']}"


def test_a_turn_reaches_a_receiver_that_was_confirmed(
    service: Service, ada: Person, bob: Person
) -> None:
    with receiver() as local:
        made = hook(ada, local.url)
        assert made["secret"].startswith("whsec_")
        assert "secret" not in ada.get(WEBHOOK).json
        service.until(lambda: state_of(ada) == "on")
        game = sat(ada, bob)
        service.until(lambda: "your_turn" in {event["type"] for event in local.events})
        bob.post(f"{game}/moves", {"type": "forfeit"})
        service.until(lambda: "hand_sealed" in {event["type"] for event in local.events})
        sealed = local.events[-1]
        assert game.endswith(sealed["id"])
        assert sealed["version"] == ada.get(game).json["version"]
        assert ada.call("DELETE", WEBHOOK).status_code == 204
        assert problem_of(ada.get(WEBHOOK)) == "not-found"


def test_a_receiver_that_hangs_delays_no_other_one_and_no_move(
    service: Service, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it hangs, the worker has returned, and other receivers and bots go on."""
    monkeypatch.setattr("service.runtime.receivers.SECONDS", 30.0)  # it hangs longer than the test
    with receiver() as slow, receiver() as quick:
        hook(ada, slow.url, "hand_dealt")
        hook(bob, quick.url, "hand_dealt")
        service.until(lambda: state_of(ada) == state_of(bob) == "on")
        slow.answers.append("hang")
        begun = time.monotonic()
        sat(ada, bob)
        service.until(lambda: len(slow.events) == 1)
        service.until(lambda: len(quick.events) == 1)
        bots = Queue(MAIN_QUEUE, connection=service.client, serializer=JSONSerializer)
        due = DueGames(service.client)
        before = due.count()
        ada.table({"bot": "lowest"})
        wait_for(lambda: due.count() == before + 1 and bots.count, seconds=5)  # in another queue
        assert not slow.released.is_set()
        assert time.monotonic() - begun < 25, "nothing waited for the receiver that hangs"
        assert service.client.llen(f"rq:queue:{SEND_WEBHOOK.queue}") == 0
        slow.released.set()
        wait_for(lambda: ada.get(WEBHOOK).json["waiting"] == 0 or state_of(ada) == "on", seconds=9)


@pytest.mark.heavy
def test_a_thread_is_free_again_after_each_job_also_after_one_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    delivered = list[int]()

    def deliver(_player: UUID, claim: int) -> str:
        delivered.append(claim)
        if claim % 2:
            raise RuntimeError("a bug")
        return "on"

    work: Any = SimpleNamespace(
        services=lambda: SimpleNamespace(webhooks=SimpleNamespace(deliver=deliver))
    )
    numbers = range(2 * webhooks.SENDERS)

    def send_all() -> None:
        for claim in numbers:
            webhooks.send(work, str(UUID(int=claim)), claim)

    sender = threading.Thread(target=send_all, daemon=True)
    sender.start()
    sender.join(20)
    wait_for(lambda: sorted(delivered) == list(numbers), seconds=5)


def test_a_job_does_not_wait_for_a_thread_until_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its claim expires, and another job is enqueued."""
    ended, delivered = threading.Event(), list[int]()

    def deliver(_player: UUID, claim: int) -> str:
        delivered.append(claim)
        ended.wait(20)
        return "on"

    work: Any = SimpleNamespace(
        services=lambda: SimpleNamespace(webhooks=SimpleNamespace(deliver=deliver))
    )
    for claim in range(webhooks.SENDERS):
        webhooks.send(work, str(UUID(int=claim)), claim)
    wait_for(lambda: len(delivered) == webhooks.SENDERS, seconds=5)
    assert webhooks.WAIT_SECONDS < JOB_SECONDS
    monkeypatch.setattr(webhooks, "WAIT_SECONDS", 0.2)
    late = threading.Thread(target=webhooks.send, args=(work, str(UUID(int=99)), 99), daemon=True)
    late.start()
    late.join(5)
    assert not late.is_alive()
    ended.set()
    wait_for(lambda: webhooks._FREE._value == webhooks.SENDERS, seconds=5)
    assert 99 not in delivered


def test_redis_flushed_between_two_looks_loses_no_notice(
    service: Service, ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hands begin and end, and their table closes; each notification and job is lost."""
    sent = ("hand_dealt", "hand_sealed", "table_closed", "seat_taken", "your_turn")
    stream, header = "/v1/players/me/stream", {"Accept": "application/json"}
    with receiver() as local:
        hook(ada, local.url, *sent)
        service.until(lambda: state_of(ada) == "on")
        service.until(lambda: ada.get(WEBHOOK).json["waiting"] == 0)
        before = bob.get(stream, headers=header).json["next"]
        monkeypatch.setattr("service.application.webhooks.LEASE", timedelta(seconds=0.5))
        monkeypatch.setattr("service.application.webhooks.LOOK_EVERY", timedelta(seconds=1))
        ended = set[tuple[str, str]]()
        for _ in range(2):
            game = sat(ada, bob)
            bob.post(f"{game}/moves", {"type": "forfeit"})
            table = ada.get(game).json["table"]
            assert ada.call("DELETE", f"/v1/tables/{table}").status_code == 204
            identity = game.rpartition("/")[2]
            ended |= {("hand_dealt", identity), ("hand_sealed", identity), ("table_closed", table)}
            passing = Relay(service.world.services)
            passing.pass_on()
            passing.enqueue_webhooks()
            service.client.flushall()
        service.until(lambda: ended <= {(one["type"], one["id"]) for one in local.events})
        items = bob.get(f"{stream}?after={before}", headers=header).json["items"]
        assert ended <= {(item["type"], item["id"]) for item in items}


def test_silent_name_servers_of_one_address_delay_no_receiver_of_another(
    service: Service, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty webhooks whose lookups never end; then a player elsewhere gets a ping and a turn."""
    silence, receivers = threading.Event(), service.world.services.webhooks._receivers

    def resolve(name: str) -> list[str]:
        if name.endswith("silent.example"):
            silence.wait(60)
            raise OSError
        return ["127.0.0.1"]

    monkeypatch.setattr(
        service.world.services.webhooks, "_receivers", replace(receivers, resolve=resolve)
    )
    for n in range(60):
        hook(service.world.person(f"P{n}"), f"https://{n}.silent.example/")
    elsewhere = {"REMOTE_ADDR": "203.0.113.7"}
    begun = time.monotonic()
    with receiver() as local:
        service.until(lambda: receivers.lookups.held >= LOOKUPS_OF_ONE)
        body = {"url": f"http://hook.example:{local.port}/", "types": ["hand_dealt"]}
        answer = ada.call("PUT", WEBHOOK, json=body, environ_overrides=elsewhere)
        assert answer.status_code == 200, answer.text
        service.until(lambda: state_of(ada) == "on")
        ada.table({"bot": "lowest"})
        service.until(lambda: len(local.events) == 1)
        assert time.monotonic() - begun < 10
        assert ada.get(WEBHOOK).json["failing_since"] is None
        assert receivers.lookups.held <= LOOKUPS_OF_ONE
    silence.set()


def test_an_address_that_cannot_be_a_receiver_is_refused(ada: Person) -> None:
    refused = ("ftp://a.example/", "https://a@b.example/", "https://a.example:22/")
    for url in (*refused, "https://10.0.0.1/", "https://[fec0::1]/"):
        answer = ada.call("PUT", WEBHOOK, json={"url": url})
        assert problem_of(answer) == "invalid-body"
        assert answer.json["errors"][0]["at"] == "/url"
    for body in ({}, {"url": "https://a.example/", "types": ["game_moved"]}):
        assert problem_of(ada.call("PUT", WEBHOOK, json=body)) == "invalid-body"


def test_a_webhook_is_set_six_times_a_minute_over_all_processes(
    database_url: str, redis_url: str
) -> None:
    """Refused calls count, because a caller could repeat them as often."""
    worlds = [make_world(database_url, redis_url=redis_url, rate_limits=True) for _ in range(2)]
    ada, good = worlds[0].person("Ada"), {"url": "https://bots.example/"}
    both = [Person(id=ada.id, token=ada.token, recovery="", world=world) for world in worlds]
    bodies = [good, {"url": "https://10.0.0.1/"}, {}, good, good, good, good, good]
    answers = [
        one.call("PUT", WEBHOOK, json=body) for one, body in zip(both * 4, bodies, strict=True)
    ]
    with worlds[0].app.app_context():  # all worlds of a process share one document
        weights = context().rate_limits.weights
        listed = published(context().settings, weights, quotas_of(FEATURES))["requests"]
    for world in worlds:
        world.services.close()
    assert [one.status_code for one in answers] == [200, 422, 422, 200, 200, 200, 429, 429]
    assert '"player-operation";q=6;w=60' in answers[0].headers["RateLimit-Policy"]
    assert {
        "policy": "player-operation",
        "operation": "webhooks.set_webhook",
        "requests": 6,
        "seconds": 60,
    } in listed
