"""Many seeks at once, in processes of which some are killed: each ends at one table at most."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from multiprocessing.process import BaseProcess
from typing import Final
from uuid import UUID

import psycopg
import pytest

from service.application.calls import Idempotency, RegisteredPlayer
from service.application.errors import Refusal
from service.application.quotas import Slice
from service.application.tables.matching import Pool
from service.application.tables.seeks import SeekRequest
from service.bootstrap import Services
from service.domain.events import Clock, Entropy
from service.keys import Keyring
from service.store.database import Database
from service.store.events import StoreUnavailable
from service.store.seeks import SeekConditions
from tests.databases import Databases
from tests.examples import is_long
from tests.worlds.fake_world import KEYS, person, services_over

pytestmark = pytest.mark.heavy

CLEAN = multiprocessing.get_context("forkserver")
"""Processes that share no connection or thread with this one; a fork of it would."""

RULESETS: Final = ("leeds", "shithead", "threes")
PROCESSES: Final = 4


def services_at(url: str, keys: Keyring = KEYS) -> Services:
    """Return the services of a process, with the clock and the random numbers of the machine."""
    return services_over(Database(url, size=2), keyring=keys)


def wanted(rng: random.Random) -> SeekRequest:
    """Return a wish: often one that others share, at times with bots."""
    conditions = SeekConditions(
        rulesets=tuple(rng.sample(RULESETS, rng.randint(1, 3))),
        seats=rng.choice((2, 2, 2, 3)),
        clock=rng.choice((None, Clock(turn_seconds=20, swap_seconds=60))),
        entropy=Entropy.NONE,
    )
    return SeekRequest(conditions=conditions, key=None, fill_after=rng.choice((None, None, 0, 1)))


def process(url: str, keys: str, players: Sequence[UUID], seed: int) -> None:
    """
    Post a seek for each player that has none; withdraw some, and look for matches as the sweeper.

    A process that is started again repeats the requests of the one that was killed; all have the
    key file `keys`, with which stored answers are encrypted.
    """
    services = services_at(url, Keyring.from_text(keys))
    for player in players:
        while True:
            try:
                act(services, player, random.Random(f"{seed} {player}"))
                break
            except StoreUnavailable:  # on a busy machine: repeated, as clients do
                time.sleep(0.05)
    services.close()


def act(services: Services, player: UUID, rng: random.Random) -> None:
    """Post the seek of a player, then perhaps withdraw it, and perhaps sweep."""
    by = RegisteredPlayer(id=player, name="")
    request = Idempotency(key=str(player), path="/v1/seeks", body_hash=bytes(32))
    services.seeks.post(by, wanted(rng), request)
    if rng.random() < 0.1:
        for one in services.seeks.of_player(player):
            with suppress(Refusal):  # it was matched meanwhile
                services.seeks.withdraw(by, UUID(one["id"]))
    if rng.random() < 0.2:
        services.matchmaker.sweep(Slice(rows=20, seconds=1))


def test_each_seek_ends_at_one_table_though_processes_are_killed(
    databases: Databases,
) -> None:
    CLEAN.set_forkserver_preload([__name__])
    url, players, kills = databases.take(), 1000 if is_long() else 80, 40 if is_long() else 8
    services = services_at(url)
    people = [person(services, f"P{number}").id for number in range(players)]
    parts = [people[part::PROCESSES] for part in range(PROCESSES)]
    services.close()
    run_and_kill(url, parts, kills, random.Random(5))
    services = services_at(url)
    time.sleep(1.1)  # the time of the last ones that wait for bots
    while services.matchmaker.sweep(Slice(rows=20, seconds=60)):
        pass
    check(url, services, people)
    services.close()
    databases.give_back(url)


def run_and_kill(url: str, parts: Sequence[Sequence[UUID]], kills: int, rng: random.Random) -> None:
    """Run the processes to their end; kill one of them again and again, and start it anew."""

    def started(part: int) -> BaseProcess:
        child = CLEAN.Process(
            target=process, args=(url, KEYS.to_text(), parts[part], part), daemon=True
        )
        child.start()
        return child

    children = {part: started(part) for part in range(len(parts))}
    killed = 0
    while children:
        time.sleep(rng.uniform(0.02, 0.15))
        for part, child in list(children.items()):
            if not child.is_alive():
                child.join()
                assert child.exitcode == 0
                del children[part]
        if children and killed < kills:
            part = rng.choice(list(children))
            pid = children[part].pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            children[part].join()
            children[part] = started(part)
            killed += 1
    assert killed == kills, "the processes ended before they could be killed"


def check(url: str, services: Services, people: Sequence[UUID]) -> None:
    """Check that nobody sits at two tables or at none by a matched seek, and that none is left."""
    with psycopg.connect(url) as owner:
        seeks = owner.execute(
            "SELECT player_id, table_id, rulesets, seats, turn_seconds, fill_after, ended_at"
            " FROM seeks"
        ).fetchall()
        seated = owner.execute(
            "SELECT table_id, player_id FROM table_seats WHERE player_id IS NOT NULL"
        ).fetchall()
        tables = owner.execute(
            "SELECT t.table_id, t.ruleset_id, count(*), count(*) FILTER (WHERE s.kind = 'bot'),"
            " t.game_id IS NOT NULL FROM tables t JOIN table_seats s USING (table_id)"
            " GROUP BY t.table_id"
        ).fetchall()
    assert sorted(player for player, *_ in seeks) == sorted(people)
    matched = Counter((table, player) for player, table, *_ in seeks if table is not None)
    assert matched == Counter(seated), "a seat without its seek, or a seek without its seat"
    assert set(matched.values()) == {1}
    for table, ruleset, seats, bots, is_dealt in tables:
        own = [seek for seek in seeks if seek[1] == table]
        assert is_dealt
        assert len(own) + bots == seats
        assert {(seek[3], ruleset in seek[2]) for seek in own} == {(seats, True)}
        assert len({seek[4] for seek in own}) == 1
        assert not bots or all(seek[5] is not None for seek in own)
    now = datetime.now(UTC)
    left = services.directory.open_seeks(now=now, limit=2000)
    assert len(left) == sum(seek[6] is None for seek in seeks)
    pool = Pool(left, ())
    assert not any(pool.take(n, now) for n in range(len(left))), "a match was forgotten"
    assert len(matched) > len(people) / 2
