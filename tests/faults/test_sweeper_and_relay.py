"""Notifications lost after a commit are recovered from PostgreSQL by sweeper and relay."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from service.application.calls import Caller, Idempotency, RegisteredPlayer
from service.bootstrap import Services
from service.domain.events import Clock
from service.features.games import due_games
from service.features.sweeping import AGAIN_AFTER
from service.store.events import StoreError
from tests.worlds.fake_world import Deployment, one_move, open_game, post, sliced, version_of
from workers import relay as relay_module
from workers.relay import Relay

BOTS = ({"bot": "greedy"}, {"bot": "lowest"})


class Stopwatch:
    """The sweeper's own clock, set by a test."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        """Return the seconds that were set."""
        return self.seconds


@pytest.fixture
def stopwatch(monkeypatch: pytest.MonkeyPatch) -> Stopwatch:
    """Return the clock by which the sweeper delays repeated wake-ups."""
    clock = Stopwatch()
    monkeypatch.setattr("service.features.sweeping.time", clock)
    return clock


@pytest.fixture
def wake(services: Services, stopwatch: Stopwatch) -> Callable[[], int]:
    """Return a search for due games, with nothing woken yet."""
    return sliced(due_games, services)


def woken(deployment: Deployment) -> list[tuple[UUID, int]]:
    """Return the wake-ups sent since the last call."""
    found, deployment.notifier.woken = deployment.notifier.woken, []
    return found


def test_a_lost_wake_up_is_sent_again(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, wake: Callable[[], int]
) -> None:
    game = open_game(services, ada, BOTS)
    woken(deployment)
    assert wake() == 1
    assert woken(deployment) == [(game, version_of(services, game))]


def test_a_game_is_woken_again_only_after_a_pause(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    wake: Callable[[], int],
    stopwatch: Stopwatch,
) -> None:
    open_game(services, ada, BOTS)
    assert wake() == 1
    stopwatch.seconds += AGAIN_AFTER.total_seconds() - 0.1
    assert wake() == 0
    stopwatch.seconds += 0.2
    assert wake() == 1, "the job may have died with its worker"


def test_a_game_at_a_new_version_is_woken_at_once(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, wake: Callable[[], int]
) -> None:
    game = open_game(services, ada, BOTS)
    wake()
    one_move(services, game)
    assert wake() == 1
    assert woken(deployment)[-1] == (game, version_of(services, game))


def test_a_game_that_waits_for_a_person_is_not_woken(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, wake: Callable[[], int]
) -> None:
    game = open_game(services, ada, ("me", {"bot": "lowest"}))
    while services.turns.play_due_moves(game, version_of(services, game)) != "waits":
        pass
    assert wake() == 0


def test_a_game_is_woken_at_its_deadline(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, wake: Callable[[], int]
) -> None:
    clock = Clock(turn_seconds=5, swap_seconds=5)
    game = open_game(services, ada, ("me", {"bot": "lowest"}), clock=clock)
    while services.turns.play_due_moves(game, version_of(services, game)) != "waits":
        pass
    woken(deployment)
    deployment.world.wait(4.999)
    assert wake() == 0
    deployment.world.wait(0.001)
    assert wake() == 1
    assert woken(deployment) == [(game, version_of(services, game))]


