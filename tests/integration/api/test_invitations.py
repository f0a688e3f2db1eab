"""Invitations over HTTP: who is invited, who sees it, what an invitation gives access to."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64decode
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest

from schemas.tables import InvitationPageSchema, SentInvitationPageSchema, SentInvitationSchema
from service.application.quotas import QUOTAS
from service.store.directory import Directory
from service.store.events import QuotaKind
from tests.streams import numbered
from tests.worlds.api_world import Answer, Person, World, problem_of

PRIVATE = {"visibility": "private"}


@pytest.fixture(scope="module")
def world(module_world: World) -> World:
    """Return one application for all tests of this module: none depends on rows of another."""
    return module_world


def invite(host: Person, table: dict[str, Any], player: Person) -> Answer:
    return host.call("PUT", f"/v1/tables/{table['id']}/invitations/{player.id}")


def end(by: Person, table: dict[str, Any], player: Person) -> Answer:
    return by.call("DELETE", f"/v1/tables/{table['id']}/invitations/{player.id}")


def invitations(person: Person) -> list[str]:
    """Return the tables to which a person has an open invitation."""
    found = person.get("/v1/players/me/invitations").json
    assert InvitationPageSchema().validate(found) == {}
    notices = person.get("/v1/players/me/stream").json["items"]
    tables = [item["table"] for item in found["items"]]
    assert [n["id"] for n in notices if n["type"] == "invited"] == tables
    return tables


def sent(host: Person, table: dict[str, Any]) -> list[tuple[str, str]]:
    found = host.get(f"/v1/tables/{table['id']}/invitations").json
    assert SentInvitationPageSchema().validate(found) == {}
    return [(item["name"], item["status"]) for item in found["items"]]


def test_an_invitation_opens_a_private_table_and_ends_with_the_seat(
    ada: Person, bob: Person
) -> None:
    table = ada.table("open", **PRIVATE)
    path = f"/v1/tables/{table['id']}"
    assert problem_of(bob.get(path)) == "not-found"
    answer = invite(ada, table, bob)
    assert SentInvitationSchema().validate(answer.json) == {}
    assert invite(ada, table, bob).json == answer.json
    assert invitations(bob) == [table["id"]]
    assert sent(ada, table) == [("Bob", "open")]
    assert bob.get(path).status_code == 200
    assert bob.post(f"{path}/seats").status_code == 201
    assert invitations(bob) == []
    assert sent(ada, table) == []


def test_a_table_is_opened_with_invited_players(ada: Person, bob: Person) -> None:
    table = ada.table("open", invited=[bob.id, bob.id], **PRIVATE)
    assert invitations(bob) == [table["id"]]
    for wrong in (ada.id, "00000000-0000-4000-8000-000000000000"):
        body = {"ruleset": "shithead", "seats": ["me", "open"], "invited": [bob.id, wrong]}
        answer = ada.post("/v1/tables", body)
        assert problem_of(answer) == "invalid-body"
        assert answer.json["errors"][0]["at"] == "/invited/1"


def test_a_declined_invitation_gives_no_access_and_is_not_repeated(
    ada: Person, bob: Person
) -> None:
    table = ada.table("open", invited=[bob.id], **PRIVATE)
    assert end(bob, table, bob).status_code == 204
    assert problem_of(end(bob, table, bob)) == "not-found"
    assert invite(ada, table, bob).json["status"] == "declined"
    assert problem_of(end(ada, table, bob)) == "not-found"  # else the host could ask again
    assert invite(ada, table, bob).json["status"] == "declined"
    assert (invitations(bob), sent(ada, table)) == ([], [("Bob", "declined")])
    assert problem_of(bob.get(f"/v1/tables/{table['id']}")) == "not-found"
    assert problem_of(bob.post(f"/v1/tables/{table['id']}/seats")) == "not-found"


def test_a_host_withdraws_an_invitation_and_a_closed_table_ends_them(
    ada: Person, bob: Person
) -> None:
    table = ada.table("open", invited=[bob.id], **PRIVATE)
    assert end(ada, table, bob).status_code == 204
    assert problem_of(end(ada, table, bob)) == "not-found"
    assert problem_of(bob.get(f"/v1/tables/{table['id']}")) == "not-found"
    invite(ada, table, bob)
    version = ada.get(f"/v1/tables/{table['id']}").headers["ETag"]
    closed = ada.call("DELETE", f"/v1/tables/{table['id']}", headers={"If-Match": version})
    assert closed.status_code == 204
    assert invitations(bob) == []
    assert problem_of(invite(ada, table, bob)) == "forbidden"


def test_only_the_host_invites_and_nobody_who_sits_there(
    world: World, ada: Person, bob: Person
) -> None:
    table, eve = ada.table("open", "open"), world.person("Eve")
    bob.post(f"/v1/tables/{table['id']}/seats")
    assert problem_of(invite(bob, table, eve)) == "forbidden"
    assert problem_of(bob.get(f"/v1/tables/{table['id']}/invitations")) == "forbidden"
    assert problem_of(invite(ada, table, ada)) == "forbidden"
    assert problem_of(invite(ada, table, bob)) == "seat-taken"
    invite(ada, table, eve)
    assert problem_of(end(bob, table, eve)) == "forbidden"


@pytest.mark.parametrize("by_host", [True, False])
def test_a_block_hides_an_invitation_from_its_player_and_the_block_from_its_host(
    world: World, ada: Person, bob: Person, by_host: bool
) -> None:
    """The block is one of the host's or of the invited player's, or of a seat's."""
    eve = world.person("Eve")
    table = ada.table("open", "open", **PRIVATE)
    other = ada if by_host else eve
    if not by_host:
        invite(ada, table, eve)
        assert eve.post(f"/v1/tables/{table['id']}/seats").status_code == 201
    invite(ada, table, bob)
    for one, two in ((bob, other), (other, bob)):
        assert one.call("PUT", f"/v1/players/me/blocks/{two.id}").status_code == 200
        assert (invitations(bob), sent(ada, table)) == ([], [("Bob", "open")])
        assert invite(ada, table, bob).json["status"] == "open"
        assert problem_of(bob.post(f"/v1/tables/{table['id']}/seats")) == "not-found"
        one.call("DELETE", f"/v1/players/me/blocks/{two.id}")
        assert invitations(bob) == [table["id"]]


