"""What requests leave in the database is bounded: stored answers, and records of reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from service.application.quotas import QUOTAS
from service.store.events import QuotaKind
from service.store.games import MAX_READINGS
from tests.streams import numbered
from tests.worlds.api_world import Person, World, problem_of


def keyed() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid4())}


@contextmanager
def database(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def answers(url: str) -> int:
    """Return the number of stored answers."""
    with database(url) as connection:
        [count] = connection.execute("SELECT count(*) FROM answers").fetchone() or (0,)
    return int(count)


def test_a_request_that_changes_nothing_leaves_no_stored_answer(
    ada: Person, database_url: str
) -> None:
    """A call to come back from no bot; repeating it has no effect either."""
    game = ada.game()
    before = answers(database_url)
    for _ in range(3):
        assert ada.post(f"{game}/back", headers=keyed()).status_code == 200
    assert answers(database_url) == before


def test_the_stored_answers_of_a_caller_have_a_maximum_size(
    ada: Person, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUOTAS, *numbered(QuotaKind.ANSWERS, 10_000))
    table = {"ruleset": "leeds", "seats": ["me", "open"]}
    statuses = [ada.post("/v1/tables", table, headers=keyed()).status_code for _ in range(30)]
    assert statuses[0] == 201
    assert statuses[-1] == 429
    refused = ada.post("/v1/tables", table, headers=keyed())
    assert problem_of(refused) == "rate-limited"
    assert "10000 bytes" in refused.json["detail"]
    assert ada.post("/v1/tables", table).status_code == 201
    assert bob.post("/v1/tables", table, headers=keyed()).status_code == 201


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """The path of a game, and the header with the invite of its table."""

    path: str
    invite: Mapping[str, str]


@pytest.fixture
def private(ada: Person) -> Hand:
    """Return a running game at a private table of Ada and a bot."""
    table = ada.table({"bot": "lowest"}, visibility="private")
    return Hand(path=f"/v1/games/{table['game']}", invite={"Shithead-Invite": table["invite"]})


def test_a_read_is_recorded_by_operation_seat_and_version_whatever_else_is_queried(
    private: Hand, world: World
) -> None:
    path, invited = private.path, dict(private.invite)
    for query in ("?limit=1", "?limit=2", "?after=0", "?after=1&limit=7", ""):
        assert world.get(f"{path}/events{query}", headers=invited).status_code == 200
    for query in ("?as=public&at=1", "?at=1&as=public", "?at=1"):
        assert world.get(f"{path}{query}", headers=invited).status_code == 200
    found = world.services.directory.readings(UUID(path[-36:])).items
    assert sorted(reading.what for reading in found) == [
        *(f"{path}/events", f"{path}?at=1", f"{path}?at=1&as=public"),
    ]


def test_a_reader_at_the_limit_is_refused_and_never_unlogged(
    private: Hand, world: World, ada: Person, bob: Person, database_url: str
) -> None:
    path, invited = private.path, dict(private.invite)
    game = UUID(path[-36:])
    assert bob.get(path, headers=invited).status_code == 200
    with database(database_url) as connection:
        connection.execute(
            "INSERT INTO readings (game_id, at, reader, what) "
            "SELECT %s, now(), %s, 'read ' || n FROM generate_series(2, %s) n",
            (game, UUID(bob.id), MAX_READINGS),
        )
    refused = bob.get(f"{path}/events", headers=invited)
    assert problem_of(refused) == "rate-limited"
    assert bob.get(path, headers=invited).status_code == 200  # it repeats a recorded read
    assert world.get(f"{path}/events", headers=invited).status_code == 200
    assert ada.get(f"{path}/events").status_code == 200
