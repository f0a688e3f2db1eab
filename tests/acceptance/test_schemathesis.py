"""Schemathesis tests every operation of the document with valid and invalid data."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.generation.meta import TestPhase
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.python._constants.orchestrator import build_constants_pool

from service.api.app import create_app
from service.api.conventions.media_types import NDJSON, ZIP
from service.features import FEATURES
from service.runtime.config import Settings
from tests.examples import examples, stride
from tests.worlds.api_world import Person, World, make_world
from tests.worlds.fake_world import unconnected

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

BEYOND_THE_SCHEMA = (
    "there is no",
    "the table has no",
    "must be a version from",
    "must not be greater than `to`",
    "is not a cursor of this list",
    "is a key of small order",
    "is a key that is no point",
    "is a key in a non-canonical",
    "must be public, all, or a seat of the game",
    "you can take one seat only",
    "must have as many cards as /up",
    "contains a NUL character",
    "has a number that is not written as an integer",
    "the body is empty",
    "the body is not JSON: a number is too large",
    "the body is nested more than",
    "is not a verifier key",
    "is not SEAT=KEY",
    "is neither a date nor a time",  # a day that the calendar does not have
    "is no time such as",
    "is not in the future",
)
"""Error messages about values that a schema cannot know or compare."""


BYTES = (ZIP, NDJSON)
"""Types whose schema is a string of bytes: every body fits it, whatever value it was made of."""

TEXTS = (*BYTES, "multipart/form-data")
"""Types that turn every value into text: a receipt that is a number arrives as its digits."""

SIMILAR = 1
"""CI tries so many boundary cases of one kind for one field, and few further ones."""

NO_WORKER = "no worker is available to play trial hands"
"""A ruleset that fits its schema is played out first, for which this world has no worker."""


class Playground:
    """A world in which most ids that fit the document name an existing object."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._chance = random.Random(7)
        self._hosts: list[Person] = []
        self._table: dict[str, Any] | None = None
        self._tried: Counter[tuple[object, ...]] = Counter()

    def leaves_out(self, case: Any) -> bool:
        """
        Return whether CI leaves out a boundary case, because it has tried similar ones.

        A move has nine variants with the same fields for its signature: 2,700 boundary cases.
        """
        if case.meta is None or case.meta.phase.name is not TestPhase.COVERAGE:
            return False
        data = case.meta.phase.data
        field = re.sub(r"/oneOf/\d+", "/oneOf", data.location or "")
        kind = (case.operation.label, data.scenario, data.parameter_location, data.parameter, field)
        self._tried[kind] += 1
        number = self._tried[kind]
        return number > SIMILAR and number % stride(60) != 0

    def caller(self, path: str) -> Person:
        """Return the caller: usually the host of the table."""
        if not self._hosts or self._chance.random() < 0.1:
            self._hosts.append(self.world.person())
            self._table = None
        return self._hosts[-1]

    def place(self, case: Any, caller: Person) -> None:
        """Replace ids in the path by existing ones, if possible of the caller's table and game."""
        known: dict[str, Any] = {
            "player_id": caller.id,
            "ruleset_id": self._chance.choice(["leeds", "threes", "mukava"]),
            "seq": self._chance.randrange(4),
            "card": self._chance.choice(["Th", "2c"]),
        }
        if {"table_id", "game_id"} & set(case.path_parameters or {}):
            self._table = table = self._table or caller.table()
            known |= {"table_id": table["id"], "game_id": table["game"]}
        for name in case.path_parameters or {}:
            case.path_parameters[name] = known.get(name, case.path_parameters[name])

    def renew(self, case: Any, answer: Any) -> None:
        """After a call that may have changed the table or its caller, use new ones."""
        if case.method == "GET" or answer.status_code >= 400:
            return
        self._table = None
        if "/players/" in case.path:
            self._hosts.pop()  # the player may be erased, or have another token


@pytest.fixture(scope="module")
def playground(module_database_url: str) -> Iterator[Playground]:
    world = make_world(module_database_url)
    yield Playground(world)
    world.services.close()


def _application() -> Flask:
    """Return an application without a database, for the list of its calls."""
    return create_app(
        FEATURES, unconnected(), Settings(database_url="postgresql://", rate_limits=False)
    )