def test_the_open_invitations_of_a_host_are_limited(world: World, ada: Person, bob: Person) -> None:
    eve = world.person("Eve")
    with patch.dict(QUOTAS, [numbered(QuotaKind.INVITATIONS, 1)]):
        table = ada.table("open", invited=[bob.id])
        assert problem_of(invite(ada, table, eve)) == "limit-reached"
        body = {"ruleset": "shithead", "seats": ["me", "open"], "invited": [eve.id]}
        assert problem_of(ada.post("/v1/tables", body)) == "limit-reached"
        end(bob, table, bob)
        assert problem_of(invite(ada, table, eve)) == "limit-reached", "a declined one stays"
        assert ada.call("DELETE", f"/v1/tables/{table['id']}").status_code == 204
        with patch.dict(QUOTAS, [numbered(QuotaKind.INVITATIONS, 2)]):
            body["invited"] = [eve.id, bob.id, world.person("Cat").id]
            assert problem_of(ada.post("/v1/tables", body)) == "limit-reached", "all are counted"
        body["invited"] = [eve.id]
        assert ada.post("/v1/tables", body).status_code == 201


def test_nothing_of_an_invitation_to_a_private_table_reaches_others(
    world: World, ada: Person, bob: Person
) -> None:
    """Eve reads the same, to the byte, in two worlds: Bob is invited, or not."""
    eve = world.person("Eve")
    table = ada.table("open", **PRIVATE)
    paths = [
        *("/v1/tables", "/v1/tables?mine=true", "/v1/games", f"/v1/tables/{table['id']}"),
        *("/v1/players/me", f"/v1/players/{bob.id}", f"/v1/players/{ada.id}"),
        *("/v1/players/me/stream", "/v1/players/me/invitations"),
        f"/v1/tables/{table['id']}/invitations",
    ]

    def read() -> list[tuple[int, bytes]]:
        answers = [eve.get(path) for path in paths]
        ids = [answer.json.pop("instance", None) for answer in answers]
        assert len(ids) == len(paths)
        return [(answer.status_code, _without_id(answer)) for answer in answers]

    before = read()
    invite(ada, table, bob)
    assert read() == before
    assert problem_of(invite(eve, table, bob)) == "not-found"
    assert problem_of(end(eve, table, bob)) == "not-found"
    assert table["id"] not in bob.get("/v1/tables").text


