"""Due games in Redis: one job plays many of them, and none is lost or played twice."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest
import redis
from rq import Queue
from rq.registry import FailedJobRegistry
from rq.serializers import JSONSerializer

from service import due_games
from service.application.ports import MAIN_QUEUE
from service.application.quotas import Slice
from service.bootstrap import Services
from service.due_games import DueGames, WakeUp
from service.feature import Feature, Job, JobContext
from service.features import due_turns
from service.features import games as features
from service.features.due_turns import DueTurns
from service.job_queue import TAKE_DUE_TURNS, RedisNotifier
from tests.running import wait_for
from tests.worlds.api_world import World
from workers import jobs
from workers.main import Worker


@pytest.fixture
def client(redis_url: str) -> redis.Redis:
    """Return a connection to an empty Redis."""
    return redis.Redis.from_url(redis_url)


@pytest.fixture(autouse=True)
def services(world: World, client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> Services:
    """Return the services of a world whose notifier uses Redis, also in jobs."""
    found = copy(world.services)
    found.notifier = RedisNotifier(client)
    monkeypatch.setattr(jobs, "services", lambda: found)
    return found


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a job wait less long for further games."""
    monkeypatch.setattr(due_turns, "SERVE_SECONDS", 0.3)


@dataclass(kw_only=True)
class WorkerProcess:
    """A worker of the main queue, whose games are only noted as played."""

    services: Services
    client: redis.Redis
    play: Callable[[UUID], object] = lambda _game: None
    threads: int = due_turns.THREADS
    played: list[UUID] = field(default_factory=list)
    turns: DueTurns = field(init=False)

    def __post_init__(self) -> None:
        self.turns = DueTurns(self._play, threads=self.threads)

    def _play(self, _work: JobContext, found: WakeUp, _stopping: Callable[[], bool]) -> None:
        self.play(found.game)
        self.played.append(found.game)

    def run(self, most: int | None = None) -> None:
        """Run the jobs of the queue, until their games have been played."""
        feature = Feature(name="x", jobs=(Job(kind=TAKE_DUE_TURNS, run=self.turns.serve),))
        worker = Worker(
            [queue(self.client)],
            connection=self.client,
            serializer=JSONSerializer,
            features=(feature,),
        )
        worker.work(burst=True, logging_level="CRITICAL", max_jobs=most)
        self.turns.settle()

    def serve(self) -> int:
        """Do a job, and wait for its games."""
        found = JobContext(services=lambda: self.services, connection=self.client, queue=MAIN_QUEUE)
        count = self.turns.serve(found)
        self.turns.settle()
        return count


@pytest.fixture
def process(services: Services, client: redis.Redis) -> WorkerProcess:
    """Return a worker."""
    return WorkerProcess(services=services, client=client)


def queue(client: redis.Redis) -> Queue:
    return Queue(MAIN_QUEUE, connection=client, serializer=JSONSerializer)


def woken(services: Services, count: int = 1) -> list[UUID]:
    """Wake workers for games; return their ids."""
    games = [uuid4() for _ in range(count)]
    for game in games:
        assert services.notifier.wake(game, 1)
    return games


def sweep(services: Services) -> None:
    """Do a round of the sweeper."""
    features.due_games(services)(Slice(rows=10, seconds=1.0))


def test_many_games_need_one_job(
    client: redis.Redis, services: Services, process: WorkerProcess
) -> None:
    games = woken(services, 20)
    assert queue(client).count == 1
    assert services.notifier.queued() == 21
    process.run()
    assert Counter(process.played) == Counter(games)
    assert services.notifier.queued() == 0
    assert all(map(DueGames(client).lease, games)), "the sweeper may wake them again"


def test_games_that_come_while_a_job_serves_need_no_other(
    client: redis.Redis, services: Services, process: WorkerProcess
) -> None:
    first, others = woken(services), list[UUID]()

    def play(game: UUID) -> None:
        if game == first[0]:
            others.extend(woken(services, 3))
            assert queue(client).count == 0

    process.play = play
    process.run(1)
    assert Counter(process.played) == Counter(first + others)
    assert queue(client).count == 0


def test_the_bots_of_several_tables_wait_at_the_same_time_in_one_worker(
    services: Services, process: WorkerProcess
) -> None:
    together = threading.Barrier(8)
    process.play = lambda _game: together.wait(timeout=10)
    games = woken(services, 8)
    process.run()
    assert Counter(process.played) == Counter(games)


def test_a_worker_whose_threads_are_all_busy_asks_others_for_help(
    client: redis.Redis, services: Services
) -> None:
    helped = threading.Event()
    busy = WorkerProcess(
        services=services, client=client, threads=1, play=lambda _game: helped.wait(10)
    )
    idle = WorkerProcess(services=services, client=client)
    games = woken(services, 2)
    with ThreadPoolExecutor() as thread:
        running = thread.submit(busy.serve)
        wait_for(lambda: queue(client).count == 2, seconds=10)
        idle.run(1)
        helped.set()
        running.result()
    assert len(busy.played) == len(idle.played) == 1
    assert set(busy.played + idle.played) == set(games)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("moment", ["before the mark is removed", "after the last look"])
