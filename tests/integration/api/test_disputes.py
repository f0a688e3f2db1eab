"""Disputes over HTTP and a real database, from the accusation to the last ruling."""

from __future__ import annotations

import hashlib
from typing import Any
from uuid import UUID, uuid4

import orjson
import psycopg
import pytest

from schemas.disputes_schema import DisputePageSchema, DisputeSchema
from service.application import dispute_files
from service.event_store.protocol import StreamKind
from service.record.bundle import read_log
from service.record.votes import statement_commitment, vote_commitment
from tests.api_world import Person, World, problem_of

ACCUSATION = {"accused": 1, "seq": 0, "charge": "altered_log", "statement": "It was not so."}


@pytest.fixture
def judges(world: World) -> list[Person]:
    """Return people who sit nowhere."""
    return [world.person(f"Judge {n}") for n in range(3)]


def open_at(person: Person, game: str, **more: Any) -> dict[str, Any]:
    """Open a dispute and return it."""
    answer = person.post(f"{game}/disputes", {**ACCUSATION, **more})
    assert answer.status_code == 201, answer.text
    return checked(answer.json)


def checked(dispute: Any) -> dict[str, Any]:
    """Return a dispute that fits its schema, with no field missing."""
    assert not DisputeSchema().validate(dispute)
    assert dispute.keys() == set(DisputeSchema().fields)
    return dict(dispute)


def do(person: Person, dispute: dict[str, Any], what: str, body: Any = None) -> dict[str, Any]:
    """Do something in a dispute and return it as it is then."""
    answer = person.post(f"/v1/disputes/{dispute['id']}/{what}", body)
    assert answer.status_code == 201, answer.text
    return checked(answer.json)


def seated(judges: list[Person], dispute: dict[str, Any]) -> dict[str, int]:
    """Seat referees and return their numbers."""
    numbers = {}
    for judge in judges:
        shown = do(judge, dispute, "referees")
        [numbers[judge.id]] = [r["referee"] for r in shown["referees"] if r["player"] == judge.id]
    return numbers


def settle(judges: list[Person], dispute: dict[str, Any], *votes: str) -> dict[str, Any]:
    """Have referees sit, vote and reveal; return the dispute as it is then."""
    numbers, salt = seated(judges, dispute), b"s" * 32
    for judge, vote in zip(judges, votes, strict=True):
        commit = vote_commitment(UUID(dispute["id"]), numbers[judge.id], vote, salt).hex()
        shown = do(judge, dispute, "votes", {"commit": commit})
    assert shown["state"] == "revealing"
    for judge, vote in zip(judges, votes, strict=True):
        assert shown["ruling"] is None or shown["ruling"]["superseded_by"] is None
        shown = do(judge, dispute, "votes", {"vote": vote, "salt": salt.hex()})
    return shown


def test_a_dispute_from_the_accusation_to_the_appeal(
    world: World, ada: Person, bob: Person, judges: list[Person]
) -> None:
    table = ada.table("open")
    assert bob.post(f"/v1/tables/{table['id']}/seats").status_code == 201
    game = f"/v1/games/{ada.get('/v1/tables/' + table['id']).json['game']}"
    dispute = open_at(ada, game)
    assert (dispute["by"], dispute["accused"], dispute["state"]) == (0, 1, "open")
    ruled = settle(judges, dispute, "cheated", "cheated", "cheated")
    assert ruled["state"] == "ruled"
    assert ruled["ruling"]["verdict"] == "cad"
    assert [vote["vote"] for vote in ruled["votes"]] == ["cheated"] * 3
    assert world.get(f"/v1/players/{bob.id}").json["cad"] is True
    assert world.get(f"/v1/players/{ada.id}").json["accusations"] == {"made": 1, "upheld": 1}

    assert do(bob, dispute, "appeal")["state"] == "appealed"
    assert problem_of(judges[0].post(f"/v1/disputes/{dispute['id']}/referees")) == "forbidden"
    others = [world.person(f"Other {n}") for n in range(3)]
    final = settle(others, dispute, "cheated", "not_proven", "cheated")
    assert final["state"] == "final"
    assert final["ruling"]["verdict"] == "cad", "a ruling never changes"
    assert final["ruling"]["superseded_by"]["verdict"] == "cleared"
    assert world.get(f"/v1/players/{bob.id}").json["cad"] is False
    assert ada.get("/v1/players/me").json["accusations"] == {"made": 1, "upheld": 0}
    assert problem_of(ada.post(f"/v1/disputes/{dispute['id']}/appeal")) == "forbidden"
    listed = world.get(f"{game}/disputes").json
    assert not DisputePageSchema().validate(listed)
    assert [item["id"] for item in listed["items"]] == [dispute["id"]]


