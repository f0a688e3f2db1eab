"""Tables of searching bots are played by a process of their own and delay no other table."""

from __future__ import annotations

from copy import copy
from uuid import UUID

import pytest
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from service.application.ports import MAIN_QUEUE
from service.job_queue import SEARCH_QUEUE, RedisNotifier
from tests.worlds.api_world import World
from workers import jobs
from workers.main import Worker


def queue(client: redis.Redis, name: str) -> Queue:
    return Queue(name, connection=client, serializer=JSONSerializer)


def run(client: redis.Redis, name: str) -> None:
    """Run the jobs of one queue like its process."""
    worker = Worker([queue(client, name)], connection=client, serializer=JSONSerializer)
    worker.work(burst=True, logging_level="WARNING")


@pytest.mark.parametrize(("bot", "passed_on"), [("greedy", 0), ("careful", 1)])
def test_a_worker_passes_tables_of_searching_bots_to_their_own_queue(
    world: World, redis_url: str, monkeypatch: pytest.MonkeyPatch, bot: str, passed_on: int
) -> None:
    client = redis.Redis.from_url(redis_url)
    services = copy(world.services)
    services.notifier = RedisNotifier(client)
    monkeypatch.setattr(jobs, "services", lambda: services)
    ada = world.person("Ada")
    body = {"ruleset": "shithead", "seats": ["me", {"bot": bot}]}
    game = UUID(ada.post("/v1/tables", body).json["game"])
    before = services.game_cache.fresh(game)
    assert before is not None
    services.notifier.wake(game, before.record.version)
    run(client, MAIN_QUEUE)
    assert queue(client, SEARCH_QUEUE).count == passed_on
    run(client, SEARCH_QUEUE)
    after = services.game_cache.fresh(game)
    assert after is not None
    assert after.record.version > before.record.version  # the bot has exchanged or is ready
    assert queue(client, SEARCH_QUEUE).count == 0
