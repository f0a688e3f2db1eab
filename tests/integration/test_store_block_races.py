"""A block and a seat at the same moment: one waits for the other in PostgreSQL, and sees it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest

from service.application.quotas import Slice
from tests.integration.test_store_purging import NUMBER_OF_WAITING
from tests.running import wait_for
from tests.worlds.api_world import Person, World

BLOCK = "SELECT keep_block(%s, %s, now(), 10)"
WANTED = {"rulesets": ["leeds"], "seats": 2}


@pytest.fixture
def transaction(database_url: str) -> Iterator[psycopg.Connection]:
    """Return a connection of its own, in a transaction that the test ends."""
    with psycopg.connect(database_url) as connection:
        yield connection


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def wait_for_waiting(database_url: str, number: int) -> None:
    """Wait until so many statements wait for a lock of another transaction."""
    with psycopg.connect(database_url, autocommit=True) as watch:
        wait_for(
            lambda: watch.execute(NUMBER_OF_WAITING).fetchone() == (number,),
            seconds=20,
        )


def test_a_player_who_sits_down_during_a_block_is_refused(
    database_url: str,
    transaction: psycopg.Connection,
    threads: ThreadPoolExecutor,
    ada: Person,
    bob: Person,
) -> None:
    table = ada.table("open", "open")["id"]
    transaction.execute(BLOCK, [ada.id, bob.id])
    sits_down = threads.submit(bob.post, f"/v1/tables/{table}/seats")
    wait_for_waiting(database_url, 1)
    transaction.commit()
    answer = sits_down.result(timeout=20)
    assert (answer.status_code, answer.json["code"]) == (403, "request.not_admitted")
    assert bob.id not in ada.get(f"/v1/tables/{table}").text


def test_a_block_waits_for_a_player_who_is_sitting_down(
    database_url: str,
    transaction: psycopg.Connection,
    threads: ThreadPoolExecutor,
    ada: Person,
    bob: Person,
) -> None:
    table = ada.table("open", "open")["id"]
    transaction.execute("SELECT FROM streams WHERE stream_id = %s FOR UPDATE", [table])
    sits_down = threads.submit(bob.post, f"/v1/tables/{table}/seats")
    wait_for_waiting(database_url, 1)
    blocks = threads.submit(partial(ada.call, "PUT", f"/v1/players/me/blocks/{bob.id}"))
    wait_for_waiting(database_url, 2)
    transaction.commit()
    assert sits_down.result(timeout=20).status_code == 201
    assert blocks.result(timeout=20).status_code == 200
    assert bob.id in ada.get(f"/v1/tables/{table}").text


@pytest.mark.parametrize("blocked_is_first", [True, False])
def test_a_seek_that_matches_during_a_block_stays_open(
    database_url: str,
    transaction: psycopg.Connection,
    threads: ThreadPoolExecutor,
    world: World,
    ada: Person,
    bob: Person,
    *,
    blocked_is_first: bool,
) -> None:
    first, second = (bob, ada) if blocked_is_first else (ada, bob)
    seeks = [one.post("/v1/seeks", WANTED).json for one in (first, second)]
    transaction.execute(BLOCK, [ada.id, bob.id])
    tables = threads.submit(world.services.matchmaker.sweep, Slice(rows=9, seconds=60))
    wait_for_waiting(database_url, 1)
    transaction.commit()
    assert tables.result(timeout=20) == 0
    assert second.get(f"/v1/seeks/{seeks[1]['id']}").json["status"] == "open"
    assert world.services.matchmaker.sweep(Slice(rows=9, seconds=60)) == 0
