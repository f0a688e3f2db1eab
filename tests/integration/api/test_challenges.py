"""Challenges over HTTP: one call each to challenge, accept, decline; blocks, bounds, the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import patch
from uuid import UUID

import psycopg
import pytest

from schemas.challenges import ChallengeSchema, ChallengesSchema
from service.application.errors import Refusal
from service.application.quotas import QUOTAS, Slice
from service.application.tables.dealing import table_append
from service.application.tables.record import CHALLENGE_TERM
from service.features.challenges import CHALLENGES
from service.store.events import QuotaKind, StreamAppend
from tests.streams import numbered
from tests.worlds.api_world import Answer, Person, World, problem_of

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def challenge(by: Person, player: str, **more: Any) -> Answer:
    return by.post("/v1/challenges", {"player": player, "ruleset": "shithead", **more})


def challenged(by: Person, player: Person, **more: Any) -> str:
    """Challenge a player; return the path of the challenge."""
    answer = challenge(by, player.id, **more)
    assert answer.status_code == 201, answer.text
    return str(answer.headers["Location"])


def status(person: Person, path: str) -> str:
    found = person.get(path)
    assert found.status_code == 200, found.text
    assert ChallengeSchema().validate(found.json) == {}
    return str(found.json["status"])


def listed(person: Person, which: str) -> list[tuple[str, str]]:
    """Return names and states of the challenges in a list of a person."""
    found = person.get("/v1/challenges").json
    assert ChallengesSchema().validate(found) == {}
    other = "challenger" if which == "received" else "player"
    return [(one[other]["name"], one["status"]) for one in found[which]]


def notices(person: Person, *types: str) -> list[str]:
    items = person.get("/v1/players/me/stream").json["items"]
    return [item["type"] for item in items if item["type"] in types]


def table_of(path: str) -> str:
    return path.replace("/v1/challenges/", "/v1/tables/")


def sweep(world: World) -> int:
    """Do one slice of the sweep that closes tables of challenges."""
    [over, _old] = CHALLENGES.sweeps
    return over.begin(world.services)(Slice(rows=50, seconds=5))


@contextmanager
def later(world: World, by: timedelta) -> Iterator[None]:
    """Let the clock of the service be ahead."""
    now = world.services.world.now
    with patch.object(type(world.services.world), "now", lambda _self: now() + by):
        yield


def test_a_player_is_challenged_by_handle_and_accepts_with_one_call(
    ada: Person, bob: Person
) -> None:
    bob.call("PUT", "/v1/players/me/handle", json={"handle": "bob-n"})
    answer = challenge(ada, "bob-n", visibility="public")
    assert answer.status_code == 201
    path = answer.headers["Location"]
    assert (answer.json["status"], answer.json["visibility"]) == ("open", "public")
    assert [seat["kind"] for seat in answer.json["seats"]] == ["human", "open"]
    assert listed(bob, "received") == [("Ada", "open")]
    assert listed(ada, "sent") == [("Bob", "open")]
    assert bob.get(path).json["player"] == {"id": bob.id, "name": "Bob", "handle": "bob-n"}
    assert notices(bob, "challenged", "invited") == ["challenged"]
    assert notices(ada, "challenge_answered") == []
    accepted = bob.post(f"{path}/accept")
    assert accepted.status_code == 201
    assert accepted.json["status"] == "playing"
    assert accepted.json["game"]
    assert (status(ada, path), status(bob, path)) == ("accepted", "accepted")
    assert notices(ada, "challenge_answered") == ["challenge_answered"]
    assert notices(bob, "challenged") == []


def test_by_id_with_bots_at_a_private_table(ada: Person, bob: Person) -> None:
    answer = challenge(ada, bob.id, bots=["greedy"], deal="always")
    assert answer.json["visibility"] == "private"
    assert answer.json["invite"]
    assert [seat["bot"] for seat in answer.json["seats"]] == [None, None, "greedy"]
    path = answer.headers["Location"]
    assert bob.get(table_of(path)).status_code == 200
    key = {"Idempotency-Key": "once"}
    first = bob.post(f"{path}/accept", {"entropy": "none"}, headers=key)
    again = bob.post(f"{path}/accept", {"entropy": "none"}, headers=key)
    assert (again.status_code, again.data) == (201, first.data)
    assert problem_of(bob.post(f"{path}/accept")) == "seat-taken"


def test_a_player_declines_with_one_call_and_the_table_is_closed(ada: Person, bob: Person) -> None:
    path = challenged(ada, bob)
    assert bob.call("DELETE", path).status_code == 204
    assert status(ada, path) == "declined"
    assert notices(ada, "challenge_answered", "table_closed") == ["challenge_answered"]
    assert ada.get(table_of(path)).json["status"] == "closed"
    assert listed(bob, "received") == []
    assert problem_of(bob.call("DELETE", path)) == "challenge-over"
    assert problem_of(bob.post(f"{path}/accept")) == "challenge-over"


def test_a_challenger_withdraws(ada: Person, bob: Person) -> None:
    path = challenged(ada, bob)
    assert ada.call("DELETE", path).status_code == 204
    assert (status(ada, path), status(bob, path)) == ("withdrawn", "withdrawn")
    assert notices(bob, "challenged") == []
    assert problem_of(bob.post(f"{path}/accept")) == "challenge-over"
    closed = challenged(ada, bob)
    assert ada.call("DELETE", table_of(closed)).status_code == 204
    assert status(bob, closed) == "withdrawn"


def test_an_accepted_challenge_is_not_withdrawn(ada: Person, bob: Person) -> None:
    path = challenged(ada, bob)
    bob.post(f"{path}/accept")
    assert problem_of(ada.call("DELETE", path)) == "challenge-over"
    assert problem_of(bob.call("DELETE", path)) == "challenge-over"


def test_a_host_who_gives_the_seat_to_a_bot_withdraws(
    world: World, ada: Person, bob: Person
) -> None:
    path = challenged(ada, bob, visibility="public")
    dealt = ada.post(f"{table_of(path)}/games", {"fill_with": "greedy"})
    assert dealt.status_code == 201, dealt.text
    assert status(bob, path) == "withdrawn"
    assert problem_of(bob.post(f"{path}/accept")) == "challenge-over"
    with later(world, CHALLENGE_TERM):
        assert sweep(world) == 0, "the table goes on"


def test_others_see_nothing_and_get_no_seat(world: World, ada: Person, bob: Person) -> None:
    eve = world.person("Eve")
    path = challenged(ada, bob, visibility="public")
    for refused in (eve.get(path), eve.post(f"{path}/accept"), eve.call("DELETE", path)):
        assert problem_of(refused) == "not-found"
    assert problem_of(ada.post(f"{path}/accept")) == "not-found"
    assert problem_of(eve.post(f"{table_of(path)}/seats")) == "forbidden"
    assert bob.post(f"{table_of(path)}/seats").status_code == 201, "also by the table itself"
    assert status(ada, path) == "accepted"


@pytest.mark.parametrize("player", [UNKNOWN, "nobody-here", "ADA", "a", ""])
def test_an_unknown_player_is_refused(ada: Person, player: str) -> None:
    refused = challenge(ada, player)
    assert problem_of(refused) == "invalid-body"
    assert refused.json["errors"][0]["at"] == "/player"


def test_neither_oneself_nor_an_erased_player_is_challenged(
    world: World, ada: Person, bob: Person
) -> None:
    bob.call("DELETE", "/v1/players/me")
    for player in (ada.id, bob.id):
        assert problem_of(challenge(ada, player)) == "invalid-body"
    refused = ada.post("/v1/challenges", {"player": bob.id, "ruleset": "leeds", "seats": ["me"]})
    assert problem_of(refused) == "invalid-body"
    assert refused.json["errors"][0]["at"] == "/seats"


def test_a_kept_seat_is_in_no_list_of_open_tables_but_that_of_the_host(
    world: World, ada: Person, bob: Person
) -> None:
    path = challenged(ada, bob, visibility="public")
    open_tables = "/v1/tables?status=open"
    for caller in (world, bob, world.person("Eve")):
        assert caller.get(open_tables).json["items"] == []
        assert len(caller.get("/v1/tables").json["items"]) == 1
    assert len(ada.get(open_tables).json["items"]) == 1
    bob.post(f"{path}/accept")
    assert len(world.get("/v1/tables?status=playing").json["items"]) == 1


def without_ids(answer: Answer) -> dict[str, Any]:
    """Return the body of an answer without what is random."""
    return {name: value for name, value in answer.json.items() if name not in ("id", "invite")}


@pytest.mark.parametrize("blocker", ["ada", "bob"])
def test_a_challenge_between_players_who_block_is_answered_as_any_other(
    world: World, blocker: str, ada: Person, bob: Person
) -> None:
    """What the challenger reads is the same; the challenged player sees no challenge."""
    cleo = world.person("Cleo")
    one, other = (ada, bob) if blocker == "ada" else (bob, ada)
    one.call("PUT", f"/v1/players/me/blocks/{other.id}")
    seen = []
    for player in (bob, cleo):
        made = challenge(ada, player.id)
        path = made.headers["Location"]
        shown = {k: v for k, v in ada.get(path).json.items() if k in ("status", "visibility")}
        again = challenge(ada, player.id)
        headers = {k: v for k, v in made.headers.items() if k in ("Cache-Control", "Content-Type")}
        seen.append((made.status_code, len(made.data), without_ids(made), headers, shown))
        assert (problem_of(again), again.json["limit"]) == ("limit-reached", "challenges_of_pair")
    assert seen[0] == seen[1]
    assert [state for _, state in listed(ada, "sent")] == ["open", "open"]
    assert listed(bob, "received") == []
    assert notices(bob, "challenged", "invited") == []
    [path] = [f"/v1/challenges/{one['id']}" for one in ada.get("/v1/challenges").json["sent"][1:]]
    for refused in (bob.get(path), bob.post(f"{path}/accept"), bob.call("DELETE", path)):
        assert problem_of(refused) == "not-found"
    with later(world, CHALLENGE_TERM):
        assert {state for _, state in listed(ada, "sent")} == {"expired"}


def test_a_blocked_challenge_counts_for_its_receiver_as_any_other(
    world: World, ada: Person, bob: Person
) -> None:
    """Else the answer to a third player would tell that the second is blocked."""
    bob.call("PUT", f"/v1/players/me/blocks/{ada.id}")
    with patch.dict(QUOTAS, [numbered(QuotaKind.CHALLENGED, 1)]):
        challenged(ada, bob)
        refused = challenge(world.person("Cleo"), bob.id)
    assert (problem_of(refused), refused.json["limit"]) == ("limit-reached", "challenged")


def test_open_challenges_are_bounded(world: World, ada: Person, bob: Person) -> None:
    cleo = world.person("Cleo")
    with patch.dict(QUOTAS, [numbered(QuotaKind.CHALLENGES, 1)]):
        path = challenged(ada, bob)
        refused = challenge(ada, cleo.id)
        assert (problem_of(refused), refused.json["limit"]) == ("limit-reached", "challenges")
        bob.call("DELETE", path)
        path = challenged(ada, cleo)
        with later(world, CHALLENGE_TERM):
            challenged(ada, bob)
    with patch.dict(QUOTAS, [numbered(QuotaKind.NEW_CHALLENGES, 3)]):
        refused = challenge(ada, world.person("Dan").id)
        assert (problem_of(refused), refused.json["limit"]) == ("rate-limited", "new_challenges")


def test_a_challenge_expires_after_a_day_and_its_table_is_closed(
    world: World, ada: Person, bob: Person
) -> None:
    path = challenged(ada, bob, visibility="public")
    kept = challenged(bob, ada)
    assert ada.post(f"{kept}/accept").status_code == 201
    assert sweep(world) == 0
    with later(world, CHALLENGE_TERM):
        assert (status(ada, path), listed(bob, "received")) == ("expired", [])
        assert notices(bob, "challenged") == []
        assert problem_of(bob.post(f"{path}/accept")) == "challenge-over"
        for person in (bob, world.person("Eve")):
            assert problem_of(person.post(f"{table_of(path)}/seats")) == "forbidden"
        assert sweep(world) == 1
        assert sweep(world) == 0
    assert status(bob, path) == "expired"
    assert ada.get(table_of(path)).json["status"] == "closed"
    assert ada.get(table_of(kept)).json["status"] == "playing"


@contextmanager
def beside(act: Callable[[], object]) -> Iterator[None]:
    """Act once, before the commit of the next change of a table that was decided meanwhile."""
    acted: list[object] = []

    def appended(*args: Any, **more: Any) -> StreamAppend:
        if not acted:
            acted.append(act)
            act()
        return table_append(*args, **more)

    with patch("service.application.tables.commands.table_append", appended):
        yield


@pytest.mark.parametrize("visibility", ["public", "private"])
@pytest.mark.parametrize("ended", ["declined", "withdrawn", "expired"])
def test_an_acceptance_beside_the_end_of_a_challenge_is_refused(
    world: World, ada: Person, bob: Person, ended: str, visibility: str
) -> None:
    path = challenged(ada, bob, visibility=visibility)

    def end() -> None:
        if ended == "expired":
            with later(world, CHALLENGE_TERM):
                assert sweep(world) == 1
        else:
            by = bob if ended == "declined" else ada
            assert by.call("DELETE", path).status_code == 204

    with beside(end):
        assert problem_of(bob.post(f"{path}/accept")) == "challenge-over"
    assert status(ada, path) == ended
    assert ada.get(table_of(path)).json["status"] == "closed"


@pytest.mark.parametrize("ended", ["declined", "withdrawn", "expired"])
def test_the_end_of_a_challenge_beside_its_acceptance_is_refused(
    world: World, ada: Person, bob: Person, ended: str
) -> None:
    """Also at a table that deals only when somebody asks for it."""
    path = challenged(ada, bob, deal=False)

    def accept() -> None:
        assert bob.post(f"{path}/accept").status_code == 201

    if ended == "expired":
        kept = partial(world.services.challenges.expire, UUID(path.rpartition("/")[2]))
        with beside(accept), pytest.raises(Refusal, match="challenge is over"):
            kept()
    else:
        with beside(accept):
            answer = (bob if ended == "declined" else ada).call("DELETE", path)
        assert problem_of(answer) == "challenge-over"
    assert status(ada, path) == "accepted"
    assert ada.get(table_of(path)).json["status"] == "between"


def test_old_challenges_are_deleted_but_not_before_their_tables_are_closed(
    world: World, ada: Person, bob: Person, database_url: str
) -> None:
    path, accepted = challenged(ada, bob), challenged(bob, ada)
    ada.post(f"{accepted}/accept")
    directory, now = world.services.directory, world.services.world.now()
    assert directory.purge_challenges(expired_before=now) == 0
    with psycopg.connect(database_url) as owner:
        owner.execute("UPDATE challenges SET expires_at = now() - interval '2 days'")
    assert directory.purge_challenges(expired_before=now) == 1, "the accepted one"
    assert status(ada, path) == "expired"
    sweep(world)
    assert directory.purge_challenges(expired_before=now) == 1
    assert problem_of(ada.get(path)) == "not-found"


def test_challenges_are_erased_with_either_player(
    world: World, ada: Person, bob: Person, database_url: str
) -> None:
    cleo = world.person("Cleo")
    challenged(ada, bob)
    challenged(bob, cleo)
    assert bob.call("DELETE", "/v1/players/me").status_code == 204
    with psycopg.connect(database_url) as owner:
        assert owner.execute("SELECT count(*) FROM challenges").fetchall() == [(0,)]
    assert listed(cleo, "received") == []
