"""A complete application for tests, with a client and registered players."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from types import MethodType
from typing import Any

import jsonschema_rs
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Rule
from werkzeug.test import Client

from service.api.app import create_app
from service.api.openapi import ApiDocument
from service.bootstrap import Services, services_from
from service.feature import settings_of
from service.features import FEATURES
from service.keys import Keyring
from service.replay.sentences import Sentence
from service.runtime.config import Settings

_COMPILED = ("_parts", "_trace", "_converters", "arguments")
"""What werkzeug computes from the text of a rule, besides two functions that build its URL."""


def _share_compiled_rules() -> None:
    """
    Share what werkzeug computes for a route between all applications of this process.

    This is most of the time of `create_app`. It depends only on the rule and its converters, which
    are the same in every application. Rules with defaults or a host are compiled one by one.
    """
    compile_rule = Rule.compile
    made: dict[tuple[object, ...], Rule] = {}

    def shared(rule: Rule) -> None:
        key = (rule.rule, rule.subdomain, rule.merge_slashes)
        if rule.defaults or rule.host or key not in made:
            compile_rule(rule)
            if not (rule.defaults or rule.host):
                made[key] = rule
            return
        equal = made[key]
        for name in _COMPILED:
            setattr(rule, name, getattr(equal, name))
        builders: Any = equal
        rule._build = MethodType(builders._build.__func__, rule)
        rule._build_unknown = MethodType(builders._build_unknown.__func__, rule)

    Rule.compile = shared  # type: ignore[method-assign,assignment] # there is no hook for it


def _share_document() -> None:
    """
    Let only the first application of this process with some operations describe them.

    The descriptions are the same in each application and take 0.2 s.
    """
    describe, made = ApiDocument.to_dict, dict[tuple[str, ...], dict[str, Any]]()

    def shared(api: ApiDocument) -> dict[str, Any]:
        names = tuple(one.name for one in api._undescribed)
        if names not in made:
            made[names] = describe(api)
        return made[names]

    ApiDocument.to_dict = shared  # type: ignore[method-assign,assignment] # there is no hook for it


_share_compiled_rules()
_share_document()

PROBLEM = "application/problem+json"

Answer = Any
"""A response of the test client."""


_NOT_PROMISED = {HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.MISDIRECTED_REQUEST}
"""Statuses of a fault, and of a proxy that is set up wrongly; the document has neither."""


class CheckedClient(FlaskClient):
    """Checks each answer of the application against its document, whatever a test asks it for."""

    def open(self, *args: Any, **more: Any) -> Any:
        """Send a request, and check the JSON of the answer to an operation."""
        answer = super().open(*args, **more)
        method, path = answer.request.method, answer.request.environ["PATH_INFO"]
        is_read = answer.is_json and not answer.content_encoding
        if not path.startswith("/v1/") or answer.status_code in _NOT_PROMISED or not is_read:
            return answer
        try:
            rule, _ = self.application.url_map.bind("").match(path, method, return_rule=True)
        except HTTPException:
            return answer
        found = path_template(rule.rule)
        if method.lower() in documented()["paths"].get(found, ()):
            check_documented(found, answer, method=method.lower())
        return answer


def path_template(rule: str) -> str:
    """Return the path of a route as the document writes it."""
    return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule)


def check_documented(template: str, answer: Answer, *, method: str = "get") -> None:
    """Validate an answer against the document, formats included."""
    validator_of(template, method, str(answer.status_code), answer.mimetype).validate(answer.json)


@cache
def validator_of(template: str, method: str, status: str, media_type: str) -> Any:
    """Return the validator of an answer; to read the document takes 0.05 s."""
    document = documented()
    schema = document["paths"][template][method]["responses"][status]["content"][media_type]
    whole = {**schema["schema"], "components": document["components"]}
    return jsonschema_rs.validator_for(whole, validate_formats=True)


@cache
def documented() -> dict[str, Any]:
    """Return the document, which needs no database."""
    made = make_world("postgresql://nobody@127.0.0.1:1/none")
    made.app.test_client_class = None
    found: dict[str, Any] = made.get("/v1/openapi.json").json
    made.services.close()
    return found


@dataclass(frozen=True, kw_only=True)
class Person:
    """A registered player, whose requests have the player's token."""

    id: str
    token: str
    recovery: str
    world: World

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def get(self, path: str, **more: Any) -> Answer:
        return self.call("GET", path, **more)

    def post(self, path: str, json: Any = None, **more: Any) -> Answer:
        return self.call("POST", path, json={} if json is None else json, **more)

    def call(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any
    ) -> Answer:
        both = {**self.headers, **(headers or {})}
        return self.world.client.open(path, method=method, headers=both, **more)

    def table(self, *others: Any, **more: Any) -> dict[str, Any]:
        """Open a table with this person at seat 0; return its JSON."""
        seats = ["me", *(others or ({"bot": "lowest"},))]
        answer = self.post("/v1/tables", {"ruleset": "shithead", "seats": seats, **more})
        assert answer.status_code == 201, answer.text
        table: dict[str, Any] = answer.json
        return table

    def game(self, *others: Any, **more: Any) -> str:
        """Open a table with this person at seat 0; return the path of its game."""
        return f"/v1/games/{self.table(*others, **more)['game']}"


@dataclass(kw_only=True)
class World:
    """An application with its services and a database."""

    services: Services
    app: Flask
    people: list[Person] = field(default_factory=list)
    served: Any = None  # a WSGI application that passes requests on to `app`

    @property
    def client(self) -> Any:
        return self.app.test_client() if self.served is None else Client(self.served)

    def person(self, name: str = "Ada") -> Person:
        answer = self.client.post("/v1/players", json={"name": name})
        assert answer.status_code == 201, answer.text
        made = answer.json
        return Person(id=made["id"], token=made["token"], recovery=made["recovery"], world=self)

    def get(self, path: str, **more: Any) -> Answer:
        return self.client.get(path, **more)


def make_world(database_url: str, **settings: Any) -> World:
    """Return an application on a migrated database; without Redis unless `settings` names it."""
    of_features = {
        one.name: settings.pop(one.name) for one in settings_of(FEATURES) if one.name in settings
    }
    chosen = Settings(
        database_url=database_url,
        origin="tests.example",
        of_features=of_features,
        **{"keys": Keyring.generate().to_text(), "rate_limits": False, **settings},
    )
    services = services_from(chosen)
    app = create_app(FEATURES, services, chosen)
    app.test_client_class = CheckedClient
    return World(services=services, app=app)


def problem_of(answer: Answer) -> str:
    """Return the type of a problem, and check its required fields."""
    assert answer.content_type == PROBLEM, (answer.status_code, answer.text)
    result = answer.json
    assert result["status"] == answer.status_code
    assert result["title"]
    assert result["detail"]
    assert result["instance"]
    said_again = Sentence(code=result["code"], values=result["values"])
    assert result["detail"] == said_again.text, "a client can write it in another language"
    kind: str = result["type"]
    return kind.removeprefix("/problems/")
