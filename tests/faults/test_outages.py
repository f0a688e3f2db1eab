"""Outages: clocks give back the time in which the service could not take moves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import orjson
import pytest

from service.application.availability import Availability
from service.application.calls import Caller, RegisteredPlayer
from service.application.games.schedule import end_of_wait
from service.application.quotas import Slice
from service.bootstrap import Services
from service.domain.events import Clock, Entropy
from service.feature import Sweep
from service.features.games import due_games
from service.shx.canonical import format_time, parse_time
from tests.worlds.fake_world import (
    Deployment,
    SetWorld,
    assert_sound,
    open_game,
    post,
    sliced,
    types_of,
    version_of,
)
from workers.sweeper import Sweeper

OUTAGE = timedelta(seconds=0.3)
AWAY = 5.0
"""Seconds for which the service of a test was away, as far as the clocks of its games know."""

CLOCK = Clock(turn_seconds=1, swap_seconds=1)


class RunningWorld(SetWorld):
    """The present time, less AWAY until the test calls `wait`: the games began that long ago."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = timedelta(seconds=-AWAY)

    def now(self) -> datetime:
        """Return the time."""
        return datetime.now(UTC) + self.ahead

    def wait(self, seconds: float) -> None:
        """Let time pass for the clocks of games."""
        self.ahead += timedelta(seconds=seconds)


@pytest.fixture
def deployment(database_url: str) -> Iterator[Deployment]:
    """Return a service in which a gap of OUTAGE is an outage."""
    made = Deployment(
        url=database_url,
        world=RunningWorld(),
        availability=lambda directory: Availability(directory, outage=OUTAGE, again_seconds=0),
    )
    yield made
    made.close()


@pytest.fixture
def game(services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer) -> UUID:
    """Return a game of two people with a clock of a second, both ready."""
    dealt = open_game(
        services, ada, ("me", "open"), ruleset="leeds", clock=CLOCK, window_seconds=0, guests=(bob,)
    )
    for player in (ada, bob):
        post(services, player, dealt, {"type": "ready"})
    return dealt


def outage() -> None:
    """Show no sign of life for longer than OUTAGE."""
    time.sleep(OUTAGE.total_seconds() * 1.2)


def take(services: Services, game: UUID) -> str:
    """Make the due moves of a game."""
    return services.turns.play_due_moves(game, version_of(services, game))


def deadline_of(services: Services, game: UUID) -> datetime:
    """Return the deadline that the public sees."""
    shown: str = orjson.loads(services.games.view(Caller(), game)[0])["deadline"]
    return parse_time(shown)


def test_after_an_outage_no_seat_is_timed_out_for_the_time_of_a_turn(
    deployment: Deployment, services: Services, game: UUID
) -> None:
    """The worker postpones the game that the sweeper finds, and the view shows it."""
    wake, now, version = (
        sliced(due_games, services),
        deployment.world.now,
        version_of(services, game),
    )
    wake()
    outage()
    deployment.world.wait(AWAY)
    assert wake() == 1, "the row has the old deadline"
    assert take(services, game) == "waits"
    assert version_of(services, game) == version
    later = deadline_of(services, game)
    assert timedelta(seconds=0.5) < later - now() <= timedelta(seconds=CLOCK.turn_seconds)
    assert not services.directory.due_games(now=now(), limit=9)
    [due] = services.directory.due_games(now=later, limit=9)
    assert due.at == later
    deployment.world.wait(CLOCK.turn_seconds)
    assert wake() == 1
    take(services, game)
    assert "turn_timed_out" in types_of(services, game)
    assert_sound(services, game)


def test_a_worker_that_is_back_before_the_sweeper_makes_no_time_out(
    deployment: Deployment, services: Services, game: UUID
) -> None:
    services.availability.note()
    outage()
    deployment.world.wait(AWAY)
    assert take(deployment.process(), game) == "waits"


def test_a_deadline_passes_while_another_sweeper_runs(
    deployment: Deployment, services: Services, game: UUID
) -> None:
    other = deployment.process()
    services.availability.note()
    for _ in range(3):
        time.sleep(OUTAGE.total_seconds() / 2)
        other.availability.note()
    sliced(due_games, services)()
    deployment.world.wait(AWAY)
    take(services, game)
    assert "turn_timed_out" in types_of(services, game)


def test_a_long_round_of_the_sweeper_is_no_outage(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.sweeper.INTERVAL", 0.01)
    monkeypatch.setattr("workers.sweeper.AGAIN_SECONDS", 0.02)

    def long(_part: Slice) -> int:
        outage()
        return 0

    slow = Sweep(
        name="slow", period=0, seconds=9, rows=1, longest_pause=1, begin=lambda _services: long
    )
    sweeper = Sweeper(services, first=slow, others=())
    ended = time.monotonic() + OUTAGE.total_seconds() * 2
    sweeper.run(lambda: time.monotonic() > ended)
    services.availability.note()
    assert services.availability.since() is None


def test_a_player_has_the_same_time_again_for_entropy(
    deployment: Deployment, services: Services, ada: RegisteredPlayer
) -> None:
    seats = ("me", {"bot": "lowest"})
    game = open_game(services, ada, seats, entropy=Entropy.VALUE, clock=CLOCK)
    services.availability.note()
    outage()
    deployment.world.wait(AWAY)
    assert take(services, game) == "waits"
    deployment.world.wait(CLOCK.swap_seconds)
    services.availability.note()
    assert take(services, game) == "over"


def test_the_exchange_has_the_same_time_again(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    game = open_game(services, ada, ("me", "open"), ruleset="leeds", clock=CLOCK, guests=(bob,))
    services.availability.note()
    outage()
    deployment.world.wait(AWAY)
    assert take(services, game) == "waits"
    assert deadline_of(services, game) > deployment.world.now()


@pytest.mark.parametrize(("wait", "left"), [(20, 20), (60, 60), (600, 60)])
def test_at_most_a_minute_is_given_back(wait: int, left: int) -> None:
    since = datetime(2026, 3, 1, tzinfo=UTC)
    back = since + timedelta(hours=1)
    end = end_of_wait(format_time(since), timedelta(seconds=wait), back)
    assert end == back + timedelta(seconds=left)


def test_a_wait_that_began_after_the_outage_is_not_changed() -> None:
    since = datetime(2026, 3, 1, tzinfo=UTC)
    end = end_of_wait(format_time(since), timedelta(seconds=600), since)
    assert end == since + timedelta(seconds=600)
