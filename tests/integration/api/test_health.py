"""Readiness, reported for each part of the service."""

from __future__ import annotations

import errno

import pytest

from service import startup_checks
from service.api.app import read_files
from service.rulesets.catalogue import catalogue
from service.rulesets.statements import model
from service.store.database import queries
from tests.servers import DatabaseServer
from tests.worlds.api_world import World, make_world, problem_of


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


def test_queries_and_rulesets_are_read_before_the_first_request() -> None:
    """A request that opened a file failed if all descriptors were taken."""
    queries.cache_clear()
    read_files()
    assert queries.cache_info().currsize == 1
    assert catalogue.cache_info().currsize == 1
    assert model.cache_info().currsize == 1


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_without_free_file_descriptors_a_request_is_answered_with_retry_later(
    world: World, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fails(*_all: object, **_more: object) -> None:
        raise OSError(number, "Too many open files")

    monkeypatch.setattr("service.application.rulesets.RulesetPages.page", fails)
    answer = world.get("/v1/rulesets")
    assert (answer.status_code, problem_of(answer)) == (503, "unavailable")
    assert answer.headers["Retry-After"] == "2"
