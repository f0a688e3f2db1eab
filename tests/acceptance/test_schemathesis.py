"""Schemathesis tries every call of the document with data that fits it and data that does not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS
from schemathesis.generation import GenerationMode

from service.api.app import create_app
from service.bootstrap import compose
from service.config import Settings
from service.keys.keyring import Keyring
from tests.examples import examples
from tests.memory.directory import MemoryDirectory
from tests.memory.events import MemoryStore
from tests.memory.public_log import MemoryLog
from tests.servers import DatabaseServer
from tests.worlds.api_world import Person, World, make_world

pytestmark = pytest.mark.heavy

WELL_FORMED_BUT_REFUSED = {
    "bad-signature",
    "cannot-deal",
    "entropy-refused",
    "idempotency-conflict",
    "not-a-bundle",
    "rule-refused",
    "ruleset-refused",
    "signature-required",
    "stale-version",
    "unknown-card",
}
"""Refusals of data that fits its schema: they depend on the game, which no schema knows."""

NAMES_NOTHING = (
    "there is no",
    "the table has no",
    "must be a version from",
    "must not be greater than the last version",
    "cursor is none that a list gave",
    "is not a cursor of this list",
    "is a key of small order",
    "is a key that is no point",
    "is a key in a non-canonical",
    "must be public, all, or a seat of the game",
    "you can take one seat only",
    "must have as many cards as /up",
    "contains a NUL character",
    "the body is not JSON: a number is too large",
    "the body is nested more than",
    "is not a verifier key",
    "is not SEAT=KEY",
)
"""Error messages about values that a schema cannot know or compare."""


class Playground:
    """A world in which ids that fit the document mostly name something that is there."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._chance = random.Random(7)
        self._hosts: list[Person] = []

    def caller(self, path: str) -> Person:
        """Return the caller; calls that erase a player or end a token get a new player."""
        if "/players/" in path or not self._hosts or self._chance.random() < 0.1:
            self._hosts.append(self.world.person())
        return self._hosts[-1]

    def place(self, case: Any, caller: Person) -> None:
        """Let ids that are free to choose name a table or a game of the caller's."""
        known: dict[str, Any] = {
            "player_id": caller.id,
            "ruleset_id": self._chance.choice(["leeds", "threes", "mukava"]),
            "seq": self._chance.randrange(4),
            "card": self._chance.choice(["Th", "2c"]),
        }
        if {"table_id", "game_id"} & set(case.path_parameters or {}):
            table = caller.table()
            known |= {"table_id": table["id"], "game_id": table["game"]}
        for name in case.path_parameters or {}:
            case.path_parameters[name] = known.get(name, case.path_parameters[name])


@pytest.fixture(scope="module")
def playground(database_server: DatabaseServer, migrated_template: str) -> Iterator[Playground]:
    url = database_server.create(template=migrated_template)
    world = make_world(url)
    yield Playground(world)
    world.services.close()
    database_server.drop(url)


def _document() -> Any:
    """Return the document of an application without a database; the tests call another."""
    store = MemoryStore()
    services = compose(
        log_store=MemoryLog(),
        store=store,
        directory=MemoryDirectory(store),
        keyring=Keyring.generate(),
        origin="tests.example",
    )
    app = create_app(services, Settings(database_url="postgresql://", rate_limits=False))
    return schemathesis.openapi.from_wsgi("/v1/openapi.json", app)


# A stream has no end that a test could wait for; test_streams.py reads it.
schema = _document().exclude(path_regex="stream$")


@schema.parametrize()  # type: ignore[untyped-decorator] # the library has no types
# Always the same requests: a run that fails is one that somebody can repeat.
@settings(
    examples(8),
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_every_call_keeps_what_the_document_says(playground: Playground, case: Any) -> None:
    caller = playground.caller(case.path)
    if _fits(case, "path"):
        playground.place(case, caller)
    if isinstance(case.query, dict) and _fits(case, "query") and "wait" in case.query:
        case.query["wait"] = 0
    answer = case.call(app=playground.world.app, headers=caller.headers)
    excluded = []
    if _refused_by_the_game(answer):
        excluded = CHECKS.get_by_names(["positive_data_acceptance"])
    elif all(_fits(case, part) for part in ("path", "query", "body")):
        # What may be wrong then is the token, and this test brings a right one.
        excluded = CHECKS.get_by_names(["negative_data_rejection"])
    case.validate_response(answer, excluded_checks=excluded, headers=caller.headers)


def _fits(case: Any, part: str) -> bool:
    """Whether a part of the request was made to fit its schema."""
    if case.meta is None:
        return True
    return all(
        info.mode is GenerationMode.POSITIVE
        for kind, info in case.meta.components.items()
        if kind.value == part
    )


def _refused_by_the_game(answer: Any) -> bool:
    if not answer.headers.get("content-type", [""])[0].startswith("application/problem+json"):
        return False
    result = answer.json()
    kind = result["type"].removeprefix("/problems/")
    if kind in ("invalid-body", "malformed"):
        errors = result.get("errors", [{"at": "", "message": result["detail"]}])
        # Headers are generated outside their pattern and still counted as valid: If-Match: 0.
        return all(
            error["at"].startswith(("/options/", "/accused", "/seq", "If-Match"))
            or error["message"].startswith(NAMES_NOTHING)
            for error in errors
        )
    return kind in WELL_FORMED_BUT_REFUSED