def _without_id(answer: Answer) -> bytes:
    found = {k: v for k, v in answer.json.items() if k != "request_id"}
    if isinstance(found.get("next"), str):  # a position of the own stream, without its time
        position = urlsafe_b64decode(found["next"] + "=" * (-len(found["next"]) % 4))
        found["next"] = position[:1] + position[7:]
    return repr(found).encode()


def test_a_table_like_another_invites_its_players(ada: Person, bob: Person) -> None:
    clock = {"turn_seconds": 9, "swap_seconds": 8, "reserve_seconds": 7}
    asked = {"window_seconds": 7, "turn_limit": 99, "clock": clock}
    options = {"next_dealer": "rotate"}
    table = ada.table({"bot": "lowest"}, "open", deal=False, options=options, **asked, **PRIVATE)
    invite(ada, table, bob)
    own = {"entropy": "commit", "key": b64encode(bytes(range(32))).decode()}
    assert bob.post(f"/v1/tables/{table['id']}/seats", own).status_code == 201
    sent_once = {"Idempotency-Key": "again"}
    again = bob.post("/v1/tables", {"like": table["id"]}, headers=sent_once)
    assert again.status_code == 201, again.text
    made = again.json
    assert bob.call("DELETE", f"/v1/tables/{table['id']}/seats/me").status_code == 204
    assert bob.post("/v1/tables", {"like": table["id"]}, headers=sent_once).json == made
    assert made["host"] == bob.id
    assert made["invite"]
    kinds = [(seat["kind"], seat["bot"], seat["player"]) for seat in made["seats"]]
    assert kinds == [("open", None, None), ("bot", "lowest", None), ("human", None, bob.id)]
    for field in ("ruleset", "visibility", "window_seconds", "turn_limit", "clock", "deal"):
        assert made[field] == table[field]
    assert made["ruleset"]["options"].items() >= options.items()
    assert {name: made["seats"][2][name] for name in own} == own
    assert invitations(ada) == [made["id"]]
    assert ada.post(f"/v1/tables/{made['id']}/seats").status_code == 201


def test_an_error_of_a_table_like_another_names_what_the_caller_sent(ada: Person) -> None:
    """Its bot, its ruleset or an option of it may be unknown to this release."""
    table = ada.table({"bot": "lowest"}, deal=False)
    with patch("service.application.tables.record.bots", dict):
        answer = ada.post("/v1/tables", {"like": table["id"]})
        assert problem_of(answer) == "invalid-body"
        assert [(e["at"], e["code"]) for e in answer.json["errors"]] == [
            ("/like", "request.unknown_bot")
        ]
        seats = {"ruleset": "shithead", "seats": ["me", {"bot": "lowest"}]}
        answer = ada.post("/v1/tables", seats)
        assert [e["at"] for e in answer.json["errors"]] == ["/seats/1/bot"]


def test_an_erased_host_invites_nobody_any_more(world: World, ada: Person, bob: Person) -> None:
    """Nobody could withdraw the invitations; the table stays for those who sit there."""
    eve = world.person("Eve")
    table = ada.table("open", "open", **PRIVATE)
    invite(ada, table, eve)
    assert eve.post(f"/v1/tables/{table['id']}/seats").status_code == 201
    invite(ada, table, bob)
    assert invitations(bob) == [table["id"]]
    assert ada.call("DELETE", "/v1/players/me").status_code == 204
    assert invitations(bob) == []
    assert problem_of(bob.post(f"/v1/tables/{table['id']}/seats")) == "not-found"
    seats = eve.get(f"/v1/tables/{table['id']}").json["seats"]
    assert [seat["player"] for seat in seats] == [None, eve.id, None]


