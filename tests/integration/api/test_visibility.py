"""Visibility of private tables and hands: one rule for single calls, lists, counts, disputes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest

from tests.worlds.api_world import Answer, Person, World, make_world, problem_of

PERIODS = ("referee_hands", "referee_account_seconds", "referee_seated_seconds")


@dataclass(frozen=True, kw_only=True)
class VisibilityScene:
    """A private table whose first hand is over, with every kind of viewer."""

    table: str
    first: str
    second: str
    dispute: str
    invite: str
    people: dict[str, Person | None]

    def ask(self, caller: str, path: str) -> Answer:
        """Return the answer to a GET; the holder of the invite has no token."""
        person = self.people[caller]
        if person is not None:
            return person.get(path)
        world = next(p for p in self.people.values() if p is not None).world
        headers = {"Shithead-Invite": self.invite} if caller == "invited" else {}
        return world.get(path, headers=headers)


@pytest.fixture
def open_world(database_url: str) -> Iterator[World]:
    """Return an application in which every player may be a referee at once."""
    made = make_world(database_url, **dict.fromkeys(PERIODS, 0))
    yield made
    made.services.close()


@pytest.fixture
def scene(open_world: World) -> VisibilityScene:
    """Return a table whose hands were played by `left` and `stays`, then `stays` and `newcomer`."""
    names = ("host", "left", "stays", "newcomer", "referee", "outsider")
    people = {name: open_world.person(name) for name in names}
    wanted = {"ruleset": "shithead", "seats": ["open", "open"], "visibility": "private"}
    table = created(people["host"].post("/v1/tables", wanted))
    path, invite = f"/v1/tables/{table['id']}", {"Shithead-Invite": table["invite"]}
    created(people["left"].post(f"{path}/seats", {"seat": 0}, headers=invite))
    first = created(people["stays"].post(f"{path}/seats", {"seat": 1}, headers=invite))["game"]
    moves = f"/v1/games/{first}/moves"
    version = created(people["stays"].post(moves, {"type": "ready"}))["version"]
    accusation = {"accused": 1, "seq": version - 1, "charge": "other", "statement": "So slow."}
    dispute = created(people["left"].post(f"/v1/games/{first}/disputes", accusation))["id"]
    judge = people["referee"].post(f"/v1/disputes/{dispute}/referees", headers=invite)
    assert judge.status_code == 201, judge.text
    created(people["left"].post(moves, {"type": "forfeit"}))
    assert people["left"].call("DELETE", f"{path}/seats/me").status_code == 204
    created(people["newcomer"].post(f"{path}/seats", headers=invite))
    second = created(people["stays"].post(f"{path}/games"))["game"]["id"]
    return VisibilityScene(
        table=table["id"],
        first=first,
        second=second,
        dispute=dispute,
        invite=table["invite"],
        people={**people, "invited": None, "anonymous": None},
    )


def created(answer: Answer) -> dict[str, Any]:
    """Return the body of an answer with status 201."""
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json
    return made


SEES = {
    "host": ("table", "first", "second"),
    "left": ("first",),
    "stays": ("table", "first", "second"),
    "newcomer": ("table", "first", "second"),
    "referee": ("first",),
    "invited": ("table", "first", "second"),
    "outsider": (),
    "anonymous": (),
}


@pytest.mark.attack(
    "COUNTERS", "a private hand found by one call of several", check="one rule of visibility"
)
@pytest.mark.parametrize("caller", SEES)
def test_single_calls_and_lists_have_one_rule(scene: VisibilityScene, caller: str) -> None:
    """Players see all hands, former players those they played, a referee the disputed one."""
    check(scene, caller, SEES[caller])


def check(scene: VisibilityScene, caller: str, sees: tuple[str, ...]) -> None:
    """Compare what a caller sees of the table, `invited` or not, by single calls and in lists."""
    hands = {scene.first: "first", scene.second: "second"}
    expected = {game for game, name in hands.items() if name in sees}

    def single(path: str) -> bool:
        answer = scene.ask(caller, path)
        assert answer.status_code in (200, 404), answer.text
        return bool(answer.status_code == 200)

    for below in ("", "/events", "/receipt", "/audit", "/evidence", "/replay", "/disputes"):
        assert {game for game in hands if single(f"/v1/games/{game}{below}")} == expected, below
    for query in ("", f"?player={player_of(scene, 'stays')}"):
        answer = scene.ask(caller, f"/v1/games{query}")
        assert {row["id"] for row in answer.json["items"]} == expected, query
    answer = scene.ask(caller, f"/v1/games?table={scene.table}")
    if expected:
        assert {row["id"] for row in answer.json["items"]} == expected
    else:
        assert problem_of(answer) == "not-found"
    for below in ("", "/keys"):
        is_shown = "table" in sees or (below == "" and "invitation" in sees)
        assert single(f"/v1/tables/{scene.table}{below}") is is_shown, below
    listed = {row["id"] for row in scene.ask(caller, "/v1/tables").json["items"]}
    assert listed == ({scene.table} if "table" in sees else set())
    assert single(f"/v1/disputes/{scene.dispute}") is (scene.first in expected)
    disputes = {row["id"] for row in scene.ask(caller, "/v1/disputes").json["items"]}
    assert disputes == ({scene.dispute} if scene.first in expected else set())


@pytest.fixture
def later(scene: VisibilityScene, open_world: World) -> VisibilityScene:
    """Return the scene after the second hand, with a free seat and more kinds of viewers."""
    people = {**scene.people, **{n: open_world.person(n) for n in ("refused", "asked", "blocked")}}
    host, left, newcomer = (cast("Person", people[n]) for n in ("host", "left", "newcomer"))
    refused, asked, blocked = (cast("Person", people[n]) for n in ("refused", "asked", "blocked"))
    header = {"Shithead-Invite": scene.invite}
    judges = f"/v1/disputes/{scene.dispute}/referees"
    number = len(created(refused.post(judges, headers=header))["referees"]) - 1
    created(left.post(judges, {"refuse": number}))
    created(newcomer.post(f"/v1/games/{scene.second}/moves", {"type": "forfeit"}))
    assert newcomer.call("DELETE", f"/v1/tables/{scene.table}/seats/me").status_code == 204
    for other in (asked, blocked):
        invitation = f"/v1/tables/{scene.table}/invitations/{other.id}"
        assert host.call("PUT", invitation).status_code in (200, 201)
    for other in (blocked, left):
        assert host.call("PUT", f"/v1/players/me/blocks/{other.id}").status_code == 200
    return VisibilityScene(
        table=scene.table,
        first=scene.first,
        second=scene.second,
        dispute=scene.dispute,
        invite=scene.invite,
        people=people,
    )


LATER = {**SEES, "newcomer": ("second",), "refused": (), "asked": ("invitation",), "blocked": ()}


def test_they_have_one_rule_for_those_who_left_were_refused_invited_or_blocked(
    later: VisibilityScene,
) -> None:
    """A block hides no hand that its player has played; an invitation shows the table alone."""
    for caller, sees in LATER.items():
        check(later, caller, sees)


def test_they_have_one_rule_when_the_table_is_closed(later: VisibilityScene) -> None:
    """An invitation ends with the table; all else stays as it was."""
    host = later.people["host"]
    assert host is not None
    assert host.call("DELETE", f"/v1/tables/{later.table}").status_code == 204
    for caller, sees in (LATER | {"asked": ()}).items():
        check(later, caller, sees)


def player_of(scene: VisibilityScene, caller: str) -> str:
    person = scene.people[caller]
    assert person is not None
    return person.id


def test_a_hidden_table_is_answered_like_an_unknown_one(scene: VisibilityScene) -> None:
    unknown = "00000000-0000-4000-8000-000000000000"
    for path in ("/v1/tables/{}", "/v1/games?table={}", "/v1/games?table={}&cursor="):
        one = scene.ask("outsider", path.format(scene.table))
        other = scene.ask("outsider", path.format(unknown))
        assert (one.status_code, one.json["detail"]) == (other.status_code, other.json["detail"])


def test_a_filter_without_matches_gives_an_empty_list(scene: VisibilityScene) -> None:
    answer = scene.ask("left", f"/v1/games?table={scene.table}&status=playing")
    assert (answer.status_code, answer.json["items"]) == (200, [])


def test_a_refused_referee_loses_access(scene: VisibilityScene) -> None:
    left = scene.people["left"]
    assert left is not None
    created(left.post(f"/v1/disputes/{scene.dispute}/referees", {"refuse": 0}))
    assert problem_of(scene.ask("referee", f"/v1/games/{scene.first}")) == "not-found"
    assert problem_of(scene.ask("referee", f"/v1/disputes/{scene.dispute}")) == "not-found"
    assert scene.ask("referee", "/v1/games").json["items"] == []


@pytest.mark.attack(
    "COUNTERS", "the end of a private hand seen in a count", check="the public counts"
)
def test_public_counts_leave_out_private_hands_and_a_players_own_counts_include_them(
    scene: VisibilityScene,
) -> None:
    """A growing count would reveal when a private hand ends."""
    left, stays = scene.people["left"], scene.people["stays"]
    assert left is not None and stays is not None

    def counts(path: str) -> tuple[int, int]:
        page = scene.ask("stays", path).json
        return page["games"], page["shithead"]

    path = f"/v1/players/{stays.id}"
    assert counts(path) == (0, 0)
    assert counts("/v1/players/me") == (1, 0)
    assert stays.post(f"/v1/games/{scene.second}/moves", {"type": "forfeit"}).status_code == 201
    assert counts(path) == (0, 0)
    assert counts("/v1/players/me") == (2, 1)
    game = stays.game()
    assert stays.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    assert counts(path) == (1, 1)
    assert counts("/v1/players/me") == (3, 2)
