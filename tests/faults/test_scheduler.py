"""The sweeper's scheduler: due games first, and a slice of everything else, whatever fails."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import MISSING, fields
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from service.application.quotas import Slice
from service.bootstrap import Services
from service.domain.events import Clock as TurnClock
from service.feature import Sweep, Work, sweeps_of
from service.features import FEATURES
from service.rulesets.catalogue import catalogue
from service.store.database import Database
from service.store.events import StoreError
from tests.running import wait_for
from tests.worlds.fake_world import Wakes, open_game, person, services_over, types_of
from workers.sweeper import AT_ONCE, FIRST_AFTER, Sweeper

DUE_GAMES, SWEEPS = sweeps_of(FEATURES)


class Clock:
    """The scheduler's own clock, set by a test."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        """Return the seconds that were set."""
        return self.seconds

    sleep = time.sleep


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock of sweeps and of slices."""
    made = Clock()
    monkeypatch.setattr("workers.sweeper.time", made)
    monkeypatch.setattr("service.application.quotas.time", made)
    return made


class AtOnce(Executor):
    """Runs what is submitted before it returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done = Future[Any]()
        done.set_result(fn(*args, **kwargs))
        return done


def sweep(name: str, work: Work, *, period: float = 1, rows: int = 5) -> Sweep:
    return Sweep(
        name=name, period=period, seconds=1, rows=rows, longest_pause=60, begin=lambda _: work
    )


def nothing(_part: Slice) -> int:
    return 0


def broken(_part: Slice) -> int:
    raise StoreError("deadlock")


def rounds(clock: Clock, sweeper: Sweeper, seconds: float) -> None:
    """Do the rounds of some seconds."""
    for _ in range(round(seconds * 4)):
        clock.seconds += 0.25
        sweeper.round()


def value(name: str, sweep: str) -> float:
    return REGISTRY.get_sample_value(name, {"sweep": sweep}) or 0.0


def test_a_sweep_has_a_period_a_slice_rows_and_a_pause_after_failures() -> None:
    """None of them has a default, so none is forgotten."""
    assert all(field.default is MISSING for field in fields(Sweep))
    assert {field.name for field in fields(Sweep)} >= {"period", "seconds", "rows", "longest_pause"}
    names = [sweep.name for sweep in (DUE_GAMES, *SWEEPS)]
    assert len(set(names)) == len(names)
    assert DUE_GAMES.rows == 200


def test_every_sweep_of_the_service_does_a_slice(services: Services, clock: Clock) -> None:
    sweeper = Sweeper(services, first=DUE_GAMES, others=SWEEPS, threads=AtOnce())
    with capture_logs() as lines:
        rounds(clock, sweeper, 1)
        clock.seconds += FIRST_AFTER
        sweeper.round()
    assert [line for line in lines if line["log_level"] == "error"] == []
    for one in (DUE_GAMES, *SWEEPS):
        assert value("shithead_last_sweep_timestamp_seconds", one.name), one.name
        assert value("shithead_sweep_failures", one.name) == 0


def test_a_sweep_that_fails_neither_ends_the_rounds_nor_delays_others(
    services: Services, clock: Clock
) -> None:
    calls: list[str] = []

    def fails(_part: Slice) -> int:
        calls.append("fails")
        raise StoreError("deadlock")

    def works(_part: Slice) -> int:
        calls.append("works")
        return 0

    others = (sweep("fails", fails), sweep("works", works))
    sweeper = Sweeper(services, first=sweep("first", broken), others=others, threads=AtOnce())
    rounds(clock, sweeper, 40)
    assert calls.count("works") == 40
    assert calls.count("fails") == 6, "after 1, 1, 2, 4, 8 and 16 seconds"
    assert value("shithead_sweep_failures", "fails") == 6
    clock.seconds += 3600
    sweeper.round()
    rounds(clock, sweeper, 60)
    assert calls.count("fails") == 8, "once a minute, the longest pause"


def test_a_purge_that_fails_is_not_repeated_at_once_by_the_next_process(
    services: Services, clock: Clock
) -> None:
    """Each start waits first: a purge that ends the process would else end it again and again."""
    calls: list[float] = []

    def purge(_part: Slice) -> int:
        calls.append(clock.seconds)
        return 0

    sweeper = Sweeper(
        services,
        first=sweep("first", nothing),
        others=(sweep("purge", purge, period=600),),
        threads=AtOnce(),
    )
    rounds(clock, sweeper, FIRST_AFTER - 1)
    assert calls == []
    rounds(clock, sweeper, 1)
    assert len(calls) == 1


