"""Due games in Redis: one job plays many of them, and none is lost or played twice."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from uuid import UUID, uuid4

import pytest
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from service import due_games
from service.application.ports import MAIN_QUEUE
from service.application.quotas import Slice
from service.bootstrap import Services
from service.due_games import DueGames
from service.feature import JobContext
from service.features import games as features
from service.job_queue import RedisNotifier
from tests.worlds.api_world import World
from workers import jobs
from workers.main import Worker


@pytest.fixture
def client(redis_url: str) -> redis.Redis:
    """Return a connection to an empty Redis."""
    return redis.Redis.from_url(redis_url)


@pytest.fixture
def services(world: World, client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> Services:
    """Return the services of a world whose notifier uses Redis, also in jobs."""
    found = copy(world.services)
    found.notifier = RedisNotifier(client)
    monkeypatch.setattr(jobs, "services", lambda: found)
    return found


@pytest.fixture
def played(services: Services, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the games that jobs have played since."""
    del services
    found: list[str] = []
    monkeypatch.setattr(features, "take_turn", lambda _work, game, _version: found.append(game))
    return found


def waiting(client: redis.Redis) -> int:
    """Return the number of jobs that wait."""
    return Queue(MAIN_QUEUE, connection=client, serializer=JSONSerializer).count


def run(client: redis.Redis, jobs_to_run: int | None = None) -> None:
    """Run the jobs of the main queue like its process."""
    queue = Queue(MAIN_QUEUE, connection=client, serializer=JSONSerializer)
    worker = Worker([queue], connection=client, serializer=JSONSerializer)
    worker.work(burst=True, logging_level="CRITICAL", max_jobs=jobs_to_run)


def test_many_games_need_one_job(
    client: redis.Redis, services: Services, played: list[str]
) -> None:
    games = [uuid4() for _ in range(20)]
    for game in games:
        services.notifier.wake(game, 1)
    assert waiting(client) == 1
    assert services.notifier.queued() == 21
    run(client)
    assert played == [str(game) for game in games]
    assert services.notifier.queued() == 0


def test_games_that_wait_together_are_shared_by_idle_workers(
    client: redis.Redis, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs_waiting: list[int] = []
    monkeypatch.setattr(features, "take_turn", lambda *_: jobs_waiting.append(waiting(client)))
    for _ in range(2):
        services.notifier.wake(uuid4(), 1)
    run(client)
    assert jobs_waiting == [1, 1]


def test_a_commit_after_the_last_look_has_a_job_of_its_own(
    client: redis.Redis, services: Services, played: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, late = uuid4(), uuid4()
    services.notifier.wake(first, 1)
    take = DueGames.take

    def take_and_commit(due: DueGames) -> due_games.WakeUp | None:
        found = take(due)
        if found is None:
            services.notifier.wake(late, 1)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(DueGames, "take", take_and_commit)
        patched.setattr(services.notifier, "wake_again", lambda: None)
        run(client, 1)
    assert (played, waiting(client)) == ([str(first)], 1)


def test_a_worker_killed_with_the_mark_set_delays_games_by_one_sweep(
    client: redis.Redis, services: Services, played: list[str]
) -> None:
    first, second = uuid4(), uuid4()
    services.notifier.wake(first, 1)
    client.delete("rq:queue:bots")  # a worker took the job, and was killed
    services.notifier.wake(second, 1)
    assert waiting(client) == 0
    features.due_games(services)(Slice(rows=10, seconds=1.0))
    run(client)
    assert played == [str(first), str(second)]


def test_a_flushed_redis_delays_a_game_by_one_sweep(
    world: World, client: redis.Redis, services: Services
) -> None:
    body = {"ruleset": "shithead", "seats": ["me", {"bot": "greedy"}]}
    game = UUID(world.person("Ada").post("/v1/tables", body).json["game"])
    before = services.game_cache.fresh(game)
    assert before is not None
    services.notifier.wake(game, before.record.version)
    client.flushall()
    features.due_games(services)(Slice(rows=10, seconds=1.0))
    run(client)
    after = services.game_cache.fresh(game)
    assert after is not None
    assert after.record.version > before.record.version


def test_two_workers_play_each_of_fifty_games_once(
    client: redis.Redis, services: Services, played: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = JobContext(services=lambda: services, connection=client, queue=MAIN_QUEUE)
    games = [uuid4() for _ in range(50)]
    for game in games:
        services.notifier.wake(game, 1)
    with ThreadPoolExecutor(2) as workers:
        counts = [workers.submit(features.take_due_turns, work) for _ in range(2)]
        assert sum(count.result() for count in counts) == 50
    assert Counter(played) == Counter(map(str, games))


def test_a_game_that_fails_delays_no_other_one(
    client: redis.Redis, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good, played = uuid4(), uuid4(), list[str]()

    def take_turn(_work: JobContext, game: str, _version: int) -> None:
        if game == str(bad):
            raise ValueError("a game that cannot be read")
        played.append(game)

    monkeypatch.setattr(features, "take_turn", take_turn)
    client.rpush("shithead.due", b"no game")
    for game in (bad, good):
        services.notifier.wake(game, 1)
    run(client)
    assert played == [str(good)]


def test_a_job_that_ran_out_of_time_leaves_its_games_to_another(
    client: redis.Redis, services: Services, played: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        services.notifier.wake(uuid4(), 1)
    with monkeypatch.context() as patched:
        patched.setattr(features, "DUE_SECONDS", 0.0)
        run(client, 1)
    assert (len(played), waiting(client)) == (0, 1)
    run(client)
    assert len(played) == 3


def test_the_list_is_bounded_and_expires(
    client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_games, "MAX_GAMES", 3)
    due = DueGames(client)
    assert [due.add(uuid4(), 1) for _ in range(5)] == [True, False, False, False, False]
    assert due.count() == 3
    assert 0 < client.ttl("shithead.due") <= due_games.KEPT_SECONDS
    assert 0 < client.ttl("shithead.due.job") <= due_games.MARK_SECONDS