def _calls() -> list[str]:
    """Return method and path of each call, as the document names them."""
    rules = [
        (method, re.sub(r"<(?:[a-z]+:)?([a-z_]+)>", r"{\1}", rule.rule))
        for rule in _application().url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    ]
    return sorted(f"{method} {path}" for method, path in rules if path.startswith("/v1/"))


@pytest.fixture(scope="module")
def document(playground: Playground) -> Any:
    """Return the document as Schemathesis reads it; this takes seconds, so no import does it."""
    # Without serializers for these types it would try no upload of a bundle or a log.
    schemathesis.serializer.alias(list(BYTES), "application/octet-stream")
    read = schemathesis.openapi.from_wsgi("/v1/openapi.json", playground.world.app)
    build_constants_pool(read)  # once from the modules of the application, not for each call
    # A stream has no end that a test could wait for; test_streams.py reads it.
    return read.exclude(path_regex="stream$")


# Always the same requests: a run that fails can be repeated.
SETTINGS = settings(examples(2), derandomize=True, suppress_health_check=list(HealthCheck))

CALLS = [call for call in _calls() if not call.endswith(("stream", "openapi.json"))]


def test_every_operation_of_the_document_is_tested(document: Any) -> None:
    found = list(document.get_all_operations())
    assert sorted(result.ok().label for result in found) == CALLS


@pytest.mark.parametrize("call", CALLS)
def test_every_operation_conforms_to_the_document(
    document: Any, playground: Playground, call: str
) -> None:
    """Examples of the document, boundaries of each field, and random requests."""
    load_all_checks()
    (found,) = get_all_tests(
        schema=document.include(name=call),
        test_func=_try_once,
        settings=SETTINGS,
        given_kwargs=None,
    )
    assert isinstance(found, Ok), found
    _, try_all = found.ok()
    try_all(playground=playground)


def _try_once(playground: Playground, case: Any) -> None:
    if playground.leaves_out(case):
        return
    caller = playground.caller(case.path)
    if _fits(case, "path"):
        playground.place(case, caller)
    if isinstance(case.query, dict) and _fits(case, "query") and "wait" in case.query:
        case.query["wait"] = 0
    # The client asks for compressed answers by default, but without a connection it decodes none.
    headers = {**caller.headers, "Accept-Encoding": "identity"}
    answer = case.call(app=playground.world.app, headers=headers)
    playground.renew(case, answer)
    excluded = []
    if _refused_by_the_game(answer):
        excluded = CHECKS.get_by_names(["positive_data_acceptance"])
    elif all(_fits(case, part) for part in ("path", "query", "body")) or case.media_type in TEXTS:
        # Only the token can be invalid then, and this test sends a valid one.
        excluded = CHECKS.get_by_names(["negative_data_rejection"])
    if answer.status_code == 413:  # by the bytes of a body, which no schema states
        excluded = CHECKS.get_by_names(["positive_data_acceptance", "negative_data_rejection"])
    elif answer.status_code == 422 and _refuses_beyond_schema(answer):
        excluded = CHECKS.get_by_names(["positive_data_acceptance"])
    if answer.status_code == 503 and answer.json()["detail"].startswith(NO_WORKER):
        excluded = CHECKS.get_by_names(["not_a_server_error", "positive_data_acceptance"])
    case.validate_response(answer, excluded_checks=excluded, headers=headers)


def _refuses_beyond_schema(answer: Any) -> bool:
    """
    Return whether a body has only faults that no schema states.

    They are those of a name, whose rule counts what readers see, of a receipt, which a key of the
    server signed, of an address of a webhook, of an accusation, whose charge decides whether it
    names a move or a partner, and of a table with or without `like`.
    """
    faults = answer.json().get("errors", ())
    places = ("/name", "/receipt", "/url", "/seq", "/partner")
    like = ("is not allowed beside `like`", "is missing")
    return all(one["at"] in places or one["message"] in like for one in faults)


def _fits(case: Any, part: str) -> bool:
    """Return whether a part of the request was made to fit its schema."""
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
            error["at"].startswith(("/options/", "/accused", "/seq", "/key", "If-Match"))
            or error["message"].startswith(BEYOND_THE_SCHEMA)
            for error in errors
        )
    return kind in WELL_FORMED_BUT_REFUSED
