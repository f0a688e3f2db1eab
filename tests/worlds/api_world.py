"""A complete application for tests, with a client and registered players."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flask import Flask
from werkzeug.routing import Rule
from werkzeug.test import Client

from service.api.app import create_app
from service.bootstrap import Services, services_from
from service.config import Settings
from service.keys import Keyring


def _share_compiled_rules() -> None:
    """
    Share the functions that build URLs of routes between all applications of this process.

    werkzeug compiles two for each route, which is half of the time of `create_app`. Those of
    equal rules without defaults are equal.
    """
    compile_builder = Rule._compile_builder
    made: dict[tuple[object, ...], Callable[..., tuple[str, str]]] = {}

    def shared(rule: Rule, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        if rule.defaults:
            return compile_builder(rule, append_unknown)
        key = (*rule._trace, append_unknown)
        if key not in made:
            made[key] = compile_builder(rule, append_unknown)
        return made[key]

    Rule._compile_builder = shared  # type: ignore[method-assign,assignment] # there is no hook for it


_share_compiled_rules()

PROBLEM = "application/problem+json"

Answer = Any
"""A response of the test client."""


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
    chosen = Settings(
        database_url=database_url,
        origin="tests.example",
        **{"keys": Keyring.generate().to_text(), "rate_limits": False, **settings},
    )
    services = services_from(chosen)
    return World(services=services, app=create_app(services, chosen))


def problem_of(answer: Answer) -> str:
    """Return the type of a problem, and check its required fields."""
    assert answer.content_type == PROBLEM, (answer.status_code, answer.text)
    result = answer.json
    assert result["status"] == answer.status_code
    assert result["title"]
    assert result["detail"]
    assert result["instance"]
    kind: str = result["type"]
    return kind.removeprefix("/problems/")
