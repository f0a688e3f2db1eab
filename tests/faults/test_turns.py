"""Jobs that are late, repeated, concurrent or interrupted do no harm."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest

from service.application.calls import RegisteredPlayer
from service.bootstrap import Services
from service.store.events import Commit, EventStore, StoreUnavailable
from tests.worlds.fake_world import (
    Deployment,
    Stopped,
    assert_sound,
    entry_of,
    lines_of,
    open_game,
    person,
    play_out,
    post,
    stopping_after,
    version_of,
)

BOTS = ({"bot": "greedy"}, {"bot": "lowest"}, {"bot": "random"})


def test_a_turn_taken_twice_is_played_once(services: Services, ada: RegisteredPlayer) -> None:
    game = open_game(services, ada, BOTS)
    first = version_of(services, game)
    assert services.turns.play_due_moves(game, first) in ("again", "over")
    log = lines_of(services, game)
    assert services.turns.play_due_moves(game, first) == "stale"
    assert lines_of(services, game) == log


def test_a_late_job_makes_no_move(services: Services, ada: RegisteredPlayer) -> None:
    game = open_game(services, ada, ("me", {"bot": "lowest"}))
    old = version_of(services, game)
    post(services, ada, game, {"type": "ready"})
    log = lines_of(services, game)
    assert services.turns.play_due_moves(game, old) == "stale"
    assert lines_of(services, game) == log


def test_a_job_for_an_unknown_game_ends(services: Services) -> None:
    assert services.turns.play_due_moves(UUID(int=7), 3) == "stale"


def test_a_job_for_a_person_s_turn_makes_no_move(services: Services, ada: RegisteredPlayer) -> None:
    game = open_game(services, ada, ("me", {"bot": "lowest"}))
    services.turns.play_due_moves(game, version_of(services, game))
    log = lines_of(services, game)
    assert services.turns.play_due_moves(game, len(log)) == "waits"
    assert lines_of(services, game) == log


def test_a_job_for_a_game_that_is_over_makes_no_move(
    services: Services, ada: RegisteredPlayer
) -> None:
    game = open_game(services, ada, BOTS[:2])
    play_out(services, game)
    log = lines_of(services, game)
    assert services.turns.play_due_moves(game, len(log)) == "over"
    assert lines_of(services, game) == log


class Counting:
    """A store that counts the commits that took place, by the version decided on."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self.done: Counter[int] = Counter()
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def commit(self, commit: Commit) -> None:
        """Commit, and count it if it succeeded."""
        self._store.commit(commit)
        with self._lock:
            self.done[commit.appends[0].expected] += 1


def test_one_of_many_concurrent_jobs_commits_a_version(
    deployment: Deployment, ada: RegisteredPlayer
) -> None:
    """Four workers get every job; each version is written once, and the log is valid."""
    workers = [deployment.process() for _ in range(4)]
    game = open_game(workers[0], ada, BOTS)
    counted = []
    for worker in workers:
        counting = Counting(worker.store)
        worker.moves._store = counting  # type: ignore[assignment] # it is one by duck typing
        counted.append(counting)
    outcomes: Counter[str] = Counter()
    with ThreadPoolExecutor(len(workers)) as pool:
        while not entry_of(workers[0], game).record.sealed:
            now = version_of(workers[0], game)
            outcomes.update(
                pool.map(lambda worker, v=now: worker.turns.play_due_moves(game, v), workers)
            )
    total = sum((each.done for each in counted), Counter())
    assert set(total.values()) == {1}
    assert outcomes["stale"] > 0
    assert_sound(workers[0], game)


@pytest.mark.parametrize("ruleset", ["shithead", "leeds", "covered-queen"])
def test_a_worker_stopped_between_any_two_steps_only_delays_the_game(
    deployment: Deployment, second_deployment: Deployment, ruleset: str
) -> None:
    """If each worker is killed after one commit, the log has the same bytes."""
    uninterrupted, stopped = deployment.process(), second_deployment.process()
    game = open_game(uninterrupted, person(uninterrupted), BOTS, ruleset=ruleset, turn_limit=40)
    assert game == open_game(stopped, person(stopped), BOTS, ruleset=ruleset, turn_limit=40)
    play_out(uninterrupted, game)
    while not entry_of(stopped, game).record.sealed:
        due = stopped.directory.due_games(now=second_deployment.world.now(), limit=5)
        assert [row.id for row in due] == [game], "the sweeper must find the unfinished game"
        worker, before = second_deployment.process(), version_of(stopped, game)
        with contextlib.suppress(Stopped):
            worker.turns.play_due_moves(game, before, step=stopping_after(1))
        second_deployment.end(worker)
        assert version_of(stopped, game) > before
    assert lines_of(stopped, game) == lines_of(uninterrupted, game)


def test_a_worker_that_stops_before_its_first_move_has_changed_nothing(
    services: Services, ada: RegisteredPlayer
) -> None:
    game = open_game(services, ada, BOTS)
    log = lines_of(services, game)
    with pytest.raises(Stopped):
        services.turns.play_due_moves(game, len(log), step=stopping_after(0))
    assert lines_of(services, game) == log
    play_out(services, game)
    assert_sound(services, game)


class LosingAnswers:
    """A store that commits and then raises, as if the answer were lost."""

    def __init__(self, store: EventStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def commit(self, commit: Commit) -> None:
        """Commit, and raise StoreUnavailable."""
        self._store.commit(commit)
        raise StoreUnavailable("the answer is lost")


def test_a_commit_without_an_answer_is_not_repeated(
    deployment: Deployment, ada: RegisteredPlayer
) -> None:
    services, unlucky = deployment.process(), deployment.process()
    unlucky.moves._store = LosingAnswers(unlucky.store)  # type: ignore[assignment] # by duck typing
    game = open_game(services, ada, BOTS[:2])
    before = version_of(services, game)
    with pytest.raises(StoreUnavailable):
        unlucky.turns.play_due_moves(game, before)
    assert version_of(services, game) > before
    assert unlucky.turns.play_due_moves(game, before) == "stale"
    play_out(services, game)
    assert_sound(services, game)


def test_concurrent_moves_of_a_person_and_a_bot_are_both_made(
    deployment: Deployment, services: Services, ada: RegisteredPlayer
) -> None:
    """In the exchange phase both may act: the second one decides again after the conflict."""
    game = open_game(services, ada, ("me", {"bot": "greedy"}))
    version = version_of(services, game)
    worker = deployment.process()
    with ThreadPoolExecutor(2) as pool:
        turn = pool.submit(worker.turns.play_due_moves, game, version)
        ready = pool.submit(post, deployment.process(), ada, game, {"type": "ready"})
        assert ready.result().version is not None
        assert turn.result() in ("stale", "waits", "again")
    while worker.turns.play_due_moves(game, version_of(worker, game)) != "waits":
        pass
    assert all(seat.ready for seat in entry_of(services, game).record.game.seats)
    assert_sound(services, game)
