"""Readiness, reported for each part of the service."""

from __future__ import annotations

import pytest

from service import startup_checks
from tests.servers import DatabaseServer
from tests.worlds.api_world import World, make_world


def test_a_healthy_service_reports_every_part_as_ready(world: World) -> None:
    answer = world.get("/readyz")
    assert answer.status_code == 200
    parts = answer.json["parts"]
    assert {name: parts[name] for name in ("database", "migrations", "keys", "clock")} == {
        "database": "ok",
        "migrations": "ok",
        "keys": "ok",
        "clock": "ok",
    }


def test_an_unmigrated_database_makes_the_service_unready(
    database_server: DatabaseServer,
) -> None:
    world = make_world(database_server.create())
    answer = world.get("/readyz")
    assert answer.status_code == 503
    assert answer.json["parts"]["database"] == "ok"
    assert answer.json["parts"]["migrations"] == "failed: MigrationError"
    world.services.close()


def test_a_clock_that_went_back_is_reported_and_calls_are_still_answered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process continues: ending it would help no game, and it could not restart."""
    monkeypatch.setattr(startup_checks, "clock_fault", lambda *_: "it has gone back")
    answer = world.get("/readyz")
    assert answer.status_code == 200
    assert answer.json["parts"]["clock"] == "failed: ClockWrong"
