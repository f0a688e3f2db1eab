"""A stored log that cannot be folded is answered with a problem."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from uuid import UUID

import orjson
import psycopg
import pytest
from flask.testing import FlaskClient

from service.api.app import create_app
from service.application.errors import InvalidHistory
from service.application.games.record import load
from service.features import FEATURES
from service.runtime.config import Settings
from tests.random_games import Plan, made_game
from tests.worlds.fake_world import Deployment, SetWorld, lines_of, open_game, person

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


@pytest.fixture
def broken(database_url: str) -> Iterator[tuple[UUID, FlaskClient]]:
    """Return a game whose first event is repeated as its second, and a client of its service."""
    deployment = Deployment(url=database_url, world=SetWorld(4))
    services = deployment.process()
    host, guest = person(services, "Ada"), person(services, "Bob")
    game = open_game(services, host, ("me", "open"), guests=(guest,))
    repeated = orjson.dumps(orjson.loads(lines_of(services, game)[0]) | {"seq": 1})
    with psycopg.connect(database_url) as owner:
        owner.execute("ALTER TABLE events DISABLE TRIGGER USER")
        owner.execute(
            "UPDATE events SET line = %s WHERE stream_id = %s AND seq = 1", (repeated, game)
        )
    settings = Settings(database_url="", keys="", rate_limits=False)
    yield game, create_app(FEATURES, deployment.process(), settings).test_client()
    deployment.close()


@pytest.mark.parametrize("call", CALLS)
def test_an_unfoldable_log_is_answered_with_a_problem_and_logged(
    broken: tuple[UUID, FlaskClient], call: str, caplog: pytest.LogCaptureFixture
) -> None:
    game, client = broken
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


def test_an_event_of_a_later_version_is_not_folded() -> None:
    """A process of this release answers 503 for a game that the next one continued."""
    lines = list(made_game(Plan(name="later", stop=9)))
    game = UUID(orjson.loads(lines[0])["game"])
    later = orjson.dumps(orjson.loads(lines[-1]) | {"v": 2})
    with pytest.raises(InvalidHistory, match=f"at seq {len(lines) - 1}"):
        load(game, [*lines[:-1], later], seed=None)
    begun = orjson.dumps(orjson.loads(lines[0]) | {"v": 2})
    with pytest.raises(InvalidHistory, match="at seq 0"):
        load(game, [begun], seed=None)