def test_a_backlog_is_worked_off_in_slices_with_pauses(services: Services, clock: Clock) -> None:
    """A slice that takes 0.5 s is followed by 1.5 s for others, less than the period."""
    left, at = [12], list[float]()

    def work(part: Slice) -> int:
        done = min(left[0], part.rows)
        left[0] -= done
        at.append(clock.seconds)
        clock.seconds += 0.5
        return done

    sweeper = Sweeper(
        services,
        first=sweep("first", nothing),
        others=(sweep("backlog", work, period=10),),
        threads=AtOnce(),
    )
    rounds(clock, sweeper, 30)
    assert [later - earlier for earlier, later in itertools.pairwise(at)] == [2, 2, 10.5]


def test_a_sweep_that_hangs_delays_no_other_and_is_not_begun_again(services: Services) -> None:
    hanging, calls = threading.Event(), dict.fromkeys("abcd", 0)

    def hangs(_part: Slice) -> int:
        calls["a"] += 1
        hanging.wait(60)
        return 0

    def counted(name: str) -> Work:
        def work(_part: Slice) -> int:
            calls[name] += 1
            return 0

        return work

    sweeper = Sweeper(
        services,
        first=sweep("first", counted("b"), period=0),
        others=[sweep(name, hangs, period=0) for name in ("h1", "h2", "h3")]
        + [sweep("c", counted("c"), period=0)],
    )
    ended = threading.Event()
    running = threading.Thread(target=sweeper.run, args=(ended.is_set,))
    running.start()
    wait_for(lambda: calls["b"] > 3 and calls["c"] > 3, seconds=20)
    assert calls["a"] == AT_ONCE - 1
    hanging.set()
    ended.set()
    running.join(20)
    assert not running.is_alive()


class Worker(Wakes):
    """Makes the due moves of a game at once, as a worker does that has nothing else to do."""

    services: Services

    def wake(self, game: UUID, version: int, *, searches: bool = False) -> bool:
        self.services.turns.play_due_moves(game, version)
        return True


def crowd(url: str, services: Services, *, seeks: int, accounts: int) -> None:
    """Store seeks of accounts that all block one another, each with nearly all rulesets."""
    players = [person(services, f"P{number}").id for number in range(accounts)]
    names = sorted(catalogue())
    random = Random(1)
    rows = [
        (uuid4(), players[n % accounts], random.sample(names, min(21, len(names))), n)
        for n in range(seeks)
    ]
    with psycopg.connect(url) as connection:
        connection.cursor().executemany(
            "INSERT INTO seeks (seek_id, player_id, rulesets, seats, entropy, only_stayers,"
            " standing, keep, created_at, expires_at)"
            " VALUES (%s, %s, %s, 3, 'none', false, 'stays', false, now() + %s * interval '1 ms',"
            " now() + interval '1 h')",
            rows,
        )
        connection.execute(
            "INSERT INTO blocks (player, blocked, at) SELECT a, b, now() FROM"
            " unnest(%s::uuid[]) a, unnest(%s::uuid[]) b WHERE a <> b",
            (players, players),
        )


@pytest.mark.heavy
def test_a_clock_ends_on_time_beside_many_seeks_that_never_match(database_url: str) -> None:
    """Two turns of a second each are over after about two seconds, whatever others seek."""
    worker = Worker()
    services = services_over(Database(database_url, size=4), notifier=worker)
    worker.services = services
    crowd(database_url, services, seeks=600, accounts=60)
    clock = TurnClock(turn_seconds=1, swap_seconds=1)
    seats = ("me", "open")
    bob = person(services, "Bob")
    sweeper = Sweeper(services, first=DUE_GAMES, others=SWEEPS)
    ended, before = threading.Event(), value("shithead_sweep_seconds_total", "seeks")
    running = threading.Thread(target=sweeper.run, args=(ended.is_set,))
    running.start()
    try:
        wait_for(lambda: value("shithead_sweep_seconds_total", "seeks") > before, seconds=20)
        game = open_game(services, person(services), seats, clock=clock, guests=(bob,))
        wait_for(lambda: types_of(services, game).count("turn_timed_out") >= 2, seconds=7)
    finally:
        ended.set()
        running.join(20)
        services.close()
