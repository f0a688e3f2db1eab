"""A clock jump in a running process erases no player and closes no game."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from uuid import UUID

import pytest

from service.application import ports
from service.store.events import StoreError
from tests.worlds.api_world import World, make_world

FAR = timedelta(days=400)


class Ahead(datetime):
    """The clock of a machine that is more than a year ahead."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override] # no subclass
        return datetime.now(tz) + FAR


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    """Return a service that erases unused players after a year and closes games after a month."""
    made = make_world(database_url)
    yield made
    made.services.close()


@pytest.mark.attack("OLD_STATE", "a clock set ahead before a purge", check="the clock watch")
def test_a_clock_jump_erases_no_player(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    player = world.person("Eve")
    world.person("Ada").game()
    monkeypatch.setattr(ports, "datetime", Ahead)
    assert world.services.purging.players() == 0
    assert player.get("/v1/players/me").status_code == 200


@pytest.mark.attack(
    "OLD_STATE", "a clock set ahead before idle games are closed", check="the clock watch"
)
def test_a_clock_jump_closes_no_game(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    host, guest = world.person("Ada"), world.person("Bob")
    table = host.table("open")
    assert guest.post(f"/v1/tables/{table['id']}/seats").status_code == 201
    game = UUID(host.get(f"/v1/tables/{table['id']}").json["game"])
    version = host.get(f"/v1/games/{game}").json["version"]
    monkeypatch.setattr(ports, "datetime", Ahead)
    assert not world.services.idle.found(limit=10)
    assert world.services.turns.play_due_moves(game, version) != "over"
    monkeypatch.undo()
    assert host.get(f"/v1/games/{game}").json["status"] != "aborted"


def test_without_a_doubt_of_the_clock_the_purge_runs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the test above would also pass if the purge never ran; the database refuses it."""
    monkeypatch.setattr(ports, "datetime", Ahead)
    monkeypatch.setattr(world.services.purging, "_clock_doubt", lambda: None)
    with pytest.raises(StoreError):
        world.services.purging.players()