def test_votes_stay_closed_until_all_are_revealed(ada: Person, judges: list[Person]) -> None:
    dispute = open_at(ada, ada.game())
    numbers, salt = seated(judges, dispute), b"s" * 32
    for judge in judges:
        commit = vote_commitment(UUID(dispute["id"]), numbers[judge.id], "cheated", salt).hex()
        do(judge, dispute, "votes", {"commit": commit})
    path = f"/v1/disputes/{dispute['id']}/votes"
    lie = judges[0].post(path, {"vote": "not_proven", "salt": salt.hex()})
    assert problem_of(lie) == "invalid-body"
    shown = do(judges[0], dispute, "votes", {"vote": "cheated", "salt": salt.hex()})
    assert shown["votes"] == []
    assert [r["state"] for r in shown["referees"]] == ["revealed", "committed", "committed"]


def test_evidence_is_frozen_and_lies_in_the_bundle(world: World, ada: Person) -> None:
    game = ada.game()
    frozen = ada.get(f"{game}/evidence?profile=public").data
    dispute = open_at(ada, game)
    assert dispute["bundle_sha256"] == hashlib.sha256(frozen).hexdigest()
    assert ada.post(f"{game}/moves", {"type": "ready"}).status_code == 201
    bundle = read_log(ada.get(f"{game}/evidence?profile=public").data)
    assert bundle.files[f"dispute/{dispute['id']}.shx"] == frozen
    kept = orjson.loads(bundle.files[f"dispute/{dispute['id']}.json"])
    assert kept["bundle_sha256"] == dispute["bundle_sha256"]
    assert b"It was not so" not in bundle.files[f"dispute/{dispute['id']}.json"]
    answer = world.client.post(
        "/v1/verify",
        data=ada.get(f"{game}/evidence?profile=public").data,
        content_type="application/zip",
    )
    assert answer.json["result"] != "fail"