def test_a_table_like_another_invites_those_of_the_last_hand_whose_seats_are_free(
    world: World, ada: Person, bob: Person
) -> None:
    table = ada.table("open")
    game = bob.post(f"/v1/tables/{table['id']}/seats").json["game"]
    ada.post(f"/v1/games/{game}/moves", {"type": "forfeit"})
    assert bob.call("DELETE", f"/v1/tables/{table['id']}/seats/me").status_code == 204
    made = ada.post("/v1/tables", {"like": table["id"]}).json
    assert invitations(bob) == [made["id"]]
    eve = world.person("Eve")
    assert eve.post(f"/v1/tables/{table['id']}/seats").status_code == 201
    ada.call("DELETE", f"/v1/tables/{table['id']}/seats/me")
    latest = ada.post("/v1/tables", {"like": table["id"]}).json
    assert (invitations(eve), invitations(bob)) == ([latest["id"]], [made["id"]])
    assert invitations(ada) == [], "a host without a seat is not invited by herself"


def test_a_table_like_another_is_for_its_players_and_has_no_other_field(
    world: World, ada: Person
) -> None:
    eve = world.person("Eve")
    hidden, public = ada.table("open", **PRIVATE), ada.table("open")
    assert problem_of(eve.post("/v1/tables", {"like": hidden["id"]})) == "not-found"
    assert problem_of(eve.post("/v1/tables", {"like": public["id"]})) == "not-seated"
    for body in ({"like": public["id"], "deal": False}, {"seats": ["me", "open"]}, {}):
        assert problem_of(ada.post("/v1/tables", body)) == "invalid-body"


def test_an_erased_player_is_invited_no_more(ada: Person, bob: Person) -> None:
    table = ada.table("open", invited=[bob.id])
    assert bob.call("DELETE", "/v1/players/me").status_code == 204
    assert sent(ada, table) == []
    assert problem_of(invite(ada, table, bob)) == "not-found"


@contextmanager
def known_once_more(person: Person, name: str) -> Iterator[None]:
    """Let the next read of names still find a person who is erased just after it."""
    read, reads = Directory.names, iter([{UUID(person.id): name}])

    def names(directory: Directory, players: Collection[UUID]) -> Mapping[UUID, str | None]:
        return next(reads, None) or read(directory, players)

    with patch.object(Directory, "names", names):
        yield


def test_a_player_who_is_erased_at_the_same_moment_is_unknown_and_the_host_is_not(
    world: World, ada: Person, bob: Person
) -> None:
    """401 would tell the host's client that its token has ended."""
    table = ada.table("open")
    assert bob.call("DELETE", "/v1/players/me").status_code == 204
    with known_once_more(bob, "Bob"):
        assert problem_of(invite(ada, table, bob)) == "not-found"
    body = {"ruleset": "shithead", "seats": ["me", "open"], "invited": [bob.id]}
    with known_once_more(bob, "Bob"):
        answer = ada.post("/v1/tables", body)
    assert problem_of(answer) == "invalid-body"
    assert answer.json["errors"][0]["at"] == "/invited/0"
    gone = world.person("Gone")
    row = world.services.directory.player(UUID(gone.id))
    assert gone.call("DELETE", "/v1/players/me").status_code == 204
    read, rows = Directory.player, iter([row])
    with patch.object(Directory, "player", lambda one, who: next(rows, None) or read(one, who)):
        answer = ada.call("PUT", f"/v1/players/me/blocks/{gone.id}")
    assert problem_of(answer) == "not-found"


def test_an_invitation_to_a_table_that_is_closed_at_the_same_moment_is_not_stored(
    ada: Person, bob: Person
) -> None:
    table = ada.table("open")
    keep = Directory.keep_invitation

    def close_first(directory: Directory, *words: Any, **more: Any) -> None:
        assert ada.call("DELETE", f"/v1/tables/{table['id']}").status_code < 300
        keep(directory, *words, **more)

    with patch.object(Directory, "keep_invitation", close_first):
        assert problem_of(invite(ada, table, bob)) == "not-found"
    assert invitations(bob) == []
