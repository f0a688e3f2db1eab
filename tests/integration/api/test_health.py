"""Readiness tells the parts apart."""

from __future__ import annotations

import pytest

from service import startup_checks
from tests.servers import DatabaseServer
from tests.worlds.api_world import World, make_world


def test_a_service_in_order_says_so_of_every_part(world: World) -> None:
    answer = world.get("/readyz")
    assert answer.status_code == 200
    parts = answer.json["parts"]
    assert {name: parts[name] for name in ("database", "migrations", "keys", "clock")} == {
        "database": "ok",
        "migrations": "ok",
        "keys": "ok",
        "clock": "ok",
    }


def test_a_database_that_was_not_migrated_answers_all_the_same(
    database_server: DatabaseServer,
) -> None:
    world = make_world(database_server.create())
    answer = world.get("/readyz")
    assert answer.status_code == 503
    assert answer.json["parts"]["database"] == "ok"
    assert answer.json["parts"]["migrations"] == "failed: MigrationError"
    world.services.close()


def test_a_clock_that_went_back_is_told_and_keeps_nobody_from_calling(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process goes on: to end it would help no game, and it would not start again."""
    monkeypatch.setattr(startup_checks, "clock_fault", lambda *_: "it has gone back")
    answer = world.get("/readyz")
    assert answer.status_code == 200
    assert answer.json["parts"]["clock"] == "failed: ClockWrong"