def test_copies_of_evidence_leave_room_for_the_game(
    ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens one dispute after another must not make a bundle that no reader takes."""
    game = ada.game()
    first, second = (open_at(ada, game)["id"] for _ in range(2))
    monkeypatch.setattr(dispute_files, "MOST_COPIED", 1)
    bundle = read_log(ada.get(f"{game}/evidence?profile=public").data)
    assert {f"dispute/{first}.json", f"dispute/{second}.json"} <= bundle.files.keys()
    assert not [name for name in bundle.files if name.endswith(".shx")]


def test_the_machine_finds_at_once_and_again_after_the_seal(world: World, ada: Person) -> None:
    game = ada.game()
    dispute = open_at(ada, game, seq=2)
    identity = UUID(dispute["id"])
    assert world.services.attendance.attend(identity) == "done"
    assert world.services.attendance.attend(identity) == "nothing"
    found = ada.get(f"/v1/disputes/{dispute['id']}").json["findings"]
    by_check = {finding["check"]: finding for finding in found}
    assert by_check["event"]["seq"] == 2
    assert by_check["event"]["result"] == "pass"
    assert by_check["event"]["rule"]
    assert by_check["seal"]["result"] == "missing"
    assert ada.post(f"{game}/moves", {"type": "forfeit"}).status_code == 201
    assert identity in world.services.attendance.due(limit=10)
    assert world.services.attendance.attend(identity) == "done"
    shown = checked(ada.get(f"/v1/disputes/{dispute['id']}").json)
    assert {f["check"]: f["result"] for f in shown["findings"]}["seal"] == "pass"
    assert identity not in world.services.attendance.due(limit=10)


def test_what_is_said_is_for_the_sides_and_the_referees(
    world: World, ada: Person, bob: Person, judges: list[Person]
) -> None:
    table = ada.table("open")
    bob.post(f"/v1/tables/{table['id']}/seats")
    game = f"/v1/games/{ada.get('/v1/tables/' + table['id']).json['game']}"
    dispute = open_at(ada, game)
    do(bob, dispute, "statements", {"text": "It was."})
    path = f"/v1/disputes/{dispute['id']}"

    def texts(who: Any) -> list[Any]:
        return [said["text"] for said in who.get(path).json["statements"]]

    assert texts(ada) == texts(bob) == ["It was not so.", "It was."]
    assert texts(world) == texts(judges[0]) == [None, None]
    assert problem_of(judges[0].post(f"{path}/statements", {"text": "Well"})) == "forbidden"
    do(judges[0], dispute, "referees")
    assert texts(judges[0]) == ["It was not so.", "It was."]


def test_words_can_be_erased_and_the_stream_still_holds(
    world: World, ada: Person, database_url: str
) -> None:
    game = ada.game()
    dispute = open_at(ada, game)
    identity = UUID(dispute["id"])
    kept = world.services.directory.dispute_texts(identity)[1]
    stream = world.services.store.read(identity)
    assert stream is not None
    assert stream.kind is StreamKind.DISPUTE
    said = orjson.loads(stream.events[1])["data"]
    assert kept.text is not None
    assert kept.salt is not None
    commit = statement_commitment(identity, 1, kept.text, kept.salt).hex()
    assert said == {"side": "accuser", "commit": commit}
    ada.post(f"{game}/moves", {"type": "forfeit"})
    assert ada.call("DELETE", "/v1/players/me").status_code == 204
    [statement] = world.get(f"/v1/disputes/{dispute['id']}").json["statements"]
    assert statement["text"] is None
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT words, salt FROM dispute_texts").fetchall()
    assert rows == [(None, None)]
    assert world.services.store.read(identity) == stream


def test_who_does_not_sit_in_the_game_does_not_accuse(ada: Person, bob: Person) -> None:
    assert problem_of(bob.post(f"{ada.game()}/disputes", ACCUSATION)) == "not-seated"


@pytest.mark.parametrize(
    "change",
    [
        {"accused": 0},
        {"accused": 2},
        {"seq": 4000},
        {"charge": "rudeness"},
        {"statement": ""},
        {"statement": "x" * 4001},
        {"more": 1},
    ],
)
def test_an_accusation_that_makes_no_sense_is_refused(ada: Person, change: Any) -> None:
    answer = ada.post(f"{ada.game()}/disputes", {**ACCUSATION, **change})
    assert problem_of(answer) == "invalid-body"


def test_nobody_opens_disputes_without_end(ada: Person) -> None:
    game = ada.game()
    for _ in range(10):
        open_at(ada, game)
    answer = ada.post(f"{game}/disputes", ACCUSATION)
    assert problem_of(answer) == "rate-limited"
    assert "Retry-After" in answer.headers


def test_a_repeated_accusation_is_one(ada: Person) -> None:
    game, key = ada.game(), {"Idempotency-Key": "once"}
    first = ada.post(f"{game}/disputes", ACCUSATION, headers=key)
    second = ada.post(f"{game}/disputes", ACCUSATION, headers=key)
    assert second.json == first.json
    assert second.headers["Idempotency-Replayed"] == "true"
    assert len(ada.get(f"{game}/disputes").json["items"]) == 1


def test_a_dispute_that_is_not_there_is_not_found(ada: Person) -> None:
    path = f"/v1/disputes/{uuid4()}"
    assert problem_of(ada.get(path)) == "not-found"
    assert problem_of(ada.post(f"{path}/appeal")) == "not-found"


def test_referees_may_look_at_a_private_game_and_are_seen_to(
    world: World, ada: Person, judges: list[Person]
) -> None:
    table = ada.table(visibility="private")
    game = f"/v1/games/{table['game']}"
    dispute = open_at(ada, game)
    path, judge = f"/v1/disputes/{dispute['id']}", judges[0]
    assert problem_of(judge.get(path)) == "not-found"
    assert problem_of(judge.post(f"{path}/referees")) == "not-found"
    invited = {"Shithead-Invite": table["invite"]}
    assert judge.post(f"{path}/referees", headers=invited).status_code == 201
    assert judge.get(path).status_code == 200
    view = judge.get(game)
    assert view.status_code == 200
    assert view.json["as"] == "public"
    assert all(seat["hand"]["cards"] is None for seat in view.json["seats"])
    assert judge.get(f"/v1/tables/{table['id']}").status_code == 200
    assert problem_of(judges[1].get(game)) == "not-found"
    read = world.services.directory.readings(UUID(table["game"])).items
    assert {(reading.reader, reading.what) for reading in read} == {
        (UUID(judge.id), path),
        (UUID(judge.id), f"{path}/referees"),
        (UUID(judge.id), game),
        (UUID(judge.id), f"/v1/tables/{table['id']}"),
    }
    assert ada.post(f"{path}/referees", {"refuse": 0}).status_code == 201
    assert problem_of(judge.get(game)) == "not-found"