def test_games_that_make_no_progress_do_not_hide_others(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    wake: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A full batch of stuck games does not hide the games after it."""
    wake = sliced(due_games, services, rows=2)
    games = [open_game(services, ada, BOTS) for _ in range(5)]
    woken(deployment)
    while wake():
        pass
    assert sorted(game for game, _ in woken(deployment)) == sorted(games)


def test_the_job_of_a_second_sweeper_is_stale(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, stopwatch: Stopwatch
) -> None:
    game = open_game(services, ada, BOTS)
    for process in (services, deployment.process()):
        assert sliced(due_games, process)() == 1
    outcomes = [services.turns.play_due_moves(*call) for call in woken(deployment)]
    assert set(outcomes[1:]) == {"stale"}
    assert version_of(services, game) > 3


def test_the_sweeper_deletes_stored_answers_after_a_day(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, wake: Callable[[], int]
) -> None:
    game = open_game(services, ada, ("me", {"bot": "lowest"}))
    request = Idempotency(key="k", path="/p", body_hash=b"h" * 32)
    post(services, ada, game, {"type": "ready"}, request=request)
    assert services.answers.first_answer(ada.id, request) is not None
    in_a_day(deployment, services)
    assert services.purging.answers() == 1
    assert services.answers.first_answer(ada.id, request) is None


def in_a_day(deployment: Deployment, services: Services) -> None:
    """Let more than a day pass; PostgreSQL dates answers by its own clock."""
    deployment.world.time = datetime.now(UTC) + timedelta(hours=24, minutes=1)
    assert services.world.now() == deployment.world.time


@pytest.fixture
def relay(deployment: Deployment, services: Services, monkeypatch: pytest.MonkeyPatch) -> Relay:
    """Return a relay for which every row is old enough."""
    deployment.world.time = datetime.now(UTC)
    monkeypatch.setattr(relay_module, "OLDER_THAN", timedelta(seconds=-60))
    return Relay(services)


def test_the_relay_publishes_the_newest_version_of_each_game_once(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, relay: Relay
) -> None:
    games = [open_game(services, ada, BOTS) for _ in range(2)]
    for _ in range(3):
        one_move(services, games[0])
    deployment.notifier.announced = []
    assert relay.pass_on() == 5 + 2, "rows of the games and of their tables"
    announced = [one for one in deployment.notifier.announced if one[0] in games]
    assert sorted(announced) == sorted((g, version_of(services, g)) for g in games)
    assert len(deployment.notifier.announced) == 4
    assert relay.pass_on() == 0


def test_the_relay_leaves_rows_that_were_just_written(
    deployment: Deployment,
    services: Services,
    ada: RegisteredPlayer,
    relay: Relay,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relay_module, "OLDER_THAN", timedelta(seconds=60))
    open_game(services, ada, BOTS)
    assert relay.pass_on() == 0


def test_two_relays_pass_on_each_row_once(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, relay: Relay
) -> None:
    for _ in range(4):
        open_game(services, ada, BOTS)
    other = Relay(deployment.process())
    assert relay.pass_on() + other.pass_on() == 8, "a row of each game, and one of its table"


def test_a_row_stays_until_the_webhooks_that_it_concerns_were_woken(
    services: Services, ada: RegisteredPlayer, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relay that dies in between, or fails, does not delay them by minutes."""
    game, woken, failing = open_game(services, ada, BOTS), list[UUID](), [True]

    def wake(changed: Collection[UUID]) -> None:
        if failing.pop():
            raise StoreError("a constraint")
        woken.extend(changed)

    monkeypatch.setattr(services.webhooks, "wake", wake)
    with pytest.raises(StoreError):
        relay.pass_on()
    failing.append(False)
    assert relay.pass_on() == 2
    assert game in woken


@pytest.mark.parametrize("part", ["pass_on", "enqueue_webhooks"])
def test_an_error_of_one_round_ends_neither_the_relay_nor_its_other_part(
    services: Services, relay: Relay, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setattr(relay_module, "INTERVAL", 0.0)
    monkeypatch.setattr(relay_module, "AFTER_FAILURE", 0.0)
    rounds = {"pass_on": 0, "enqueue_webhooks": 0}

    def done(name: str) -> int:
        rounds[name] += 1
        if name == part and rounds[name] < 3:
            raise StoreError("a constraint")
        return 0

    for name in rounds:
        monkeypatch.setattr(relay, name, partial(done, name))
    relay.run(lambda: rounds[part] == 4)
    assert rounds == {"pass_on": 4, "enqueue_webhooks": 4}


class FailingNotifier:
    """A notifier without Redis; like the real one, it never raises."""

    def __init__(self) -> None:
        self.calls = 0

    def __getattr__(self, _name: str) -> Any:
        def ring(*_arguments: object, **_named: object) -> bool:
            self.calls += 1
            return False

        return ring


def test_without_notifications_the_sweeper_alone_completes_a_game(
    deployment: Deployment, ada: RegisteredPlayer, stopwatch: Stopwatch
) -> None:
    notifier = FailingNotifier()
    services = deployment.process(notifier=notifier)
    game = open_game(services, ada, BOTS)
    for _ in range(1000):
        stopwatch.seconds += 10
        due = services.directory.due_games(now=deployment.world.now(), limit=9)
        if not due:
            break
        before = notifier.calls
        for _ in range(2):  # nobody was woken, so it tries again in the next round
            assert sliced(due_games, services)() == 0
        assert notifier.calls >= before + 2
        one_move(services, due[0].id)
    body, _ = services.games.view(Caller(), game)
    assert b'"status":"ended"' in body
