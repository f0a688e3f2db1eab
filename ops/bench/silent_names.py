"""Delay of one receiver's events while an address points webhooks at names that nobody answers."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from redis import Redis

from service.feature import JobContext
from service.features.webhooks import send
from tests.receivers import Receiver, receiver
from tests.worlds.api_world import Person, World, make_world
from workers.relay import Relay

SILENT = 200
EVENTS = 10
PATIENCE = 45.0
WEBHOOK = "/v1/players/me/webhook"
ELSEWHERE = {"REMOTE_ADDR": "203.0.113.7"}


def silent_names(url: str, redis_url: str) -> dict[str, dict[str, float | None]]:
    """Return the seconds from a deal to its event, alone and beside silent names."""
    return {
        f"webhooks: events beside {count} silent names": {"seconds": _delay(url, redis_url, count)}
        for count in (0, SILENT)
    }


def _delay(url: str, redis_url: str, count: int) -> float | None:
    world = make_world(url, redis_url=redis_url, webhook_loopback=True)
    released, stopped = threading.Event(), threading.Event()

    def resolve(name: str) -> list[str]:
        if name.endswith("silent.example"):
            released.wait()
            raise OSError
        return ["127.0.0.1"]

    hooks: Any = world.services.webhooks
    hooks._receivers = replace(hooks._receivers, resolve=resolve)  # noqa: SLF001 - as the system
    try:
        with receiver() as local:
            honest = world.person("Ada")
            for number in range(count):
                one = world.person("Bob")
                one.call("PUT", WEBHOOK, json={"url": f"https://{number}.silent.example/"})
            threading.Thread(target=_relay, args=(world, stopped.is_set), daemon=True).start()
            return _longest(honest, local)
    finally:
        stopped.set()
        released.set()
        time.sleep(1)
        world.services.close()


def _relay(world: World, stopped: Any) -> None:
    relay = Relay(world.services)
    work = JobContext(services=lambda: world.services, connection=Redis(), queue="webhooks")
    while not stopped():
        relay.pass_on()
        for player, claim in world.services.webhooks.claim():
            send(work, str(player), claim)
        time.sleep(0.5)


def _longest(honest: Person, local: Receiver) -> float | None:
    """Return the longest of some delays."""
    body = {"url": f"http://hook.example:{local.port}/", "types": ["hand_dealt"]}
    honest.call("PUT", WEBHOOK, json=body, environ_overrides=ELSEWHERE)
    if _waited(lambda: honest.get(WEBHOOK).json["state"] == "on") is None:
        return None
    delays = []
    for number in range(EVENTS):
        honest.table({"bot": "lowest"})
        delays.append(_waited(lambda: len(local.events) > number))  # noqa: B023 - called at once
    return None if None in delays else max(one for one in delays if one is not None)


def _waited(condition: Any) -> float | None:
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > PATIENCE:
            return None
        time.sleep(0.02)
    return time.monotonic() - begun
