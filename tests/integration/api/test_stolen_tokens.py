"""What a stolen token can do: the table of the threat model, walked over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from schemas.tokens import Scope
from service.shx.canonical import format_time
from tests.worlds.api_world import Person, World, make_world, problem_of

THREATS: Final = Path(__file__).parents[3] / "ops/spec/threat-model.md"
ME: Final = "/v1/players/me"
HOOK: Final = {"url": "https://bots.example/thief"}
REFUSED: Final = frozenset({"missing-scope", "forbidden"})


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    made = make_world(database_url)
    yield made
    made.services.close()


class Theft:
    """A player with a running hand, and a token of the player in the hands of a thief."""

    def __init__(self, world: World, scope: str) -> None:
        self.owner = world.person()
        self.other = world.person("Bob")
        self.game = self.owner.game()
        self.ends_at = None if scope == "full" else soon(60)
        self.scopes = sorted(Scope) if scope == "full" else [scope]
        self.thief = issue(self.owner, name="stolen", scopes=self.scopes, ends_at=self.ends_at)

    def does(self, method: str, path: str, body: Any = None) -> bool:
        """Return whether the thief may call an operation, whatever else it needs."""
        answer = self.thief.call(method, path, json=body)
        assert answer.status_code < 500, answer.text
        return answer.status_code < 400 or problem_of(answer) not in REFUSED

    def issues(self, **more: Any) -> bool:
        """Return whether the thief gets a token."""
        answer = self.thief.post(f"{ME}/tokens", {"name": "more", **more})
        return bool(answer.status_code == 201)

    def exceeds(self) -> bool:
        """Return whether the thief gets a token that exceeds the stolen one."""
        more = self.ends_at is not None and self.issues(scopes=sorted(Scope))
        later = self.ends_at is not None and self.issues(ends_at=soon(90))
        return more or later

    def recovers(self) -> bool:
        """Return whether the thief can replace the recovery code and come back with the new one."""
        for body in ({}, {"recovery": "a-guess"}, {"recovery": None}):
            answer = self.thief.post(f"{ME}/recovery", body)
            if answer.status_code == 201:
                code = {"recovery": answer.json["recovery"]}
                back = self.thief.world.client.post("/v1/players/recover", json=code)
                return bool(back.status_code == 201)
        return False


def soon(seconds: float) -> str:
    return format_time(datetime.now(UTC) + timedelta(seconds=seconds))


def issue(person: Person, **body: Any) -> Person:
    answer = person.post(f"{ME}/tokens", body)
    assert answer.status_code == 201, answer.text
    token = answer.json["token"]
    return Person(id=person.id, token=token, recovery="", world=person.world)


def every(*calls: tuple[Any, ...]) -> Callable[[Theft], bool]:
    """Return a check of several calls, which all are permitted or all refused."""

    def check(theft: Theft) -> bool:
        filled = [
            (method, path.format(game=theft.game, other=theft.other.id), *body)
            for method, path, *body in calls
        ]
        outcomes = {theft.does(*call) for call in filled}
        assert len(outcomes) == 1, filled
        return outcomes.pop()

    return check


DISPUTE = f"/v1/disputes/{uuid4()}"
ACTS: Final[dict[str, Callable[[Theft], bool]]] = {
    "read the player's hand, private tables, notices and blocks": every(
        ("GET", "{game}"), ("GET", "/v1/tables?mine=true"), ("GET", f"{ME}/blocks"), ("GET", ME)
    ),
    "play the player's hands, whose answers show the hand; open, join and leave tables, "
    "challenge, post seeks": every(
        ("POST", "{game}/moves", {"type": "ready"}),
        ("POST", "/v1/tables", {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}]}),
        ("POST", "/v1/challenges", {"player": "nobody-here", "ruleset": "shithead"}),
        ("POST", "/v1/seeks", {"rulesets": ["shithead"]}),
    ),
    "open disputes, state and vote in the player's name": every(
        ("POST", "{game}/disputes", {}),
        ("POST", f"{DISPUTE}/statements", {}),
        ("POST", f"{DISPUTE}/votes", {}),
    ),
    "change the name and the handle, block and unblock players": every(
        ("PATCH", ME, {"name": "Mallory"}),
        ("PUT", f"{ME}/handle", {"handle": "mallory"}),
        ("PUT", f"{ME}/blocks/{{other}}"),
        ("DELETE", f"{ME}/blocks/{{other}}"),
    ),
    "list the player's tokens and end them": every(
        ("GET", f"{ME}/tokens"), ("DELETE", f"{ME}/tokens/{uuid4()}")
    ),
    "issue tokens with its own scopes, until its own end": Theft.issues,
    "issue a token with more scopes, or that ends later": Theft.exceeds,
    "set the webhook, which needs `read` and `account`": every(("PUT", f"{ME}/webhook", HOOK)),
    "replace the recovery code without knowing it": Theft.recovers,
    "erase the player": every(("DELETE", ME)),
}


def table() -> dict[str, dict[str, str]]:
    """Return the cells of the table, a dictionary for each row."""
    lines = iter(THREATS.read_text().splitlines())
    head = next(line for line in lines if line.startswith("| with a stolen token |"))
    names = [cell.strip(" `") for cell in head.strip("|").split("|")]
    next(lines)
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        if not line.startswith("|"):
            break
        act, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[act] = dict(zip(names[1:], cells, strict=True))
    return rows


def test_every_row_of_the_table_is_tested() -> None:
    assert list(table()) == list(ACTS)
    assert all(list(cells) == [*Scope, "full"] for cells in table().values())


@pytest.mark.parametrize("scope", [*Scope, "full"])
def test_a_stolen_token_can_do_what_the_table_states(world: World, scope: str) -> None:
    wrong = {}
    for act, cells in table().items():
        theft = Theft(world, scope)
        can = "yes" if ACTS[act](theft) else "no"
        if can != cells[scope]:
            wrong[act] = can
    assert not wrong


@pytest.mark.parametrize("scope", Scope)
def test_the_owner_gets_the_account_back_with_the_code(world: World, scope: str) -> None:
    """Whatever the thief of such a token tries first, no token but the new one is valid then."""
    theft = Theft(world, scope)
    for act in ACTS.values():
        act(theft)
    back = world.client.post("/v1/players/recover", json={"recovery": theft.owner.recovery})
    assert back.status_code == 201
    own = Person(id=theft.owner.id, token=back.json["token"], recovery="", world=world)
    assert [one["name"] for one in own.get(f"{ME}/tokens").json["items"]] == ["recovery"]
    assert problem_of(own.get(f"{ME}/webhook")) == "not-found"


def test_the_present_code_permits_a_new_one_with_a_limited_token(world: World) -> None:
    theft = Theft(world, "account")
    answer = theft.thief.post(f"{ME}/recovery", {"recovery": theft.owner.recovery})
    assert answer.status_code == 201
    old = world.client.post("/v1/players/recover", json={"recovery": theft.owner.recovery})
    assert problem_of(old) == "unauthorized"
    wrong = theft.owner.post(f"{ME}/recovery", {"recovery": theft.owner.recovery})
    assert problem_of(wrong) == "forbidden", "a wrong code is refused also with a full token"


def test_a_refused_erasure_leaves_the_player_at_its_tables(world: World) -> None:
    owner = world.person()
    table = owner.table("open")["id"]
    thief = issue(owner, name="stolen", scopes=["account"], ends_at=soon(60))
    assert problem_of(thief.call("DELETE", ME)) == "forbidden"
    assert owner.get(f"/v1/tables/{table}").json["seats"][0]["player"] == owner.id
