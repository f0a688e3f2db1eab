"""Readiness tells the parts apart."""

from __future__ import annotations

from tests.api_world import World, make_world
from tests.servers import DatabaseServer


def test_a_service_in_order_says_so_of_every_part(world: World) -> None:
    answer = world.get("/readyz")
    assert answer.status_code == 200
    parts = answer.json["parts"]
    assert {name: parts[name] for name in ("database", "migrations", "keys")} == {
        "database": "ok",
        "migrations": "ok",
        "keys": "ok",
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
