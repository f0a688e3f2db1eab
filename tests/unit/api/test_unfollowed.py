"""A stored log that cannot be folded is answered with a problem."""

from __future__ import annotations

import logging
from uuid import UUID

import orjson
import pytest
from flask.testing import FlaskClient

from service.api.app import create_app
from service.application.errors import InvalidHistory
from service.application.games.record import load
from service.bootstrap import Services
from service.runtime.config import Settings
from tests.memory.directory import MemoryDirectory
from tests.memory.events import MemoryStore
from tests.memory.public_log import MemoryLog
from tests.random_games import Plan, made_game
from tests.worlds.fake_world import KEYS, SetWorld, open_game, person

CALLS = (
    "",
    "/events",
    "/replay",
    "/transcript",
    "/audit",
    "/audit/moves/3",
    "/audit/cards/Th",
    "/audit/knowledge?seat=0",
    "/evidence",
)


def broken() -> tuple[UUID, FlaskClient]:
    """Return a game whose first event is repeated as its second, and a client of its service."""
    store, world = MemoryStore(), SetWorld(4)

    def composed() -> Services:
        directory = MemoryDirectory(store)
        return Services(
            log_store=MemoryLog(),
            store=store,
            directory=directory,
            keyring=KEYS,
            origin="a.test",
            world=world,
        )

    services = composed()
    host, guest = person(services, "Ada"), person(services, "Bob")
    game = open_game(services, host, ("me", "open"), guests=(guest,))
    lines = store._streams[game].lines
    lines[1] = orjson.dumps(orjson.loads(lines[0]) | {"seq": 1})
    settings = Settings(database_url="", keys="", rate_limits=False)
    return game, create_app(composed(), settings).test_client()


@pytest.mark.parametrize("call", CALLS)
def test_an_unfoldable_log_is_answered_with_a_problem_and_logged(
    call: str, caplog: pytest.LogCaptureFixture
) -> None:
    game, client = broken()
    with caplog.at_level(logging.ERROR, "shithead.api"):
        answer = client.get(f"/v1/games/{game}{call}")
    assert (answer.status_code, answer.mimetype) == (503, "application/problem+json")
    assert answer.json is not None
    assert answer.json["type"] == "/problems/unavailable"
    assert answer.json["detail"].startswith("the stored record of this game is inconsistent")
    assert f"game {game} is invalid at seq 1" in caplog.text


def test_an_unfoldable_log_is_read_up_to_its_faulty_event() -> None:
    lines = list(made_game(Plan(name="unfollowed", stop=9)))
    game = UUID(orjson.loads(lines[0])["game"])
    assert load(game, lines, seed=None).version == len(lines)
    lines[6] = lines[0]
    with pytest.raises(InvalidHistory, match="at seq 6"):
        load(game, lines, seed=None)
