"""Duplicate and concurrent requests, and reads between two writes."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import orjson
import pytest

from service.application.calls import Answered, Idempotency, RegisteredPlayer
from service.application.errors import Refusal
from service.bootstrap import Services
from tests.streams import cut_back
from tests.worlds.fake_world import (
    Deployment,
    assert_sound,
    entry_of,
    legal,
    lines_of,
    open_game,
    post,
    types_of,
    version_of,
)

READY = {"type": "ready"}
REPEAT = Idempotency(key="once", path="/moves", body_hash=hashlib.sha256(b"ready").digest())


def test_the_same_request_to_many_processes_at_once_is_carried_out_once(
    deployment: Deployment, services: Services, ada: RegisteredPlayer
) -> None:
    """
    All requests get the first answer, in any order of arrival.

    A duplicate that found no stored answer finds it after the conflict of its commit.
    """
    for number in range(5):
        game = open_game(services, ada, ("me", {"bot": "lowest"}))
        request = Idempotency(key=f"k{number}", path="/moves", body_hash=REPEAT.body_hash)
        processes = [deployment.process() for _ in range(3)]
        start = threading.Barrier(6)

        def once(
            process: Services, game: UUID = game, request: Idempotency = request, start: Any = start
        ) -> Answered:
            start.wait()
            return post(process, ada, game, READY, request=request)

        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(once, processes * 2))
        assert len({answer.body for answer in answers}) == 1
        assert [answer.replayed for answer in answers].count(False) == 1
        assert types_of(services, game).count("seat_ready") == 1


def test_a_duplicate_of_a_finished_request_gets_the_stored_answer(
    services: Services, ada: RegisteredPlayer
) -> None:
    game = open_game(services, ada, ("me", {"bot": "lowest"}))
    first = post(services, ada, game, READY, request=REPEAT)
    second = post(services, ada, game, READY, request=REPEAT)
    assert (second.body, second.replayed) == (first.body, True)


def test_a_key_reused_with_another_body_is_refused(
    services: Services, ada: RegisteredPlayer
) -> None:
    game = open_game(services, ada, ("me", {"bot": "lowest"}))
    post(services, ada, game, READY, request=REPEAT)
    other = Idempotency(key=REPEAT.key, path=REPEAT.path, body_hash=b"x" * 32)
    with pytest.raises(Refusal) as refused:
        post(services, ada, game, READY, request=other)
    assert refused.value.code == "idempotency-conflict"


def test_concurrent_deals_with_one_key_get_one_answer(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    game = open_game(services, ada, ("me", {"bot": "lowest"}))
    post(services, ada, game, {"type": "forfeit"})
    table = entry_of(services, game).table
    processes, start = [deployment.process() for _ in range(4)], threading.Barrier(4)

    def deal(process: Services) -> Answered:
        start.wait()
        return process.tables.deal(ada, table, REPEAT)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(deal, processes))
    assert len({answer.body for answer in answers}) == 1
    assert len(services.directory.games_of_table(table)) == 2


def test_a_log_shorter_than_the_cached_one_is_read_again(
    deployment: Deployment, services: Services, ada: RegisteredPlayer
) -> None:
    """After a restore of the database a process must not continue from its cache."""
    game = open_game(services, ada, ("me", {"bot": "lowest"}))
    known = entry_of(services, game)
    other = deployment.process()
    other.game_cache.keep(known)
    longer = post(services, ada, game, READY)
    assert longer.version == known.record.version + 1
    after = entry_of(services, game)
    other.game_cache.keep(after)
    cut_back(deployment.url, game, known.record.version)
    assert version_of(other, game) == known.record.version


def test_a_move_decided_at_an_old_version_is_decided_again(
    deployment: Deployment, services: Services, ada: RegisteredPlayer, bob: RegisteredPlayer
) -> None:
    """Two people in the exchange phase, at two processes: both moves are made."""
    game = open_game(services, ada, ("me", "open"), guests=(bob,))
    one, two = deployment.process(), deployment.process()
    for process in (one, two):
        entry_of(process, game)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(post, one, ada, game, READY), pool.submit(post, two, bob, game, READY)]
        assert len({done.result().version for done in both}) == 2
    assert types_of(services, game).count("seat_ready") == 2
    assert_sound(services, game)


def test_the_same_play_sent_twice_at_once_for_one_version_is_made_once(
    deployment: Deployment, services: Services, ada: RegisteredPlayer
) -> None:
    game = open_game(services, ada, ("me", {"bot": "lowest"}), ruleset="leeds")
    while services.turns.play_due_moves(game, version_of(services, game)) != "waits":
        pass
    post(services, ada, game, READY)
    while services.turns.play_due_moves(game, version_of(services, game)) != "waits":
        pass
    move = legal(services, game, 0)[0]
    processes, log = [deployment.process(), deployment.process()], lines_of(services, game)

    def accepted(process: Services) -> bool:
        try:
            post(process, ada, game, move, expected=len(log))
        except Refusal:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(accepted, processes)) == [False, True]
    new = [orjson.loads(line) for line in lines_of(services, game)[len(log) :]]
    assert sum(event["by"] == 0 and "cards" in event["data"] for event in new) == 1