def test_a_commit_at_the_end_of_a_job_has_a_job_of_its_own(
    client: redis.Redis,
    services: Services,
    process: WorkerProcess,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    games, late = woken(services), list[UUID]()
    leave, look = DueGames.leave, services.notifier.wake_again

    def commit_and_leave(due: DueGames) -> None:
        late.extend(woken(services))
        assert queue(client).count == 0
        leave(due)

    def look_and_commit() -> None:
        look()
        assert queue(client).count == 0
        late.extend(woken(services))

    with monkeypatch.context() as patched:
        if moment == "after the last look":
            patched.setattr(services.notifier, "wake_again", look_and_commit)
        else:
            patched.setattr(DueGames, "leave", commit_and_leave)
        process.run(1)
    assert (process.played, queue(client).count) == (games, 1)
    process.run()
    assert process.played == games + late


@pytest.mark.usefixtures("impatient")
def test_a_worker_killed_before_its_job_delays_games_by_one_sweep(
    client: redis.Redis, services: Services, process: WorkerProcess
) -> None:
    games = woken(services)
    client.delete("rq:queue:bots")  # a worker took the job, and was killed
    games += woken(services)
    assert queue(client).count == 0
    sweep(services)
    process.run()
    assert Counter(process.played) == Counter(games)


@pytest.mark.usefixtures("impatient")
def test_a_worker_killed_in_its_job_delays_games_by_a_second_and_a_sweep(
    client: redis.Redis, services: Services, process: WorkerProcess
) -> None:
    DueGames(client).serve()
    games = woken(services)
    sweep(services)
    assert queue(client).count == 0, "a worker may be serving the list"
    time.sleep(due_games.SERVING_MS / 1000 + 0.1)
    sweep(services)
    process.run()
    assert process.played == games


def new_game(world: World) -> UUID:
    """Return a game in which a bot has to exchange cards."""
    body = {"ruleset": "shithead", "seats": ["me", {"bot": "greedy"}]}
    return UUID(world.person("Ada").post("/v1/tables", body).json["game"])


def version_of(services: Services, game: UUID) -> int:
    found = services.game_cache.fresh(game)
    assert found is not None
    return found.version


def play_due(client: redis.Redis) -> None:
    """Run the jobs of the main queue, and play their games."""
    worker = Worker([queue(client)], connection=client, serializer=JSONSerializer)
    worker.work(burst=True, logging_level="CRITICAL")
    features.DUE_TURNS.settle()


@pytest.mark.usefixtures("impatient")
def test_a_flushed_redis_delays_a_game_by_one_sweep(
    world: World, client: redis.Redis, services: Services
) -> None:
    game = new_game(world)
    before = version_of(services, game)
    services.notifier.wake(game, before)
    client.flushall()
    sweep(services)
    play_due(client)
    assert version_of(services, game) > before


def test_the_sweeper_wakes_no_game_that_waits_or_is_played_until_its_lease_ends(
    world: World, client: redis.Redis, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was killed with a game is found by the end of the lease."""
    monkeypatch.setattr(due_games, "LEASE_MS", 500)
    game = new_game(world)
    services.notifier.moved(game, version_of(services, game), wake=True)
    due = DueGames(client)
    taken = due.take(5)
    assert taken is not None
    assert taken.game == game
    sweeper, part = features.due_games(services), Slice(rows=10, seconds=1.0)
    assert (sweeper(part), due.count()) == (0, 0)
    time.sleep(0.6)
    assert (sweeper(part), due.count()) == (1, 1)
    assert due.take(1) == taken
    due.end_lease(game)
    assert due.lease(game)


def test_two_workers_play_each_of_fifty_games_once(services: Services, client: redis.Redis) -> None:
    two = [
        WorkerProcess(services=services, client=client, play=lambda _game: time.sleep(0.02))
        for _ in range(2)
    ]
    games = woken(services, 50)
    with ThreadPoolExecutor(2) as workers:
        counts = list(workers.map(WorkerProcess.serve, two))
    assert sum(counts) == 50
    assert all(counts)
    assert Counter(two[0].played + two[1].played) == Counter(games)


def test_a_game_that_is_woken_while_it_is_played_is_played_again_after_that(
    services: Services, client: redis.Redis, process: WorkerProcess
) -> None:
    """By the same thread: two would make the same move, and one of them in vain."""
    [game], at_a_time = woken(services), list[int]()
    playing = 0

    def play(found: UUID) -> None:
        nonlocal playing
        playing += 1
        at_a_time.append(playing)
        if not process.played:
            DueGames(client).add([WakeUp(game=found, version=2)])
            wait_for(lambda: not DueGames(client).count(), seconds=10)
            time.sleep(0.05)
        playing -= 1

    process.play = play
    process.run()
    assert process.played == [game, game]
    assert at_a_time == [1, 1]


@pytest.mark.usefixtures("impatient")
def test_a_game_that_fails_delays_no_other_one_and_fails_its_job(
    client: redis.Redis, services: Services, process: WorkerProcess
) -> None:
    [bad] = woken(services)

    def play(game: UUID) -> None:
        if game == bad:
            raise ValueError("a game that cannot be read")

    process.play = play
    good = woken(services, 2)
    process.run()
    assert Counter(process.played) == Counter(good)
    failed = FailedJobRegistry(queue=queue(client))
    assert len(failed) == 1


@pytest.mark.usefixtures("impatient")
def test_an_entry_that_is_no_game_delays_no_game(
    client: redis.Redis, services: Services, process: WorkerProcess
) -> None:
    client.rpush("shithead.due", b"no game")
    games = woken(services)
    process.run()
    assert process.played == games


@pytest.mark.usefixtures("impatient")
def test_a_job_that_ran_out_of_time_leaves_its_games_to_another(
    client: redis.Redis,
    services: Services,
    process: WorkerProcess,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    games = woken(services, 3)
    with monkeypatch.context() as patched:
        patched.setattr(due_turns, "SERVE_SECONDS", 0.0)
        process.run(1)
    assert (len(process.played), queue(client).count) == (0, 1)
    process.run()
    assert Counter(process.played) == Counter(games)


def test_a_job_without_due_games_leaves_for_another_kind_of_job(
    client: redis.Redis, services: Services, process: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_turns, "SERVE_SECONDS", 60.0)
    woken(services)
    queue(client).enqueue("deal_next", str(uuid4()), 1)
    began = time.monotonic()
    process.run(1)
    assert time.monotonic() - began < 20


def test_a_worker_that_stops_leaves_a_game_to_others(
    world: World, client: redis.Redis, services: Services
) -> None:
    """Also one of bots only, which would go on for many moves."""
    body = {"ruleset": "shithead", "seats": [{"bot": "greedy"}, {"bot": "greedy"}]}
    game = UUID(world.person("Ada").post("/v1/tables", body).json["game"])
    before = version_of(services, game)
    work = JobContext(services=lambda: services, connection=client, queue=MAIN_QUEUE)
    assert features.played(work, game, before, lambda: True) == "again"
    assert version_of(services, game) == before
    wait_for(lambda: DueGames(client).count() == 1, seconds=5)


@pytest.mark.usefixtures("impatient")
def test_a_job_that_found_no_game_leaves_its_thread_to_the_next_one(
    client: redis.Redis, services: Services
) -> None:
    process = WorkerProcess(services=services, client=client, threads=1)
    assert process.serve() == 0
    client.rpush("shithead.due", b"no game")
    with pytest.raises(ValueError, match=r"unexpected character|invalid literal"):
        process.serve()
    games = woken(services)
    assert process.serve() == 1
    assert process.played == games


def test_a_worker_that_stops_takes_no_game_from_the_list(
    client: redis.Redis, services: Services, process: WorkerProcess
) -> None:
    woken(services)
    process.turns.stop()
    process.run(1)
    assert (process.played, DueGames(client).count(), queue(client).count) == ([], 1, 1)


def test_a_commit_does_not_wait_until_a_worker_is_woken(
    client: redis.Redis, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wake-ups of that time are passed on together."""
    go_on, adds, add = threading.Event(), list[int](), DueGames.add

    def slow(due: DueGames, games: list[WakeUp]) -> bool:
        go_on.wait(10)
        adds.append(len(games))
        return add(due, games)

    monkeypatch.setattr(DueGames, "add", slow)
    services.notifier.moved(uuid4(), 1, wake=True)
    time.sleep(0.1)
    for _ in range(5):
        services.notifier.moved(uuid4(), 1, wake=True)
    assert not adds
    go_on.set()
    wait_for(lambda: DueGames(client).count() == 6 and queue(client).count == 1, seconds=5)
    assert adds == [1, 5]


def test_the_list_is_bounded_and_expires(
    client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_games, "MAX_GAMES", 3)
    due, game = DueGames(client), uuid4()
    added = [due.add([WakeUp(game=game, version=n)]) for n in range(5)]
    assert added == [True, False, False, False, False]
    assert due.count() == 3
    assert [due.needs_help() for _ in range(3)] == [True, False, False]
    assert 0 < client.pttl("shithead.due.help") <= due_games.HELP_MS
    assert 0 < client.ttl("shithead.due") <= due_games.KEPT_SECONDS
    assert 0 < client.pttl("shithead.due.job") <= due_games.WAITING_MS
    assert 0 < client.pttl(f"shithead.due.{game}") <= due_games.LEASE_MS
    other = uuid4()
    assert due.lease(other)
    assert 0 < client.pttl(f"shithead.due.{other}") <= due_games.LEASE_MS
